#include "verb_approvals.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "approval_report.h"
#include "approvals_watch.h"
#include "base/ids.h"
#include "base/try.h"
#include "ids.h"
#include "operator_verb.h"
#include "options.h"
#include "program.h"
#include "vote_signer.h"

namespace callgate::cli {

namespace {

struct ApprovalsLine : ListLine {
    std::string id;
    std::string state = "pending";
    std::string reason;
    std::string digest;
    bool yes = false;
    bool full = false;
};

int list(const ApprovalsLine& line, const Console& console) {
    OperatorRun run(line, console);
    const std::string state = line.state == "all" ? "" : line.state;
    Object request{{"verb", "approvals.list"}, {"limit", line.limit}};
    if (!state.empty()) request["state"] = state;
    if (!line.before.empty()) {
        const auto before = id_for_option(run, line.before, IdOf::approval, "--before");
        if (!before) return run.give_up(before.error());
        request["before"] = *before;
    }
    const auto page = run.ask(request);
    if (!page) return run.give_up(page.error());
    if (!run.print_json(*page)) run.print(approvals_table(*page, state, run.style()));
    return 0;
}

Result<Value> find(OperatorRun& run, const std::string& given) {
    CALLGATE_TRY_ASSIGN(const std::string id, whole_id(run, given, IdOf::approval));
    return run.ask({{"verb", "approvals.show"}, {"id", id}});
}

int show(const ApprovalsLine& line, const Console& console) {
    OperatorRun run(line, console);
    const auto shown = find(run, line.id);
    if (!shown) return run.give_up(shown.error());
    if (!run.print_json(*shown))
        run.print(approval_text(value_at(*shown, "approval"), line.full, run.style()));
    return 0;
}

Error nobody_to_ask(std::string_view what, std::string_view options, bool json) {
    return Error(ErrorCode::config_error,
                 json ? fmt::format("With --json nobody is asked whether to {} it. Give {}.", what, options)
                      : fmt::format("Nobody can be asked whether to {} it: this is not a terminal. Give {}.",
                                    what, options),
                 {{"reason", "usage"}});
}

std::string hint_about(const std::string& id, std::string_view what, const OperatorRun& run) {
    std::vector<std::string> words = {fmt::format("callgate approvals {}", what), printable(id)};
    if (const std::string ledger = run.same_ledger(); !ledger.empty()) words.push_back(ledger);
    return command_hint(words, run.err_style());
}

// Shows it and asks; then `request` says what to record.
int decide(const ApprovalsLine& line, const Console& console, std::string_view what, Object request) {
    OperatorRun run(line, console);
    const bool approving = what == "approve";
    if (line.yes && approving && line.digest.empty())
        return run.give_up(
            Error(ErrorCode::config_error,
                  "--yes needs --digest HEX: nobody approves what they did not see. `callgate approvals show "
                  "--json` tells it.",
                  {{"reason", "usage"}}));
    if (!line.yes && !run.may_ask())
        return run.give_up(nobody_to_ask(what, approving ? "--yes and --digest HEX" : "--yes", line.json));
    const auto shown = find(run, line.id);
    if (!shown) return run.give_up(shown.error());
    const Value& approval = value_at(*shown, "approval");
    if (!line.yes) {
        console.err << approval_text(approval, line.full, run.err_style());
        // A person thinks for as long as they like: others may use the ledger meanwhile.
        run.let_go();
        const std::string question =
            fmt::format("{}{} it?", static_cast<char>(what.front() - 'a' + 'A'), what.substr(1));
        const auto answer = run.ask_person(question + " [y/N]");
        if (!is_yes(answer.value_or(""))) {
            console.err << indented("Nothing was decided.", 2, run.err_style());
            if (approving && answer && is_no(*answer))
                console.err << indented("This refuses it for good:", 2, run.err_style())
                            << hint_about(text_at(approval, "id"), "deny", run);
            return kNo;
        }
    }
    request["id"] = text_at(approval, "id");
    if (approving) request["digest"] = line.digest.empty() ? text_at(approval, "digest") : line.digest;
    if (!line.reason.empty()) request["reason"] = line.reason;
    VoteSigner signer(run);
    if (approving) {
        if (auto ready = signer.sign(request, *shown); !ready) return run.give_up(ready.error());
    }
    const auto decided = run.ask(request);
    if (!decided) {
        if (!line.json && what == "deny") {
            const int code = run.give_up(decided.error());
            console.err << standing_approval_hint(decided.error(), run.same_ledger(), run.err_style());
            return code;
        }
        return run.give_up(decided.error());
    }
    if (!run.print_json(*decided))
        run.print(decision_text(value_at(*decided, "approval"), run.same_ledger(), run.style()));
    return 0;
}

int watch(const ApprovalsLine& line, const Console& console) {
    OperatorRun run(line, console);
    return watch_approvals(run, line.full);
}

}  // namespace

void add_approvals(Verb& program, const Console& console) {
    auto line = std::make_shared<ApprovalsLine>();
    Verb& group = program.add("approvals", "what waits for a person, and the person's answer");

    Verb& listing = group.add("list", "the approvals that are pending, newest first");
    listing
        .option("--state", "S",
                "pending (default), approved, denied, expired, consumed, revoked, superseded, or all",
                line->state)
        .one_of({"pending", "approved", "denied", "expired", "consumed", "revoked", "superseded", "all"});
    add_list_options(listing, *line, Completes::approval);
    listing.example("callgate approvals list")
        .example("callgate approvals list --state all --limit 5 --json");
    listing.runs([line, &console] { return list(*line, console); });

    constexpr const char* kId = "of the approval, or of the call that asked for it; its beginning or its end";
    Verb& showing = group.add("show", "one approval, with everything that decides about it");
    showing.argument("ID", kId, line->id).required().completed_by(Completes::approval);
    showing.flag("--full", "long texts whole; without it their head, tail, size and SHA-256", line->full);
    add_operator_options(showing, *line);
    showing.text(
        "Characters that cannot be seen or that turn the writing direction are spelled out, as "
        "\\u{202E}.");
    showing.exits(0, "shown").exits(1, "there is no such approval").exits(2, "wrong usage, or no ledger");
    showing.example("callgate approvals show 01975f2e-7c1a-7000-8000-0123456789ab")
        .example("callgate approvals show 456789ab");
    showing.runs([line, &console] { return show(*line, console); });

    const auto deciding = [&](const char* name, const char* summary, const Object& request,
                              const char* refusals) -> Verb& {
        Verb& verb = group.add(name, summary);
        verb.argument("ID", kId, line->id).required().completed_by(Completes::approval);
        verb.option("--reason", "TEXT", "why, for the record", line->reason);
        verb.flag("--full", "show long texts whole", line->full);
        const bool approving = std::string_view(name) == "approve";
        verb.flag("--yes", approving ? "do not ask: for programs, with --digest" : "do not ask", line->yes);
        if (approving)
            verb.option("--digest", "HEX", "of what is approved, from show --json: any other is refused",
                        line->digest);
        add_operator_options(verb, *line);
        verb.exits(0, "recorded")
            .exits(1, fmt::format("you did not say yes, or it was refused: {}", refusals))
            .exits(2, "wrong usage, or no ledger")
            .exits(kCalledOff, kCalledOffMeaning);
        verb.runs([line, &console, name, request] { return decide(*line, console, name, request); });
        return verb;
    };
    deciding("approve", "agree to exactly what was shown", {{"verb", "approvals.vote"}, {"approve", true}},
             "decided before, expired, your own, passphrase")
        .text(
            "You decide in your own name: the operating system's user is the approver, and nobody can "
            "approve what they asked for. Where a person must decide (A2), you are asked for the passphrase "
            "of your operator key (callgate operator enroll). Approving only records; the call runs when it "
            "is made again or resumed.")
        .example("callgate approvals approve 01975f2e-7c1a-7000-8000-0123456789ab")
        .example(
            "callgate approvals approve \"$id\" --yes --digest \"$digest\" \\\n      --reason 'ticket 4711'");
    deciding("deny", "refuse it; one denial is final", {{"verb", "approvals.vote"}, {"approve", false}},
             "decided before, expired")
        .example("callgate approvals deny 456789ab --reason 'not this account'");
    deciding("revoke", "take back a request, or an approval that was not used yet",
             {{"verb", "approvals.revoke"}}, "used before, decided before")
        .example("callgate approvals revoke 456789ab --reason 'wrong month'");

    Verb& watching = group.add("watch", "new approvals as they come; on a terminal, decide at once");
    watching.flag("--full", "show long texts whole", line->full);
    add_operator_options(watching, *line);
    watching.text(
        "Those that are pending come first. On a terminal each is shown in full, and you approve, deny or "
        "skip it; elsewhere each is a line, with --json a JSON document on a line. Ctrl-C ends it.");
    watching.exits(0, "you ended it")
        .exits(2, "wrong usage, or no ledger")
        .exits(kCalledOff, kCalledOffMeaning);
    watching.example("callgate approvals watch").example("callgate approvals watch --json | notify-the-team");
    watching.runs([line, &console] { return watch(*line, console); });
}

}  // namespace callgate::cli
