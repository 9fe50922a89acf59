#include "verb_calls.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/ids.h"
#include "base/try.h"
#include "call_rows_report.h"
#include "event_calls.h"
#include "ids.h"
#include "operator_verb.h"
#include "options.h"
#include "program.h"

namespace callgate::cli {

namespace {

constexpr std::uint64_t kEventsAtOnce = 1'000;
constexpr std::uint64_t kRowsAtOnce = 1'000;

// What the ledger's rows can be; the rest is said by events alone.
constexpr std::array kRowStates = {"claimed", "dispatched", "reconciling", "succeeded",
                                   "failed",  "unknown",    "cancelled",   "not_applied"};

struct CallsLine : ListLine {
    std::string id;
    bool unknown = false;
    bool all = false;
    std::string state;
    std::string tool;
    std::string principal;
    bool full = false;
    bool applied = false;
    bool not_applied = false;
    std::string evidence;
    bool yes = false;
};

// Without what was not asked for.
bool wanted(const Object& call, const CallsLine& line, const std::string& before) {
    const Value value(call);
    return (line.tool.empty() || text_at(value, "tool") == line.tool) &&
           (line.principal.empty() || text_at(value, "principal") == line.principal) &&
           (before.empty() || text_at(value, "call_id") < before);
}

// The calls that left only events, as they stand now, each looked up once.
class WantedEventCalls {
public:
    WantedEventCalls(OperatorRun& run, const CallsLine& line, const std::string& before)
        : run_(run), line_(line), before_(before), events_(run) {}

