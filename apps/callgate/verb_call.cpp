#include "verb_call.h"

#include <chrono>
#include <istream>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include <callgate/runtime.h>

#include "approval_report.h"
#include "base/ids.h"
#include "base/try.h"
#include "call_report.h"
#include "call_rows_report.h"
#include "demo_runtime.h"
#include "demo_tools.h"
#include "error_report.h"
#include "ids.h"
#include "input.h"
#include "interrupt.h"
#include "ledger/control/control_user.h"
#include "ledger_access.h"
#include "operator_verb.h"
#include "options.h"
#include "person_line.h"
#include "progress_line.h"
#include "tool_call.h"

namespace callgate::cli {

namespace {

// Who decides when a question on the terminal is answered.
constexpr std::string_view kAtTheTerminal = "operator";

struct CallLine {
    std::string tool;
    std::string arguments;
    std::string action = "call";
    std::string key;
    std::string resume;
    std::string ledger;
    std::optional<std::uint32_t> timeout_ms;
    std::string autonomy{kUsualAutonomy};
    std::vector<std::string> scopes;
    std::string principal{kUsualPrincipal};
    std::vector<std::string> approvers;
    bool json = false;
    bool trace = false;
    std::string color = "auto";
};

class CallRun {
public:
    CallRun(const CallLine& line, const Console& console)
        : line_(line),
          console_(console),
          color_(color_mode(line.color)),
          style_(console.err_terminal.style(color_)),
          progress_(console.err, console.err_terminal) {}

    int run() {
        if (auto ready = read_arguments(); !ready) return unusable(ready.error());
        if (auto found = find_resumed(); !found) {
            // As with a whole id that there is none of.
            const bool none = text_at(found.error().details, "reason") == "not_found";
            const int code = unusable(found.error());
            return none ? static_cast<int>(CallExit::refused) : code;
        }
        const Interrupt interrupt;
        auto runtime = open(interrupt);
        if (!runtime) return unusable(runtime.error());
        Outcome outcome = tell(begin(**runtime, context(interrupt)));
        std::optional<Approval> approval;
        if (!outcome.approval_id().empty()) {
            approval = look_at(**runtime, outcome.approval_id());
            const bool waits = outcome.state() == State::needs_approval;
            if (approval && waits) {
                const auto decision = decide(runtime, outcome, *approval, interrupt);
                if (!decision) return unusable(decision.error());
                if (*decision) {
                    outcome = tell((*runtime)->resume(outcome.call_id(), context(interrupt)));
                    approval = look_at(**runtime, approval->id);
                }
            }
        }
        finish(outcome, approval);
        return static_cast<int>(written(outcome));
    }

private:
    std::optional<Approval> look_at(Runtime& runtime, std::string_view id) {
        auto found = runtime.approvals().get(id);
        if (found) return std::move(*found);
        print_error(found.error(), std::nullopt, line_.json, color_, console_);
        return std::nullopt;
    }

    // Where the answer is lost, the call is not: a caller must not take it for one that did not run.
    CallExit written(const Outcome& outcome) const {
        console_.out << std::flush;
        const CallExit exit = exit_of(outcome);
        if (console_.out.good()) return exit;
        console_.err << unwritten_text(outcome, style_) << std::flush;
        if (console_.loss_reported != nullptr) *console_.loss_reported = true;
        return exit == CallExit::ok ? CallExit::unwritten : exit;
    }

    int unusable(const Error& error) const {
        print_error(error, std::nullopt, line_.json, color_, console_);
        return static_cast<int>(CallExit::unusable);
    }

    // With the tools it calls.
    Result<std::unique_ptr<Runtime>> open(const Interrupt& interrupt) {
        CALLGATE_TRY_ASSIGN(auto runtime, open_runtime(interrupt));
        CALLGATE_TRY(add_demo_tools(runtime->tools()));
        return runtime;
    }

