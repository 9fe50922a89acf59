// The context of a call: everything that a caller brings along beside the arguments.
//
// Who asks (tenant, principal), on whose behalf work is traced (trace, run, task and step ids), what was
// granted (scopes, autonomy), and how this one call is to run (idempotency key, time limit, cancel signal,
// progress). A tool reads none of this from the system; it sees it through CallContext (tool.h).
//
// Threads: plain values. `on_progress` is called on the thread that waits for the call, or on one that exists
// for such code; for one call one at a time, in order, and never after the call has returned. Each call of
// a batch has a copy of the function, and several copies may run at once. It may block: progress that piles
// up meanwhile is merged, which the gap in `sequence` shows; the pieces of content in it are joined, and none
// is lost.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/json.h>

namespace callgate {

/// How much may happen without a person. At A0 nothing runs, there are only previews; by the default matrix
/// A4 asks about critical calls only (PolicyConfig::matrix).
enum class Autonomy : std::uint8_t { a0, a1, a2, a3, a4 };

std::string_view to_string(Autonomy level) noexcept;  ///< "A0" … "A4"
std::optional<Autonomy> autonomy_from_string(std::string_view text) noexcept;

/// Permissions by name, sorted, each once. No wildcards: a scope is granted or it is not.
class ScopeSet {
public:
    ScopeSet() = default;
    ScopeSet(std::initializer_list<std::string_view> scopes);
    explicit ScopeSet(const std::vector<std::string>& scopes);

    void add(std::string_view scope);
    bool contains(std::string_view scope) const noexcept;
    bool empty() const noexcept { return all_.empty(); }
    const std::vector<std::string>& all() const noexcept { return all_; }

    friend bool operator==(const ScopeSet&, const ScopeSet&) = default;

private:
    std::vector<std::string> all_;
};

/// What a running tool said of itself. `done` and `total` are absent where the tool gave none, or none that
/// JSON can say.
struct Progress {
    std::string call_id;
    std::string tool;
    std::uint64_t sequence = 0;  ///< 1, 2, … within one call
    std::optional<double> done;
    std::optional<double> total;
    std::string message;
    std::optional<Value> partial;  ///< content produced so far
    bool appends = false;          ///< `partial` is the next piece of it: text, or items of a list

    Progress() = default;
};

/// Who asks where no principal is named: "" and this are one, for keys, approvals, limits and grants alike.
inline constexpr std::string_view kLocalPrincipal = "local";

class InputChannel;

/// What a host that serves others keeps beside a call: derive from it, and find it again in
/// CallContext::caller(). The runtime only hands it on, to the calls that a tool makes, too.
class ContextExtension {
public:
    virtual ~ContextExtension() = default;
};

struct Context {
    std::string tenant;  ///< "" is the only tenant of a single-tenant host
    /// Who asks; keys and approvals belong to them.
    std::string principal{kLocalPrincipal};
    std::string trace_id;  ///< "" takes the call id
    std::string run_id;    ///< one piece of work of an agent: budgets and loop detection count per run
    std::string task_id;
    std::string step_id;
    ScopeSet scopes;
    Autonomy autonomy = Autonomy::a2;
    /// "" is none. At most 255 bytes; it must not end in '#' and a number, as the keys of a batch's calls do.
    std::string idempotency_key;
    /// Takes the place of the tool's limit and the runtime's. milliseconds::max() is no limit; where it is
    /// not positive, no time is left, and the tool does not begin.
    std::optional<std::chrono::milliseconds> timeout;
    std::stop_token cancel;
    /// How long a tool that was called off and looks at its signal may still say what came of it, before the
    /// call is given up; within the call's deadline. What it answers in that time counts as ever: one that
    /// says that it did nothing (ToolFailure::not_applied) ends its call as `cancelled`, its key is free.
    std::chrono::milliseconds cancel_grace{0};
    std::function<void(const Progress&)> on_progress;
    std::string session_id;   ///< of the connection that the call came over
    std::string external_id;  ///< how its caller calls this call; not handed on to calls that a tool makes
    Value progress_token;     ///< likewise: what its caller wants progress to carry; null: none
    std::shared_ptr<const ContextExtension> extension;
    std::shared_ptr<InputChannel> input;  ///< how a tool may ask the caller (input.h); null: it cannot
    bool trace = false;                   ///< keep each stage's decision in the outcome

    Context() = default;
};

}  // namespace callgate
