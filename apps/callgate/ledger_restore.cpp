#include "ledger_restore.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "ledger/control/control_user.h"
#include "ledger/sqlite/restore.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "options.h"

namespace callgate::cli {

namespace {

std::string question_about(const ledger::RestorePlan& plan) {
    constexpr std::string_view kNewKeys =
        "keys that this ledger does not know run from now on, also those that were used in the time that was "
        "lost";
    if (!plan.restores && plan.ends_gap) return fmt::format("Accept that {}?", kNewKeys);
    if (!plan.restores) return "Is this the newest copy, and does nobody use another?";
    std::string out = plan.behind && plan.seen > plan.events
                          ? fmt::format("Accept that what came after event {} is lost ({} were seen)?",
                                        plan.events, plan.seen)
                      : plan.behind
                          ? fmt::format("Accept that what came after event {} is lost?", plan.events)
                          : fmt::format(
                                "Nothing shows that anything was lost. Take it for an older copy, and "
                                "hold every key that was perhaps used after event {}?",
                                plan.events);
    if (plan.ends_gap) out = fmt::format("{} And that {}?", out, kNewKeys);
    return out;
}

}  // namespace

void RestoreLine::describe(Verb& verb, OperatorLine& line) {
    verb.flag("--moved", "it is the newest, at another place: nothing was lost", moved);
    verb.flag("--accept-new-keys", "keys that are not known may run from now on; needs --because",
              accept_new_keys);
    verb.option("--because", "TEXT", "what shows that this is right; it goes on the record", because);
    verb.option("--export", "FILE",
                "what callgate audit export has of the time that was lost: its events are listed, and the "
                "calls in them are unknown by themselves",
                export_file)
        .completed_by(Completes::file);
    verb.option("--anchor", "FILE", "the host's anchor file; it is compared, and the restore is noted in it",
                anchor_file)
        .completed_by(Completes::file);
    verb.option("--mark-dir", "DIR", "the host's ledger_mark_dir, where it is not the one the ledger names",
                mark_dir)
        .completed_by(Completes::directory);
    verb.flag("--anyway", "though neither mark nor anchor shows that anything was lost", anyway)
        .excludes("--moved");
    verb.flag("-y,--yes", "ask nothing", yes);
    add_operator_options(verb, line);
    verb.text(
        "A ledger that is behind its mark or its anchor has lost what it answered, and is refused. Put the "
        "newest files back if there are any. Else this verb checks the ledger, puts the restore on the "
        "record, and from then on answers every key that it does not know with \"outcome unknown\": it may "
        "have been used in the time that was lost. That ends by itself when any key would be forgotten (31 "
        "days by default), or with --accept-new-keys, when it is known that no such key comes again. Calls "
        "that were under way stay unknown until callgate calls resolve; open approvals are revoked.");
    verb.exits(0, "accepted")
        .exits(1, "refused, or not confirmed")
        .exits(2, "wrong usage, no ledger, or a process owns it");
    verb.example("callgate ledger restore --export audit.jsonl")
        .example("callgate ledger restore --moved --yes")
        .example(
            "callgate ledger restore --accept-new-keys \\\n      --because 'callers draw new keys since "
            "14:00'");
}

int restore_ledger(const OperatorLine& line, const RestoreLine& given, const Console& console) {
    OperatorRun run(line, console);
    const auto directory = ledger_directory(line.ledger);
    if (!directory) return run.give_up(directory.error());
    if (const auto owner = owner_of(*directory); !owner) return run.give_up(owner.error());
    if (!given.yes && !run.may_ask())
        return run.give_up(Error(ErrorCode::invalid_arguments, "Nobody is here to confirm it: say --yes.",
                                 {{"reason", "not_confirmed"}}));
    std::error_code fault;
    if (!given.mark_dir.empty() && !std::filesystem::is_directory(given.mark_dir, fault))
        return run.give_up(Error(
            ErrorCode::config_error,
            fmt::format("There is no directory {}. Name the one with the ledger's mark.", given.mark_dir),
            {{"reason", "no_mark_dir"}, {"path", given.mark_dir}}));
    ledger::SqliteOptions options;
    options.directory = *directory;
    options.mark_dir = given.mark_dir;
    options.anchor_file = given.anchor_file;
    ledger::RestoreRequest order;
    order.moved = given.moved;
    order.accept_new_keys = given.accept_new_keys;
    order.anyway = given.anyway;
    order.by = ledger::this_process().name;
    order.because = given.because;
    order.export_file = given.export_file;
    order.mark_expected = !given.mark_dir.empty();
    bool said_no = false;
    if (!given.yes)
        order.agree = [&](const ledger::RestorePlan& plan) {
            said_no = !run.says_yes(question_about(plan));
            return !said_no;
        };
    const auto done = ledger::SqliteLedger::restore(std::move(options), order);
    if (said_no) return kNo;
    if (!done) return run.give_up(done.error());
    const Value report(*done);
    if (run.print_json(report)) return 0;
    const Style& style = run.style();
    run.print(fmt::format("{} {}\n", style.green("✓"),
                          flag_at(report, "restored") ? "the ledger is restored" : "the ledger is accepted"));
    run.print(outline(report, style));
    if (text_at(report, "new_keys") == "held")
        run.print(indented(
            "Keys that are not known are answered with \"outcome unknown\" until you say --accept-new-keys.",
            0, style));
    return 0;
}

}  // namespace callgate::cli