    bool read_back() {
        const bool ended = events_.read_back(kEventsAtOnce);
        found_.clear();
        for (const std::string& id : events_.ids()) {
            Object call = events_.call(id);
            if (!wanted(call, line_, before_)) continue;
            if (!line_.state.empty()) tell_on(id, call);
            if (line_.state.empty() || text_at(Value(call), "state") == line_.state)
                found_.emplace(id, std::move(call));
        }
        return ended;
    }
    const std::map<std::string, Object>& found() const noexcept { return found_; }
    // What became of those that waited for a person.
    void tell_on(const std::string& id, Object& call) {
        auto known = became_.find(id);
        if (known == became_.end()) {
            say_what_became(run_, call);
            known = became_.emplace(id, call).first;
        }
        call = known->second;
    }

private:
    OperatorRun& run_;
    const CallsLine& line_;
    const std::string& before_;
    EventCalls events_;
    std::map<std::string, Object> found_;
    std::map<std::string, Object> became_;
};

// Puts the calls that left only events among those of `page`, newest first, as many as there is room for.
void add_event_calls(OperatorRun& run, const CallsLine& line, const std::string& before, Value& page) {
    Array& rows = page.get_object()["calls"].get_array();
    std::map<std::string, Value, std::greater<>> all;
    for (Value& row : rows) {
        row.get_object()["recorded"] = "row";
        all.emplace(text_at(row, "call_id"), std::move(row));
    }
    WantedEventCalls events(run, line, before);
    for (bool ended = false; !ended;) ended = events.read_back() || events.found().size() >= line.limit + 1;
    // Behind the last recorded call of a page that has a next one, others come first.
    const std::string oldest = value_at(page, "next").is_null() || all.empty() ? "" : all.rbegin()->first;
    for (const auto& [id, call] : events.found())
        if (id > oldest && !all.contains(id)) all.emplace(id, call);
    if (!line.state.empty())
        std::erase_if(all, [&](const auto& one) { return text_at(one.second, "state") != line.state; });
    rows.clear();
    bool more = !oldest.empty();
    for (auto& [id, call] : all) {
        if (rows.size() == line.limit) {
            more = true;
            break;
        }
        if (text_at(call, "recorded") == "events") events.tell_on(id, call.get_object());
        rows.push_back(std::move(call));
    }
    page.get_object()["next"] = more && !rows.empty() ? Value(text_at(rows.back(), "call_id")) : Value();
}

// The recorded calls of `request`, page after page until so many of them are in this state: a call that has
// a row is not to be found by its events in another state.
Result<Value> pages_with(OperatorRun& run, Object request, const CallsLine& line) {
    request["limit"] = kRowsAtOnce;
    Array rows;
    for (std::size_t found = 0;;) {
        CALLGATE_TRY_ASSIGN(Value page, run.ask(request));
        for (Value& row : page.get_object()["calls"].get_array()) {
            found += text_at(row, "state") == line.state ? 1u : 0u;
            rows.push_back(std::move(row));
        }
        const std::string next = text_at(page, "next");
        if (next.empty() || found > line.limit) {
            page.get_object()["calls"] = std::move(rows);
            return page;
        }
        request["before"] = next;
    }
}

int list(const CallsLine& line, const Console& console) {
    OperatorRun run(line, console);
    if (!line.all && !line.state.empty() && std::ranges::find(kRowStates, line.state) == kRowStates.end())
        return run.give_up(
            Error(ErrorCode::config_error,
                  fmt::format("A call that is {} is in the audit only: add --all.", line.state),
                  {{"reason", "usage"}}));
    Object request{{"verb", "calls.list"}, {"limit", line.limit}};
    const std::string state = line.unknown ? "unknown" : line.state;
    if (!state.empty() && !line.all) request["state"] = state;
    if (!line.tool.empty()) request["tool"] = line.tool;
    if (!line.principal.empty()) request["principal"] = line.principal;
    std::string before;
    if (!line.before.empty()) {
        auto id = id_for_option(run, line.before, IdOf::call, "--before");
        if (!id) return run.give_up(id.error());
        before = std::move(*id);
        request["before"] = before;
    }
    auto page = line.all && !state.empty() ? pages_with(run, request, line) : run.ask(request);
    if (!page) return run.give_up(page.error());
    if (line.all) add_event_calls(run, line, before, *page);
    if (!run.print_json(*page)) run.print(calls_table(*page, run.style()));
    return 0;
}

// A call that asked for approval and was resumed runs under another id: both lead to it.
Result<Value> find_call(OperatorRun& run, const std::string& id) {
    auto shown = run.ask({{"verb", "calls.show"}, {"id", id}});
    if (shown) {
        const std::string approval_id = text_at(value_at(*shown, "call"), "approval_id");
        if (approval_id.empty()) return shown;
        // That the approval is gone by now takes nothing from the call.
        const auto approval = run.ask({{"verb", "approvals.show"}, {"id", approval_id}});
        const std::string asked = approval ? text_at(value_at(*approval, "approval"), "call_id") : "";
        if (!asked.empty() && asked != text_at(value_at(*shown, "call"), "call_id"))
            shown->get_object()["asked_as"] = asked;
        return shown;
    }
    const std::string reason = text_at(shown.error().details, "reason");
    if (reason == "not_begun") {
        CALLGATE_TRY_ASSIGN(
            const Value approval,
            run.ask({{"verb", "approvals.show"}, {"id", text_at(shown.error().details, "approval_id")}}));
        const std::string ran = text_at(value_at(approval, "approval"), "consumed_by");
        if (!ran.empty() && ran != id) {
            CALLGATE_TRY_ASSIGN(Value call, run.ask({{"verb", "calls.show"}, {"id", ran}}));
            call.get_object()["asked_as"] = id;
            return call;
        }
    }
    if ((reason != "not_found" && reason != "not_begun") || !base::parse_uuid(id)) return shown;
    const auto page = run.ask({{"verb", "audit.events"}, {"call", id}, {"limit", 1'000}});
    if (!page || list_at(*page, "events").empty()) return shown;
    Object call = call_from_events(list_at(*page, "events"));
    say_what_became(run, call);
    call["events"] = list_at(*page, "events");
    Object out{{"call", std::move(call)}};
    if (repeats_an_unknown(out["call"])) {
        if (auto earlier = earlier_call(run, out["call"], list_at(*page, "events")))
            out["earlier"] = std::move(*earlier);
    }
    return Value(std::move(out));
}

int show(const CallsLine& line, const Console& console) {
    OperatorRun run(line, console);
    const auto id = whole_id(run, line.id, IdOf::call);
    if (!id) return run.give_up(id.error());
    const auto shown = find_call(run, *id);
    if (!shown) return run.give_up(shown.error());
    if (!run.print_json(*shown)) run.print(call_text(*shown, line.full, run.same_ledger(), run.style()));
    return 0;
}

// Of a call that did not run because of an earlier one, says which that is.
Error names_the_earlier(OperatorRun& run, const std::string& id, Error error) {
    const auto shown = find_call(run, id);
    if (!shown || !repeats_an_unknown(value_at(*shown, "call"))) return error;
    const std::string earlier = text_at(value_at(*shown, "earlier"), "call_id");
    error.message =
        earlier.empty()
            ? "This call did not run, and no call that is on record stands for its key: there is nothing to "
              "resolve. callgate calls show says what holds its key."
            : fmt::format("This call did not run. The one with its key is {}: resolve that one.", earlier);
    error.details["earlier"] = earlier;
    return error;
}

int resolve(const CallsLine& line, const Console& console) {
    OperatorRun run(line, console);
    if (line.applied == line.not_applied)
        return run.give_up(Error(ErrorCode::config_error,
                                 "Say what became of it: either --applied or --not-applied.",
                                 {{"reason", "usage"}}));
    if (!line.yes && !run.may_ask())
        return run.give_up(Error(ErrorCode::config_error,
                                 "Nobody can be asked: this is not a terminal. Give --yes.",
                                 {{"reason", "usage"}}));
    const auto id = whole_id(run, line.id, IdOf::call);
    if (!id) return run.give_up(id.error());
    if (!line.yes) {
        const auto shown = run.ask({{"verb", "calls.show"}, {"id", *id}});
        if (!shown) return run.give_up(names_the_earlier(run, *id, shown.error()));
        console.err << call_text(*shown, false, run.same_ledger(), run.err_style());
        run.let_go();
        if (!run.says_yes(line.applied ? "Record that it took effect? This cannot be changed."
                                       : "Record that it did not take effect? This cannot be changed."))
            return kNo;
    }
    const auto resolved = run.ask(
        {{"verb", "calls.resolve"}, {"id", *id}, {"applied", line.applied}, {"evidence", line.evidence}});
    if (!resolved) return run.give_up(names_the_earlier(run, *id, resolved.error()));
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
    auto line = std::make_shared<CallsLine>();
    Verb& group = program.add("calls", "what was called, and what came of it");

    Verb& listing = group.add("list", "the recorded calls, newest first");
    listing.flag("--unknown", "those whose outcome is unknown: a person has to find out", line->unknown);
    listing
        .option(
            "--state", "S",
            "claimed, dispatched, reconciling, succeeded, failed, unknown, cancelled or not_applied; with "
            "--all also refused, timed_out, previewed, waiting, approved, resumed, expired, revoked or "
            "superseded",
            line->state)
        .one_of({"claimed", "dispatched", "reconciling", "succeeded", "failed", "unknown", "cancelled",
                 "not_applied", "refused", "timed_out", "previewed", "waiting", "approved", "resumed",
                 "expired", "revoked", "superseded"})
        .excludes("--unknown");
    listing
        .flag("--all", "also reads, refusals and calls that asked for approval, which only the audit has",
              line->all)
        .excludes("--unknown");
    listing.option("--tool", "T", "of this tool", line->tool).completed_by(Completes::tool);
    listing.option("--principal", "P", "by this principal", line->principal);
    add_list_options(listing, *line, Completes::call);
    listing.example("callgate calls list --unknown")
        .example("callgate calls list --all --limit 20")
        .example("callgate calls list --all --state refused")
        .example("callgate calls list --tool send_mail --state failed --json");
    listing.runs([line, &console] { return list(*line, console); });

    constexpr const char* kId = "of the call; its beginning or its end";
    Verb& showing = group.add("show", "one call: attempts, the shape of its outcome, events");
    showing.argument("ID", kId, line->id).required().completed_by(Completes::call);
    showing.flag("--full", "long texts whole; without it their head, tail, size and SHA-256", line->full);
    add_operator_options(showing, *line);
    showing.text(
        "A call that needed approval runs under an id of its own when it is resumed: it is found under both. "
        "Reads, refusals and calls that wait are shown from the audit.");
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
