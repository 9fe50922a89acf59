// One audit event as bytes: the text that the hash chain covers.
//
// The text is canonical JSON (RFC 8785): members sorted, no spaces, only strings, integers below 2^53 and one
// object of commitments. Members without a value are left out. Text that is not UTF-8 is spelled in
// hexadecimal under the member's name with "_hex" appended, so that two different events never share a text.
// What a person may ask to have erased is not in it: a payload is kept apart, and the event holds a salted
// hash of it. docs/formats/audit.md is the whole format.
//
// Threads: all functions may be called from any thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <callgate/observer.h>

#include "base/sha256.h"

namespace callgate::ledger {

inline constexpr int kAuditVersion = 1;
/// Integers stay below 2^53, so that every JSON reader has them exactly; larger ones are cut to the limit.
inline constexpr std::uint64_t kMaxAuditInteger = (std::uint64_t{1} << 53) - 1;
/// A longer text of an event becomes a payload under the member's name.
inline constexpr std::size_t kMaxAuditText = 4'096;
inline constexpr std::size_t kMaxAuditPayloads = 32;  ///< of one event

/// Where an event stands.
struct EventPlace {
    std::uint64_t sequence = 0;
    std::chrono::system_clock::time_point at;
    std::chrono::microseconds mono{0};  ///< since this run of the process began
};

/// The signing keys that an event of the audit itself names, in vkey form (checkpoint.h); else empty.
struct KeyNames {
    std::string_view key;      ///< audit.opened: in force; audit.key_rotated: in force from here on
    std::string_view old_key;  ///< audit.key_rotated: in force until here
};

struct Commit {
    std::string_view field;
    base::Sha256Digest digest;
};

using Salt = std::array<std::uint8_t, 16>;

/// What an event holds of a payload.
base::Sha256Digest commit_to(base::Sha256& hasher, const Salt& salt, std::string_view payload);

/// An event's canonical text except for its place, so that its author can write it before anybody knows which
/// event comes first.
class EventDraft {
public:
    std::string at(const EventPlace& place) const;

private:
    friend class DraftWriter;

    std::string text_;
    std::size_t mono_ = 0;  // where in the text the numbers go, in this order
    std::size_t sequence_ = 0;
    std::size_t time_ = 0;
};

/// `boot` is which run of the process. `commits` in the order of their fields, each field once. facts.at,
/// .detail and .sequence are not looked at.
EventDraft draft_event(std::string_view chain, std::string_view boot, const AuditFacts& facts,
                       const KeyNames& keys, std::span<const Commit> commits);

/// 1 to 32 of a-z, 0-9 and _, a letter first.
bool is_payload_field(std::string_view name) noexcept;

/// The members of an event that are free text, by their name there.
struct EventText {
    std::string_view name;
    std::string_view AuditFacts::* text;
};
std::span<const EventText> event_texts() noexcept;

}  // namespace callgate::ledger
