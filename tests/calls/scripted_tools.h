// The tools of the scripts: of every effect class, inline and async, each answering as the dice fall.
//
// Threads: one.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <callgate/callgate.h>

#include "base/clock.h"
#include "ledger/memory_ledger.h"

#include "dice.h"
#include "oracle.h"

namespace callgate::calls {

enum class Trait : std::uint8_t {
    none,
    resource,  ///< calls on the same item take turns
    target,    ///< anti-flap and storm
    limits,
    scope,
    preview,
    undo,   ///< an action with a compensation
    nests,  ///< calls others from inside
    output  ///< has an output schema
};

struct ToolKindOfScript {
    std::string_view name;
    EffectClass effect;
    RunMode mode;
    Risk risk;
    std::uint32_t retries;
    Trait trait;

    /// Its calls never wait, whatever they meet.
    bool at_once() const { return mode == RunMode::inlined && retries == 0 && trait != Trait::resource; }
};
std::span<const ToolKindOfScript> tool_kinds();

/// An async attempt that waits for an answer.
struct Held {
    std::shared_ptr<Attempt> attempt;
    const ToolKindOfScript* kind;
    std::size_t entry;
    std::string secret;  ///< taken while the call ran; "" none
};

/// What a body needs of the script it is part of.
class Stage {
public:
    explicit Stage(std::uint64_t seed) : ledger(*clock, ledger_options()), dice(seed) {}
    virtual ~Stage() = default;

    virtual void hold(Held held) = 0;
    /// While a tool runs, other things happen.
    virtual void meanwhile() = 0;
    /// The name of a tool whose calls end at once; "" if there is none.
    virtual std::string tool_to_nest() = 0;
    virtual void say(std::string_view what, std::string_view more) = 0;

    std::shared_ptr<base::ManualClock> clock = std::make_shared<base::ManualClock>();
    ledger::MemoryLedger ledger;
    Oracle oracle{ledger};
    Dice dice;
    std::uint64_t answers = 0;

private:
    static ledger::MemoryLedger::Options ledger_options() {
        ledger::MemoryLedger::Options options;
        options.key_ttl = std::chrono::hours(1);
        return options;
    }
};

Tool make_tool(Stage& stage, const ToolKindOfScript& kind, RunMode mode, std::string_view description);

/// Takes the secret of the tool's connector; "" where none was given.
std::string take_secret(Stage& stage, CallContext& context);
/// What a tool does besides: progress, partial content, secrets, calls of its own.
void busy(Stage& stage, const ToolKindOfScript& kind, CallContext& context, std::string& secret);
/// The answer of this entry, as the dice fall. May throw where `may_throw`.
ToolReturn answer(Stage& stage, std::size_t entry, const std::string& secret, bool may_throw);

}  // namespace callgate::calls
