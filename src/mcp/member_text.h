// A part of a message as it stands in the message's text, so that it can be handed on as the bytes that came.
//
// Threads: pure functions.
#pragma once

#include <string_view>

namespace callgate::mcp {

/// The text of a member of `object`; "" where there is none. The text must be one that json::parse() takes.
std::string_view member_text(std::string_view object, std::string_view member);

}  // namespace callgate::mcp
