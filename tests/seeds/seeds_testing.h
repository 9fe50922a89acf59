// What the rows of several systems share.
#pragma once

#include <callgate/json.h>

namespace callgate {

/// A schema that any object satisfies.
inline const Value kAnyObject = Object{{"type", "object"}};

}  // namespace callgate
