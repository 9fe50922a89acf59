// The policy: what the operator allows, in data.
//
// Ordered rules, the autonomy × risk matrix, hard overrides (secret scope, quiet hours, anti-flap, storm),
// limits, and grants. All matching raise-risk rules apply first; then the first matching decision rule;
// without one the matrix decides. A rule's `allow` may lower "confirm" and "preview", never a hard override
// or a "deny" of the matrix. A rule of a C++ program may also ask a function of it (Rule::when_true).
//
// Threads: PolicyConfig is a plain value. A Policy may be used from any thread; set() replaces it as a whole,
// and a call is decided under one version of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <callgate/context.h>
#include <callgate/error.h>
#include <callgate/json.h>
#include <callgate/tool.h>

namespace callgate {

/// The gate's decision, from mild to strict.
enum class Gate : std::uint8_t { allow, preview, confirm, deny };
std::string_view to_string(Gate gate) noexcept;

/// Hours of the day in a time zone; `from` after `until` spans midnight.
struct TimeWindow {
    std::chrono::minutes from{0};  ///< since midnight
    std::chrono::minutes until{0};
    std::string zone = "UTC";   ///< an IANA name
    std::vector<int> weekdays;  ///< 1 Monday … 7 Sunday, of the window's start; empty: every day

    TimeWindow() = default;
    TimeWindow(std::chrono::minutes start, std::chrono::minutes end, std::string time_zone)
        : from(start), until(end), zone(std::move(time_zone)) {}
};

/// What a rule's predicate sees of a call; good until the predicate returns.
struct CallView {
    std::string_view tool;
    std::string_view action;
    const Value& arguments;  ///< normalised; they satisfy the tool's schema, and the rule's
    Risk risk;               ///< as far as it is known: for raise_risk, before any of these rules
    EffectClass effect;
    std::string_view tenant;
    std::string_view principal;
    std::string_view trace_id;  ///< the call's id where the context has none
    std::string_view run_id;
    std::string_view task_id;
    std::string_view step_id;
    const ScopeSet& scopes;
    Autonomy autonomy;
    std::chrono::system_clock::time_point at;  ///< when the call came
};

/// A rule's own condition, as a function of the program.
///
/// It promises what a tool that runs inline promises, and more: it is quick, it does not block and does not
/// call the runtime, and it is pure: for the same call it says the same. It runs wherever the call is decided
/// (also on threads that run stages for others, in explain(), and again when an approved call is resumed),
/// several at once.
///
/// What it throws is dropped and counted (RuntimeStats: classify.predicate_faults, gate.predicate_faults;
/// in explain() only the first, since nothing passes its gate), and closes the gate: a rule that restricts
/// (deny, confirm, preview, raise_risk) then matches, one that allows does not.
///
/// Name and version stand for it on the record, in the rule's identity and in what an approval is bound to.
/// So change the version whenever what it says changes: an open approval of the old version is then void. A
/// policy that is loaded again with the same name and version voids nothing.
struct Predicate {
    using Function = std::function<bool(const CallView&)>;

    std::string name;     ///< 1 to 128 bytes of printable ASCII
    std::string version;  ///< 1 to 64 bytes of it
    Function function;

    Predicate(std::string the_name, std::string the_version, Function says)
        : name(std::move(the_name)), version(std::move(the_version)), function(std::move(says)) {}
};

/// One line of the operator's rules. What is absent matches everything.
struct Rule {
    enum class Do : std::uint8_t { allow, preview, confirm, deny, raise_risk };

    /// Unique. If it is empty, the rule is named after its content ("rule-" and 16 digits), so that adding or
    /// removing other rules does not rename it.
    std::string id;
    Do decision = Do::confirm;
    std::string reason;  ///< shown to people and to the model

    std::vector<std::string> tools;       ///< globs over the canonical name: * and ?
    std::vector<std::string> actions;     ///< globs
    std::vector<std::string> principals;  ///< globs
    std::vector<std::string> tenants;     ///< globs
    std::optional<Risk> risk_at_least;
    std::optional<Risk> risk_at_most;
    std::vector<EffectClass> effects;
    std::optional<TimeWindow> when;
    std::optional<Value> arguments;  ///< a JSON Schema that the normalised arguments must satisfy
    std::uint32_t approvals = 1;     ///< confirm: how many distinct people
    std::optional<Risk> raise_to;    ///< raise_risk: to at least this; absent: by one level
    /// Asked last, when everything else matches. Only a C++ program has one: a policy in JSON is data.
    std::optional<Predicate> predicate;

    Rule() = default;
    Rule(std::string rule_id, Do what) : id(std::move(rule_id)), decision(what) {}

