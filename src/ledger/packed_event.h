// An audit event in as little memory as it needs: its numbers, and one run of characters for all its texts.
//
// The in-memory audit keeps thousands of events and writes one for every call, so they should touch few cache
// lines and take no memory of their own. Packing into a slot that was used before takes memory
// only if the texts are longer than ever before in that slot.
//
// Threads: belongs to one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include <callgate/observer.h>

#include "tool/audit_texts.h"

namespace callgate::ledger {

class PackedEvent {
public:
    [[gnu::hot]] void pack(const AuditFacts& event);
    AuditEvent unpack() const { return AuditEvent(facts()); }
    /// Borrowed from here.
    AuditFacts facts() const;

    const CallId& call_id() const noexcept { return call_id_; }
    /// "" stands for the call id.
    std::string_view trace_id() const noexcept { return {text(), sizes_[0]}; }

private:
    static constexpr std::size_t kInside = 64;  // enough for the names of a usual call

    const char* text() const noexcept { return outside_ ? outside_.get() : inside_.data(); }
    [[gnu::hot]] char* room_for(std::size_t bytes);

    std::uint64_t sequence_ = 0;
    std::chrono::system_clock::time_point at_;
    std::chrono::nanoseconds latency_{0};
    std::string_view type_;
    std::string_view outcome_;
    std::string_view stage_;
    std::string_view error_code_;
    CallId call_id_{};
    CallId parent_call_id_{};
    std::uint32_t attempt_ = 0;
    Risk risk_ = Risk::low;
    Autonomy autonomy_ = Autonomy::a2;
    bool has_key_ = false;
    std::uint32_t outside_bytes_ = 0;
    std::unique_ptr<char[]> outside_;  // for all texts, if they do not fit inside
    std::array<std::uint32_t, kAuditTexts.size()> sizes_{};
    std::array<char, kInside> inside_;
};

}  // namespace callgate::ledger
