#include "ledger/audit/anchor.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <callgate/json.h>

#include "base/failpoint.h"
#include "base/try.h"
#include "ledger/audit/export.h"
#include "os/files.h"
#include "os/system_error.h"

namespace callgate::ledger {
namespace {

/// How far the note goes that may begin here; 0 where none does.
std::size_t note_size(std::string_view text) {
    std::size_t at = 0;
    for (int line = 1; line <= 4; ++line) {
        const std::size_t end = text.find('\n', at);
        if (end == std::string_view::npos || (line == 4 && end != at)) return 0;
        at = end + 1;
    }
    while (text.substr(at).starts_with(kSignaturePrefix)) {
        const std::size_t end = text.find('\n', at);
        if (end == std::string_view::npos) break;
        at = end + 1;
    }
    return at;
}

/// What it has said on its standard error, as far as it is there.
std::string last_words(const os::Fd& errors) {
    std::array<char, 500> text;
    pollfd ready{errors.get(), POLLIN, 0};
    if (errors.get() < 0 || ::poll(&ready, 1, 0) != 1 || (ready.revents & POLLIN) == 0) return {};
    const ssize_t size = ::read(errors.get(), text.data(), text.size());
    if (size <= 0) return {};
    std::string words(text.data(), static_cast<std::size_t>(size));
    while (!words.empty() && words.back() == '\n') words.pop_back();
    return words;
}

/// The note in a line of what `callgate audit checkpoint --json` prints, or in all of it as one line.
std::optional<std::string> note_in_json(std::string_view line) {
    const std::size_t from = line.find_first_not_of(' ');
    if (from == std::string_view::npos) return std::nullopt;
    line.remove_prefix(from);
    const auto document =
        json::parse(line.starts_with('{') ? std::string(line) : fmt::format("{{{}}}", line));
    const Object* object = document ? document->if_object() : nullptr;
    const Value* note =
        object != nullptr && object->size() == 1 ? object->if_contains("checkpoint") : nullptr;
    if (note == nullptr || !note->is_string()) return std::nullopt;
    std::string text(note->get_string());
    if (note_size(text) != text.size() || !parse_checkpoint(text)) return std::nullopt;
    return text;
}

}  // namespace

Result<void> AnchorFile::submit(std::string_view note) {
    CALLGATE_FAILPOINT_RETURN("audit.before_anchor");
    if (const auto appended = append(note); !appended) {
        clean_ = false;
        const int number = os::error_number(appended.error());
        return fail(
            ErrorCode::audit_failure,
            fmt::format("The checkpoint could not be written to the anchor file {}: {}. Check the path, "
                        "its permissions and the space on its disk.",
                        path_, os::errno_text(number)),
            {{"reason", "anchor_unwritable"}, {"path", path_}, {"errno", number}});
    }
    clean_ = true;
    CALLGATE_FAILPOINT_RETURN("audit.after_anchor");
    return {};
}

Result<void> AnchorFile::append(std::string_view note) {
    CALLGATE_TRY_ASSIGN(const auto file, files_.open(path_, os::OpenMode::append));
    // A line that was cut short before must not swallow this one.
    const std::string line = (clean_ ? "" : "\n") + checkpoint_line(note);
    CALLGATE_TRY(os::write_all(files_, file, line));
    return files_.fdatasync(file);
}

WitnessNotes read_witness(std::string_view text) {
    WitnessNotes out;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        if (const std::size_t size = note_size(text); size > 0 && parse_checkpoint(text.substr(0, size))) {
            out.notes.emplace_back(text.substr(0, size));
            text.remove_prefix(size);
            continue;
        }
        const std::string_view line = text.substr(0, end);
        // A line without its end was cut short, even if what is left of it can be read.
        const bool whole = end != std::string_view::npos;
        auto note = whole ? read_checkpoint_line(line) : std::nullopt;
        if (!note && whole) note = note_in_json(line);
        if (note)
            out.notes.push_back(std::move(*note));
        else if (!line.empty() && line != "{" && line != "}")
            ++out.unreadable;
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    return out;
}

Result<WitnessNotes> read_witness_file(os::FileOps& files, const std::string& path, std::size_t max_bytes) {
    CALLGATE_TRY_ASSIGN(const auto text, os::read_file(files, path, max_bytes));
    return read_witness(text);
}

Result<std::optional<Checkpoint>> last_anchored(os::FileOps& files, const std::string& path,
                                                std::string_view origin, std::uint64_t max_bytes) {
    constexpr std::uint64_t kAtOnce = 256u << 10;
    const auto file = files.open(path, os::OpenMode::read);
    if (!file && os::error_number(file.error()) == ENOENT) return std::nullopt;
    if (!file) return tl::unexpected(file.error());
    CALLGATE_TRY_ASSIGN(const auto info, files.stat(*file));
    std::string text;  // from `begin` on, without the lines that were looked at
    for (std::uint64_t begin = info.size; begin > 0 && info.size - begin < max_bytes;) {
        const std::uint64_t size = std::min(kAtOnce, begin);
        begin -= size;
        std::string piece(size, '\0');
        for (std::size_t done = 0; done < size;) {
            CALLGATE_TRY_ASSIGN(const auto read, os::uninterrupted([&] {
                                    return files.pread(*file, std::span(piece).subspan(done), begin + done);
                                }));
            if (read == 0) return std::nullopt;  // it was cut meanwhile
            done += read;
        }
        text.insert(0, piece);
        // A line counts if its end is there; the first one here may have begun further up.
        for (std::size_t end = text.rfind('\n'); end != std::string::npos && end > 0;) {
            const std::size_t before = text.rfind('\n', end - 1);
            if (before == std::string::npos && begin > 0) break;
            const std::size_t first = before == std::string::npos ? 0 : before + 1;
            const auto note = read_checkpoint_line(std::string_view(text).substr(first, end - first));
            if (note) {
                const auto checkpoint = parse_checkpoint(*note);
                if (checkpoint && checkpoint->checkpoint.origin == origin) return checkpoint->checkpoint;
            }
            text.resize(first);
            end = before;
        }
        if (text.size() > 2 * kMaxNoteBytes) text.clear();  // no line of ours is that long
    }
    return std::nullopt;
}

Result<void> WitnessCommand::submit(std::string_view note) {
    os::ProcessSpec spec(argv_);
    spec.output = os::Stdio::null;
    CALLGATE_TRY_ASSIGN(auto process, launcher_.launch(spec));
    process->give_input(note);  // it may refuse without reading: its exit code counts
    CALLGATE_TRY_ASSIGN(const auto status, process->wait(timeout_));
    if (!status)
        return fail(ErrorCode::transport,
                    fmt::format("The witness command {} took longer than {} ms and was ended.", argv_.front(),
                                timeout_.count()),
                    {{"reason", "witness_timed_out"}, {"command", argv_.front()}});
    if (status->ok()) return {};
    const std::string words = last_words(process->errors);
    return fail(ErrorCode::transport,
                fmt::format("The witness command {} did not take the checkpoint: {}{}{}.", argv_.front(),
                            status->to_string(), words.empty() ? "" : ", ", words),
                {{"reason", "witness_refused"}, {"command", argv_.front()}});
}

}  // namespace callgate::ledger
