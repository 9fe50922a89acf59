#include "ledger/audit/chain.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "base/utf8.h"

namespace callgate::ledger {
namespace {

constexpr std::string_view kChainTag = "callgate-audit-v1";
constexpr std::string_view kLinkTag("\x01", 1);
constexpr std::string_view kDetail = "detail";
constexpr std::string_view kNoType = "unnamed";  // every event has a type
constexpr std::size_t kMaxType = 256;

void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

bool by_field(const StoredPayload& a, const StoredPayload& b) {
    return a.field < b.field;
}

/// A text that is too long for the event itself goes the payloads' way; few events have one.
[[gnu::cold, gnu::noinline]] void move_long_texts(AuditFacts& facts, std::vector<PayloadView>& payloads) {
    for (const EventText& member : event_texts()) {
        std::string_view& text = facts.*member.text;
        if (text.size() <= kMaxAuditText) continue;
        payloads.push_back({member.name, text});
        text = {};
    }
}

}  // namespace

bool is_chain_id(std::string_view id) noexcept {
    constexpr std::size_t kMax = 64;
    return !id.empty() && id.size() <= kMax && std::all_of(id.begin(), id.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
               c == '_' || c == '-';
    });
}

ChainHead empty_head(std::string_view chain_id) {
    ChainHead head;
    head.hash = base::Sha256().update(kChainTag).update(chain_id).finish();
    return head;
}

Sha256Digest next_hash(base::Sha256& hasher, const Sha256Digest& last, std::string_view event_bytes) {
    return hasher.update(kLinkTag).update(view_of(last)).update(event_bytes).finish();
}

AuditChain::AuditChain(std::string chain_id, std::string boot_id, const ChainHead& head, base::Rng& rng)
    : chain_id_(std::move(chain_id)), boot_id_(std::move(boot_id)), head_(head), rng_(rng) {
    require(is_chain_id(chain_id_), "this is no chain id: 1 to 64 of A-Z a-z 0-9 . _ -");
    require(is_chain_id(boot_id_), "this is no boot id: 1 to 64 of A-Z a-z 0-9 . _ -");
}

DraftedEvent AuditChain::draft(const AuditFacts& facts, std::span<const PayloadView> payloads,
                               const KeyNames& keys, base::Rng& salts) const {
    AuditFacts shown = facts;
    if (shown.type.empty() || shown.type.size() > kMaxType || !base::is_valid_utf8(shown.type))
        shown.type = kNoType;
    std::vector<PayloadView> long_texts;
    if (std::any_of(event_texts().begin(), event_texts().end(),
                    [&](const EventText& text) { return (shown.*text.text).size() > kMaxAuditText; }))
        move_long_texts(shown, long_texts);

    DraftedEvent event;
    const auto keep = [&](const PayloadView& payload) {
        if (payload.bytes.empty()) return;
        event.payloads.push_back({std::string(payload.field), {}, std::string(payload.bytes), false});
        salts.fill(std::as_writable_bytes(std::span(event.payloads.back().salt)));
    };
    keep({kDetail, facts.detail});
    for (const PayloadView& payload : payloads) {
        require(is_payload_field(payload.field), "a payload's field is 1 to 32 of a-z 0-9 _");
        keep(payload);
    }
    for (const PayloadView& payload : long_texts) keep(payload);
    std::sort(event.payloads.begin(), event.payloads.end(), by_field);
    require(event.payloads.size() <= kMaxAuditPayloads, "an event has too many payloads");
    require(std::adjacent_find(event.payloads.begin(), event.payloads.end(),
                               [](const auto& a, const auto& b) { return a.field == b.field; }) ==
                event.payloads.end(),
            "an event has two payloads of one name");

    std::array<Commit, kMaxAuditPayloads> commits;
    const auto used = std::span(commits).first(event.payloads.size());
    if (!used.empty()) {
        base::Sha256 hasher;
        std::transform(event.payloads.begin(), event.payloads.end(), used.begin(),
                       [&](const StoredPayload& payload) {
                           return Commit{payload.field, commit_to(hasher, payload.salt, payload.bytes)};
                       });
    }
    event.text = draft_event(chain_id_, boot_id_, shown, keys, used);
    return event;
}

ChainedEvent AuditChain::append(const EventDraft& text, std::chrono::system_clock::time_point at,
                                std::chrono::microseconds mono) {
    require(head_.size() < kMaxAuditInteger, "the chain is full");
    ChainedEvent event;
    event.sequence = head_.size() + 1;
    event.bytes = text.at({event.sequence, at, mono});
    event.hash = next_hash(hasher_, head_.hash, event.bytes);

    head_.hash = event.hash;
    head_.tree.push_leaf(hasher_, leaf_hash(hasher_, event.hash), [&](const TreeNode& node) {
        if (node.level % kTileLevels == 0) nodes_.push_back(node);
    });
    return event;
}

void AuditChain::rewind(const ChainHead& to) {
    require(to.size() <= head_.size(), "a chain cannot go back to what is ahead of it");
    head_ = to;
    std::erase_if(nodes_, [&](const TreeNode& node) { return (node.index + 1) << node.level > to.size(); });
}

}  // namespace callgate::ledger