    /// Matches only where the function says yes as well.
    Rule& when_true(std::string name, std::string version, Predicate::Function function) & {
        predicate.emplace(std::move(name), std::move(version), std::move(function));
        return *this;
    }
    Rule when_true(std::string name, std::string version, Predicate::Function function) && {
        return std::move(when_true(std::move(name), std::move(version), std::move(function)));
    }
};

/// Limits per tool, per principal and per run, beside those of a tool's contract.
struct PolicyLimits {
    UseLimits per_tool;
    UseLimits per_principal;
    UseLimits per_run;  ///< of one run: at once, per window, and (`per_run`) in all
    /// The same call with the same result this often, with nothing new in between, is a loop. 0 is off.
    std::uint32_t loop_repeats = 5;
    PolicyLimits() = default;
};

struct PolicyConfig {
    std::vector<Rule> rules;  ///< at most 1,000
    PolicyLimits limits;
    std::vector<TimeWindow> quiet_hours;
    /// Globs: a tool that needs such a scope is always confirmed.
    std::vector<std::string> secret_scopes{"secrets", "secrets:*"};
    /// Words: an action that is one of them, or begins or ends with one ("delete_file"), raises the risk. Of
    /// a tool without actions the name counts.
    std::vector<std::string> destructive_actions{"delete",  "remove", "wipe", "reset",
                                                 "destroy", "drop",   "purge"};
    std::uint64_t blast_radius_above = 10;  ///< more than this raises the risk
    /// A call with the same tool, action and target within this time is suppressed. 0 is off.
    std::chrono::milliseconds antiflap{10'000};
    std::uint32_t notifications_per_hour = 60;        ///< 0 off
    std::chrono::milliseconds approval_ttl{900'000};  ///< at most 24 hours
    /// The matrix; row by Autonomy, column by Risk.
    Gate matrix[5][4] = {
        {Gate::preview, Gate::preview, Gate::preview, Gate::preview},
        {Gate::confirm, Gate::confirm, Gate::confirm, Gate::deny},
        {Gate::allow, Gate::confirm, Gate::confirm, Gate::deny},
        {Gate::allow, Gate::allow, Gate::confirm, Gate::deny},
        {Gate::allow, Gate::allow, Gate::allow, Gate::confirm},
    };

    PolicyConfig() = default;
};

/// "Allow this tool with arguments like these for the next N calls or M minutes". It is no rule: it
/// counts its uses, expires, and is kept in memory only.
struct Grant {
    std::string id;                                    ///< made by add_grant
    std::string tool;                                  ///< glob
    std::string action = "*";                          ///< glob
    std::string principal;                             ///< exact; "" anyone
    std::string tenant;                                ///< exact
    std::optional<Value> arguments;                    ///< JSON Schema
    std::uint32_t uses = 1;                            ///< at most 10,000
    std::chrono::system_clock::time_point expires_at;  ///< at most 7 days ahead
    /// Somebody other than the principal; the grant never covers calls of theirs. "" is "local", as in a
    /// call's context.
    std::string granted_by;
    std::string reason;

    Grant() = default;
};

/// What the linter found: a rule that can never decide, a tool that no rule covers, or one about which nobody
/// said what it risks or does (RegisteredTool::undeclared).
struct PolicyFinding {
    enum class What : std::uint8_t { never_matches, shadowed, uncovered_tool, unknown_tool, undeclared_tool };
    What what;
    std::string subject;  ///< rule id or tool name
    std::string message;
};

/// What a rule's predicate said about a call, where that counted.
struct PredicateVerdict {
    std::string rule_id;
    std::string name;
    std::string version;
    bool matched = false;
    bool failed = false;  ///< it threw: matched says what that counted as
};

/// One decision with its reasons, as `callgate policy test` prints it.
struct PolicyDecision {
    Gate gate = Gate::deny;
    Risk base_risk = Risk::low;
    Risk risk = Risk::low;
    std::vector<std::string> risk_reasons;
    std::string rule_id;                       ///< "" when the matrix decided
    std::string grant_id;                      ///< the grant that would be used
    std::vector<std::string> overrides;        ///< "secret_scope", "quiet_hours", "antiflap", "storm"
    std::vector<PredicateVerdict> predicates;  ///< those that said yes, and those that failed
    std::string reason;
    std::uint32_t approvals = 0;  ///< people needed
    std::uint64_t policy_rev = 0;
};

class Registry;

class Policy {
public:
    Policy();
    ~Policy();
    Policy(const Policy&) = delete;
    Policy& operator=(const Policy&) = delete;

    /// config_error {reason, rule?} naming the rule and what is wrong; the policy then stays as it was.
    Result<void> set(const PolicyConfig& config);
    PolicyConfig get() const;
    std::uint64_t revision() const noexcept;

    Result<std::string> add_grant(Grant grant);
    bool revoke_grant(std::string_view id);
    std::vector<Grant> grants() const;

    std::vector<PolicyFinding> lint(const Registry& tools) const;

    struct State;
    State& state() const noexcept { return *state_; }

private:
    std::unique_ptr<State> state_;
};

/// {"rules":[{"id","decision","tools",…}],"limits":{…},"quiet_hours":[{"from":"22:00","until":"07:00",
/// "zone":"UTC","weekdays":[1]}],"antiflap_ms":…,"matrix":{"A2":{"medium":"allow"}},…}: the members of
/// PolicyConfig, durations as …_ms. What is left out keeps its default. Unknown members are refused.
Result<PolicyConfig> policy_from_json(const Value& document);
/// The JSON Schema of that document (docs/policy.schema.json). It refuses nothing that is usable, but does
/// not see what takes more than one member to tell, such as two rules with one id.
const Value& policy_schema();
Value to_json(const PolicyDecision& decision);

}  // namespace callgate
