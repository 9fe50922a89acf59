// Checkpoints: "this log had so many events, and this root", signed. In the form of C2SP's tlog-checkpoint
// and signed-note, so that witnesses and tools made for transparency logs can read them.
//
//     callgate/audit/node-1               the origin: which log
//     1234                                its size
//     CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2…   its root, base64
//                                         (an empty line)
//     — callgate/audit/node-1 Az3grlg…    a signature: key name, base64(key id || Ed25519 signature)
//
// Reading is strict: one text for one checkpoint, sizes below 2^53, bounded numbers of lines and bytes.
// Signatures of keys that are not ours (a witness's own) are allowed and kept.
//
// Threads: plain values; all functions may be called from any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/error.h>

#include "ledger/audit/signing_key.h"
#include "ledger/audit/tree.h"

namespace callgate::ledger {

inline constexpr std::size_t kMaxNoteBytes = 16'384;
inline constexpr std::size_t kMaxNoteSignatures = 16;
/// What a signature's line begins with: an em dash and a space.
inline constexpr std::string_view kSignaturePrefix = "\xE2\x80\x94 ";

/// The origin of a chain's checkpoints, which is also the name of its keys.
std::string audit_origin(std::string_view chain_id);

struct Checkpoint {
    std::string origin;
    std::uint64_t size = 0;
    Sha256Digest root{};

    /// The text that is signed; it ends with a line feed.
    std::string body() const;
    bool operator==(const Checkpoint&) const = default;
};

struct NoteSignature {
    std::string key_name;
    std::uint32_t key_id = 0;
    std::string bytes;  ///< 64 where it is Ed25519
};

struct SignedCheckpoint {
    Checkpoint checkpoint;
    std::vector<NoteSignature> signatures;

    bool signed_by(const VerifyingKey& key) const;
};

/// The note. At least one key.
std::string sign_checkpoint(const Checkpoint& checkpoint, std::span<const SigningKey> keys);

/// invalid_arguments {reason: bad_checkpoint, line}.
Result<SignedCheckpoint> parse_checkpoint(std::string_view note);

}  // namespace callgate::ledger
