#include "ledger/audit/event_proof.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/try.h"
#include "ledger/audit/event_view.h"
#include "ledger/audit/proof.h"

namespace callgate::ledger {
namespace {

constexpr std::size_t kMaxPath = 64;

tl::unexpected<Error> bad_proof(std::string_view why) {
    return fail(ErrorCode::audit_failure, fmt::format("This proof does not hold: {}.", why),
                {{"reason", "bad_proof"}});
}

std::optional<Sha256Digest> digest_of(const Value* value) {
    if (value == nullptr || !value->is_string()) return std::nullopt;
    const auto& text = value->get_string();
    const auto raw = base::hex_decode({text.data(), text.size()});
    Sha256Digest digest{};
    if (!raw || raw->size() != digest.size()) return std::nullopt;
    std::transform(raw->begin(), raw->end(), digest.begin(),
                   [](char c) { return static_cast<std::uint8_t>(c); });
    return digest;
}

std::string_view text_of(const Object& object, std::string_view name) {
    const Value* const value = object.if_contains(name);
    if (value == nullptr || !value->is_string()) return {};
    return {value->get_string().data(), value->get_string().size()};
}

}  // namespace

Result<Object> prove_event(AuditReader& reader, std::uint64_t sequence) {
    CALLGATE_TRY_ASSIGN(const auto note, reader.latest_checkpoint());
    if (!note)
        return fail(ErrorCode::audit_failure,
                    "The log has no checkpoint yet, so nothing in it can be proven to others. Make one with "
                    "`callgate audit checkpoint`.",
                    {{"reason", "no_checkpoint"}});
    CALLGATE_TRY_ASSIGN(const auto checkpoint, parse_checkpoint(*note));
    const std::uint64_t size = checkpoint.checkpoint.size;
    CALLGATE_TRY_ASSIGN(const auto path, inclusion_proof(reader, sequence, size));
    CALLGATE_TRY_ASSIGN(const auto rows, reader.rows(sequence, sequence + 1));
    // The one before may be archived; its hash is known all the same.
    CALLGATE_TRY_ASSIGN(const auto previous, sequence == 1 ? std::vector{empty_head(reader.chain_id()).hash}
                                                           : reader.hashes(sequence - 1, sequence));
    if (rows.size() != 1 || previous.size() != 1)
        return fail(ErrorCode::audit_failure,
                    fmt::format("Event {} or the one before it is missing.", sequence),
                    {{"reason", "row_missing"}});
    const Sha256Digest before = previous.front();
    Array steps;
    for (const Sha256Digest& step : path) steps.emplace_back(base::to_hex(step));
    return Object{{"callgate_audit_proof", 1},
                  {"event", rows.back().bytes},
                  {"previous_hash", base::to_hex(before)},
                  {"hash", base::to_hex(rows.back().hash)},
                  {"path", std::move(steps)},
                  {"checkpoint", *note}};
}

Result<std::string> check_event_proof(const Object& proof, std::span<const VerifyingKey> keys) {
    const Value* const version = proof.if_contains("callgate_audit_proof");
    if (version == nullptr || *version != Value(1)) return bad_proof("it is no proof of this version");
    const std::string_view bytes = text_of(proof, "event");
    EventView view;
    if (const auto fault = scan_event(bytes, view))
        return bad_proof(fmt::format("its event: {}", fault->what));
    const auto before = digest_of(proof.if_contains("previous_hash"));
    const Value* const steps = proof.if_contains("path");
    if (!before || steps == nullptr || !steps->is_array() || steps->get_array().size() > kMaxPath)
        return bad_proof("it lacks previous_hash or path");
    ProofPath path;
    for (const Value& step : steps->get_array()) {
        const auto digest = digest_of(&step);
        if (!digest) return bad_proof("a step of its path is no hash");
        path.push_back(*digest);
    }
    const auto checkpoint = parse_checkpoint(text_of(proof, "checkpoint"));
    if (!checkpoint) return bad_proof("its checkpoint cannot be read");
    if (checkpoint->checkpoint.origin != audit_origin(view.text(Member::chain)))
        return bad_proof("its checkpoint is of another log");
    if (std::none_of(keys.begin(), keys.end(),
                     [&](const VerifyingKey& key) { return checkpoint->signed_by(key); }))
        return bad_proof("its checkpoint is not signed by any of the keys given");
    base::Sha256 hasher;
    if (!verify_inclusion(next_hash(hasher, *before, bytes), view.sequence(), checkpoint->checkpoint.size,
                          path, checkpoint->checkpoint.root))
        return bad_proof("the event is not in the log of that checkpoint");
    return std::string(bytes);
}

}  // namespace callgate::ledger
