// All faults of a policy at once. The reader of a policy stops at the first, as it must: what comes after it
// may mean something else. Who writes one wants to see them all.
//
// Threads: one thread.
#pragma once

#include <callgate/json.h>

namespace callgate::cli {

/// [{path, message}]: what the policy's schema finds, then what the schema cannot say, such as a time zone
/// that nobody knows, of each part that it finds nothing in. In no part is a fault named twice.
Array faults_of_policy(const Value& document);

}  // namespace callgate::cli
