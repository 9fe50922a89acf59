// The threads of a host that make calls: each plays a script of its own, drawn from the host's seed.
#pragma once

#include <optional>

#include "host.h"

namespace callgate::hosts {

class Caller {
public:
    Caller(Host& host, std::size_t index);
    void run();

private:
    enum class Form : std::uint8_t { call, start, await, batch, direct, json };

    void any_call();
    void keyed_call();
    void batch();
    /// Makes the call in this form; the outcome where it was waited for.
    std::optional<Outcome> make(Ticket ticket, Form form, const ToolKindOfHost& kind, Object arguments,
                                Context context);
    Context context_of(Ticket ticket);
    Form any_form();

    Host& host_;
    const std::size_t index_;
    Dice dice_;
    std::uint64_t last_ = 0;
};

/// A call as the board is to know it. `due`: whether its deadline is judged.
Made made_of(Host& host, Ticket ticket, const ToolKindOfHost& kind, const Context& context, bool due);

}  // namespace callgate::hosts
