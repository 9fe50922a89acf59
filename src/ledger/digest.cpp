#include "ledger/digest.h"

#include "base/encoding.h"
#include "base/ids.h"
#include "base/utf8.h"

namespace callgate::ledger {

namespace {

constexpr std::string_view kCallTag = "callgate-call-v1";
constexpr std::string_view kApprovalTag = "callgate-approval-v2";
constexpr int kVersion = 1;
constexpr int kRequestVersion = 2;

std::string_view view_of(const boost::json::string& text) noexcept {
    return {text.data(), text.size()};
}

std::string spelled(std::string_view text) {
    return base::is_valid_utf8(text) ? "t:" + std::string(text) : "b:" + base::hex_encode(text);
}

/// The same value with every string marked as text, or spelled as bytes where it is not UTF-8.
Value spelled(const Value& value) {
    switch (value.kind()) {
        case boost::json::kind::string: return Value(spelled(view_of(value.get_string())));
        case boost::json::kind::array: {
            Array items;
            for (const Value& item : value.get_array()) items.push_back(spelled(item));
            return items;
        }
        case boost::json::kind::object: {
            Object members;
            for (const auto& member : value.get_object()) {
                members.emplace(spelled(std::string_view(member.key().data(), member.key().size())),
                                spelled(member.value()));
            }
            return members;
        }
        default: return value;
    }
}

base::Sha256Digest digest_of(std::string_view tag, const Value& document) {
    std::string text = json::canonical(document);
    // The canonical text shows bytes that are not UTF-8 as U+FFFD, so that several strings could share it.
    if (text.find("\xEF\xBF\xBD") != std::string::npos) text = "spelled" + json::canonical(spelled(document));
    return base::Sha256().update(tag).update(text).finish();
}

Array array_of(const std::vector<std::string>& texts) {
    Array items;
    items.reserve(texts.size());
    for (const std::string& text : texts) items.emplace_back(text);
    return items;
}

}  // namespace

base::Sha256Digest fingerprint(const RequestIdentity& request) {
    const Value document = Object{{"v", kRequestVersion},
                                  {"tool_id", request.tool_id},
                                  {"action", request.action},
                                  {"args", request.arguments},
                                  {"target", request.target}};
    return digest_of(kCallTag, document);
}

base::Sha256Digest earlier_fingerprint(const RequestIdentity& request) {
    const Value document = Object{{"v", kVersion},
                                  {"tool_id", request.tool_id},
                                  {"tool_def_hash", base::to_hex(request.definition_hash)},
                                  {"action", request.action},
                                  {"args", request.arguments},
                                  {"target", request.target}};
    return digest_of(kCallTag, document);
}

base::Sha256Digest hash_of(const KeyScope& key) {
    base::Sha256 hash;
    hash.update("callgate-key-v1");
    for (const std::string* part : {&key.tenant, &key.principal, &key.tool, &key.key}) {
        hash.update(std::to_string(part->size())).update(":").update(*part);
    }
    return hash.finish();
}

std::string action_digest(const ActionIdentity& action) {
    Object document{{"tenant", action.tenant},
                    {"requester", action.requester},
                    {"tool_id", action.request.tool_id},
                    {"tool_def_hash", base::to_hex(action.request.definition_hash)},
                    {"server_identity", action.server_identity},
                    {"connector", action.connector},
                    {"config_ref", action.config_ref},
                    {"version", action.version},
                    {"action", action.request.action},
                    {"args", action.request.arguments},
                    {"secret_refs", array_of(action.secret_refs)},
                    {"resolved_targets", array_of(action.resolved_targets)},
                    {"effect_class", to_string(action.effect)},
                    {"decision", action.decision},
                    {"rule_id", action.rule_id},
                    {"risk", to_string(action.risk)},
                    {"idem_key", action.idempotency_key},
                    {"call_id", base::Uuid{action.call_id}.to_string()}};
    if (action.handed_in) document["handed_in"] = true;
    return base::to_hex(digest_of(kApprovalTag, document));
}

}  // namespace callgate::ledger
