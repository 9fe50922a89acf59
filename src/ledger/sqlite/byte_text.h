// Values with text that is not UTF-8, as JSON and back: what is replayed is what was answered, to the byte.
//
// JSON can say only characters. Where some text of a value, or a member's name, is not UTF-8, the whole value
// is written with each byte of its texts as a character of its own (U+0000 to U+00FF), and marked.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <callgate/json.h>

namespace callgate::ledger {

bool has_other_bytes(const Value& value);
/// Each byte as a character.
Value spelled_as_bytes(const Value& value);
/// And back. What is no such spelling stays as it is.
Value from_bytes(const Value& value);

}  // namespace callgate::ledger
