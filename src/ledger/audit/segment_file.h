// A segment of the audit as a file: what can still be done to it once it is archived.
//
// Threads: as safe as the FileOps it is given.
#pragma once

#include <cstdint>
#include <string>

#include <callgate/error.h>
#include <callgate/tool.h>

#include "os/file_ops.h"

namespace callgate::ledger {

/// The payloads of a call's events go, with their salts; everything else stays as it is, byte for byte, so
/// the segment verifies as before. The file is replaced as a whole, or not at all. How many. config_error
/// {reason: malformed | file_missing …, path}.
Result<std::uint64_t> erase_in_segment(os::FileOps& files, const std::string& path, const CallId& call);

}  // namespace callgate::ledger
