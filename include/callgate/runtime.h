// The runtime: the one entry through which tool calls reach the world.
//
//     cg::Runtime runtime;    // its record is in memory; open() with ledger_dir keeps it on the disk
//     runtime.tools().add_or_throw(cg::tool("add", "Add two numbers",
//                                           [](std::int64_t a, std::int64_t b) { return a + b; },
//                                           cg::param("a"), cg::param("b"))
//                                      .risk(cg::Risk::low)    // what could go wrong
//                                      .read_only());          // what doing it twice would do: nothing
//     cg::Outcome r = runtime.call("add", {{"a", 5}, {"b", 3}});
//
// A call passes ten stages and ends in exactly one state. Only programming faults throw, except from
// call_or_throw(). A call that does not have to wait never leaves its thread. What never began has not
// happened: a call that is called off or out of time before its tool's own code was entered ends as
// `cancelled` or `timed_out`, never as `unknown`, and its key is free.
//
// A tool may call the runtime from inside. Whichever way it does, on the thread its body runs on, the call is
// a child of the one that makes it: for the depth of nesting, for resources and places that the other holds,
// and for the secrets that are masked. Who asks, with which scopes, key, time limit and signal, is what its
// own context says; a call through CallContext inherits those, too.
//
// Observers, `done` and progress functions run on the caller's own thread while it is in the call, or on
// threads that exist for them, in order for each call. They may block, throw and call the runtime: no other
// call waits for them.
//
// Nothing has to block: start() and its kind begin a call and report its end to a Completion (calls.h), on an
// executor of the host's if it names one.
//
// A host that is about to end calls drain() first. What is left when the destructor runs is called off, and
// where that reaches a tool in the middle of an effect, the outcome is unknown.
//
// Threads: all functions may be called from any thread. The destructor cancels what is running, waits for
// RuntimeOptions::shutdown_grace, and counts the tools it leaves behind; it may run inside a tool. What calls
// have sent to the ledger is written before it returns: while the disk hangs it waits, as resolve(),
// reconcile(), audit() and approvals do. No call does.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/approvals.h>
#include <callgate/args.h>
#include <callgate/calls.h>
#include <callgate/context.h>
#include <callgate/events.h>
#include <callgate/observer.h>
#include <callgate/outcome.h>
#include <callgate/policy.h>
#include <callgate/registry.h>
#include <callgate/secrets.h>
#include <callgate/tool.h>

namespace callgate {

/// One call, as a value: {"add", {{"a", 1}}}, or {"list"} without arguments.
struct CallRequest {
    std::string tool;
    Args arguments;
    std::string action = "call";
    std::optional<std::chrono::milliseconds> timeout;  ///< takes the place of the context's
    /// This call's own context: takes the place of the one given beside the call, as a whole.
    std::optional<Context> context;
    /// This call's own key, used as it is: takes the place of the context's. "": the context's.
    std::string idempotency_key;

    CallRequest(const char* name) : tool(name) {}             // NOLINT(google-explicit-constructor)
    CallRequest(std::string name) : tool(std::move(name)) {}  // NOLINT(google-explicit-constructor)
    CallRequest(std::string name, Args args, std::string what = "call")
        : tool(std::move(name)), arguments(std::move(args)), action(std::move(what)) {}

