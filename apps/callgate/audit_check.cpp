#include "audit_check.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <ostream>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/encoding.h"
#include "base/try.h"
#include "input.h"
#include "ledger/audit/anchor.h"
#include "ledger/audit/checkpoint.h"
#include "ledger/audit/event_proof.h"
#include "ledger/audit/proof.h"
#include "ledger/audit/verify.h"
#include "ledger/control/message.h"
#include "ledger/sqlite/media.h"
#include "os/file_ops.h"
#include "os/files.h"
#include "os/system_error.h"
#include "program.h"

namespace callgate::cli {

namespace {

constexpr int kMostOwners = 10;

tl::unexpected<Error> usage(std::string message) {
    return fail(ErrorCode::config_error, std::move(message), {{"reason", "usage"}});
}

Result<std::vector<ledger::VerifyingKey>> keys_in(const std::vector<std::string>& texts) {
    std::vector<ledger::VerifyingKey> keys;
    for (const std::string& text : texts) {
        auto key = ledger::VerifyingKey::parse(one_line(text));
        if (!key) {
            key.error().code = ErrorCode::config_error;
            return tl::unexpected(std::move(key.error()));
        }
        keys.push_back(std::move(*key));
    }
    return keys;
}

// Nobody may take a verdict for that of a witness who said nothing about this log. `holds`: what is in its
// file.
Error no_witness(const std::string& path, std::string_view reason, std::string_view holds,
                 std::uint64_t unreadable) {
    const std::string unread =
        unreadable == 0 ? "" : fmt::format(" (lines that cannot be read: {})", unreadable);
    return Error(
        ErrorCode::config_error,
        fmt::format("The witness {} {}{}. Name a file with what `callgate audit checkpoint` printed of "
                    "this log, or the anchor file that the log's owner writes.",
                    path, holds, unread),
        {{"reason", reason}, {"path", path}, {"unreadable_lines", unreadable}});
}

Result<ledger::VerifyOptions> options_of(const VerifyLine& line) {
    ledger::VerifyOptions options;
    CALLGATE_TRY_ASSIGN(options.pinned, keys_in(line.keys));
    if (line.witness.empty()) return options;
    os::RealFileOps files;
    auto kept = ledger::read_witness_file(files, line.witness);
    if (!kept) {
        kept.error().code = ErrorCode::config_error;
        return tl::unexpected(std::move(kept.error()));
    }
    if (kept->notes.empty())
        return tl::unexpected(no_witness(line.witness, "witness_unreadable",
                                         kept->unreadable == 0 ? "is empty" : "holds no checkpoint",
                                         kept->unreadable));
    options.witnessed = std::move(kept->notes);
    options.unreadable_witness_lines = kept->unreadable;
    return options;
}

// A file in pieces, as long as it is and more are wanted.
Result<void> feed_file(const std::string& path, const std::function<bool(std::string_view)>& take) {
    const bool standard = path == kStandardInput;
    const os::Fd fd(standard ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                             : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    const auto unreadable = [&](int number) {
        return fail(ErrorCode::config_error,
                    fmt::format("{} cannot be read: {}.", input_name(path), os::errno_text(number)),
                    {{"reason", number == ENOENT ? "file_missing" : "file_unreadable"}, {"path", path}});
    };
    if (!fd) return unreadable(errno);
    os::RealFileOps files;
    std::string block(1u << 20, '\0');
    for (;;) {
        const auto got = files.read(fd, block);
        if (!got && os::error_number(got.error()) == EINTR) continue;
        if (!got) return unreadable(os::error_number(got.error()));
        if (*got == 0 || !take(std::string_view(block).substr(0, *got))) return {};
    }
}

// `witnessed`: the notes in the witness's file.
int tell(OperatorRun& run, const VerifyLine& line, const std::vector<std::string>& witnessed,
         const ledger::VerifyReport& report) {
    const bool compared_nothing =
        !line.witness.empty() && report.verdict() == ledger::AuditVerdict::unwitnessed;
    if (compared_nothing && report.witness_notes != 0)
        return run.give_up(Error(
            ErrorCode::config_error,
            fmt::format("Nothing was compared: what the witness {} saw is only of the first {} events, which "
                        "were archived since. Give their segments too, oldest first (--segment FILE), or "
                        "what it saw later.",
                        line.witness, report.after),
            {{"reason", "witness_of_archived"}, {"path", line.witness}, {"after", report.after}}));
    if (compared_nothing) {
        const auto other = ledger::parse_checkpoint(witnessed.front());
        const std::string holds =
            fmt::format("holds checkpoints of {}, but none of this log, {}",
                        other ? other->checkpoint.origin : "", ledger::audit_origin(report.chain_id));
        return run.give_up(
            no_witness(line.witness, "witness_of_another_log", holds, report.unreadable_witness_lines));
    }
    const bool broken = report.verdict() == ledger::AuditVerdict::broken;
    if (!run.print_json(report.to_json())) {
        const Style& style = run.style();
        run.print(fmt::format("{} {}\n", broken ? style.red("✗") : style.green("✓"),
                              style.bold(to_string(report.verdict()))));
        run.print(indented(printable(one_line(report.summary())), 2, style));
    }
    return broken ? kNo : 0;
}

std::optional<std::vector<ledger::Sha256Digest>> digests_in(const Array& list) {
    std::vector<ledger::Sha256Digest> out;
    for (const Value& one : list) {
        const auto raw =
            one.is_string() ? base::hex_decode(std::string_view(one.get_string())) : std::nullopt;
        ledger::Sha256Digest digest{};
        if (!raw || raw->size() != digest.size()) return std::nullopt;
        std::ranges::transform(*raw, digest.begin(), [](char c) { return static_cast<std::uint8_t>(c); });
        out.push_back(digest);
    }
    return out;
}

tl::unexpected<Error> does_not_hold(std::string_view why) {
    return fail(ErrorCode::audit_failure, fmt::format("This proof does not hold: {}.", why),
                {{"reason", "bad_proof"}});
}

// One log is the beginning of the other, and both are signed.
Result<Value> check_growth(const Object& proof, const std::vector<ledger::VerifyingKey>& keys) {
    std::array<ledger::SignedCheckpoint, 2> ends;
    for (const auto& [i, name] : {std::pair<std::size_t, const char*>{0, "from"}, {1, "to"}}) {
        auto read = ledger::parse_checkpoint(text_at(proof, name));
        if (!read) return does_not_hold(fmt::format("its checkpoint '{}' cannot be read", name));
        ends[i] = std::move(*read);
        if (std::ranges::none_of(keys, [&end = ends[i]](const auto& key) { return end.signed_by(key); }))
            return does_not_hold(fmt::format("none of the keys signed its checkpoint '{}'", name));
    }
    const auto& from = ends[0].checkpoint;
    const auto& to = ends[1].checkpoint;
    const auto path = digests_in(list_at(proof, "path"));
    if (from.origin != to.origin) return does_not_hold("its checkpoints are of two logs");
    if (!path || !ledger::verify_consistency(from.size, from.root, to.size, to.root, *path))
        return does_not_hold("the smaller log is not the beginning of the larger one");
    return Value{{"ok", true}, {"log", from.origin}, {"from", from.size}, {"to", to.size}};
}

Result<Value> check_proof(const ProveLine& line) {
    if (line.keys.empty())
        return usage(
            "--check needs --key VKEY: the public key that you pinned, as callgate audit key told it.");
    CALLGATE_TRY_ASSIGN(const auto keys, keys_in(line.keys));
    std::optional<Excerpt> excerpt;
    CALLGATE_TRY_ASSIGN(const auto proof, read_json(line.check, json::ParseLimits(), ErrorCode::config_error,
                                                    Limit::fixed, excerpt));
    if (!proof.is_object()) return does_not_hold("it is no JSON object");
    const Object& object = proof.get_object();
    if (object.if_contains("callgate_audit_growth") != nullptr) return check_growth(object, keys);
    CALLGATE_TRY_ASSIGN(const auto bytes, ledger::check_event_proof(object, keys));
    auto event = json::parse(bytes);
    return Value{{"ok", true}, {"event", event ? std::move(*event) : Value(bytes)}};
}

}  // namespace

int verify_log(OperatorRun& run, const VerifyLine& line) {
    auto options = options_of(line);
    if (!options) return run.give_up(options.error());
    const auto answer_with = [&run, &line,
                              witnessed = options->witnessed](const ledger::VerifyReport& report) {
        return tell(run, line, witnessed, report);
    };
    // Segments first, oldest first; each file goes on where the last one ended.
    const auto feed_all = [](ledger::ExportVerifier& verifier, const std::vector<std::string>& files,
                             bool more_follows) -> Result<void> {
        for (std::size_t i = 0; i < files.size(); ++i) {
            CALLGATE_TRY(feed_file(files[i], [&](std::string_view piece) { return verifier.feed(piece); }));
            if ((i + 1 < files.size() || more_follows) && !verifier.next_file()) return {};
        }
        return {};
    };
    if (!line.from_export.empty()) {
        ledger::ExportVerifier verifier(std::move(*options));
        auto fed = feed_all(verifier, line.segments, true);
        if (fed) fed = feed_all(verifier, line.from_export, false);
        if (!fed) return run.give_up(fed.error());
        return answer_with(verifier.finish());
    }
    // Where nothing can be written nobody can own it: it is looked at as it is.
    if (const auto directory = run.directory(); directory && ledger::is_read_only(*directory)) {
        if (!line.segments.empty())
            return run.give_up(usage("Segments are verified with an export: this ledger cannot be written. "
                                     "Give --from-export.")
                                   .value());
        os::RealFileOps files;
        const auto media = ledger::MediaLedger::open(files, *directory);
        if (!media) return run.give_up(media.error());
        const auto report = ledger::verify_audit((*media)->audit(), *options);
        return report ? answer_with(*report) : run.give_up(report.error());
    }
    for (int tries = 1;; ++tries) {
        ledger::ExportVerifier verifier(*options);
        if (const auto fed = feed_all(verifier, line.segments, true); !fed) return run.give_up(fed.error());
        bool broken = false;
        const auto answer = run.ask_long({{"verb", "audit.export"}, {"format", "jsonl"}}, "verify",
                                         [&](std::string_view piece) {
                                             broken = !verifier.feed(piece);
                                             return !broken;
                                         });
        // Once there is a fault the rest is not asked for any more.
        if (answer || broken) return answer_with(verifier.finish());
        // An owner that ended in the middle: the next one has the same log.
        const bool again = text_at(answer.error().details, "reason") == ledger::kOwnerEnds;
        if (!again || tries == kMostOwners) return run.give_up(answer.error());
    }
}

namespace {

Error unwritable_output(std::string_view what, int number, std::string_view path = {}) {
    const bool full = os::is_disk_full(number);
    Object details{{"reason", full ? "disk_full" : "file_unwritable"}};
    if (!path.empty()) details["path"] = path;
    return Error(ErrorCode::config_error,
                 full         ? fmt::format("{} cannot be written: the disk is full.", what)
                 : number > 0 ? fmt::format("{} cannot be written: {}.", what, os::errno_text(number))
                              : fmt::format("{} cannot be written.", what),
                 std::move(details));
}

}  // namespace

int export_log(OperatorRun& run, const ExportLine& line) {
    Object request{{"verb", "audit.export"}, {"format", line.format}};
    if (line.from) request["from"] = *line.from;
    if (line.to) request["to"] = *line.to;
    std::ostream& out = run.console().out;
    if (line.output.empty() || line.output == kStandardInput) {
        int number = 0;
        const auto answer = run.ask_long(request, "export", [&](std::string_view piece) {
            errno = 0;
            out << piece << std::flush;
            if (!out.good()) number = errno;
            return out.good();
        });
        if (!out.good()) {
            if (!run.json() && run.console().loss_reported != nullptr) *run.console().loss_reported = true;
            return run.give_up(unwritable_output("Standard output", number));
        }
        return answer ? 0 : run.give_up(answer.error());
    }
    os::RealFileOps files;
    const auto file = files.open(line.output, os::OpenMode::create_exclusive);
    if (!file) {
        const int number = os::error_number(file.error());
        return run.give_up(
            Error(ErrorCode::config_error,
                  number == EEXIST ? fmt::format("{} is there already. Name a file that is not.", line.output)
                                   : file.error().message,
                  {{"reason", number == EEXIST ? "file_exists" : "file_unwritable"}, {"path", line.output}}));
    }
    std::optional<Error> unwritten;
    auto answer = run.ask_long(request, "export", [&](std::string_view piece) {
        auto written = os::write_all(files, *file, piece);
        if (!written) unwritten = std::move(written.error());
        return !unwritten;
    });
    if (answer && !unwritten) {
        if (auto synced = files.fsync(*file); !synced) unwritten = std::move(synced.error());
    }
    if (unwritten || !answer) {
        // Half an export would pass for a log that was cut off.
        static_cast<void>(files.unlink(line.output));
        if (unwritten)
            return run.give_up(unwritable_output(line.output, os::error_number(*unwritten), line.output));
        return run.give_up(answer.error());
    }
    if (!run.print_json(*answer))
        run.print(done_text(fmt::format("{}: {} events, {} bytes", printable(line.output),
                                        number_at(*answer, "events"), number_at(*answer, "bytes")),
                            run.style()));
    return 0;
}

int prove(OperatorRun& run, const ProveLine& line) {
    if (!line.check.empty()) {
        const auto checked = check_proof(line);
        if (!checked) {
            const int code = run.give_up(checked.error());
            return checked.error().code == ErrorCode::audit_failure ? kNo : code;
        }
        if (!run.print_json(*checked)) {
            run.print(fmt::format("{} the proof holds\n", run.style().green("✓")));
            Object rest = checked->get_object();
            rest.erase("ok");
            run.print(outline(rest, run.style()));
        }
        return 0;
    }
    const bool growth = line.from && line.to;
    if (growth == line.sequence.has_value() || line.from.has_value() != line.to.has_value())
        return run.give_up(usage("Say what to prove: an event's SEQ, or --from SIZE and --to SIZE.").value());
    const auto proof =
        run.ask(growth ? Object{{"verb", "audit.prove_growth"}, {"from", *line.from}, {"to", *line.to}}
                       : Object{{"verb", "audit.prove"}, {"sequence", *line.sequence}});
    if (!proof) return run.give_up(proof.error());
    run.console().out << json::write_pretty(*proof) << '\n';
    return 0;
}

}  // namespace callgate::cli
