#include "ledger/control/signed_vote.h"

#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/try.h"
#include "ledger/audit/signing_key.h"
#include "ledger/operators.h"

namespace callgate::ledger {

namespace {

std::optional<Signature> signature_in(std::string_view base64) {
    const auto bytes = base::base64_decode(base64);
    Signature signature{};
    if (!bytes || bytes->size() != signature.size()) return std::nullopt;
    std::memcpy(signature.data(), bytes->data(), signature.size());
    return signature;
}

bool has_signed(std::string_view vkey, std::string_view text, std::string_view signature) {
    const auto key = VerifyingKey::parse(vkey);
    const auto read = signature_in(signature);
    return key && read && key->verifies(text, *read);
}

/// Whether the keys that came with it lead from the one that is known to this one.
bool leads_to(std::string known, const SignedVote& given, uid_t uid) {
    for (const std::string& next : given.succession) {
        const std::size_t space = next.find(' ');
        if (space == std::string::npos) return false;
        std::string key = next.substr(0, space);
        if (has_signed(known, succession_statement(uid, key), std::string_view(next).substr(space + 1)))
            known = std::move(key);
    }
    return known == given.key;
}

AuditEvent event_about(const ControlUser& user, std::string_view type, std::string_view vkey) {
    AuditFacts event;
    event.type = type;
    event.outcome = "info";
    event.stage = "operator";
    event.principal = user.name;
    const std::string detail = with_origin(vkey, user);
    event.detail = detail;
    return AuditEvent(event);
}

}  // namespace

Result<void> check_signature(Operations& operations, const ControlUser& user, const Approval& approval,
                             bool approve, const SignedVote& given, const EventSink& sink) {
    CALLGATE_TRY(VerifyingKey::parse(given.key));
    // First of all, so that nobody pins a key that they cannot sign with.
    if (!has_signed(given.key, vote_statement(approval.id, approval.digest, approve), given.signature)) {
        return fail(
            ErrorCode::denied,
            fmt::format("The signature is not one of this key over approval {} as it is.", approval.id),
            {{"reason", "bad_signature"}, {"approval_id", approval.id}});
    }
    CALLGATE_TRY_ASSIGN(auto known, operations.operator_key(user.uid));
    if (known && *known == given.key) return {};
    if (known && !leads_to(*known, given, user.uid)) {
        return fail(
            ErrorCode::denied,
            fmt::format("This ledger knows another operator key of uid {}, and that one did not sign this "
                        "one. If you did not make a new key, somebody else did. A key is changed with "
                        "`callgate operator enroll`, which needs the passphrase of the one before.",
                        user.uid),
            {{"reason", "key_changed"}, {"known", *known}});
    }
    AuditEvent event = event_about(user, known ? "operator.key_changed" : "operator.enrolled", given.key);
    CALLGATE_TRY(operations.set_operator_key(user.uid, given.key, event));
    if (sink) sink(event);
    return {};
}

}  // namespace callgate::ledger
