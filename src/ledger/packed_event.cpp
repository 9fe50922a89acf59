#include "ledger/packed_event.h"

#include <cstring>
#include <type_traits>

namespace callgate::ledger {

namespace {

// Most are empty or a short name, and quicker copied here, in two pieces that may overlap.
char* put(char* to, std::string_view text) noexcept {
    const std::size_t size = text.size();
    const auto ends = [&](auto width) {
        std::memcpy(to, text.data(), width);
        std::memcpy(to + size - width, text.data() + size - width, width);
    };
    if (size > 16) {
        std::memcpy(to, text.data(), size);
    } else if (size >= 8) {
        ends(std::integral_constant<std::size_t, 8>());
    } else if (size >= 4) {
        ends(std::integral_constant<std::size_t, 4>());
    } else if (size > 0) {
        to[0] = text[0];
        to[size / 2] = text[size / 2];
        to[size - 1] = text[size - 1];
    }
    return to + size;
}

}  // namespace

char* PackedEvent::room_for(std::size_t bytes) {
    if (bytes <= kInside) {
        outside_.reset();
        outside_bytes_ = 0;
        return inside_.data();
    }
    if (bytes > outside_bytes_) {
        outside_ = std::make_unique_for_overwrite<char[]>(bytes);
        outside_bytes_ = static_cast<std::uint32_t>(bytes);
    }
    return outside_.get();
}

void PackedEvent::pack(const AuditFacts& event) {
    sequence_ = event.sequence;
    at_ = event.at;
    latency_ = event.latency;
    type_ = event.type;
    outcome_ = event.outcome;
    stage_ = event.stage;
    error_code_ = event.error_code;
    call_id_ = event.call_id;
    parent_call_id_ = event.parent_call_id;
    attempt_ = event.attempt;
    risk_ = event.risk;
    autonomy_ = event.autonomy;
    has_key_ = event.has_key;

    char* next = room_for(text_bytes(event));
    for (std::size_t i = 0; i < kAuditTexts.size(); ++i) {
        const std::string_view text = event.*kAuditTexts[i];
        sizes_[i] = static_cast<std::uint32_t>(text.size());
        if (!text.empty()) next = put(next, text);
    }
}

AuditFacts PackedEvent::facts() const {
    AuditFacts facts;
    facts.sequence = sequence_;
    facts.at = at_;
    facts.latency = latency_;
    facts.type = type_;
    facts.outcome = outcome_;
    facts.stage = stage_;
    facts.error_code = error_code_;
    facts.call_id = call_id_;
    facts.parent_call_id = parent_call_id_;
    facts.attempt = attempt_;
    facts.risk = risk_;
    facts.autonomy = autonomy_;
    facts.has_key = has_key_;
    const char* next = text();
    for (std::size_t i = 0; i < kAuditTexts.size(); ++i) {
        facts.*kAuditTexts[i] = {next, sizes_[i]};
        next += sizes_[i];
    }
    return facts;
}

}  // namespace callgate::ledger
