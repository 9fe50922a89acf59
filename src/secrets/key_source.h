// The key that data at rest is sealed with: read from where the operator keeps it, or made at first start.
//
// A key file is refused when others could have read or replaced it. Its content never passes through ordinary
// memory. No error says anything of a key but how long it was.
//
// Threads: may be called from any thread, but a key from the environment only while no other thread touches
// the environment.
#pragma once

#include <string>

#include <callgate/secrets.h>

#include "base/rng.h"
#include "base/seal.h"
#include "os/file_ops.h"

namespace callgate::secrets {

/// config_error {reason, …}: key_missing, key_permission (others may read it), key_owner, key_unreadable,
/// key_text (neither 32 bytes nor hexadecimal nor base64 of as many), key_source (a name that names nothing).
/// A symbolic link is followed, so that a key can be kept on another disk: what counts is the file it leads
/// to.
Result<base::SealKey> load_key(os::FileOps& files, const KeySource& source);

/// The key in the file `path`; where there is none, a new one that survives a power cut once this returns.
/// Of several processes that start at once, one makes it. A link that leads nowhere is key_missing: the disk
/// with the key may just not be there. Errors as load_key, or from os::FileLock and
/// os::write_file_atomically.
Result<base::SealKey> load_or_create_key(os::FileOps& files, base::Rng& rng, const std::string& path);

}  // namespace callgate::secrets
