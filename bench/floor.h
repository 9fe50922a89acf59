// The floor under a tool call: what has to be done in any case. JSON text in; parse, validate, call,
// serialise; JSON text out. No lookup, no policy, no record, no events. Built from the public json and schema
// calls alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <callgate/json.h>
#include <callgate/schema.h>

namespace callgate::bench {

class Floor {
public:
    Floor();
    /// The result as text, for arguments as text.
    std::string call(std::string_view arguments);

private:
    schema::Schema schema_;
    schema::Scratch scratch_;
    json::Arena arena_;
    std::function<std::int64_t(std::int64_t, std::int64_t)> add_;
};

/// {"a":integer,"b":integer}, both required, nothing else.
Value add_schema();

}  // namespace callgate::bench