    CallRequest& with_key(std::string key) & {
        idempotency_key = std::move(key);
        return *this;
    }
    CallRequest with_key(std::string key) && { return std::move(with_key(std::move(key))); }
    CallRequest& with_context(Context own) & {
        context = std::move(own);
        return *this;
    }
    CallRequest with_context(Context own) && { return std::move(with_context(std::move(own))); }
};

struct RuntimeOptions {
    std::chrono::milliseconds default_timeout{30'000};
    /// Threads for tools that are plain functions, made when they are needed; 0: 64. What finds none free is
    /// queued, at most so many calls and bytes of arguments; past that it is refused as `unavailable`
    /// {reason: queue_full} before anything happened, and may be tried again.
    std::size_t pool_threads = 0;
    std::size_t max_queued_calls = 10'000;
    std::size_t max_queued_bytes = 256u << 20;
    /// Threads for observers, `done` and progress functions that have no thread of their caller's to run on.
    std::size_t callback_threads = 64;
    /// Threads that tools may hold past their deadlines. Once there are so many, a tool that holds one is
    /// refused (unavailable {reason: abandoned_calls}) until it returns.
    std::size_t max_abandoned = 16;
    std::size_t max_nesting = 16;  ///< calls inside calls
    /// How long a tool's question to its caller may stay open (input.h), how often one call may ask, how many
    /// calls may have open questions at once, how large a question and an answer may be, as JSON, and how
    /// many threads tools may hold while they wait for answers (coroutine tools hold none): a caller that
    /// leaves questions open must not take the threads from everybody else.
    std::chrono::milliseconds max_input_time{300'000};
    std::size_t max_input_rounds = 10;
    std::size_t max_suspended_calls = 1'024;
    std::size_t max_input_bytes = 1u << 20;
    std::size_t max_input_threads = 128;
    std::size_t batch_concurrency = 16;
    std::size_t max_batch = 128;
    std::chrono::milliseconds shutdown_grace{5'000};
    bool validate_arguments = true;  ///< only the host can switch it off, and only for all calls
    bool log_calls = true;
    bool audit_allowed = false;         ///< also record gate.allowed
    json::ParseLimits argument_limits;  ///< a depth beyond 1,000 counts as 1,000
    /// What is larger is cut, and says so. What is nested deeper than 1,000 levels is refused: output_invalid
    /// {reason: too_deep}.
    std::size_t max_result_bytes = 16u << 20;
    /// Where the durable ledger is, a directory that one process owns at a time; it is made if its parent is
    /// there. "", the default: in memory, for tests and programs that need no record beyond their own life.
    std::string ledger_dir;
    /// Durable: where the mark is kept that shows when an older ledger is put in the place of this one, a
    /// directory outside `ledger_dir` that stays when that is restored. "", the default: callgate-marks in
    /// $XDG_STATE_HOME, or else in ~/.local/state.
    std::string ledger_mark_dir;
    bool strict_audit = false;  ///< durable: reads and refusals are on the disk before they are answered
    bool reads_without_record = false;  ///< durable: reads go on while nothing can be recorded
    /// Durable: who else keeps the audit's signed checkpoints, so that it shows when the log was cut short or
    /// rewritten: a file that only grows, best on another machine, or a command that gets each checkpoint on
    /// its standard input.
    std::string audit_anchor_file;
    std::vector<std::string> audit_anchor_command;
    std::size_t ledger_readers = 4;  ///< durable: threads, and connections, that look things up for calls
    /// Durable: while a commit takes longer than this, nothing new begins (ledger_unavailable {reason:
    /// disk_hung}).
    std::chrono::milliseconds disk_hung_after{2'000};
    std::size_t ledger_waiting_bytes = 256u << 20;  ///< durable: may wait to be written; past it, refused
    bool control_socket = true;  ///< durable: operators' verbs reach this process, over control.sock
    /// Durable: who may ask over it beside the ledger's user and root. They may ask everything except what
    /// makes files, takes things away or changes the audit's key.
    std::vector<std::uint32_t> control_uids;
    std::vector<std::uint32_t> control_gids;
    /// Users whose votes over it count A2. Everybody else's count A1, unless they are signed with the user's
    /// operator key (`callgate operator enroll`): then they count A2, too. Name no user as whom a model's
    /// tools can run programs.
    std::vector<std::uint32_t> operator_uids;
    /// Durable: what its records are sealed with, instead of the file ledger.key beside them.
    std::optional<KeySource> seal_key;
    std::size_t audit_kept = 10'000;  ///< events the in-memory ledger keeps
    /// How many calls of one principal, and of one tenant, may wait for a decision; more are refused:
    /// rate_limited {reason: approvals_full_for_principal, approvals_full_for_tenant}. In all 10,000 may
    /// wait; then ledger_unavailable {reason: approvals_full}.
    std::size_t max_open_approvals_per_principal = 1'000;
    std::size_t max_open_approvals_per_tenant = 5'000;
    /// In memory: what arguments and outcomes of calls may take together. Past it the oldest outcomes go, and
    /// their keys are refused as used (key_expired); when none is left, calls are refused.
    std::size_t max_ledger_bytes = 256u << 20;
    /// How long an outcome is kept for replays of its key, and how long after that the key is refused: at
    /// most a hundred years, as no option may be past what can be kept (config_error).
    std::chrono::hours key_ttl{24};
    std::chrono::hours tombstone_ttl{24 * 30};  ///< how long after that the key is refused (key_expired)
    std::shared_ptr<SecretsStore> secrets;      ///< none: with_secret() fails
    std::vector<std::shared_ptr<Observer>> observers;

    RuntimeOptions() = default;
};

/// What would be decided about a call, up to where it would get.
struct CallExplanation {
    std::vector<StageNote> stages;           ///< resolve, authorize, validate, classify, gate
    std::optional<Error> refused;            ///< why it would end before the gate
    std::optional<PolicyDecision> decision;  ///< the gate's, if it would get there
    Value arguments;                         ///< as the tool would get them; null where they were refused
};

/// What the runtime counted since it began.
struct RuntimeStats {
    std::uint64_t calls = 0;
    std::uint64_t ended[kStateCount] = {};
    std::uint64_t abandoned_now = 0;  ///< tools that outlived their deadline and still run
    std::uint64_t suspended_now = 0;  ///< calls whose tool has an open question to their caller
    std::uint64_t observer_faults = 0;
    std::uint64_t audit_events = 0;
    /// What each stage counted, as "stage.name": "resolve.not_found", "gate.denied", "dispatch.abandoned" …
    /// The same names in every runtime, those that are 0 included.
    std::map<std::string, std::uint64_t, std::less<>> counters;
    std::string ledger_trouble;  ///< why nothing can be recorded now: disk_hung, disk_full …; "": it can
};

/// What became of the calls that a program had left in doubt when it ended.
struct ReconcileReport {
    std::size_t probed = 0;
    std::size_t applied = 0;
    std::size_t not_applied = 0;  ///< their keys are free again
    std::size_t cannot_tell = 0;  ///< still unknown: for a person to resolve
    std::size_t no_tool = 0;      ///< not asked about: the tool is not there as it was, or has no probe
    std::size_t unrecorded = 0;   ///< the ledger did not take what was found; to be asked again
};

class Runtime {
public:
    /// Throws std::runtime_error where open() would fail.
    explicit Runtime(RuntimeOptions options = {});
    /// ledger_unavailable or config_error if the durable ledger cannot be opened: details.reason says why.
    static Result<std::unique_ptr<Runtime>> open(RuntimeOptions options);
    ~Runtime();
    Runtime(const Runtime&) = delete;
    Runtime& operator=(const Runtime&) = delete;

    Registry& tools();
    /// The tenant's own registry, made when first asked for. A tenant that has one sees nothing else.
    Registry& tools(std::string_view tenant);
    Policy& policy();
    Approvals& approvals();

    Outcome call(std::string_view tool, Args arguments = {});
    Outcome call(std::string_view tool, Args arguments, Context context);
    /// The same with JSON text, which is not copied.
    template <JsonText Text>
    Outcome call(std::string_view tool, const Text& json_text) {
        return call(tool, Args(Args::Borrowed{json_text}));
    }
    template <JsonText Text>
    Outcome call(std::string_view tool, const Text& json_text, Context context) {
        return call(tool, Args(Args::Borrowed{json_text}), std::move(context));
    }
    template <std::same_as<CallRequest> Request>  // a name alone is none
    Outcome call(Request request, Context context = {}) {
        return call_request(std::move(request), std::move(context));
    }
    /// A tool call as a model writes it: {"name", "arguments"}, as it is or under "function" (OpenAI),
    /// "functionCall" (Gemini) or "toolUse" (Bedrock); or MCP's tools/call request. The arguments may be
    /// called "input" or "args" instead, and may be JSON text; so may the whole. Arguments under a name that
    /// nobody knows, or under two names at once, are refused: the tool does not run without them.
    Outcome call_json(const Value& tool_call, Context context = {});
    Outcome call_json(std::string_view tool_call, Context context = {});
    Outcome call_json(const char* tool_call, Context context = {}) {
        return call_json(std::string_view(tool_call), std::move(context));
    }
    /// Several calls at once, at most batch_concurrency of them; the outcomes are in the order of the calls.
    /// Rates and budgets are reserved for all calls before the first begins.
    /// The context's idempotency key becomes one for each call: "key#0", "key#1", …, also if there is only
    /// one call; what is on record under the plain key then counts as that call's. A call that brings a key
    /// or a context of its own has no part in this: its key is used as it is, and the others keep the numbers
    /// of their places. Each call has a copy of the context's on_progress.
    std::vector<Outcome> call_batch(std::vector<CallRequest> calls, Context context = {});
    /// A tool that is not in the registry: only the lookup is skipped. For the host, never for what a model
    /// sends.
    Outcome call_direct(const Tool& tool, Args arguments = {}, Context context = {},
                        std::string action = "call");
    /// Returns the outcome of a success, and throws for any other (exceptions.h).
    Outcome call_or_throw(std::string_view tool, Args arguments = {}, Context context = {});
    template <std::same_as<CallRequest> Request>
    Outcome call_or_throw(Request request, Context context = {}) {
        return call_request_or_throw(std::move(request), std::move(context));
    }

    /// What the call would do, by the tool's own preview; the tool is not run. Ends as `previewed`, or as it
    /// was refused; Outcome::preview() has what it said, and whether the tool has a preview at all.
    Outcome preview(std::string_view tool, Args arguments = {}, Context context = {},
                    std::string action = "call");
    /// What would be decided, stage by stage up to the gate, as if the call were made at `at` (now, if
    /// absent). The tool is not run, nothing is recorded, and no observer is notified. Rules' predicates and
    /// the tool's before_validate and after_validate do run, and faults of predicates that raise the risk are
    /// counted (classify.predicate_faults).
    CallExplanation explain(CallRequest request, Context context = {},
                            std::optional<std::chrono::system_clock::time_point> at = {});
    /// Runs what was approved: `call_id` is the id of the call that asked, `context` one of the same
    /// principal. The arguments are those that were approved; hooks that may change them do not run again.
    /// A call_direct is not resumed: make it again with the same tool and arguments, and it finds its
    /// approval.
    Outcome resume(std::string_view call_id, Context context = {});

    /// Begin what call(), preview(), call_direct(), resume() and call_batch() do, and wait for nothing: see
    /// Completion for how the end is reported. Returned is the call's id; of resume(), that of the new call.
    /// `also` calls the call off, as the context's own signal does.
    std::string start(CallRequest request, Context context, Completion completion,
                      const std::stop_token& also = {});
    std::string start_preview(CallRequest request, Context context, Completion completion,
                              const std::stop_token& also = {});
    std::string start_direct(const Tool& tool, CallRequest request, Context context, Completion completion,
                             const std::stop_token& also = {});
    /// With a tool that was made ready once, for hosts that hand in the same one again and again.
    std::string start_direct(std::shared_ptr<const ToolEntry> tool, CallRequest request, Context context,
                             Completion completion, const std::stop_token& also = {});
    std::string start_resume(std::string_view call_id, Context context, Completion completion,
                             const std::stop_token& also = {});
    /// `done` gets the outcomes in the order of the calls, when the last of them has ended.
    void start_batch(std::vector<CallRequest> calls, Context context,
                     std::function<void(std::vector<Outcome>)> done, Executor executor = {},
                     const std::stop_token& also = {});

    /// The calls under way that wait for something: their tool, a turn, the ledger. One that runs on its
    /// caller's thread and has waited for nothing is not among them.
    std::vector<RunningCall> running() const;
    /// Calls off a call that running() would list; true: it was notified. With a context, only a call of the
    /// same tenant and principal.
    bool cancel(std::string_view call_id);
    bool cancel(std::string_view call_id, const Context& caller);
    /// What became of a call, as the record has it: of a call under way, of one that waits for a person or
    /// was resumed since, and of one that has ended, for as long as its key is kept
    /// (RuntimeOptions::key_ttl). An unknown outcome is kept without a key, too; any other call without one
    /// leaves nothing behind when it ends. Only for the same tenant and principal; for others, and of what is
    /// not known, denied {reason: no_such_call}. Also of a call that another program made with this ledger
    /// before it ended.
    Result<CallStatus> outcome(std::string_view call_id, const Context& caller = {});
    /// The same, and waits for nothing: `done` is called once, on `executor`, or without one on a thread that
    /// exists for such code.
    void start_outcome(std::string call_id, Context caller, std::function<void(Result<CallStatus>)> done,
                       Executor executor = {});
    /// From now on no calls are taken, except from the tools of calls under way and of batches that have
    /// begun (unavailable {reason: draining}); waits until those under way have ended, or so long, and
    /// returns how many have not. Of the calls that are refused for it the first is on the record, and then
    /// one event (tool_call.refused) says how many more there were, unless strict_audit asks for each. A
    /// `done` may still run on its own thread then; the destructor waits for it. Blocks: not for a tool, nor
    /// for the thread of coroutines.
    std::size_t drain(std::chrono::milliseconds at_most);

    /// Awaitable forms, defined in async.h: include it to use them.
    template <class Token, std::same_as<CallRequest> Request>
    auto async_call(Request request, Context context, Token&& token);
    template <class... Ignored>
    auto async_call(std::string tool, Args arguments = {}, Context context = {});

    /// A person's finding about an unknown outcome: applied or not. `denied` if the call is not unknown.
    Result<void> resolve(std::string_view call_id, bool applied, std::string_view by,
                         std::string_view evidence);

    /// Asks the probes of the tools that are registered now about the calls of effect class `verify` that a
    /// program left in doubt when it ended; each under the tool's own deadline, several at once. Blocks until
    /// all have answered. About a call that is not asked about here, the next call with its key asks.
    Result<ReconcileReport> reconcile();

    /// The events on the record, or those with this trace id.
    Result<std::vector<AuditEvent>> audit(std::string_view trace_id = {}) const;
    /// Puts an event of the host's own on the record (events.h), and gives its number; 0 where the ledger
    /// writes it with the next batch. Waits for the ledger; start_record() does not, and calls `done` once,
    /// on `executor`, or without one on this thread or one that exists for such code.
    Result<std::uint64_t> record(HostEvent event);
    void start_record(HostEvent event, std::function<void(Result<std::uint64_t>)> done,
                      Executor executor = {});
    /// The observer is notified of the calls that begin from now on, and of all that goes on the audit.
    void observe(std::shared_ptr<Observer> observer);
    /// It is no longer notified, not of calls under way either: after this returns none of its functions is
    /// begun, but one that has begun on another thread may still finish. The runtime releases it when the
    /// calls that are under way have ended: its destructor may then run on any thread, so keep your own
    /// reference if it is slow. Those of RuntimeOptions can be taken away, too, and one that was attached
    /// twice is gone altogether. False: it was not attached.
    bool unobserve(const std::shared_ptr<Observer>& observer);
    RuntimeStats stats() const;
    /// SHA-256 under the ledger's own key: what a host hands out with it, it knows again, with a durable
    /// ledger after a restart, too. `purpose` keeps uses apart; those that begin "callgate-" are the
    /// library's.
    std::array<std::uint8_t, 32> keyed_digest(std::string_view purpose, std::string_view text) const;

    class Core;
    /// For tests: a runtime over parts of their choice.
    explicit Runtime(std::shared_ptr<Core> core);
    const std::shared_ptr<Core>& core() const noexcept { return core_; }

private:
    Outcome call_request(CallRequest request, Context context);
    Outcome call_request_or_throw(CallRequest request, Context context);

    std::shared_ptr<Core> core_;
    std::unique_ptr<Approvals> approvals_;
};

/// Arguments brought into the types that the schema asks for, but not judged; members that it does not
/// declare are left out, unless it rules on them in another way.
Result<Object> normalize_params(const Value& params, const Value& schema);
/// A result as a model is shown it: within 10,000 bytes, with its size where it was cut (views.h).
Value format_result(const Value& result);

}  // namespace callgate
