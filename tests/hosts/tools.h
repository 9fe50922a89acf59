// The tools of a host, of every effect class and run mode. Each body reports on the board that it is entered,
// stands still, calls the runtime again and ends as its manner says.
#pragma once

#include <string_view>

#include <callgate/callgate.h>

#include "host.h"

namespace callgate::hosts {

Tool make_tool(Host& host, const ToolKindOfHost& kind);
/// The same as a coroutine (coroutines.cpp).
Tool make_coroutine_tool(Host& host, const ToolKindOfHost& kind);

/// Whose call this is.
Ticket ticket_of(const Object& arguments, const Context& caller);
Ticket ticket_of_trace(std::string_view trace);
Object arguments_of(std::string_view item, Ticket ticket);

/// What a body answers in the end, told to the board first. Throws where the manner says so.
ToolReturn answer(Host& host, std::size_t entry, const BodyManner& manner, bool may_throw);
/// The other calls that a body makes. `may_block`: not of async ones, which have promised not to.
void call_inside(Host& host, Ticket ticket, CallContext& context, Inside how, bool may_block);
/// Begins a call and leaves it alone (callers.cpp).
void start_one(Host& host, Ticket ticket, std::size_t tool, bool awaited);
/// Makes a call and waits for it.
void call_one(Host& host, Ticket ticket, std::size_t tool);

}  // namespace callgate::hosts
