#include "ledger/sqlite/prepared.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "ledger/digest.h"
#include "ledger/sqlite/codec.h"
#include "ledger/sqlite/columns.h"
#include "redact/redactor.h"

namespace callgate::ledger {

namespace {

constexpr std::size_t kRoom = 4'096;  // for the seal and the rest of the row
constexpr std::string_view kPayload = "audit-payload";
constexpr std::string_view kOutcome = "call-outcome";

std::string payload_name(const CallId& call_id, std::string_view field) {
    return std::string(bytes_of(call_id)).append(field);
}

/// The payload belongs to the last of them.
std::vector<PreparedEvent> prepare(const AuditChain& chain, const base::SealKey& key, base::Rng& rng,
                                   const std::vector<AuditEvent>& events, const PayloadView& payload) {
    std::vector<PreparedEvent> all;
    all.reserve(events.size());
    for (const AuditEvent& event : events) {
        const bool last = &event == &events.back();
        all.emplace_back(chain, key, rng, event,
                         last ? std::span(&payload, 1) : std::span<const PayloadView>());
    }
    return all;
}

/// The arguments as the audit shows them: what a name announces as a secret is masked.
std::string shown_arguments(const CallRow& row) {
    if (!row.arguments) return {};
    return json::canonical(redact::Redactor().redact(*row.arguments));
}

std::shared_ptr<const StoredOutcome> without_result(const StoredOutcome& outcome, std::size_t bytes) {
    auto kept = std::make_shared<StoredOutcome>();
    kept->succeeded = outcome.succeeded;
    kept->state = outcome.state;
    kept->error = outcome.error;
    kept->attempts = outcome.attempts;
    kept->approval_id = outcome.approval_id;
    kept->call_id = outcome.call_id;
    const std::string why =
        fmt::format("The result was not kept: with {} bytes it is too large for the ledger.", bytes);
    if (kept->succeeded || !kept->error) {
        kept->result.value = why;
    } else {
        kept->error->details["content_left_out"] = why;
    }
    return kept;
}

SealedOutcome seal_encoded(const base::SealKey& key, const CallId& call_id, std::string_view plain,
                           base::Rng& rng) {
    return {base::sha256(plain), base::seal(key, kOutcome, bytes_of(call_id), plain, rng)};
}

}  // namespace

std::string seal_payload(const base::SealKey& key, const CallId& call_id, std::string_view field,
                         std::string_view plain, base::Rng& rng) {
    return base::seal(key, kPayload, payload_name(call_id, field), plain, rng);
}

Result<std::string> unseal_payload(const base::SealKey& key, const CallId& call_id, std::string_view field,
                                   std::string_view sealed) {
    return base::unseal(key, kPayload, payload_name(call_id, field), sealed);
}

SealedOutcome seal_outcome(const base::SealKey& key, const CallId& call_id, const StoredOutcome& outcome) {
    base::SystemRng rng;
    return seal_encoded(key, call_id, encode(outcome), rng);
}

Result<std::shared_ptr<const StoredOutcome>> unseal_outcome(const base::SealKey& key, const CallId& call_id,
                                                            std::string_view sealed) {
    CALLGATE_TRY_ASSIGN(auto plain, base::unseal(key, kOutcome, bytes_of(call_id), sealed));
    return decode_outcome(plain);
}

PreparedEvent::PreparedEvent(const AuditChain& chain, const base::SealKey& key, base::Rng& rng,
                             const AuditFacts& facts, std::span<const PayloadView> texts,
                             const KeyNames& keys)
    : at(facts.at), call_id(facts.call_id), trace_id(facts.trace_id) {
    DraftedEvent drafted = chain.draft(facts, texts, keys, rng);
    text = std::move(drafted.text);
    payloads = std::move(drafted.payloads);
    for (StoredPayload& payload : payloads)
        payload.bytes = seal_payload(key, call_id, payload.field, payload.bytes, rng);
}

std::size_t bytes_of(const Value& value) noexcept {
    constexpr std::size_t kNode = 32;
    std::size_t bytes = kNode;
    if (const auto* text = value.if_string()) bytes += text->size();
    if (const auto* array = value.if_array()) {
        for (const Value& element : *array) bytes += bytes_of(element);
    }
    if (const auto* object = value.if_object()) {
        for (const auto& member : *object) bytes += member.key().size() + bytes_of(member.value());
    }
    return bytes;
}

std::size_t bytes_of(const std::vector<PreparedEvent>& events) noexcept {
    constexpr std::size_t kEvent = 1'024;
    std::size_t bytes = 0;
    for (const PreparedEvent& event : events) {
        bytes += kEvent;
        for (const StoredPayload& payload : event.payloads) bytes += payload.bytes.size();
    }
    return bytes;
}

PreparedClaim::PreparedClaim(ClaimRequest given, const AuditChain& chain, const base::SealKey& key)
    : request(std::move(given)),
      key_hash(request.row.key.key.empty() ? base::Sha256Digest() : hash_of(request.row.key)) {
    base::DrawnAhead rng(chain.rng());
    events = prepare(chain, key, rng, request.events, {"arguments", shown_arguments(request.row)});
}

PreparedSettle::PreparedSettle(SettleRequest given, const AuditChain& chain, const base::SealKey& key,
                               std::size_t max_bytes)
    : request(std::move(given)) {
    base::DrawnAhead rng(chain.rng());
    std::string note;
    if (request.outcome) {
        std::string plain = encode(*request.outcome);
        const std::size_t most = std::min(max_bytes, base::kMaxSealedBytes);
        if (plain.size() + kRoom > most) {
            request.outcome = without_result(*request.outcome, plain.size());
            plain = encode(*request.outcome);
        }
        outcome = seal_encoded(key, request.call_id, plain, rng);
        note = fmt::format(R"({{"bytes":{},"sha256":"{}"}})", plain.size(), base::to_hex(outcome.digest));
    }
    events = prepare(chain, key, rng, request.events, {"result", note});
}

}  // namespace callgate::ledger
