#include "verb_approvals.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "approval_report.h"
#include "approvals_watch.h"
#include "base/ids.h"
#include "operator_verb.h"
#include "program.h"
#include "vote_signer.h"

namespace callgate::cli {

namespace {

constexpr std::string_view kHelp =
    R"(callgate approvals: what waits for a person, and the person's answer

Usage: callgate approvals VERB [options]

Verbs
  list     the approvals that are pending
  show     one of them, with every argument
  approve  agree to exactly what was shown
  deny     refuse it; one denial is final
  revoke   take back a request, or an approval that was not used yet
  watch    new ones as they come; on a terminal, decide at once

Options
  -h, --help  this text; after a verb, that verb's
)";

constexpr std::string_view kListHelp =
    R"(callgate approvals list: the approvals that are pending, newest first

Usage: callgate approvals list [options]

  --state S            pending (default), approved, denied, expired, consumed, revoked,
                       superseded, or all
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
  callgate approvals list
  callgate approvals list --state all --limit 5 --json
)";

constexpr std::string_view kShowHelp =
    R"(callgate approvals show: one approval, with everything that decides about it

Usage: callgate approvals show [options] ID

  ID                   of the approval, or of the call that asked for it
  --full               long texts whole; without it their head, tail, size and SHA-256
  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Characters that cannot be seen or that turn the writing direction are spelled out, as \u{202E}.

Exit codes
  0  shown             1  there is no such approval
  2  wrong usage, or no ledger

Examples
  callgate approvals show 01975f2e-7c1a-7000-8000-0123456789ab
)";

constexpr std::string_view kApproveHelp =
    R"(callgate approvals approve: agree to exactly what was shown

Usage: callgate approvals approve [options] ID

  ID                   of the approval, or of the call that asked for it
  --reason TEXT        why, for the record
  --full               show long texts whole
  --yes                do not ask: for programs, with --digest
  --digest HEX         of what is approved, as `show --json` tells it: any other is refused
  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

You decide in your own name: the operating system's user is the approver, and nobody can
approve what they asked for. Where a person must decide (A2), you are asked for the passphrase
of your operator key (callgate operator enroll). Approving only records; the call runs when it
is made again or resumed.

Exit codes
  0  recorded          1  you said no, or it was refused: decided before, expired, your own
  2  wrong usage, or no ledger

Examples
  callgate approvals approve 01975f2e-7c1a-7000-8000-0123456789ab
  callgate approvals approve "$id" --yes --digest "$digest" --reason 'ticket 4711'
)";

constexpr std::string_view kDenyHelp =
    R"(callgate approvals deny: refuse it; one denial is final

Usage: callgate approvals deny [options] ID

  ID                   of the approval, or of the call that asked for it
  --reason TEXT        why, for the record
  --full               show long texts whole
  --yes                do not ask
  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Exit codes
  0  recorded          1  you said no, or it was refused: decided before, expired
  2  wrong usage, or no ledger

Examples
  callgate approvals deny 01975f2e-7c1a-7000-8000-0123456789ab --reason 'not this account'
)";

constexpr std::string_view kRevokeHelp =
    R"(callgate approvals revoke: take back a request, or an approval that was not used yet

Usage: callgate approvals revoke [options] ID

  ID                   of the approval, or of the call that asked for it
  --reason TEXT        why, for the record
  --full               show long texts whole
  --yes                do not ask
  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Exit codes
  0  recorded          1  you said no, or it was refused: used before, decided before
  2  wrong usage, or no ledger

Examples
  callgate approvals revoke 01975f2e-7c1a-7000-8000-0123456789ab --reason 'wrong month'
)";

constexpr std::string_view kWatchHelp =
    R"(callgate approvals watch: new approvals as they come; on a terminal, decide at once

Usage: callgate approvals watch [options]

  --full               show long texts whole
  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on each line
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Those that are pending come first. On a terminal each is shown in full, and you approve, deny or
skip it; elsewhere each is a line. Ctrl-C ends it.

Exit codes
  0  you ended it      2  wrong usage, or no ledger
  130, as the shell tells it: Ctrl-C while you were asked

Examples
  callgate approvals watch
  callgate approvals watch --json | notify-the-team
)";

struct CommandLine : OperatorLine {
    std::string id;
    std::string state = "pending";
    std::uint32_t limit = 50;
    std::string before;
    std::string reason;
    std::string digest;
    bool yes = false;
    bool full = false;
};

int list(const CommandLine& line, const Console& console) {
    OperatorRun run(line, console);
    const std::string state = line.state == "all" ? "" : line.state;
    Object request{{"verb", "approvals.list"}, {"limit", line.limit}};
    if (!state.empty()) request["state"] = state;
    if (!line.before.empty()) {
        if (const auto id = base::parse_uuid(line.before); !id) return run.give_up(id.error());
        request["before"] = line.before;
    }
    const auto page = run.ask(request);
    if (!page) return run.give_up(page.error());
    if (!run.print_json(*page)) run.print(approvals_table(*page, state, run.style()));
    return 0;
}

