// A small world around the ledger's rules: two keys, three nodes that run calls under them, crash, lose their
// lease and go on all the same, and an outside world that knows what really happened.
//
// Whatever happens to a row is done by the ledger's own procedures (ledger/procedures.h) over a row store of
// one row (model_rows.h); nothing of them is written down here again. Beside the row stands what the rules
// cannot see: which messages are under way, which effects happened. After each move the invariants are judged
// by both, and what a procedure says it did by what it stored and recorded.
//
// Numbers that only grow (epochs, attempts, rows under a key) are kept relative to the newest, because the
// rules only compare them: so the world is finite although calls are retried, taken over and begun again
// without end.
//
// Threads: plain values and pure functions, except the guards (base/guard.h).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/state_machine.h"

#include "model_rows.h"

namespace callgate::model {

inline constexpr std::size_t kNodes = 3;
inline constexpr std::size_t kKeys = 2;

enum class NodeStatus : std::uint8_t {
    alive,   ///< registered as an owner
    zombie,  ///< runs, and the ledger takes it for dead
    dead
};

/// What a node does about a key.
enum class Doing : std::uint8_t {
    nothing,
    claimed,  ///< it has the claim, and nothing is sent
    ready,    ///< it passed C3 and has not sent yet
    waiting,  ///< sent
    probing   ///< it asks the probe
};

/// Where an attempt's message is, or what the answer to it says.
enum class Message : std::uint8_t {
    none,
    flying,   ///< sent, and not there yet
    done,     ///< it had its effect, and the answer says so
    failed,   ///< a definite no
    refused,  ///< proven not applied
    silent    ///< no answer will come
};

/// What an owner remembers of a row, and, beside the numbers that it will show, what became of the row since.
struct Belief {
    std::uint8_t epochs = 0;    // behind the row's: 0, 1, 2 or more
    std::uint8_t attempts = 0;  // behind the row's: 0, 1 or more
    bool passed_on = false;     // the row has passed to another
    bool outdated = false;      // there was a further dispatch
    bool row_gone = false;      // it has passed C3, and may send; all else is forgotten with the row
};

struct Activity {
    Doing doing = Doing::nothing;
    Belief belief;
    Message message = Message::none;  // where it waits for an answer
};

/// An attempt that its node gave up, and that may still answer.
struct Late {
    Message message = Message::none;
    Belief belief;
};

struct Node {
    NodeStatus status = NodeStatus::alive;
    std::array<Activity, kKeys> activities;
    std::array<Late, kKeys> late;
};

inline constexpr std::uint8_t kNobody = kNodes;  // an owner that is gone for good

struct Key {
    EffectClass effect = EffectClass::unsafe;  // the same in all states of a run
    bool has_row = false;
    ledger::CallState state = ledger::CallState::claimed;
    std::uint8_t owner = kNobody;
    bool maybe_applied = false;