    Result<std::unique_ptr<Runtime>> open_runtime(const Interrupt& interrupt) {
        RuntimeOptions options;
        options.shutdown_grace = std::chrono::milliseconds(1'000);
        CALLGATE_TRY(choose_ledger(options, line_.ledger));
        // The tools here are a demonstration, and so is whose word counts: yours does, without a signature.
        if (!options.ledger_dir.empty()) options.operator_uids = {::getuid()};
        durable_ = !options.ledger_dir.empty();
        if (durable_ && !line_.approvers.empty())
            return fail(ErrorCode::config_error,
                        "--approve-as is for trials with --ledger memory: what is kept has only decisions of "
                        "those who made them. Leave it out, then callgate approvals approve.",
                        {{"reason", "usage"}});
        return open_when_free(options, interrupt);
    }

    bool whole_call() const { return line_.tool == kStandardInput; }

    Result<void> read_arguments() {
        if (line_.resume.empty() == line_.tool.empty())
            return fail(
                ErrorCode::config_error,
                "Say what to call: either NAME, with its arguments, or --resume CALL. See callgate call "
                "--help.",
                {{"reason", "usage"}});
        if (whole_call() && !line_.arguments.empty())
            return fail(ErrorCode::config_error,
                        "A tool call from standard input brings its own arguments. Leave them out here.",
                        {{"reason", "usage"}});
        text_ = line_.arguments;
        key_ = line_.key;
        if (!whole_call() && line_.arguments != kStandardInput) return {};
        say_what_is_awaited(whole_call() ? "a tool call" : "the arguments");
        CALLGATE_TRY_ASSIGN(text_, read_input(kStandardInput, json::ParseLimits().max_bytes,
                                              ErrorCode::config_error, Limit::fixed));
        // A program that failed sends nothing: that is no call without arguments.
        if (text_.find_first_not_of(" \t\r\n") == std::string::npos)
            return fail(ErrorCode::config_error,
                        whole_call() ? "Standard input is empty: there is no tool call in it."
                                     : "Standard input is empty: there are no arguments in it. Send {} for "
                                       "none, or leave the - out.",
                        {{"reason", "empty_input"}});
        return whole_call() ? take_apart() : Result<void>();
    }

    void say_what_is_awaited(std::string_view what) const {
        if (console_.person == nullptr || !console_.err_terminal.is_terminal) return;
        console_.err << fmt::format("Type {} as JSON; Ctrl-D ends it.\n", what) << std::flush;
    }

    // What is no call, or no JSON, is refused by the runtime, with its place.
    Result<void> take_apart() {
        const auto document = json::parse(text_);
        if (!document) return {};
        auto call = tool_call_from_json(*document);
        if (!call) {
            if (text_at(call.error().details, "reason") != "not_tools_call") return {};
            return tl::unexpected(std::move(call.error()));
        }
        if (key_.empty()) key_ = std::move(call->key);
        whole_ = std::move(*call);
        return {};
    }

    // The whole id of the call to resume, where a part of it was given.
    Result<void> find_resumed() {
        resumed_ = line_.resume;
        const auto where = ledger_directory(line_.ledger);
        if (resumed_.empty() || !where || *where == kInMemory || base::parse_uuid(resumed_)) return {};
        OperatorLine line;
        line.ledger = line_.ledger;
        OperatorRun run(line, console_);
        CALLGATE_TRY_ASSIGN(resumed_, whole_id(run, line_.resume, IdOf::call));
        return {};
    }

    Context context(const Interrupt& interrupt) {
        Context context;
        context.principal = line_.principal;
        context.scopes = ScopeSet(line_.scopes);
        context.autonomy = autonomy_from_string(line_.autonomy).value_or(Autonomy::a2);
        context.idempotency_key = key_;
        if (line_.timeout_ms) context.timeout = std::chrono::milliseconds(*line_.timeout_ms);
        context.cancel = interrupt.token();
        context.trace = line_.trace;
        if (!line_.json) context.on_progress = [this](const Progress& progress) { progress_.show(progress); };
        return context;
    }

    Outcome begin(Runtime& runtime, Context context) {
        if (!line_.resume.empty()) return runtime.resume(resumed_, std::move(context));
        if (whole_call() && !whole_) return runtime.call_json(text_, std::move(context));
        CallRequest request = whole_ ? CallRequest(whole_->name, Args(whole_->arguments))
                                     : CallRequest(line_.tool, text_.empty() ? Args() : Args(text_));
        request.action = line_.action;
        return runtime.call(std::move(request), std::move(context));
    }

    // The stages, as soon as they are known.
    Outcome tell(Outcome outcome) {
        progress_.clear();
        if (line_.trace && !line_.json) console_.err << to_text(outcome.trace(), style_) << '\n';
        return outcome;
    }

    // True: a person has decided, so that the call can go on or end. `runtime` may be another one afterwards.
    Result<bool> decide(Result<std::unique_ptr<Runtime>>& runtime, const Outcome& outcome,
                        const Approval& approval, const Interrupt& interrupt) {
        const bool asks = line_.approvers.empty() && !line_.json && console_.person != nullptr &&
                          console_.err_terminal.is_terminal && console_.person_sees_err;
        if (!line_.json)
            console_.err << to_text(outcome, std::nullopt, style_)
                         << to_text(approval, false,
                                    asks       ? "Answer f to see all of it."
                                    : durable_ ? "callgate approvals show --full shows all of it."
                                               : "--json shows all of it.",
                                    style_);
        if (!line_.approvers.empty()) {
            for (const std::string& approver : line_.approvers) {
                auto voted = (*runtime)->approvals().approve(approval.id, approver);
                if (!voted) return refuse_vote(std::move(voted.error()));
                if (!line_.json)
                    console_.err << fmt::format("  {} approves\n", style_.bold(printable(approver)));
            }
            return true;
        }
        if (!asks) {
            if (!line_.json) console_.err << how_to_go_on(outcome, approval);
            return false;
        }
        // A person thinks for as long as they like: others may use the ledger meanwhile.
        if (durable_) runtime->reset();
        const auto answer = ask(approval, interrupt);
        if (!answer) {
            console_.err << how_to_go_on(outcome, approval);
            return false;
        }
        if (durable_) runtime = open(interrupt);
        if (!runtime) {
            console_.err << how_to_go_on(outcome, approval);
            return tl::unexpected(runtime.error());
        }
        return vote(**runtime, approval, *answer);
    }

    std::string how_to_go_on(const Outcome& outcome, const Approval& approval) const {
        if (!durable_) return "  Add --approve-as NAME, where NAME is another person.\n";
        const std::string ledger = same_ledger();
        std::vector<std::string> approve = {"callgate approvals approve", approval.id};
        if (!ledger.empty()) approve.push_back(ledger);
        const ResumeHint resume{std::string(outcome.call_id()), line_.principal, line_.scopes, line_.autonomy,
                                ledger};
        return command_hint(approve, style_) + resume.text(style_);
    }

    // No call that is on record is what holds the key: there is none to resolve.
    static bool held_by_restore(const Outcome& outcome) {
        if (outcome.error() == nullptr) return false;
        const Value details(outcome.error()->details);
        return text_at(details, "reason") == "restored" && text_at(details, "call_id").empty();
    }

    // Where an earlier call with its key is the one that nobody knows of, that one.
    static std::string unresolved_call(const Outcome& outcome) {
        const std::string other =
            outcome.error() != nullptr ? text_at(outcome.error()->details, "call_id") : std::string();
        return other.empty() ? std::string(outcome.call_id()) : printable(other);
    }

    std::string same_ledger() const { return ledger_option(line_.ledger); }

    // Yes or no; nothing: they did not decide, went away, or Ctrl-C came.
    std::optional<bool> ask(const Approval& approval, const Interrupt& interrupt) const {
        if (durable_)
            console_.err << indented(
                "In this demonstration your yes counts as it is; elsewhere you would sign it.", 2, style_);
        bool cut = is_cut(approval);
        for (;;) {
            forget_typed_ahead(*console_.person);
            console_.err << (cut ? "It is cut; f shows all of it. Approve? [y/N] " : "Approve? [y/N] ")
                         << std::flush;
            const auto line = read_line(*console_.person, interrupt);
            if (!line) {
                console_.err << '\n';
                return std::nullopt;
            }
            const std::string answer = one_line(*line);
            if (is_yes(answer)) return true;
            if (is_no(answer)) return false;
            if (!cut || (answer != "f" && answer != "full")) {
                console_.err << indented("Nothing was decided: y approves it, n denies it for good.", 2,
                                         style_);
                return std::nullopt;
            }
            console_.err << to_text(approval, true, "", style_);
            cut = false;
        }
    }

    bool vote(Runtime& runtime, const Approval& approval, bool yes) {
        const std::string by = durable_ ? ledger::this_process().name : std::string(kAtTheTerminal);
        auto voted =
            yes ? runtime.approvals().approve(approval.id, by) : runtime.approvals().deny(approval.id, by);
        if (voted) return true;
        // Somebody else was faster: a yes goes on with what they decided, a no does not.
        const auto now = runtime.approvals().get(approval.id);
        if (yes && now && now->state != ApprovalState::pending) return true;
        return refuse_vote(std::move(voted.error()));
    }

    bool refuse_vote(Error error) {
        vote_refused_ = std::move(error);
        return false;
    }

    void finish(const Outcome& outcome, const std::optional<Approval>& approval) {
        if (line_.json) {
            Object out = to_json(outcome, approval);
            if (durable_ && outcome.state() == State::needs_approval && out["error"].is_object())
                out["error"].as_object()["details"].as_object()["how_to_approve"] =
                    "callgate approvals approve " + outcome.approval_id() +
                    (line_.ledger.empty() ? "" : " " + same_ledger());
            if (vote_refused_) out["error"] = json_of(*vote_refused_);
            if (line_.trace) out["trace"] = to_json(outcome.trace());
            console_.out << json::write_pretty(out) << '\n';
            return;
        }
        if (vote_refused_) {
            console_.err << error_text(*vote_refused_, std::nullopt, style_)
                         << standing_approval_hint(*vote_refused_, same_ledger(), style_);
            return;
        }
        const bool shown = approval && outcome.state() == State::needs_approval &&
                           approval->state == ApprovalState::pending && approval->votes.empty();
        if (!shown) {
            std::optional<Excerpt> excerpt;
            if (outcome.error() != nullptr && !line_.arguments.empty())
                excerpt = excerpt_of(text_, *outcome.error());
            console_.err << to_text(outcome, excerpt, style_);
            if (durable_ && outcome.state() == State::unknown)
                console_.err << (held_by_restore(outcome)
                                     ? restored_hint(same_ledger(), style_)
                                     : resolve_hint(unresolved_call(outcome), same_ledger(), style_));
            console_.err << std::flush;
        }
        if (!outcome.ok()) return;
        const std::string text = outcome.text();
        console_.out << printable_lines(text) << (text.ends_with('\n') ? "" : "\n");
    }

    const CallLine& line_;
    const Console& console_;
    const ColorMode color_;
    const Style style_;
    ProgressLine progress_;
    std::string text_;
    std::optional<ToolCall> whole_;  // from standard input
    std::string resumed_;
    std::string key_;
    bool durable_ = false;
    std::optional<Error> vote_refused_;
};

}  // namespace

void add_call(Verb& program, const Console& console) {
    auto line = std::make_shared<CallLine>();
    Verb& verb = program.add("call", "call a tool of the demo set, through every stage");
    verb.usage("[options] NAME [JSON | -]").usage("[options] -").usage("[options] --resume CALL");
    verb.argument("NAME",
                  "the tool: callgate tools lists them. - reads a whole tool call from standard input, as a "
                  "model's vendor or an MCP client writes it: {\"name\": …, \"arguments\": {…}}",
                  line->tool)
        .completed_by(Completes::tool);
    verb.argument("JSON", "the arguments, an object: {} if left out; - reads them from standard input",
                  line->arguments)
        .not_empty();

    verb.heading("The call");
    verb.option("--action", "A", "of a tool that has several, such as notes", line->action);
    verb.option("--key", "K", "idempotency key: a second call with it is answered from the record", line->key)
        .not_empty();
    verb.option("--resume", "CALL",
                "the call with this id, which somebody has approved since; its beginning or its end",
                line->resume)
        .not_empty()
        .completed_by(Completes::call);
    verb.option("--timeout", "MS", "the deadline, in milliseconds", line->timeout_ms).between(1, 86'400'000);

    verb.heading("Who asks");
    verb.option("--principal", "P", "who asks: local by default", line->principal);
    verb.option("--scope", "S", "a permission that was granted; repeatable", line->scopes);
    verb.option("--autonomy", "LEVEL",
                "A0 (only previews) to A4 (asks for critical things alone); A2 by default", line->autonomy)
        .one_of({"A0", "A1", "A2", "A3", "A4"});
    verb.option("--approve-as", "NAME",
                "a trial, with --ledger memory: where the call needs approval NAME, another person than "
                "who asks, gives it, and the call goes on; repeatable. On a terminal you are asked, and "
                "decide in your own name",
                line->approvers);

    verb.heading("The record");
    add_ledger_option(verb, line->ledger, ". memory: nowhere, it ends with the program");

    verb.heading("Output");
    verb.flag("--trace", "what each stage decided, on standard error; with --json under \"trace\"",
              line->trace);
    add_output_options(verb, line->json, line->color);
    verb.text(
        "The result goes to standard output, everything else to standard error. Ctrl-C calls it off. A call "
        "that needs approval is kept: callgate approvals approve ID, then the same call again, or --resume.");
    verb.exits(0, "it succeeded")
        .exits(1, "it failed, ran out of time or was called off")
        .exits(2, "wrong usage, or the ledger cannot be had: another process owns it")
        .exits(3, "refused: no such tool, no call to resume, scope, arguments, policy, limits; previewed")
        .exits(4, "needs approval")
        .exits(5, "the outcome is unknown: it may have taken effect")
        .exits(6, "it succeeded, and the result could not be written to standard output");
    verb.example("callgate call add '{\"a\": 5, \"b\": 3}' --trace")
        .example("callgate call count '{\"to\": 20}' --timeout 1000")
        .example("callgate call send_mail '{\"to\": [\"ada@example.org\"], \"subject\": \"Hi\"}'")
        .example(
            "callgate call send_mail '{\"to\": [\"ada@example.org\"], \"subject\": \"Hi\"}' \\\n      "
            "--ledger memory "
            "--approve-as grace")
        .example("callgate call notes '{\"name\": \"todo\"}' --action read \\\n      --scope notes --json");
    verb.runs([line, &console] { return CallRun(*line, console).run(); });
}

}  // namespace callgate::cli