int show(const CommandLine& line, const Console& console) {
    OperatorRun run(line, console);
    const auto shown = run.ask({{"verb", "approvals.show"}, {"id", line.id}});
    if (!shown) return run.give_up(shown.error());
    if (!run.print_json(*shown))
        run.print(approval_text(value_at(*shown, "approval"), line.full, run.style()));
    return 0;
}

Error nobody_to_ask(std::string_view what, std::string_view options) {
    return Error(
        ErrorCode::config_error,
        fmt::format("Nobody can be asked whether to {} it: this is not a terminal. Give {}.", what, options),
        {{"reason", "usage"}});
}

// Shows it and asks; then `request` says what to record.
int decide(const CommandLine& line, const Console& console, std::string_view what, Object request) {
    OperatorRun run(line, console);
    const bool approving = what == "approve";
    if (line.yes && approving && line.digest.empty())
        return run.give_up(
            Error(ErrorCode::config_error,
                  "--yes needs --digest HEX: nobody approves what they did not see. `callgate approvals show "
                  "--json` tells it.",
                  {{"reason", "usage"}}));
    if (!line.yes && !run.may_ask())
        return run.give_up(nobody_to_ask(what, approving ? "--yes and --digest HEX" : "--yes"));
    const auto shown = run.ask({{"verb", "approvals.show"}, {"id", line.id}});
    if (!shown) return run.give_up(shown.error());
    const Value& approval = value_at(*shown, "approval");
    if (!line.yes) {
        console.err << approval_text(approval, line.full, run.err_style());
        // A person thinks for as long as they like: others may use the ledger meanwhile.
        run.let_go();
        const std::string question =
            fmt::format("{}{} it?", static_cast<char>(what.front() - 'a' + 'A'), what.substr(1));
        if (!run.says_yes(question)) return kNo;
    }
    request["id"] = text_at(approval, "id");
    if (approving) request["digest"] = line.digest.empty() ? text_at(approval, "digest") : line.digest;
    if (!line.reason.empty()) request["reason"] = line.reason;
    VoteSigner signer(run);
    if (approving) {
        if (auto ready = signer.sign(request, *shown); !ready) return run.give_up(ready.error());
    }
    const auto decided = run.ask(request);
    if (!decided) return run.give_up(decided.error());
    if (!run.print_json(*decided)) run.print(decision_text(value_at(*decided, "approval"), run.style()));
    return 0;
}

int watch(const CommandLine& line, const Console& console) {
    OperatorRun run(line, console);
    return watch_approvals(run, line.full);
}

}  // namespace

void add_approvals(CLI::App& app, const Console& console, std::function<int()>& chosen) {
    auto line = std::make_shared<CommandLine>();
    VerbGroup verbs(app, "approvals", kHelp, *line, chosen);

    CLI::App& listing = verbs.add("list", kListHelp, [line, &console] { return list(*line, console); });
    listing.add_option("--state", line->state)
        ->check(CLI::IsMember(
            {"pending", "approved", "denied", "expired", "consumed", "revoked", "superseded", "all"}));
    listing.add_option("--limit", line->limit)->check(CLI::Range(1u, 1'000u));
    listing.add_option("--before", line->before);

    CLI::App& showing = verbs.add("show", kShowHelp, [line, &console] { return show(*line, console); });
    showing.add_option("ID", line->id)->required();
    showing.add_flag("--full", line->full);

    CLI::App& approving = verbs.add("approve", kApproveHelp, [line, &console] {
        return decide(*line, console, "approve", {{"verb", "approvals.vote"}, {"approve", true}});
    });
    approving.add_option("--digest", line->digest);
    CLI::App& denying = verbs.add("deny", kDenyHelp, [line, &console] {
        return decide(*line, console, "deny", {{"verb", "approvals.vote"}, {"approve", false}});
    });
    CLI::App& revoking = verbs.add("revoke", kRevokeHelp, [line, &console] {
        return decide(*line, console, "revoke", {{"verb", "approvals.revoke"}});
    });
    for (CLI::App* verb : {&approving, &denying, &revoking}) {
        verb->add_option("ID", line->id)->required();
        verb->add_option("--reason", line->reason);
        verb->add_flag("--full", line->full);
        verb->add_flag("--yes", line->yes);
    }

    CLI::App& watching = verbs.add("watch", kWatchHelp, [line, &console] { return watch(*line, console); });
    watching.add_flag("--full", line->full);
}

}  // namespace callgate::cli
