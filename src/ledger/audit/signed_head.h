// A signed head: where a log goes on whose beginning was archived, or which part of it a segment is.
//
// It is the checkpoint of the last event before, that event's hash, and the proof that it is the last: from
// these follow the chain's next hash and the whole frontier of the tree, so that what comes after can be
// verified as if everything before it stood there. That what stands before is what it must be, its own
// segment shows.
//
// Threads: plain values; all functions may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ledger/audit/chain.h"
#include "ledger/audit/checkpoint.h"

namespace callgate::ledger {

struct SignedHead {
    std::string note;                ///< the checkpoint; its size is the number of the last event before
    Sha256Digest hash{};             ///< of that event
    std::vector<Sha256Digest> path;  ///< that it is the last of them: RFC 6962's inclusion proof
    std::string key;                 ///< the vkey in force

    bool operator==(const SignedHead&) const = default;
};

/// The head that the chain had. Nothing where `path` does not lead from `hash` to the checkpoint's root.
std::optional<ChainHead> head_of(const SignedHead& head, const Checkpoint& checkpoint);

}  // namespace callgate::ledger
