#include "verb_ledger.h"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "ledger/sqlite/media.h"
#include "ledger_restore.h"
#include "operator_verb.h"
#include "options.h"
#include "os/file_ops.h"
#include "program.h"

namespace callgate::cli {

namespace {

struct LedgerLine : OperatorLine {
    std::string path;
    RestoreLine restore;
};

// A report, as it is.
int report(OperatorRun& run, const Result<Value>& answer) {
    if (!answer) return run.give_up(answer.error());
    if (!run.print_json(*answer)) run.print(outline(*answer, run.style()));
    return 0;
}

int stats(const LedgerLine& line, const Console& console) {
    OperatorRun run(line, console);
    return report(run, run.ask({{"verb", "ledger.stats"}}));
}

// Where nothing can be written nobody can own it: it is looked at as it is.
Result<Value> check_media(const std::string& directory) {
    os::RealFileOps files;
    CALLGATE_TRY_ASSIGN(const auto media, ledger::MediaLedger::open(files, directory));
    CALLGATE_TRY_ASSIGN(auto report, media->check());
    return Value(std::move(report));
}

int check(const LedgerLine& line, const Console& console) {
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

int backup(const LedgerLine& line, const Console& console) {
    OperatorRun run(line, console);
    std::error_code fault;
    const std::string path = std::filesystem::absolute(line.path, fault).string();
    if (fault)
        return run.give_up(Error(ErrorCode::config_error,
                                 fmt::format("{} cannot be made: {}.", line.path, fault.message()),
                                 {{"reason", "file_unwritable"}, {"path", line.path}}));
    const auto answer = run.ask_long({{"verb", "ledger.backup"}, {"path", path}}, "backup");
    if (answer && !run.json()) run.print(done_text(printable(path), run.style()));
    return report(run, answer);
}

int collect(const LedgerLine& line, const Console& console) {
    OperatorRun run(line, console);
    return report(run, run.ask_long({{"verb", "ledger.gc"}}, "gc"));
}

}  // namespace

void add_ledger(Verb& program, const Console& console) {
    auto line = std::make_shared<LedgerLine>();
    Verb& group = program.add("ledger", "the care of a ledger, while calls run and while none do");

    Verb& counting = group.add("stats", "how much there is, of what, and how it is");
    add_operator_options(counting, *line);
    counting.exits(0, "shown").exits(2, "wrong usage, or no ledger");
    counting.example("callgate ledger stats --json");
    counting.runs([line, &console] { return stats(*line, console); });

    Verb& checking = group.add("check", "is it whole? Reads the whole file, while calls go on");
    add_operator_options(checking, *line);
    checking.text("The audit's own hashes and signatures are checked by callgate audit verify.");
    checking.exits(0, "it is whole").exits(1, "it is not, or Ctrl-C").exits(2, "wrong usage, or no ledger");
    checking.example("callgate ledger check");
    checking.runs([line, &console] { return check(*line, console); });

    Verb& copying = group.add("backup", "a consistent copy, made while calls go on");
    copying.argument("PATH", "the file to make; it must not exist", line->path)
        .required()
        .completed_by(Completes::file);
    add_operator_options(copying, *line);
    copying.text("The keys beside the ledger are not in the copy: keep them apart from it, and safe.");
    copying.exits(0, "made")
        .exits(1, "Ctrl-C, or it is not your ledger")
        .exits(2, "wrong usage, no ledger, or the file cannot be made");
    copying.example("callgate ledger backup /var/backups/callgate-monday.db");
    copying.runs([line, &console] { return backup(*line, console); });

    Verb& collecting = group.add("gc", "remove what has expired, now rather than in time");
    add_operator_options(collecting, *line);
    collecting.text(
        "Stored outcomes that have expired become tombstones, so that their keys never run again; old "
        "tombstones and payloads are removed. Unknown outcomes stay until somebody resolves them.");
    collecting.exits(0, "done").exits(1, "it is not your ledger").exits(2, "wrong usage, or no ledger");
    collecting.example("callgate ledger gc");
    collecting.runs([line, &console] { return collect(*line, console); });

    Verb& restoring = group.add("restore", "accept a ledger that was restored from a backup, or moved");
    line->restore.describe(restoring, *line);
    restoring.runs([line, &console] { return restore_ledger(*line, line->restore, console); });
}

}  // namespace callgate::cli