    // The truth, which the ledger does not see.
    std::uint8_t applied = 0;       // effects of the row's call: 0, 1, 2 or more
    bool refused_for_good = false;  // keyed: the other side has a definite no stored under the call's id
    std::uint8_t orphans = 0;       // messages under way that nobody listens to: 0, 1, 2 or more
    std::uint8_t old_orphans = 0;   // the same, of rows that are gone
    bool unproven = false;          // something was dispatched, and not proven not applied
};

/// One thing that happens.
struct Move {
    enum class Kind : std::uint8_t {
        // a node and a key
        claim,       // C1 and C2, with C3 in the same step
        claim_only,  // without
        dispatch,    // C3
        send,
        cannot_send,       // C4: proven not applied, and the call ends
        cannot_send_once,  // C4: and it will be tried again
        answer_ends,       // C4: as the answer says
        answer_once,       // C4: proven not applied, and it will be tried again
        time_out,          // C4: no answer, and the call ends
        time_out_once,     // C4: no answer, and the caller goes on
        call_off,          // C4: before anything was sent
        give_in,           // C4: no further attempt after one that was ambiguous
        forget,            // the end could not be written
        late_answer,       // C4: the truth about an attempt that was given up
        probe_applied,     // C5
        probe_not_applied,
        probe_cannot_tell,
        // what becomes of a message on its way
        applies,
        applies_unheard,
        fails,
        refuses,
        gets_lost,
        late_applies,
        late_fails,
        late_refuses,
        late_gets_lost,
        // a node
        crash,
        lose_lease,
        restart,
        // a key
        give_up,  // C2 for what nobody goes on with
        resolve_applied,
        resolve_not_applied,
        orphan_applies,
        orphan_gets_lost,
        old_orphan_applies,
        old_orphan_gets_lost,
    };
    Kind kind;
    std::uint8_t node = 0;
    std::uint8_t key = 0;
};
inline constexpr int kMoveKinds = static_cast<int>(Move::Kind::old_orphan_gets_lost) + 1;

/// Every move there is, possible or not.
const std::vector<Move>& all_moves();
std::string to_string(const Move& move);

struct Settings {
    std::array<EffectClass, kKeys> effects{EffectClass::unsafe, EffectClass::unsafe};
    std::size_t keys = kKeys;
    /// How many things go wrong: crashes, lost leases, lost messages, time-outs of what would have been
    /// answered. Nothing: any number.
    std::optional<std::uint8_t> faults;
    /// A probe that says `not_applied` while the call is still under way. That breaks the probe's contract,
    /// and the rules cannot help it.
    bool hasty_probe = false;
};

/// What the rules did on the way, counted: what was never seen was not tested.
using Seen = std::map<std::string_view, std::uint64_t>;

/// A world in as few bits as it needs; worlds that differ only in which node is which are the same.
using Packed = std::array<std::uint64_t, kNodes + 1>;

class World {
public:
    explicit World(const Settings& settings);

    /// False: not possible here, and the world is as it was.
    bool apply(const Move& move);

    /// The broken invariant; empty if all hold.
    const std::string& violation() const noexcept { return violation_; }
    /// No call runs: every key is free or its call has ended.
    bool quiet() const noexcept;

    Packed pack() const;
    static World unpack(const Packed& packed, const Settings& settings);
    std::string describe() const;

    Seen* seen = nullptr;

private:
    using CallRow = ledger::CallRow;
    using CallState = ledger::CallState;

    void count(std::string_view what) const;
    void check(bool holds, std::string_view invariant);
    bool take_fault();

    CallRow row_of(const Key& key) const;
    ModelRows rows_of(const Key& key) const;
    void check_stored(const ModelRows& rows, bool changed);
    /// Puts back what a rule made of the row, and judges the step.
    void store(std::size_t k, const CallRow& before, const CallRow& after, bool said_so, bool removed);
    void release(std::size_t k);
    void judge(const Key& key);

    bool running(std::size_t n) const { return nodes_[n].status != NodeStatus::dead; }
    void passed_on(std::size_t k);
    void begin(std::size_t n, std::size_t k, const CallRow& row);
    void passed_fence(std::size_t n, std::size_t k, bool stale, const CallRow& row);

    bool claim(std::size_t n, std::size_t k, bool dispatch);
    bool dispatch(std::size_t n, std::size_t k);
    bool settle(std::size_t n, std::size_t k, ledger::AttemptEnd end, bool last);
    bool settle_late(std::size_t n, std::size_t k);
    void report(std::size_t n, std::size_t k, const Belief& belief, ledger::AttemptEnd end, bool last,
                bool goes_on);
    bool time_out(std::size_t n, std::size_t k, bool last);
    bool conclude(std::size_t n, std::size_t k, Reconciliation::Verdict verdict);
    bool send(std::size_t n, std::size_t k);
    bool arrive(std::size_t k, Message& message, Move::Kind kind);
    bool has_effect(std::size_t k, bool row_gone);
    void drop_message(std::size_t k, Message message);
    bool may_still_happen(std::size_t k) const;
    bool crash(std::size_t n);
    bool give_up(std::size_t k);
    bool resolve(std::size_t k, bool applied);
    bool orphan(std::size_t k, bool row_gone, bool applies);

    Settings settings_;
    std::uint8_t faults_left_ = 0;
    std::array<Node, kNodes> nodes_;
    std::array<Key, kKeys> keys_;
    std::string violation_;
};

}  // namespace callgate::model
