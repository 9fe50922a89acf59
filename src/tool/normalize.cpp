// normalize_params(): arguments brought into the shape a schema asks for, without judging them.

#include <callgate/runtime.h>
#include <callgate/schema.h>

#include "base/try.h"
#include "schema/keywords.h"

namespace callgate {
namespace {

/// Whether anything but `properties` may rule on a member.
bool rules_on_others(const Object& schema) {
    for (const auto keyword : schema::kRuleOnMembers) {
        if (schema.contains(keyword)) return true;
    }
    const Value* const others = schema.if_contains("additionalProperties");
    return others != nullptr && !(others->is_bool() && !others->get_bool());
}

Object declared_only(const Object& params, const Value& schema) {
    const Object* const rules = schema.if_object();
    const Value* const declared = rules == nullptr ? nullptr : rules->if_contains("properties");
    if (declared == nullptr || !declared->is_object() || rules_on_others(*rules)) return params;
    Object out;
    for (const auto& member : params) {
        if (declared->get_object().contains(member.key())) out.emplace(member.key(), member.value());
    }
    return out;
}

}  // namespace

Result<Object> normalize_params(const Value& params, const Value& schema) {
    Value given = params;
    if (const auto* text = params.if_string()) {
        CALLGATE_TRY_ASSIGN(given, json::parse(*text));
    }
    if (given.is_null()) given = Object();
    if (!given.is_object()) {
        return fail(ErrorCode::invalid_arguments,
                    "The parameters must be an object with a member for each parameter.",
                    Object{{"reason", "not_an_object"}});
    }
    CALLGATE_TRY_ASSIGN(const auto compiled, schema::Schema::compile(schema));
    const Value shaped = compiled.coerce(given).value;
    return declared_only(shaped.is_object() ? shaped.get_object() : given.get_object(), schema);
}

}  // namespace callgate
