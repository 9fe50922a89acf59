#include "verb_calls.h"

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "call_rows_report.h"
#include "operator_verb.h"
#include "program.h"

namespace callgate::cli {

namespace {

constexpr std::string_view kHelp =
    R"(callgate calls: what was called, and what came of it

Usage: callgate calls VERB [options]

Verbs
  list     the recorded calls, newest first
  show     one of them: attempts, outcome, events
  resolve  say what became of a call whose outcome is unknown

Options
  -h, --help  this text; after a verb, that verb's
)";

constexpr std::string_view kListHelp =
    R"(callgate calls list: the recorded calls, newest first

Usage: callgate calls list [options]

  --unknown            those whose outcome is unknown: a person has to find out
  --state S            claimed, dispatched, reconciling, succeeded, failed, unknown, cancelled or
                       not_applied
  --tool T             of this tool
  --principal P        by this principal
  --limit N            how many at most: 50 by default
  --before ID          those before this one: the next page
  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Exit codes
  0  listed            2  wrong usage, or no ledger

Examples
  callgate calls list --unknown
  callgate calls list --tool send_mail --state failed --json
)";

constexpr std::string_view kShowHelp =
    R"(callgate calls show: one call, its attempts, the shape of its outcome, its events

Usage: callgate calls show [options] ID

  ID                   of the call
  --full               long texts whole; without it their head, tail, size and SHA-256
  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Exit codes
  0  shown             1  there is no such call
  2  wrong usage, or no ledger

Examples
  callgate calls show 01975f2e-7c1a-7000-8000-0123456789ab
)";

constexpr std::string_view kResolveHelp =
    R"(callgate calls resolve: say what became of a call whose outcome is unknown

Usage: callgate calls resolve [options] ID --applied|--not-applied --evidence TEXT

  ID                   of the call
  --applied            it took effect
  --not-applied        it did not
  --evidence TEXT      how you know, for the record
  --yes                do not ask
  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Your finding is the call's outcome from then on, and is on the record in your name. It cannot be
changed.

Exit codes
  0  recorded          1  you said no, or it was refused: not unknown, no such call
  2  wrong usage, or no ledger

Examples
  callgate calls resolve 01975f2e-7c1a-7000-8000-0123456789ab --applied \
      --evidence 'the mail is in the outbox, sent 14:02'
)";

struct CommandLine : OperatorLine {
    std::string id;
    bool unknown = false;
    std::string state;
    std::string tool;
    std::string principal;
    std::uint32_t limit = 50;
    std::string before;
    bool full = false;
    bool applied = false;
    bool not_applied = false;
    std::string evidence;
    bool yes = false;
};

int list(const CommandLine& line, const Console& console) {
    OperatorRun run(line, console);
    Object request{{"verb", "calls.list"}, {"limit", line.limit}};
    const std::string state = line.unknown ? "unknown" : line.state;
    if (!state.empty()) request["state"] = state;
    if (!line.tool.empty()) request["tool"] = line.tool;
    if (!line.principal.empty()) request["principal"] = line.principal;
    if (!line.before.empty()) request["before"] = line.before;
    const auto page = run.ask(request);
    if (!page) return run.give_up(page.error());
    if (!run.print_json(*page)) run.print(calls_table(*page, run.style()));
    return 0;
}

int show(const CommandLine& line, const Console& console) {
    OperatorRun run(line, console);
    const auto shown = run.ask({{"verb", "calls.show"}, {"id", line.id}});
    if (!shown) return run.give_up(shown.error());
    if (!run.print_json(*shown)) run.print(call_text(value_at(*shown, "call"), line.full, run.style()));
    return 0;
}

int resolve(const CommandLine& line, const Console& console) {
    OperatorRun run(line, console);
    if (line.applied == line.not_applied)
        return run.give_up(Error(ErrorCode::config_error,
                                 "Say what became of it: either --applied or --not-applied.",
                                 {{"reason", "usage"}}));
    if (!line.yes) {
        if (!run.may_ask())
            return run.give_up(Error(ErrorCode::config_error,
                                     "Nobody can be asked: this is not a terminal. Give --yes.",
                                     {{"reason", "usage"}}));
        const auto shown = run.ask({{"verb", "calls.show"}, {"id", line.id}});
        if (!shown) return run.give_up(shown.error());
        console.err << call_text(value_at(*shown, "call"), false, run.err_style());
        run.let_go();
        if (!run.says_yes(line.applied ? "Record that it took effect? This cannot be changed."
                                       : "Record that it did not take effect? This cannot be changed."))
            return kNo;
    }
    const auto resolved = run.ask(
        {{"verb", "calls.resolve"}, {"id", line.id}, {"applied", line.applied}, {"evidence", line.evidence}});
    if (!resolved) return run.give_up(resolved.error());
    if (!run.print_json(*resolved)) {
        const Value& call = value_at(*resolved, "call");
        run.print(fmt::format("{} {}: {}\n", run.style().green("✓"),
                              run.style().bold(printable(text_at(call, "tool"))),
                              printable(text_at(call, "state"))));
    }
    return 0;
}

}  // namespace

void add_calls(CLI::App& app, const Console& console, std::function<int()>& chosen) {
    auto line = std::make_shared<CommandLine>();
    VerbGroup verbs(app, "calls", kHelp, *line, chosen);

    CLI::App& listing = verbs.add("list", kListHelp, [line, &console] { return list(*line, console); });
    CLI::Option* unknown = listing.add_flag("--unknown", line->unknown);
    listing.add_option("--state", line->state)
        ->check(CLI::IsMember({"claimed", "dispatched", "reconciling", "succeeded", "failed", "unknown",
                               "cancelled", "not_applied"}))
        ->excludes(unknown);
    listing.add_option("--tool", line->tool);
    listing.add_option("--principal", line->principal);
    listing.add_option("--limit", line->limit)->check(CLI::Range(1u, 1'000u));
    listing.add_option("--before", line->before);

    CLI::App& showing = verbs.add("show", kShowHelp, [line, &console] { return show(*line, console); });
    showing.add_option("ID", line->id)->required();
    showing.add_flag("--full", line->full);

    CLI::App& resolving =
        verbs.add("resolve", kResolveHelp, [line, &console] { return resolve(*line, console); });
    resolving.add_option("ID", line->id)->required();
    resolving.add_flag("--applied", line->applied);
    resolving.add_flag("--not-applied", line->not_applied);
    resolving.add_option("--evidence", line->evidence)->required();
    resolving.add_flag("--yes", line->yes);
}

}  // namespace callgate::cli
