#include "verb_ledger.h"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "ledger/sqlite/media.h"
#include "ledger_restore.h"
#include "operator_verb.h"
#include "os/file_ops.h"
#include "program.h"

namespace callgate::cli {

namespace {

constexpr std::string_view kHelp =
    R"(callgate ledger: the care of a ledger, while calls run and while none do

Usage: callgate ledger VERB [options]

Verbs
  stats    how much there is, of what, and how it is
  check    is it whole?
  backup   a consistent copy
  gc       take away what has expired
  restore  accept a ledger that was restored from a backup, or moved

Options
  -h, --help  this text; after a verb, that verb's
)";

constexpr std::string_view kStatsHelp =
    R"(callgate ledger stats: how much there is, of what, and how it is

Usage: callgate ledger stats [options]

  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Exit codes
  0  told              2  wrong usage, or no ledger

Examples
  callgate ledger stats --json
)";

constexpr std::string_view kCheckHelp =
    R"(callgate ledger check: is it whole? Reads the whole file; calls go on meanwhile

Usage: callgate ledger check [options]

  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

The audit's own hashes and signatures are checked by callgate audit verify.

Exit codes
  0  it is whole       1  it is not, or Ctrl-C
  2  wrong usage, or no ledger

Examples
  callgate ledger check
)";

constexpr std::string_view kBackupHelp =
    R"(callgate ledger backup: a consistent copy, made while calls go on

Usage: callgate ledger backup [options] PATH

  PATH                 the file to make; it must not exist
  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

The keys beside the ledger are not in the copy: keep them apart from it, and safe.

Exit codes
  0  made              1  Ctrl-C, or it is not your ledger
  2  wrong usage, no ledger, or the file cannot be made

Examples
  callgate ledger backup /var/backups/callgate-monday.db
)";

constexpr std::string_view kGcHelp =
    R"(callgate ledger gc: take away what has expired, now rather than in time

Usage: callgate ledger gc [options]

  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Stored outcomes that have expired become tombstones, so that their keys never run again; old
tombstones and payloads go. Unknown outcomes stay until somebody resolves them.

Exit codes
  0  done              1  it is not your ledger
  2  wrong usage, or no ledger

Examples
  callgate ledger gc
)";

struct CommandLine : OperatorLine {
    std::string path;
    RestoreLine restore;
};

// A report, as it is.
int report(OperatorRun& run, const Result<Value>& answer) {
    if (!answer) return run.give_up(answer.error());
    if (!run.print_json(*answer)) run.print(outline(*answer, run.style()));
    return 0;
}

int stats(const CommandLine& line, const Console& console) {
    OperatorRun run(line, console);
    return report(run, run.ask({{"verb", "ledger.stats"}}));
}

// Where nothing can be written nobody can own it: it is looked at as it is.
Result<Value> check_media(const std::string& directory) {
    os::RealFileOps files;
    const auto media = ledger::MediaLedger::open(files, directory);
    if (!media) return tl::unexpected(media.error());
    auto report = (*media)->check();
    if (!report) return tl::unexpected(std::move(report.error()));
    return Value(std::move(*report));
}

int check(const CommandLine& line, const Console& console) {
    OperatorRun run(line, console);
    const auto directory = run.directory();
    const bool on_media = directory && ledger::is_read_only(*directory);
    const auto answer =
        on_media ? check_media(*directory) : run.ask_long({{"verb", "ledger.check"}}, "check");
    if (!answer) return run.give_up(answer.error());
    const bool whole = flag_at(*answer, "ok");
    if (!run.print_json(*answer)) {
        const Style& style = run.style();
        run.print(whole ? fmt::format("{} the ledger is whole\n", style.green("✓"))
                        : fmt::format("{} the ledger is not whole\n", style.red("✗")));
        Object rest = answer->is_object() ? answer->get_object() : Object();
        rest.erase("ok");
        if (list_at(*answer, "problems").empty()) rest.erase("problems");
        if (!rest.empty()) run.print(outline(rest, style));
    }
    return whole ? 0 : kNo;
}

int backup(const CommandLine& line, const Console& console) {
    OperatorRun run(line, console);
    std::error_code fault;
    const std::string path = std::filesystem::absolute(line.path, fault).string();
    if (fault)
        return run.give_up(Error(ErrorCode::config_error,
                                 fmt::format("{} cannot be made: {}.", line.path, fault.message()),
                                 {{"reason", "file_unwritable"}, {"path", line.path}}));
    const auto answer = run.ask_long({{"verb", "ledger.backup"}, {"path", path}}, "backup");
    if (answer && !run.json()) run.print(fmt::format("{} {}\n", run.style().green("✓"), printable(path)));
    return report(run, answer);
}

int collect(const CommandLine& line, const Console& console) {
    OperatorRun run(line, console);
    return report(run, run.ask_long({{"verb", "ledger.gc"}}, "gc"));
}

}  // namespace

void add_ledger(CLI::App& app, const Console& console, std::function<int()>& chosen) {
    auto line = std::make_shared<CommandLine>();
    VerbGroup verbs(app, "ledger", kHelp, *line, chosen);
    verbs.add("stats", kStatsHelp, [line, &console] { return stats(*line, console); });
    verbs.add("check", kCheckHelp, [line, &console] { return check(*line, console); });
    verbs.add("backup", kBackupHelp, [line, &console] { return backup(*line, console); })
        .add_option("PATH", line->path)
        ->required();
    verbs.add("gc", kGcHelp, [line, &console] { return collect(*line, console); });
    line->restore.add_to(verbs.add("restore", RestoreLine::help(), [line, &console] {
        return restore_ledger(*line, line->restore, console);
    }));
}

}  // namespace callgate::cli
