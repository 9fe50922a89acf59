#include "ledger/sqlite/codec.h"

#include <utility>

#include "base/encoding.h"
#include "base/error_table.h"
#include "base/ids.h"
#include "base/try.h"
#include "base/utf8.h"
#include "json/size.h"
#include "ledger/sqlite/byte_text.h"

namespace callgate::ledger {

namespace {

tl::unexpected<Error> unreadable(std::string_view what) {
    return fail(ErrorCode::ledger_unavailable,
                "A record of the ledger cannot be read: " + std::string(what) +
                    ". The file is damaged or was written by another version.",
                {{"reason", "damaged"}});
}

// Text as it is; other bytes under the name with "64" behind it.
void put(Object& object, std::string_view name, std::string_view text) {
    if (text.empty()) return;
    if (base::is_valid_utf8(text)) {
        object[name] = text;
    } else {
        object[std::string(name) + "64"] = base::base64_encode(text);
    }
}

// A value as it is; one whose text is not all UTF-8 under the name with "_bytes" behind it, spelled so.
constexpr std::string_view kBytes = "_bytes";

void put_value(Object& object, std::string_view name, const Value& value) {
    if (has_other_bytes(value)) {
        object[std::string(name).append(kBytes)] = spelled_as_bytes(value);
    } else {
        object[name] = value;
    }
}

// Nothing: it is not there.
std::optional<Value> value_in(const Object& object, std::string_view name) {
    if (const Value* plain = object.if_contains(name)) return *plain;
    if (const Value* spelled = object.if_contains(std::string(name).append(kBytes)))
        return from_bytes(*spelled);
    return std::nullopt;
}

std::string_view view_of(const Value& value) noexcept {
    const auto* text = value.if_string();
    return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

std::string text_of(const Object& object, std::string_view name) {
    if (const Value* plain = object.if_contains(name)) return std::string(view_of(*plain));
    if (const Value* coded = object.if_contains(std::string(name) + "64")) {
        return base::base64_decode(view_of(*coded)).value_or(std::string());
    }
    return {};
}

std::int64_t number_of(const Object& object, std::string_view name) {
    const Value* found = object.if_contains(name);
    if (found == nullptr) return 0;
    if (found->is_int64()) return found->get_int64();
    return found->is_uint64() ? static_cast<std::int64_t>(found->get_uint64()) : 0;
}

bool flag_of(const Object& object, std::string_view name) {
    const Value* found = object.if_contains(name);
    return found != nullptr && found->is_bool() && found->get_bool();
}

void put_members(Object& object, std::string_view name, const Object& members) {
    if (!members.empty()) put_value(object, name, Value(members));
}

Object members_of(const Object& object, std::string_view name) {
    auto found = value_in(object, name);
    return found && found->is_object() ? std::move(found->get_object()) : Object();
}

// Between an outcome and what was received, which is kept as it came. JSON of our own making has none.
constexpr char kBeforeReceived = '\n';
constexpr std::string_view kReceivedValue = "value";
constexpr std::string_view kReceivedResult = "mcp_result";

RawIs raw_is_of(const Object& object) {
    const std::string received = text_of(object, "received");
    if (received == kReceivedValue) return RawIs::value;
    return received == kReceivedResult ? RawIs::mcp_result : RawIs::other;
}

template <class Enum>
std::optional<Enum> enum_of(std::string_view text, int count) {
    for (int i = 0; i < count; ++i) {
        if (to_string(static_cast<Enum>(i)) == text) return static_cast<Enum>(i);
    }
    return std::nullopt;
}

Object to_object(const Block& block) {
    Object out{{"kind", to_string(block.kind)}};
    put(out, "text", block.text);
    if (!block.json.is_null()) put_value(out, "json", block.json);
    if (!block.data.empty()) out["data64"] = base::base64_encode(block.data);
    put(out, "mime", block.mime_type);
    put(out, "uri", block.uri);
    put(out, "name", block.name);
    put_members(out, "extra", block.extra);
    return out;
}

Result<Block> to_block(const Value& value) {
    const Object* object = value.if_object();
    const auto kind = object == nullptr ? std::nullopt
                                        : enum_of<BlockKind>(text_of(*object, "kind"),
                                                             static_cast<int>(BlockKind::custom) + 1);
    if (!kind) return unreadable("a block of a result");
    Block block;
    block.kind = *kind;
    block.text = text_of(*object, "text");
    block.json = value_in(*object, "json").value_or(nullptr);
    block.data = text_of(*object, "data");
    block.mime_type = text_of(*object, "mime");
    block.uri = text_of(*object, "uri");
    block.name = text_of(*object, "name");
    block.extra = members_of(*object, "extra");
    return block;
}

Object to_object(const Error& error) {
    Object out{{"code", to_string(error.code)}};
    put(out, "message", error.message);
    put_members(out, "details", error.details);
    if (error.retryable) out["retryable"] = true;
    return out;
}

Error to_error(const Object& object) {
    Error error(base::error_code_from_string(text_of(object, "code")).value_or(ErrorCode::internal),
                text_of(object, "message"));
    error.details = members_of(object, "details");
    error.retryable = flag_of(object, "retryable");
    return error;
}

}  // namespace

std::string encode(const StoredOutcome& outcome) {
    Object out{{"state", to_string(outcome.state)},
               {"call_id", base::Uuid{outcome.call_id}.to_string()},
               {"attempts", outcome.attempts}};
    if (outcome.succeeded) out["ok"] = true;
    if (outcome.error) out["error"] = to_object(*outcome.error);
    put(out, "approval_id", outcome.approval_id);
    if (outcome.result.raw_is != RawIs::other) {
        out["received"] = outcome.result.raw_is == RawIs::value ? kReceivedValue : kReceivedResult;
        return json::write(out) + kBeforeReceived + outcome.result.raw;
    }
    put_members(out, "extra", outcome.result.extra);
    if (!outcome.result.value.is_null()) put_value(out, "value", outcome.result.value);
    if (!outcome.result.blocks.empty()) {
        Array blocks;
        for (const Block& block : outcome.result.blocks) blocks.push_back(to_object(block));
        out["blocks"] = std::move(blocks);
    }
    if (outcome.result.structured) put_value(out, "structured", *outcome.result.structured);
    put(out, "raw", outcome.result.raw);
    return json::write(out);
}

Result<std::shared_ptr<const StoredOutcome>> decode_outcome(std::string_view text) {
    const std::size_t end = text.find(kBeforeReceived);
    const auto parsed = json::parse(text.substr(0, end), json::any_size());
    if (!parsed || !parsed->is_object()) return unreadable("an outcome");
    const Object& object = parsed->get_object();
    const RawIs raw_is = raw_is_of(object);
    if ((end != std::string_view::npos) != (raw_is != RawIs::other)) return unreadable("an outcome");
    const auto state = enum_of<State>(text_of(object, "state"), static_cast<int>(kStateCount));
    const auto id = base::parse_uuid(text_of(object, "call_id"));
    if (!state || !id) return unreadable("an outcome");
    auto outcome = std::make_shared<StoredOutcome>();
    outcome->state = *state;
    outcome->call_id = id->bytes;
    outcome->succeeded = flag_of(object, "ok");
    outcome->attempts = static_cast<std::uint32_t>(number_of(object, "attempts"));
    if (const Value* error = object.if_contains("error"); error != nullptr && error->is_object())
        outcome->error = to_error(error->get_object());
    outcome->approval_id = text_of(object, "approval_id");
    outcome->result.value = value_in(object, "value").value_or(nullptr);
    if (const Value* blocks = object.if_contains("blocks"); blocks != nullptr && blocks->is_array()) {
        for (const Value& item : blocks->get_array()) {
            CALLGATE_TRY_ASSIGN(auto block, to_block(item));
            outcome->result.blocks.push_back(std::move(block));
        }
    }
    outcome->result.structured = value_in(object, "structured");
    outcome->result.raw = text_of(object, "raw");
    outcome->result.extra = members_of(object, "extra");
    outcome->result.raw_is = raw_is;
    if (raw_is != RawIs::other) outcome->result.raw = text.substr(end + 1);
    return outcome;
}

std::string encode(const Approval& approval) {
    Object out{{"risk", to_string(approval.risk)},
               {"autonomy", to_string(approval.autonomy)},
               {"policy_rev", approval.policy_rev},
               {"approvals_needed", approval.approvals_needed},
               {"assurance_needed", to_string(approval.assurance_needed)}};
    put_value(out, "arguments", approval.arguments);
    put(out, "id", approval.id);
    put(out, "call_id", approval.call_id);
    put(out, "tenant", approval.tenant);
    put(out, "requester", approval.requester);
    put(out, "tool", approval.tool);
    put(out, "action", approval.action);
    put(out, "digest", approval.digest);
    put(out, "binding", approval.binding);
    put(out, "why", approval.why);
    put(out, "how_to_approve", approval.how_to_approve);
    put(out, "trace_id", approval.trace_id);
    put(out, "task_id", approval.task_id);
    put(out, "step_id", approval.step_id);
    put(out, "idempotency_key", approval.idempotency_key);
    Array scopes;
    for (const std::string& scope : approval.scopes.all()) {
        Object item;
        put(item, "s", scope);
        scopes.push_back(std::move(item));
    }
    if (!scopes.empty()) out["scopes"] = std::move(scopes);
    if (approval.preview) {
        Object preview{{"supported", approval.preview->supported}};
        put(preview, "summary", approval.preview->summary);
        if (approval.preview->diff) put_value(preview, "diff", *approval.preview->diff);
        out["preview"] = std::move(preview);
    }
    return json::write(out);
}

Result<Approval> decode_approval(std::string_view text) {
    const auto parsed = json::parse(text, json::any_size());
    if (!parsed || !parsed->is_object()) return unreadable("an approval");
    const Object& object = parsed->get_object();
    const auto risk = risk_from_string(text_of(object, "risk"));
    const auto autonomy = autonomy_from_string(text_of(object, "autonomy"));
    const auto assurance = enum_of<Assurance>(text_of(object, "assurance_needed"), 3);
    auto arguments = value_in(object, "arguments");
    if (!risk || !autonomy || !assurance || !arguments) return unreadable("an approval");
    Approval approval;
    approval.id = text_of(object, "id");
    approval.call_id = text_of(object, "call_id");
    approval.tenant = text_of(object, "tenant");
    approval.requester = text_of(object, "requester");
    approval.tool = text_of(object, "tool");
    approval.action = text_of(object, "action");
    approval.arguments = std::move(*arguments);
    approval.digest = text_of(object, "digest");
    approval.binding = text_of(object, "binding");
    approval.risk = *risk;
    approval.autonomy = *autonomy;
    approval.why = text_of(object, "why");
    approval.how_to_approve = text_of(object, "how_to_approve");
    approval.trace_id = text_of(object, "trace_id");
    approval.task_id = text_of(object, "task_id");
    approval.step_id = text_of(object, "step_id");
    approval.idempotency_key = text_of(object, "idempotency_key");
    approval.policy_rev = static_cast<std::uint64_t>(number_of(object, "policy_rev"));
    approval.approvals_needed = static_cast<std::uint32_t>(number_of(object, "approvals_needed"));
    approval.assurance_needed = *assurance;
    if (const Value* scopes = object.if_contains("scopes"); scopes != nullptr && scopes->is_array()) {
        for (const Value& item : scopes->get_array()) {
            if (item.is_object()) approval.scopes.add(text_of(item.get_object(), "s"));
        }
    }
    if (const Value* found = object.if_contains("preview"); found != nullptr && found->is_object()) {
        const Object& preview = found->get_object();
        approval.preview.emplace(text_of(preview, "summary"));
        approval.preview->supported = flag_of(preview, "supported");
        approval.preview->diff = value_in(preview, "diff");
    }
    return approval;
}

// No object begins like this.
constexpr char kSpelled = '8';

std::string encode_arguments(const Value& object) {
    return has_other_bytes(object) ? kSpelled + json::write(spelled_as_bytes(object)) : json::write(object);
}

Result<Value> decode_arguments(std::string_view text) {
    const bool spelled = text.starts_with(kSpelled);
    CALLGATE_TRY_ASSIGN(auto value, json::parse(text.substr(spelled ? 1 : 0), json::any_size()));
    return spelled ? from_bytes(value) : std::move(value);
}

std::optional<CallState> call_state_from_string(std::string_view text) noexcept {
    return enum_of<CallState>(text, static_cast<int>(CallState::not_applied) + 1);
}

std::optional<ApprovalState> approval_state_from_string(std::string_view text) noexcept {
    return enum_of<ApprovalState>(text, static_cast<int>(ApprovalState::superseded) + 1);
}

}  // namespace callgate::ledger
