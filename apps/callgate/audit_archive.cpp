#include "audit_archive.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/ids.h"
#include "ledger/audit/segment_file.h"
#include "os/file_ops.h"
#include "program.h"

namespace callgate::cli {

const std::string_view kArchiveHelp =
    R"(callgate audit archive: take the log's beginning out of the ledger, into files

Usage: callgate audit archive [options]

  --to DIR             where the segments go: by default segments/ in the ledger's directory
  --keep N             leave the last N events in the ledger: 0 by default
  --older-than DAYS    archive only events that are older
  --at-least N         do nothing for fewer events: rotate by size
  --max-events N       events in one segment at most: 1000000 by default
  --yes                do not ask
  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Each segment ends with a signed checkpoint. It is written, read again and verified before anything
is taken out of the ledger, which then gives the space back. The next segment, and the ledger
itself, go on from that checkpoint: callgate audit verify --segment FILE verifies all in a row.
Payloads stay sealed in a segment; keep the ledger's key as long as you want to read them.

Exit codes
  0  done, or there is nothing to archive
  1  you said no, Ctrl-C while it works, it is not your ledger, or the log is broken
  2  wrong usage, no ledger, or a file that cannot be made

Examples
  callgate audit archive --older-than 30 --yes
  callgate audit archive --at-least 100000 --to /mnt/archive --yes
)";

const std::string_view kSegmentsHelp =
    R"(callgate audit segments: what was archived, and where

Usage: callgate audit segments [options]

  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Exit codes
  0  told              2  wrong usage, or no ledger

Examples
  callgate audit segments
)";

const std::string_view kEraseHelp =
    R"(callgate audit erase: what a call's events say in words goes for good, and the log stays whole

Usage: callgate audit erase [options] CALL

  CALL                 the call's id
  --segment FILE       in a segment that was archived, instead of in the ledger
  --yes                do not ask
  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Arguments, results and sentences go with their salts, so that nothing can be guessed from what is
left; who, which tool, when and how it ended stay. That it was done is on the record.

Exit codes
  0  erased            1  you said no, it is not your ledger, or there was nothing to erase
  2  wrong usage, no ledger, or a file that cannot be read

Examples
  callgate audit erase 01975f2e-7c1a-7000-8000-0123456789ab --yes
)";

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
    return fmt::format("{} {} payloads are erased\n", run.style().green("✓"), erased);
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
    run.print(archived == 0 ? fmt::format("{} there is nothing to archive\n", run.style().green("✓"))
                            : fmt::format("{} {} events are archived\n", run.style().green("✓"), archived));
    for (const Value& one : list_at(*answer, "segments"))
        run.print(fmt::format("  {} to {}: {}\n", number_at(one, "first"), number_at(one, "last"),
                              printable(text_at(one, "file"))));
    return 0;
}

int list_segments(OperatorRun& run) {
    const auto answer = run.ask({{"verb", "audit.segments"}});
    if (!answer) return run.give_up(answer.error());
    if (run.print_json(*answer)) return 0;
    if (list_at(*answer, "segments").empty()) run.print("Nothing was archived.\n");
    for (const Value& one : list_at(*answer, "segments"))
        run.print(fmt::format("{} to {}  {} bytes  {}  {}\n", number_at(one, "first"), number_at(one, "last"),
                              number_at(one, "bytes"), short_time(text_at(one, "archived_at")),
                              printable(text_at(one, "file"))));
    return 0;
}

int erase_payloads(OperatorRun& run, const EraseLine& line) {
    const auto id = base::parse_uuid(line.call);
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
        const auto told = run.ask({{"verb", "audit.erase"}, {"call", line.call}});
        if (!told) return run.give_up(told.error());
        const Value answer{{"erased", *erased}, {"segment", line.segment}};
        if (!run.print_json(answer)) run.print(erased_text(run, static_cast<std::int64_t>(*erased)));
        return *erased == 0 ? kNo : 0;
    }
    const auto answer = run.ask({{"verb", "audit.erase"}, {"call", line.call}});
    if (!answer) return run.give_up(answer.error());
    const std::int64_t erased = number_at(*answer, "erased");
    if (!run.print_json(*answer)) {
        run.print(erased_text(run, erased));
        if (number_at(*answer, "archived") != 0)
            run.print(
                fmt::format("  Events up to {} are archived. If some are of this call, erase them in their "
                            "segment, too: --segment FILE\n",
                            number_at(*answer, "archived")));
    }
    return erased == 0 ? kNo : 0;
}

}  // namespace callgate::cli
