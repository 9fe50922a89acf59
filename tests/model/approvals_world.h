// Approvals: an agent asks, people vote, rules are reloaded, time passes, and what was approved is used.
//
// Two approvals at a time, three people (one of them the agent under another name), two versions of the
// rules. A vote, a withdrawal and a use are the ledger's procedures (ledger/procedures.h) over one approval;
// beside it stands what really was said, by which each use is judged.
//
// Threads: none.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <callgate/approvals.h>

#include "explore.h"
#include "model_rows.h"

namespace callgate::model {

struct ApprovalsSettings {
    enum class Mutant : std::uint8_t {
        none,
        clockless,  ///< the rules do not hear that time passes
        any_call,   ///< a use names the digest that was approved, whatever it wants to run
        nameless,   ///< nobody knows who asked
    };
    std::uint32_t needed = 1;
    Mutant mutant = Mutant::none;
};

class ApprovalsWorld {
public:
    explicit ApprovalsWorld(const ApprovalsSettings& settings) : settings_(settings) {}

    static constexpr int kMoves = 2 + 2 * 10;
    bool apply(int move);
    static std::string name(int move);
    const std::string& violation() const noexcept { return violation_; }

    std::uint64_t pack() const;
    static ApprovalsWorld unpack(std::uint64_t packed, const ApprovalsSettings& settings);

private:
    /// An approval, and what is true of it.
    struct Slot {
        bool there = false;
        ApprovalState state = ApprovalState::pending;
        std::uint8_t yes = 0;  // who said so: bit by person
        bool over = false;     // its time has come
        std::uint8_t rules = 0;
        bool no = false;
        bool withdrawn = false;
        std::uint8_t runs = 0;
    };

    void check(bool holds, const char* invariant) {
        if (!holds && violation_.empty()) violation_ = invariant;
    }
    Approval approval_of(const Slot& slot) const;
    std::chrono::system_clock::time_point now(const Slot& slot) const;
    ModelRows rows_of(const Slot& slot) const;
    bool ask();
    bool vote(Slot& slot, int person, bool yes);
    bool withdraw(Slot& slot);
    bool use(Slot& slot, bool same_call);

    ApprovalsSettings settings_;
    std::uint8_t rules_ = 0;
    std::array<Slot, 2> slots_;
    std::string violation_;
};

}  // namespace callgate::model
