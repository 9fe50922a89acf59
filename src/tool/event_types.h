// The types of events that hosts have registered, and those that were read from a record: each a text that
// stays.
//
// Threads: may be used from any thread.
#pragma once

#include <string_view>

namespace callgate {

/// The same text, kept for good; "" where `name` is no name of a host's event type, or there are too many.
std::string_view kept_event_type(std::string_view name);

}  // namespace callgate
