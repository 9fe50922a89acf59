// What really happened in a script, beside what was reported of it, and the rules that both must keep.
//
// The tools' bodies report each entry and what came of it; the script reports how its calls ended; as an
// observer it hears what everybody else hears. The first rule that does not hold is kept as `violation()`.
//
// Threads: one.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/callgate.h>

#include "ledger/memory_ledger.h"

namespace callgate::calls {

/// Every secret of the scripts begins with this, and nothing else has it.
inline constexpr std::string_view kSecretMark = "hushhushmark";

class Oracle final : public Observer {
public:
    explicit Oracle(ledger::MemoryLedger& ledger) : ledger_(ledger) {}

    // The bodies.

    /// A tool is entered. `applies`: whether this attempt has its effect; settled now, so that a probe can
    /// tell.
    std::size_t enter(const std::string& tool, EffectClass effect, const CallContext& context, bool applies);
    /// The attempt answers that nothing happened. To be said before it answers.
    void not_applied(std::size_t entry) { entries_[entry].proven = true; }
    bool applies(std::size_t entry) const { return entries_[entry].applies; }
    /// What a probe finds out about the earlier calls of this key. That nothing happened is then proven.
    bool happened(const std::string& tool, const CallContext& context);
    void secret_used() { secret_used_ = true; }

    // The script.

    /// A call begins; its number goes into the context's trace id. `dead` becomes true when its node dies.
    std::size_t begins(std::shared_ptr<const bool> dead);
    static std::string trace_of(std::size_t call) { return "t" + std::to_string(call); }
    void ended(std::size_t call, const Outcome& outcome, const std::string& key_scope);
    /// Of a call that a tool made, or a batch.
    void ended(const Outcome& outcome) { look_at(outcome); }
    bool is_over(std::size_t call) const { return calls_[call].endings > 0; }
    std::size_t open_calls() const { return open_; }
    /// Somebody refused it or took it back.
    void closed(const std::string& approval) { closed_.insert(approval); }
    void fail(std::string what);

    /// After everything has ended.
    void check();
    const std::string& violation() const { return violation_; }
    std::size_t calls() const { return heard_.size(); }
    const std::array<std::uint64_t, kStateCount>& states() const { return states_; }

    void on_audit(const AuditEvent& event) override;
    void on_telemetry(const TelemetryEvent& event) override;
    void on_log(LogLevel level, std::string_view line) override;
    void on_progress(const Progress& progress) override;

private:
    struct Entry {
        std::string scope;  // what must not happen twice: a key, or a call without one
        EffectClass effect;
        bool recorded;           // must be on the record before
        std::string sent_id;     // what a tool that honours keys was sent as its key
        std::string call_id;     // of a call without a key
        std::size_t call;        // of one with a key
        std::uint64_t audit_at;  // events on the record when it was entered
        bool applies;
        bool proven = false;  // it said that nothing happened
    };
    struct Made {
        std::shared_ptr<const bool> dead;
        int endings = 0;
        CallId id{};
        State state{};
    };
    struct Heard {
        int starts = 0;
        int ends = 0;
        int log_ends = 0;
        int audit_ends = 0;
        int recorded_ends = 0;
        State state{};
        bool told_unknown = false;
        std::vector<std::uint64_t> attempted;
    };

    void look(std::string_view where, std::string_view text);
    void look_at(const Outcome& outcome);
    void check_effects(const Outcome& outcome, const std::string& scope, std::size_t call);
    void check_heard();
    void check_entries();
    void check_approvals();
    void check_stored();

    ledger::MemoryLedger& ledger_;
    std::vector<Entry> entries_;
    std::vector<Made> calls_;
    std::map<CallId, Heard> heard_;
    std::optional<CallId> last_end_;
    std::uint64_t call_lines_ = 0;
    std::size_t open_ = 0;
    bool secret_used_ = false;
    std::set<std::string> closed_;
    std::map<std::string, std::set<CallId>> used_by_;  // approval → calls that ran with it
    std::map<std::string, std::string> answers_;       // key → what it was answered with
    std::array<std::uint64_t, kStateCount> states_{};
    std::string violation_;
};

}  // namespace callgate::calls
