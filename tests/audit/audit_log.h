// A whole audit log in memory, as an attacker has it before him: every record can be changed, the hashes made
// again, and, who has the keys, the checkpoints too.
//
// Logs are made by the real chain, with everything that a log can have: payloads, erased ones, calls without
// an end, restarts, clocks that go back, keys that change, odd texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "ledger/audit/checkpoint.h"
#include "ledger/audit/event_view.h"
#include "ledger/audit/reader.h"
#include "ledger/audit/verify.h"

namespace callgate::audit {

using ledger::Member;

struct LogEvent {
    std::string bytes;
    ledger::Sha256Digest hash{};
    std::vector<ledger::StoredPayload> payloads;

    bool operator==(const LogEvent&) const = default;
};

struct LogNote {
    std::uint64_t after = 0;  ///< it stands after so many events
    std::string text;
};

struct AuditLog {
    std::string chain;
    std::vector<LogEvent> events;
    std::vector<LogNote> notes;
    std::vector<ledger::SigningKey> keys;  ///< all that were ever in force, oldest first
    std::vector<std::string> witnessed;    ///< what the witness has; no attacker gets there

    std::uint64_t size() const noexcept { return events.size(); }
    /// How many events the last checkpoint covers.
    std::uint64_t signed_size() const noexcept { return notes.empty() ? 0 : notes.back().after; }
    /// The export.
    std::string text() const;
    std::string pinned() const { return keys.front().verifying_key().vkey(); }

    /// Without any key: the hashes from event `first` (from 0) on are made to fit again.
    void rehash(std::size_t first = 0);
    /// With the keys: the checkpoints, too, from the one of `first` events on.
    void resign(std::uint64_t first = 0);
    /// The events' own numbers are made dense again.
    void renumber();
};

/// Replaces a member's value, which must be there, by `value` as it stands in JSON; false if it is not there.
bool set_member(std::string& bytes, Member member, std::string_view value);

/// A new log; the same numbers make the same one. With a last checkpoint of all events unless
/// `may_have_tail`.
AuditLog make_log(base::Rng& rng, bool may_have_tail);
/// What could have happened instead: the first `kept` events of `log`, and then others, with the same keys.
AuditLog continue_log(const AuditLog& log, std::uint64_t kept, std::uint64_t more, base::Rng& rng);

ledger::VerifyReport verify(const AuditLog& log, std::string_view text, bool with_witness);

}  // namespace callgate::audit
