// A tool: a definition that the model sees, a contract that the operator sets, and a body that runs.
//
// tool(name, description, callable, params...) in typed.h makes one from a C++ function; the constructors
// here serve bodies with a free schema. Whatever its kind, a tool runs only through a Runtime, and passes all
// stages.
//
// Threads: Tool is a plain value. A body's functions may be called from many threads at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <callgate/args.h>
#include <callgate/context.h>
#include <callgate/error.h>
#include <callgate/input.h>
#include <callgate/json.h>
#include <callgate/outcome.h>
#include <callgate/result.h>
#include <callgate/schema.h>
#include <callgate/secrets.h>

namespace callgate {

/// What repeating a call would do.
enum class EffectClass : std::uint8_t {
    read,    ///< nothing is changed
    keyed,   ///< the other side honours the call's key: sent again, it does nothing twice
    verify,  ///< a probe can tell whether it happened
    tx,      ///< all of it happens or nothing does, and nobody can be asked which: never sent twice
    unsafe   ///< none of these: never sent twice
};
std::string_view to_string(EffectClass effect) noexcept;
std::optional<EffectClass> effect_class_from_string(std::string_view text) noexcept;

/// An effect class that knows whether somebody chose it; until then it is `unsafe`.
class EffectChoice {
public:
    constexpr EffectChoice() noexcept = default;
    constexpr EffectChoice& operator=(EffectClass chosen) noexcept {
        class_ = chosen;
        declared_ = true;
        return *this;
    }
    constexpr operator EffectClass() const noexcept { return class_; }
    constexpr bool declared() const noexcept { return declared_; }
    friend constexpr bool operator==(const EffectChoice&, const EffectChoice&) noexcept = default;

private:
    EffectClass class_ = EffectClass::unsafe;
    bool declared_ = false;
};

enum class Risk : std::uint8_t { low, medium, high, critical };
std::string_view to_string(Risk risk) noexcept;
std::optional<Risk> risk_from_string(std::string_view text) noexcept;

enum class ProviderType : std::uint8_t { native, process, http, mcp };
std::string_view to_string(ProviderType provider) noexcept;

enum class ToolKind : std::uint8_t { function, action, adapter };
std::string_view to_string(ToolKind kind) noexcept;

enum class RunMode : std::uint8_t {
    pooled,   ///< on a thread of the runtime's pool, so that a deadline holds even if the tool ignores it
    inlined,  ///< where the call was made: for work that is quick by nature
    async     ///< begins and completes later (coroutine tools, transports)
};

/// What the model is shown.
struct ToolDefinition {
    std::string name;
    std::string title;
    std::string description;
    Value input_schema = Object{{"type", "object"}};
    std::optional<Value> output_schema;
    Object annotations;
    /// What MCP's form of it has beside: `_meta`, `icons`, `execution`, …; kept and written as it came. Part
    /// of what a registered tool is, and not shown to models.
    Object extra;

    ToolDefinition() = default;
    ToolDefinition(std::string tool_name, std::string text, Value schema)
        : name(std::move(tool_name)), description(std::move(text)), input_schema(std::move(schema)) {}

