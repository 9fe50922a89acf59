#include "ledger/sqlite/prepared.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

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

/// For the last of `events`.
SealedPayload make_payload(const base::SealKey& key, const std::vector<AuditEvent>& events,
                           std::string_view field, std::string plain) {
    if (events.empty()) return {field, {}, {}};
    std::string sealed;
    if (!plain.empty()) sealed = seal_payload(key, events.back().call_id, field, plain);
    return {field, std::move(plain), std::move(sealed)};
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
    kept->result.value =
        fmt::format("The result was not kept: with {} bytes it is too large for the ledger.", bytes);
    return kept;
}

SealedOutcome seal_encoded(const base::SealKey& key, const CallId& call_id, std::string_view plain) {
    return {base::sha256(plain), base::seal(key, kOutcome, bytes_of(call_id), plain)};
}

}  // namespace

std::string seal_payload(const base::SealKey& key, const CallId& call_id, std::string_view field,
                         std::string_view plain) {
    return base::seal(key, kPayload, payload_name(call_id, field), plain);
}

Result<std::string> unseal_payload(const base::SealKey& key, const CallId& call_id, std::string_view field,
                                   std::string_view sealed) {
    return base::unseal(key, kPayload, payload_name(call_id, field), sealed);
}

SealedOutcome seal_outcome(const base::SealKey& key, const CallId& call_id, const StoredOutcome& outcome) {
    return seal_encoded(key, call_id, encode(outcome));
}

Result<std::shared_ptr<const StoredOutcome>> unseal_outcome(const base::SealKey& key, const CallId& call_id,
                                                            std::string_view sealed) {
    auto plain = base::unseal(key, kOutcome, bytes_of(call_id), sealed);
    if (!plain) return tl::unexpected(std::move(plain.error()));
    return decode_outcome(*plain);
}

PreparedClaim::PreparedClaim(ClaimRequest asked, const base::SealKey& key)
    : request(std::move(asked)),
      key_hash(request.row.key.key.empty() ? base::Sha256Digest() : hash_of(request.row.key)),
      arguments(make_payload(key, request.events, "arguments", shown_arguments(request.row))) {}

PreparedSettle::PreparedSettle(SettleRequest asked, const base::SealKey& key, std::size_t max_bytes)
    : request(std::move(asked)) {
    result.field = "result";
    if (!request.outcome) return;
    std::string plain = encode(*request.outcome);
    const std::size_t most = std::min(max_bytes, base::kMaxSealedBytes);
    if (plain.size() + kRoom > most) {
        request.outcome = without_result(*request.outcome, plain.size());
        plain = encode(*request.outcome);
    }
    outcome = seal_encoded(key, request.call_id, plain);
    result = make_payload(
        key, request.events, "result",
        fmt::format(R"({{"bytes":{},"sha256":"{}"}})", plain.size(), base::to_hex(outcome.digest)));
}

}  // namespace callgate::ledger
