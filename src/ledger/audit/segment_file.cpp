#include "ledger/audit/segment_file.h"

#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "ledger/audit/export.h"
#include "os/files.h"
#include "os/system_error.h"

namespace callgate::ledger {

namespace {

constexpr std::size_t kPiece = 1u << 20;
constexpr std::size_t kMaxLine = 64u << 20;

tl::unexpected<Error> unusable(std::string_view reason, const std::string& path, std::string message) {
    return fail(ErrorCode::config_error, std::move(message), {{"reason", reason}, {"path", path}});
}

tl::unexpected<Error> failed(const Error& why, const std::string& path) {
    const int number = os::error_number(why);
    return unusable(number == ENOENT           ? "file_missing"
                    : os::is_disk_full(number) ? "disk_full"
                                               : "file_unusable",
                    path, why.message);
}

/// The next line without its end; nothing at the end of the file.
class Lines {
public:
    Lines(os::FileOps& files, const os::Fd& file) : files_(files), file_(file) {}

    Result<std::optional<std::string_view>> next() {
        text_.erase(0, used_);
        used_ = 0;
        for (std::size_t looked = 0;;) {
            if (const std::size_t end = text_.find('\n', looked); end != std::string::npos) {
                used_ = end + 1;
                return std::optional(std::string_view(text_).substr(0, end));
            }
            looked = text_.size();
            if (looked > kMaxLine)
                return fail(ErrorCode::internal, "A line is too long for a segment of the audit.");
            text_.resize(looked + kPiece);
            auto got =
                os::uninterrupted([&] { return files_.read(file_, std::span(text_).subspan(looked)); });
            text_.resize(looked + got.value_or(0));
            if (!got) return tl::unexpected(std::move(got.error()));
            if (*got == 0 && text_.empty()) return std::nullopt;
            if (*got == 0) return fail(ErrorCode::internal, "Its last line does not end: it was cut off.");
        }
    }

private:
    os::FileOps& files_;
    const os::Fd& file_;
    std::string text_;
    std::size_t used_ = 0;
};

}  // namespace

Result<std::uint64_t> erase_in_segment(os::FileOps& files, const std::string& path, const CallId& call) {
    const auto info = files.stat(path);
    if (!info) return failed(info.error(), path);
    if (info->kind != os::FileKind::regular)
        return unusable("file_is_special", path, fmt::format("{} is no regular file.", path));
    const auto from = files.open(path, os::OpenMode::read);
    if (!from) return failed(from.error(), path);
    const std::string part = path + ".part";
    static_cast<void>(files.unlink(part));
    auto to = files.open(part, os::OpenMode::create_exclusive);
    if (!to) return failed(to.error(), part);
    std::uint64_t erased = 0;
    const auto copy = [&]() -> Result<void> {
        Lines lines(files, *from);
        std::string block;
        ExportedEvent event;
        for (std::uint64_t number = 1;; ++number) {
            auto line = lines.next();
            if (!line) return failed(line.error(), path);
            if (!*line || block.size() >= kPiece) {
                if (auto written = os::write_all(files, *to, block); !written)
                    return failed(written.error(), part);
                block.clear();
                if (!*line) break;
            }
            const bool other =
                number == 1 ? read_header_line(**line).has_value() : is_checkpoint_line(**line);
            if (!other && (number == 1 || read_event_line(**line, event)))
                return unusable("malformed", path,
                                fmt::format("Line {} of {} is no line of an audit segment.", number, path));
            if (!other && !event.payloads.empty() && event.view.has(Member::call) &&
                event.view.id(Member::call) == call) {
                erased += event.payloads.size();
                block += event_line(event.bytes, event.hash, {});
            } else {
                block += **line;
                block += '\n';
            }
        }
        if (auto synced = files.fsync(*to); !synced) return failed(synced.error(), part);
        if (erased == 0) return files.unlink(part);
        if (auto renamed = files.rename(part, path); !renamed) return failed(renamed.error(), path);
        const auto folder = files.open(os::directory_of(path), os::OpenMode::directory);
        if (!folder) return failed(folder.error(), path);
        if (auto synced = files.fsync(*folder); !synced) return failed(synced.error(), path);
        return {};
    };
    auto done = copy();
    if (!done) {
        static_cast<void>(files.unlink(part));
        return tl::unexpected(std::move(done.error()));
    }
    return erased;
}

}  // namespace callgate::ledger