    /// {"name", "description", "parameters"} and, where given, title, output_schema, annotations.
    Value to_json() const;
    /// `name(p: type, q?: type)`
    std::string compact() const;
};

/// Attempts after the first. A call is tried again only if it is proven that it was not applied, or if its
/// effect class allows it.
struct RetryPolicy {
    std::uint32_t max_retries = 0;                ///< at most 10
    std::chrono::milliseconds base_delay{500};    ///< doubled each time, full jitter; at most max_delay
    std::chrono::milliseconds max_delay{30'000};  ///< at most 1 h
    double budget = 0.1;  ///< retries as a share of first attempts, per tool; 10 are always free

    RetryPolicy() = default;
    explicit RetryPolicy(std::uint32_t retries) : max_retries(retries) {}
    friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

/// At most `calls` per `window` (a token bucket), and at most `concurrent` at once. 0 is no limit.
struct UseLimits {
    std::uint32_t concurrent = 0;
    /// A call that finds `concurrent` of them running waits its turn, first come first served, until its
    /// deadline or until it is called off; otherwise it is refused at once.
    bool queue = false;
    std::uint32_t calls = 0;
    std::chrono::milliseconds window{60'000};  ///< at most 31 days
    std::uint64_t per_run = 0;                 ///< calls of one run

    UseLimits() = default;
    friend bool operator==(const UseLimits&, const UseLimits&) = default;
};

/// Opens after `failures` in a row that say the tool is broken (timeouts, transport, exceptions), for `rest`;
/// then one call is let through to see.
struct BreakerPolicy {
    std::uint32_t failures = 10;             ///< 0 switches it off
    std::chrono::milliseconds rest{30'000};  ///< at most 1 h

    BreakerPolicy() = default;
    friend bool operator==(const BreakerPolicy&, const BreakerPolicy&) = default;
};

/// What the operator says about a tool.
struct Contract {
    ScopeSet scopes;                                             ///< all of them must be granted
    std::map<std::string, ScopeSet, std::less<>> action_scopes;  ///< and these for an action
    std::vector<std::string> capabilities;  ///< "notification" makes it count for the storm rule
    std::string connector_id;               ///< whose secrets it may use; the tool's name if empty
    std::string config_ref;                 ///< a reference, never the configuration itself
    ProviderType provider = ProviderType::native;
    std::string server;                                 ///< the provider's own id, "" for native
    std::optional<Risk> risk;                           ///< default: low for native, high for all others
    std::map<std::string, Risk, std::less<>> risk_map;  ///< by action
    EffectChoice effect;                                ///< default: unsafe
    std::map<std::string, EffectClass, std::less<>> effect_map;
    std::optional<std::chrono::milliseconds> timeout;  ///< at most 1 h
    RetryPolicy retry;
    BreakerPolicy breaker;
    UseLimits limits;
    std::string target;        ///< JSON pointer to the argument that says whom or what it acts on ("" none)
    std::string resource_key;  ///< JSON pointer: calls with equal values run one after the other ("" none)
    std::string blast_radius;  ///< JSON pointer to an array or a number: how much it touches ("" none)
    bool open_arguments = false;  ///< arguments the schema does not name are let through
    schema::CoercionMode coercion = schema::CoercionMode::standard;
    bool hidden_without_scopes = false;  ///< not_found, not scope_denied, where scopes are missing

    Contract() = default;
    friend bool operator==(const Contract&, const Contract&) = default;
};

/// What a running tool sees of its call. Valid until the tool returns; an abandoned tool may go on using it,
/// to no effect.
class CallContext {
public:
    virtual ~CallContext() = default;

    virtual const Context& caller() const = 0;
    /// What to send to a provider as the key of this call: it stays the same when another program takes the
    /// call over.
    virtual std::string call_id() const = 0;
    virtual const std::string& action() const = 0;
    virtual std::uint32_t attempt() const = 0;  ///< 1, 2, …

    virtual std::chrono::nanoseconds time_left() const = 0;  ///< never negative
    /// Stops at the deadline, when the call is called off, and when the runtime ends.
    virtual std::stop_token cancel() const = 0;
    bool cancelled() const { return cancel().stop_requested(); }

    /// Tells the caller how far the work is. Ignored after the call has ended.
    virtual void progress(std::string_view message, std::optional<double> done = {},
                          std::optional<double> total = {}) = 0;
    /// The content so far: delivered as progress, and kept if the call does not complete. Content with NaN or
    /// an infinity in it, or larger than a result may be, is left out, and the progress says so.
    virtual void partial(Value content) = 0;
    /// The next piece of it: text is added to text, and the items of a list to a list. Delivered as a piece
    /// (Progress::appends); text that could be the beginning of a secret waits for the next one. After a
    /// piece that had to be left out all are, until partial() says how it stands.
    virtual void partial_more(Value piece);

    /// A secret of the tool's own connector, for the length of `use`.
    virtual Result<void> with_secret(std::string_view key, const std::function<void(const Secret&)>& use) = 0;

    /// Calls another tool, in the same context: principal, scopes, ids, deadline and cancel signal are those
    /// of this call. Blocks; coroutines await async_call(context, …) instead (async.h).
    virtual Outcome call(std::string_view tool, Args args) = 0;
    /// The same without blocking: `done` is called once with the outcome, perhaps before this returns, as by
    /// Runtime::start. `also` calls it off, too.
    virtual void start(std::string_view tool, Args args, std::function<void(Outcome)> done,
                       std::stop_token also = {});

    /// Whether the caller can be asked for this (input.h); no longer once the call has ended or was called
    /// off.
    virtual bool can_ask(InputRequest::Kind kind) const;
    /// Asks the caller and waits for nothing. `answered` is called once: where the question is answered,
    /// which it must not hold up, or on a thread that exists for such code; perhaps before this returns.
    /// Instead of an answer it gets
    ///   unavailable {reason: cannot_ask | too_many_suspended}, denied {reason: too_many_rounds},
    ///   invalid_arguments {reason: question_too_large | no_url | not_finite}, or what is wrong with the
    ///   schema of a form {reason: not_a_schema | unresolved_ref | too_deep …}: nobody was asked
    ///   timed_out {reason: unanswered}, cancelled {reason: call_ended}: nobody answered
    /// or what the ledger says while it records nothing, or the caller's own failure.
    virtual void ask(InputRequest request, std::function<void(Result<InputAnswer>)> answered);
    /// The same, and waits for the answer; unavailable {reason: too_many_waiting} where as many threads wait
    /// for answers as may. A coroutine awaits async_ask() instead (async.h).
    virtual Result<InputAnswer> ask(InputRequest request);
};

class IoHost;

/// One attempt of an async body. finish() counts once; a late answer can still settle an unknown outcome.
class Attempt {
public:
    virtual ~Attempt() = default;
    virtual CallContext& context() = 0;
    virtual const Object& arguments() const = 0;
    virtual void finish(ToolReturn answer) = 0;
    /// Asked when the body's own code is about to begin. False: the call was given up before that, and the
    /// code must not begin. Only for bodies that say enters_later(); for others it has begun with start().
    virtual bool enter() { return true; }
    /// Where coroutines run (async.h).
    virtual IoHost& io() = 0;
};

/// What an action does around its run. A hook that fails, or throws, ends the call with its error.
struct ActionHooks {
    /// These two may change the arguments, before anything is decided about the call.
    std::function<Result<Object>(Object arguments)> before_validate;
    std::function<Result<Object>(Object arguments)> after_validate;
    std::function<void(const ToolResult&)> after_run;                    ///< right after a run that succeeded
    std::function<Result<ToolResult>(ToolResult result)> before_output;  ///< before the output schema
    std::function<Result<ToolResult>(ToolResult result)> after_output;
    /// Undoes what a failed run did: called once, with its error; bounded by `compensation_timeout`.
    std::function<Result<void>(const Error& error, const Object& arguments, CallContext& context)> compensate;
    std::chrono::milliseconds compensation_timeout{5'000};

    ActionHooks() = default;
};

/// The part that runs. What run() throws becomes the call's error.
class ToolBody {
public:
    virtual ~ToolBody() = default;

    virtual RunMode mode() const noexcept { return RunMode::pooled; }
    /// pooled and inlined.
    virtual ToolReturn run(const Object& arguments, CallContext& context);
    /// async: must not block, and leads to one attempt->finish().
    virtual void start(std::shared_ptr<Attempt> attempt);
    /// async: start() only hands the attempt on, and the code begins with attempt->enter().
    virtual bool enters_later() const noexcept { return false; }

    virtual bool has_preview() const noexcept { return false; }
    virtual Result<Preview> preview(const Object& arguments, CallContext& context);

    /// For EffectClass::verify: did the earlier call take effect? `not_applied` also says that it no longer
    /// can, since nothing of it is still under way: on that word the call is sent again. A probe that is not
    /// sure answers `cannot_tell`.
    virtual bool has_probe() const noexcept { return false; }
    virtual Reconciliation reconcile(std::string_view call_id, const Object& arguments, CallContext& context);

    /// The actions it knows; empty means any is passed on, and `call` is the usual one.
    virtual std::vector<std::string> actions() const { return {}; }
    /// What the body itself cannot do without; registration adds it to the contract. Without actions() it is
    /// asked once, for `call`.
    virtual ScopeSet scopes_required(std::string_view action) const;
    /// Null except for actions. run() itself calls after_run and before_output; the pipeline calls the
    /// others.
    virtual const ActionHooks* hooks() const noexcept { return nullptr; }
};

using ToolFunction = std::function<ToolReturn(const Object& arguments, CallContext& context)>;
using PreviewFunction = std::function<Result<Preview>(const Object& arguments, CallContext& context)>;
using ProbeFunction =
    std::function<Reconciliation(std::string_view call_id, const Object& arguments, CallContext& context)>;

class Tool {
public:
    Tool() = default;
    Tool(ToolDefinition what, std::shared_ptr<ToolBody> how)
        : definition(std::move(what)), body(std::move(how)) {}

    ToolDefinition definition;
    Contract contract;
    ToolKind kind = ToolKind::function;
    std::shared_ptr<ToolBody> body;  ///< null: registered, but there is nothing to run

    /// Which body this is, in the words of who provides it. An approval holds for the version that was there
    /// when it was asked for. Do not take a build's id: a restart does not make another tool.
    const std::string& version() const noexcept { return version_; }
    Tool& version(std::string what) &;

    // Each returns the tool itself, so that calls can be chained. On a temporary, the tool moves into the
    // result: nothing is copied, and nothing refers to a temporary that is gone.
    Tool& scopes(ScopeSet all) &;
    Tool& risk(Risk level) &;
    Tool& risk(std::string action, Risk level) &;
    Tool& effect(EffectClass what) &;
    Tool& read_only() & { return effect(EffectClass::read); }
    Tool& timeout(std::chrono::milliseconds limit) &;
    Tool& retries(RetryPolicy policy) &;
    Tool& limits(UseLimits use) &;
    Tool& connector(std::string id) &;
    Tool& target(std::string pointer) &;
    Tool& resource_key(std::string pointer) &;
    Tool& capability(std::string name) &;
    Tool& output(Value schema) &;
    Tool& open_arguments() &;
    /// It runs on the thread that is running the call. Registration refuses this for a body that completes
    /// later.
    Tool& run_inline() &;
    Tool& preview(PreviewFunction make) &;
    Tool& probe(ProbeFunction ask) &;

    Tool version(std::string what) && { return std::move(version(std::move(what))); }
    Tool scopes(ScopeSet all) && { return std::move(scopes(std::move(all))); }
    Tool risk(Risk level) && { return std::move(risk(level)); }
    Tool risk(std::string action, Risk level) && { return std::move(risk(std::move(action), level)); }
    Tool effect(EffectClass what) && { return std::move(effect(what)); }
    Tool read_only() && { return std::move(read_only()); }
    Tool timeout(std::chrono::milliseconds limit) && { return std::move(timeout(limit)); }
    Tool retries(RetryPolicy policy) && { return std::move(retries(policy)); }
    Tool limits(UseLimits use) && { return std::move(limits(use)); }
    Tool connector(std::string id) && { return std::move(connector(std::move(id))); }
    Tool target(std::string pointer) && { return std::move(target(std::move(pointer))); }
    Tool resource_key(std::string pointer) && { return std::move(resource_key(std::move(pointer))); }
    Tool capability(std::string name) && { return std::move(capability(std::move(name))); }
    Tool output(Value schema) && { return std::move(output(std::move(schema))); }
    Tool open_arguments() && { return std::move(open_arguments()); }
    Tool run_inline() && { return std::move(run_inline()); }
    Tool preview(PreviewFunction make) && { return std::move(preview(std::move(make))); }
    Tool probe(ProbeFunction ask) && { return std::move(probe(std::move(ask))); }

private:
    std::string version_;
};

/// A tool with a schema of your own.
Tool schema_tool(ToolDefinition definition, ToolFunction run);

/// An action: a function with checks and hooks around it.
Tool action_tool(ToolDefinition definition, ToolFunction run, ActionHooks hooks = {});

/// One action of an adapter.
struct AdapterAction {
    std::string name;
    ToolFunction run;
    PreviewFunction preview;  ///< may be empty
    ScopeSet scopes;
    std::optional<Risk> risk;
    std::optional<EffectClass> effect;

    AdapterAction(std::string action_name, ToolFunction body)
        : name(std::move(action_name)), run(std::move(body)) {}
};
Tool adapter_tool(ToolDefinition definition, std::vector<AdapterAction> actions);

}  // namespace callgate
