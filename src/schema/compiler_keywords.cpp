#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/try.h"
#include "schema/compiler_impl.h"

namespace callgate::schema {

namespace {

std::uint8_t type_bit(std::string_view name) {
    if (name == "null") return type::null;
    if (name == "boolean") return type::boolean;
    if (name == "integer") return type::integer;
    if (name == "number") return type::number;
    if (name == "string") return type::string;
    if (name == "array") return type::array;
    if (name == "object") return type::object;
    return 0;
}

}  // namespace

Compiler::Status Compiler::types(Work& work) {
    const Value* value = work.get("type");
    if (value == nullptr) return {};
    constexpr std::string_view expected =
        "one of array, boolean, integer, null, number, object, string, or a list of them";
    std::uint8_t bits = 0;
    const auto add = [&](const Value& name) {
        const std::uint8_t bit = name.is_string() ? type_bit(name.get_string()) : 0;
        bits |= bit;
        return bit != 0;
    };
    if (const Array* list = value->if_array()) {
        if (list->empty() || !std::ranges::all_of(*list, add)) return misshapen(work, "type", expected);
    } else if (!add(*value)) {
        return misshapen(work, "type", expected);
    }
    work.block.types = bits;
    return {};
}

Compiler::Status Compiler::enums(Work& work) {
    for (const std::string_view keyword : {"enum", "const"}) {
        const Value* value = work.get(keyword);
        if (value == nullptr) continue;
        EnumRule rule;
        const auto add = [&](const Value& allowed) {
            if (allowed.is_string()) {
                rule.strings.add(allowed.get_string());
            } else {
                rule.others.push_back(allowed);
            }
        };
        if (keyword == "const") {
            rule.is_const = true;
            add(*value);
        } else {
            const Array* list = value->if_array();
            if (list == nullptr) return misshapen(work, "enum", "an array");
            for (const Value& allowed : *list) add(allowed);
        }
        work.steps.push_back({Op::check_enum, end_of(program_->enums), kNone, kNone, {}, keyword});
        program_->enums.push_back(std::move(rule));
    }
    return {};
}

Compiler::Status Compiler::combinators(Work& work) {
    if (const Value* list = work.get("allOf")) {
        CALLGATE_TRY_ASSIGN(auto blocks, sub_list(work, *list, "allOf"));
        for (std::uint32_t i = 0; i < blocks.count; ++i)
            work.steps.push_back({Op::apply, program_->lists[blocks.first + i], kNone, kNone, {}, "allOf"});
    }
    for (const std::string_view keyword : {"anyOf", "oneOf"}) {
        const Value* list = work.get(keyword);
        if (list == nullptr) continue;
        CALLGATE_TRY_ASSIGN(auto blocks, sub_list(work, *list, keyword));
        work.steps.push_back(
            {keyword == "anyOf" ? Op::any_of : Op::one_of, kNone, kNone, kNone, blocks, keyword});
    }
    BlockId block = kNone;
    CALLGATE_TRY(sub(work, "not", block));
    if (block != kNone) work.steps.push_back({Op::reject, block, kNone, kNone, {}, "not"});

    Step step{Op::branch, kNone, kNone, kNone, {}, "if"};
    CALLGATE_TRY(sub(work, "if", step.a));
    if (step.a == kNone) return {};
    CALLGATE_TRY(sub(work, "then", step.b));
    CALLGATE_TRY(sub(work, "else", step.c));
    work.steps.push_back(step);
    return {};
}

Compiler::Status Compiler::strings(Work& work) {
    StringRule rule;
    bool used = false;
    CALLGATE_TRY(count(work, "minLength", rule.min_length, &used));
    CALLGATE_TRY(count(work, "maxLength", rule.max_length, &used));
    if (const Value* value = work.get("pattern")) {
        if (!value->is_string()) return misshapen(work, "pattern", "a regular expression in a string");
        CALLGATE_TRY_ASSIGN(rule.pattern, pattern(work, "pattern", value->get_string()));
        used = true;
    }
    if (const Value* value = work.get("format"); value != nullptr && work.resource.assert_format) {
        if (!value->is_string()) return misshapen(work, "format", "a string");
        if (const auto format = format_by_name(value->get_string())) {
            rule.has_format = true;
            rule.format = *format;
            used = true;
        }
    }
    if (!used) return {};
    work.block.string_rule = end_of(program_->strings);
    program_->strings.push_back(rule);
    return {};
}

Compiler::Status Compiler::numbers(Work& work) {
    NumberRule rule;
    Number divisor;
    CALLGATE_TRY(bound(work, "minimum", rule.has_minimum, rule.minimum));
    CALLGATE_TRY(bound(work, "maximum", rule.has_maximum, rule.maximum));
    CALLGATE_TRY(bound(work, "exclusiveMinimum", rule.has_above, rule.above));
    CALLGATE_TRY(bound(work, "exclusiveMaximum", rule.has_below, rule.below));
    CALLGATE_TRY(bound(work, "multipleOf", rule.has_divisor, divisor));
    if (rule.has_divisor) {
        if (compare(divisor, Number::of(std::int64_t{0})) <= 0)
            return misshapen(work, "multipleOf", "greater than 0");
        rule.divisor = Divisor::of(divisor);
    }
    if (!rule.has_minimum && !rule.has_maximum && !rule.has_above && !rule.has_below && !rule.has_divisor)
        return {};
    work.block.number_rule = end_of(program_->numbers);
    program_->numbers.push_back(rule);
    return {};
}

Compiler::Status Compiler::arrays(Work& work) {
    ArrayRule rule;
    bool used = false;
    CALLGATE_TRY(count(work, "minItems", rule.min_items, &used));
    CALLGATE_TRY(count(work, "maxItems", rule.max_items, &used));
    if (const Value* value = work.get("uniqueItems")) {
        if (!value->is_bool()) return misshapen(work, "uniqueItems", "a boolean");
        rule.unique = value->get_bool();
        used |= rule.unique;
    }

    const bool tuple_in_items = work.resource.dialect != Dialect::draft2020_12;
    const Value* items = work.get("items");
    const Value* prefix = tuple_in_items ? items : work.get("prefixItems");
    if (prefix != nullptr && (prefix->is_array() || !tuple_in_items)) {
        if (!tuple_in_items || !prefix->get_array().empty()) {
            CALLGATE_TRY_ASSIGN(auto blocks,
                                sub_list(work, *prefix, tuple_in_items ? "items" : "prefixItems"));
            rule.prefix = blocks;
        }
        used = true;
        const std::string_view rest = tuple_in_items ? "additionalItems" : "items";
        CALLGATE_TRY(sub(work, rest, rule.items, &rule.has_items));
    } else if (items != nullptr) {
        if (items->is_array())
            return misshapen(work, "items",
                             "a schema in 2020-12; use prefixItems for a list, or declare $schema");
        CALLGATE_TRY(sub(work, "items", rule.items, &rule.has_items));
    }
    used |= rule.has_items;

    bool has_contains = false;
    CALLGATE_TRY(sub(work, "contains", rule.contains, &has_contains));
    if (has_contains) {
        used = true;
        rule.contains_evaluates = work.resource.dialect == Dialect::draft2020_12;
        CALLGATE_TRY(count(work, "minContains", rule.min_contains));
        CALLGATE_TRY(count(work, "maxContains", rule.max_contains));
    }
    if (!used) return {};
    work.block.array_rule = end_of(program_->arrays);
    program_->arrays.push_back(rule);
    return {};
}

Compiler::Status Compiler::objects(Work& work) {
    ObjectRule rule;
    bool used = false;
    CALLGATE_TRY(count(work, "minProperties", rule.min_members, &used));
    CALLGATE_TRY(count(work, "maxProperties", rule.max_members, &used));
    CALLGATE_TRY(members(work, rule, used));
    CALLGATE_TRY(sub(work, "additionalProperties", rule.additional, &rule.has_additional));
    CALLGATE_TRY(sub(work, "propertyNames", rule.property_names, &used));
    CALLGATE_TRY(dependents(work, rule, used));
    if (!used && !rule.has_additional) return {};
    work.block.object_rule = end_of(program_->objects);
    program_->objects.push_back(std::move(rule));
    return {};
}

Compiler::Status Compiler::members(Work& work, ObjectRule& rule, bool& used) {
    const auto member = [&](std::string_view name) -> Member& {
        const std::uint32_t number = rule.names.add(name);
        if (number == rule.members.size()) rule.members.emplace_back();
        return rule.members[number];
    };
    if (const Value* value = work.get("properties")) {
        if (!value->is_object()) return misshapen(work, "properties", "an object of schemas");
        rule.has_properties = true;
        for (const auto& entry : value->get_object()) {
            CALLGATE_TRY_ASSIGN(auto block, sub_at(work, entry.value(), "properties"));
            Member& named = member(entry.key());
            named.block = block;
            named.declared = true;
        }
        used = true;
    }
    if (const Value* value = work.get("required")) {
        CALLGATE_TRY_ASSIGN(auto names, name_list(work, *value, "required"));
        for (const std::string& name : names) {
            Member& named = member(name);
            rule.required += !named.required;
            named.required = true;
        }
        used |= !names.empty();
    }
    if (const Value* value = work.get("patternProperties")) {
        if (!value->is_object()) return misshapen(work, "patternProperties", "an object of schemas");
        std::vector<PatternMember> patterns;
        for (const auto& entry : value->get_object()) {
            CALLGATE_TRY_ASSIGN(auto compiled, pattern(work, "patternProperties", entry.key()));
            CALLGATE_TRY_ASSIGN(auto block, sub_at(work, entry.value(), "patternProperties"));
            patterns.push_back({compiled, block});
        }
        rule.patterns = {end_of(program_->pattern_members), end_of(patterns)};
        program_->pattern_members.insert(program_->pattern_members.end(), patterns.begin(), patterns.end());
        used |= !patterns.empty();
    }
    return {};
}

Compiler::Status Compiler::dependents(Work& work, ObjectRule& rule, bool& used) {
    std::vector<Dependent> found;
    for (const std::string_view keyword : {"dependentRequired", "dependentSchemas", "dependencies"}) {
        const Value* value = work.get(keyword);
        if (value == nullptr) continue;
        if (!value->is_object()) return misshapen(work, keyword, "an object");
        for (const auto& entry : value->get_object()) {
            Dependent dependent;
            dependent.name = std::string_view(entry.key());
            dependent.keyword = keyword;
            const bool names =
                keyword == "dependentRequired" || (keyword == "dependencies" && entry.value().is_array());
            if (names) {
                CALLGATE_TRY_ASSIGN(dependent.required, name_list(work, entry.value(), keyword));
            } else {
                CALLGATE_TRY_ASSIGN(dependent.block, sub_at(work, entry.value(), keyword));
            }
            found.push_back(std::move(dependent));
        }
    }
    rule.dependents = {end_of(program_->dependents), end_of(found)};
    std::ranges::move(found, std::back_inserter(program_->dependents));
    used |= rule.dependents.count != 0;
    return {};
}

Compiler::Status Compiler::unevaluated(Work& work) {
    Block& block = work.block;
    CALLGATE_TRY(sub(work, "unevaluatedItems", block.unevaluated_items));
    CALLGATE_TRY(sub(work, "unevaluatedProperties", block.unevaluated_members));
    block.has_unevaluated = block.unevaluated_items != kNone || block.unevaluated_members != kNone;
    return {};
}

}  // namespace callgate::schema
