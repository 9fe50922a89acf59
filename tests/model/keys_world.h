// One key through its whole life: two callers ask under it for two different requests, its call grows old,
// the other side forgets the key, the outcome expires, a tombstone stands and goes.
//
// What world.h leaves out: fingerprints, `stale` and `spent`. There are no zombies here, and no probes; both
// are world.h's. Whatever becomes of the row is done by the ledger's procedures.
//
// Threads: none.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "explore.h"
#include "model_rows.h"

namespace callgate::model {

struct KeysSettings {
    /// Which rule is given a wrong input, to see that it is missed.
    enum class Mutant : std::uint8_t { none, ageless, no_tombstone, one_fingerprint };
    EffectClass effect = EffectClass::keyed;
    Mutant mutant = Mutant::none;
};

class KeysWorld {
public:
    explicit KeysWorld(const KeysSettings& settings) : settings_(settings) {}

    static constexpr int kMoves = 26;
    bool apply(int move);
    static std::string name(int move);
    const std::string& violation() const noexcept { return violation_; }

    std::uint64_t pack() const;
    static KeysWorld unpack(std::uint64_t packed, const KeysSettings& settings);

private:
    enum class Doing : std::uint8_t { nothing, flying, happened, lost };
    struct Caller {
        Doing doing = Doing::nothing;
        std::uint8_t print = 0;
    };
    /// 0 to 255 each, few of them used.
    struct State {
        bool has_row = false;
        ledger::CallState state = ledger::CallState::claimed;
        std::uint8_t owner = 0;  // 0: gone; else the caller's number
        bool maybe_applied = false;
        std::uint8_t print = 0;
        bool old = false;   // begun longer ago than keys are kept
        bool tomb = false;  // its outcome has expired
        // The truth.
        bool remembers = false;    // keyed: the other side knows the key
        std::uint8_t applied = 0;  // effects under this key: 0, 1, 2 or more
        std::uint8_t prints = 0;   // of which requests
        std::uint8_t orphan = 0;   // a message that nobody listens to: 0, or 1 + its request
        std::array<Caller, 2> callers;
    };

    void check(bool holds, const char* invariant) {
        if (!holds && violation_.empty()) violation_ = invariant;
    }
    ledger::CallRow row() const;
    ModelRows rows() const;
    void check_stored(const ModelRows& rows, bool changed);
    bool busy() const;
    bool claim(std::uint8_t n, std::uint8_t print);
    bool end(std::uint8_t n, ledger::AttemptEnd how);
    bool put(const ledger::CallRow& row, bool released);
    bool happens(std::uint8_t print);
    bool crash(std::uint8_t n);
    bool time_passes(int move);
    void judge();

    KeysSettings settings_;
    State s_;
    std::string violation_;
};

}  // namespace callgate::model
