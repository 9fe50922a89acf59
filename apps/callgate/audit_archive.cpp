#include "audit_archive.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/ids.h"
#include "ids.h"
#include "ledger/audit/segment_file.h"
#include "os/file_ops.h"
#include "program.h"

namespace callgate::cli {

namespace {

bool agreed(OperatorRun& run, bool yes, std::string_view question, std::optional<int>& exit_code) {
    if (yes) return true;
    if (!run.may_ask()) {
        exit_code = run.give_up(Error(ErrorCode::config_error,
                                      "Nobody can be asked: this is not a terminal. Give --yes.",
                                      {{"reason", "usage"}}));
        return false;
    }
    if (run.says_yes(question)) return true;
    exit_code = kNo;
    return false;
}

std::string erased_text(OperatorRun& run, std::int64_t erased) {
    if (erased == 0) return "Nothing is erased: there is no payload of this call.\n";
    return fmt::format("{} {} erased from the log\n", run.style().green("✓"),
                       erased == 1 ? "1 payload is" : fmt::format("{} payloads are", erased)) +
           indented(
               "What the ledger keeps of the call for a while stays until it is due: its outcome, and its "
               "approvals with their arguments and reasons.",
               2, run.style());
}

}  // namespace

int archive_log(OperatorRun& run, const ArchiveLine& line) {
    std::optional<int> exit_code;
    if (!agreed(run, line.yes, "Take the log's beginning out of the ledger, into files?", exit_code))
        return *exit_code;
    Object request{{"verb", "audit.archive"},
                   {"keep", line.keep},
                   {"at_least", line.at_least},
                   {"max_events", line.max_events}};
    if (line.older_than_days) request["older_than_s"] = *line.older_than_days * 86'400;
    if (!line.directory.empty()) {
        std::error_code fault;
        request["directory"] = std::filesystem::absolute(line.directory, fault).string();
    }
    const auto answer = run.ask_long(request, "archive");
    if (!answer) return run.give_up(answer.error());
    if (run.print_json(*answer)) return 0;
    const std::int64_t archived = number_at(*answer, "archived");
    run.print(archived == 0
                  ? fmt::format("{} there is nothing to archive\n", run.style().green("✓"))
                  : fmt::format("{} {} archived\n", run.style().green("✓"),
                                archived == 1 ? "1 event is" : fmt::format("{} events are", archived)));
    for (const Value& one : list_at(*answer, "segments"))
        run.print(indented(fmt::format("{} to {}: {}", number_at(one, "first"), number_at(one, "last"),
                                       printable(text_at(one, "file"))),
                           2, run.style()));
    return 0;
}

int list_segments(OperatorRun& run) {
    const auto answer = run.ask({{"verb", "audit.segments"}});
    if (!answer) return run.give_up(answer.error());
    if (run.print_json(*answer)) return 0;
    if (list_at(*answer, "segments").empty()) run.print("Nothing was archived.\n");
    for (const Value& one : list_at(*answer, "segments")) {
        const std::string facts =
            fmt::format("{} to {}  {} bytes  {}", number_at(one, "first"), number_at(one, "last"),
                        number_at(one, "bytes"), short_time(text_at(one, "archived_at")));
        const std::string file = printable(text_at(one, "file"));
        const Style& style = run.style();
        const bool fits = style.width == 0 || columns_of(facts) + 2 + columns_of(file) <= style.width;
        run.print(fits ? fmt::format("{}  {}\n", facts, file) : facts + '\n' + indented(file, 2, style));
    }
    return 0;
}

int erase_payloads(OperatorRun& run, const EraseLine& line) {
    const auto call = whole_id(run, line.call, IdOf::call);
    if (!call) return run.give_up(call.error());
    const auto id = base::parse_uuid(*call);
    if (!id) {
        Error error = id.error();
        error.code = ErrorCode::config_error;
        return run.give_up(error);
    }
    std::optional<int> exit_code;
    if (!agreed(run, line.yes, "Erase for good what this call's events say in words?", exit_code))
        return *exit_code;
    if (!line.segment.empty()) {
        os::RealFileOps files;
        const auto erased = ledger::erase_in_segment(files, line.segment, id->bytes);
        if (!erased) return run.give_up(erased.error());
        // That it was done is on the record of the ledger, whatever there was still in it.
        if (*erased != 0) {
            const auto recorded =
                run.ask({{"verb", "audit.erase"}, {"call", *call}, {"in_segment", *erased}});
            if (!recorded) return run.give_up(recorded.error());
        }
        const Value answer{{"erased", *erased}, {"segment", line.segment}};
        if (!run.print_json(answer)) run.print(erased_text(run, static_cast<std::int64_t>(*erased)));
        return *erased == 0 ? kNo : 0;
    }
    const auto answer = run.ask({{"verb", "audit.erase"}, {"call", *call}});
    if (!answer) return run.give_up(answer.error());
    const std::int64_t erased = number_at(*answer, "erased");
    if (!run.print_json(*answer)) {
        run.print(erased_text(run, erased));
        if (number_at(*answer, "archived") != 0)
            run.print(indented(
                fmt::format("Events up to {} are archived. If some are of this call, erase them in their "
                            "segment, too: --segment FILE",
                            number_at(*answer, "archived")),
                2, run.style()));
    }
    return erased == 0 ? kNo : 0;
}

}  // namespace callgate::cli
