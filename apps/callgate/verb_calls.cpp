#include "verb_calls.h"

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "call_rows_report.h"
#include "operator_verb.h"
#include "options.h"
#include "program.h"

namespace callgate::cli {

namespace {

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

void add_calls(Verb& program, const Console& console) {
    auto line = std::make_shared<CommandLine>();
    Verb& group = program.add("calls", "what was called, and what came of it");

    Verb& listing = group.add("list", "the recorded calls, newest first");
    listing.flag("--unknown", "those whose outcome is unknown: a person has to find out", line->unknown);
    listing
        .option("--state", "S",
                "claimed, dispatched, reconciling, succeeded, failed, unknown, cancelled or not_applied",
                line->state)
        .one_of({"claimed", "dispatched", "reconciling", "succeeded", "failed", "unknown", "cancelled",
                 "not_applied"})
        .excludes("--unknown");
    listing.option("--tool", "T", "of this tool", line->tool).completed_by(Completes::tool);
    listing.option("--principal", "P", "by this principal", line->principal);
    listing.option("--limit", "N", "how many at most: 50 by default", line->limit).between(1, 1'000);
    listing.option("--before", "ID", "those before this one: the next page", line->before)
        .completed_by(Completes::call);
    add_operator_options(listing, *line);
    listing.text(std::string(kShortIds));
    listing.exits(0, "listed").exits(2, "wrong usage, or no ledger");
    listing.example("callgate calls list --unknown")
        .example("callgate calls list --tool send_mail --state failed --json");
    listing.runs([line, &console] { return list(*line, console); });

    constexpr const char* kId = "of the call; its beginning or its end";
    Verb& showing = group.add("show", "one call: attempts, the shape of its outcome, events");
    showing.argument("ID", kId, line->id).required().completed_by(Completes::call);
    showing.flag("--full", "long texts whole; without it their head, tail, size and SHA-256", line->full);
    add_operator_options(showing, *line);
    showing.exits(0, "shown").exits(1, "there is no such call").exits(2, "wrong usage, or no ledger");
    showing.example("callgate calls show 01975f2e-7c1a-7000-8000-0123456789ab");
    showing.runs([line, &console] { return show(*line, console); });

    Verb& resolving = group.add("resolve", "say what became of a call whose outcome is unknown");
    resolving.usage("[options] ID --applied --evidence TEXT")
        .usage("[options] ID --not-applied --evidence TEXT");
    resolving.argument("ID", kId, line->id).required().completed_by(Completes::call);
    resolving.flag("--applied", "it took effect", line->applied);
    resolving.flag("--not-applied", "it did not", line->not_applied);
    resolving.option("--evidence", "TEXT", "how you know, for the record", line->evidence).required();
    resolving.flag("--yes", "do not ask", line->yes);
    add_operator_options(resolving, *line);
    resolving.text(
        "Your finding is the call's outcome from then on, and is on the record in your name. It cannot be "
        "changed.");
    resolving.exits(0, "recorded")
        .exits(1, "you said no, or it was refused: not unknown, no such call")
        .exits(2, "wrong usage, or no ledger");
    resolving.example(
        "callgate calls resolve 456789ab --applied \\\n      --evidence 'the mail is in the outbox, sent "
        "14:02'");
    resolving.runs([line, &console] { return resolve(*line, console); });
}

}  // namespace callgate::cli
