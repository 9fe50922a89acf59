#include <callgate/typed.h>

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "json/whole_number.h"

namespace callgate {
namespace typed {
namespace {

std::string_view type_name(const Value& value) {
    switch (value.kind()) {
        case boost::json::kind::null: return "null";
        case boost::json::kind::bool_: return "boolean";
        case boost::json::kind::int64:
        case boost::json::kind::uint64: return "integer";
        case boost::json::kind::double_: return "number";
        case boost::json::kind::string: return "string";
        case boost::json::kind::array: return "array";
        case boost::json::kind::object: return "object";
    }
    return "null";
}

template <class Integer>
bool whole_number_of(const Value& value, Integer& out) noexcept {
    std::optional<Integer> whole;
    if (const auto* i = value.if_int64()) {
        if (std::in_range<Integer>(*i)) whole = static_cast<Integer>(*i);
    } else if (const auto* u = value.if_uint64()) {
        if (std::in_range<Integer>(*u)) whole = static_cast<Integer>(*u);
    } else if (const auto* d = value.if_double()) {
        whole = json::whole_of<Integer>(*d);
    }
    if (whole) out = *whole;
    return whole.has_value();
}

}  // namespace

bool Fault::because(std::string_view reason, std::string text) {
    reason_ = reason;
    text_ = std::move(text);
    return false;
}

bool Fault::wrong_type(std::string_view expected, const Value& got) {
    return because("wrong_type", fmt::format("expected {}, got {}", expected, type_name(got)));
}

bool Fault::out_of_range(std::int64_t lowest, std::uint64_t highest) {
    return because("out_of_range", fmt::format("must be a whole number from {} to {}", lowest, highest));
}

bool Fault::too_large(double highest) {
    return because("out_of_range", fmt::format("must be a number from {} to {}", -highest, highest));
}

bool Fault::not_one_of(std::string_view names) {
    return because("not_one_of", fmt::format("must be one of: {}", names));
}

bool Fault::wrong_length(std::size_t expected, std::size_t got) {
    return because("wrong_length", fmt::format("must have {} items, has {}", expected, got));
}

bool Fault::repeated() {
    return because("repeated", "is there twice");
}

bool Fault::missing(std::string_view name) {
    because("missing", {});
    return inside(name);
}

bool Fault::unusable_path() {
    return because("not_a_path", "must not contain a NUL character");
}

bool Fault::no_alternative(const Value& got) {
    if (tries_left_ == 0)
        return because("too_many_alternatives", "could be read in more ways than are tried");
    return because("no_alternative",
                   fmt::format("fits none of the types it may have, got {}", type_name(got)));
}

bool Fault::unknown_member(std::string_view name) {
    because("unknown_member", "is not known");
    return inside(name);
}

bool Fault::may_try() noexcept {
    if (nested_ && tries_left_ != 0) --tries_left_;
    return tries_left_ != 0;
}

Fault Fault::attempt(bool exactly) const {
    Fault own;
    own.nested_ = true;
    own.exact_ = exact_ || exactly;
    own.tries_left_ = tries_left_;
    return own;
}

bool Fault::inside(std::string_view name) {
    path_ = path_.empty() ? std::string(name) : fmt::format("{}/{}", name, path_);
    return false;
}

bool Fault::inside(std::size_t index) {
    return inside(std::to_string(index));
}

std::string Fault::message() const {
    if (reason_ == "missing") return fmt::format("Missing required parameter: {}", path_);
    return fmt::format("Parameter '{}' {}", path_, text_);
}

ToolFailure Fault::failure() const {
    Object details;
    details.emplace("reason", reason_);
    details.emplace("parameter", path_);
    return {Error(ErrorCode::invalid_arguments, message(), std::move(details)), Applied::no};
}

Error Fault::of_result() const {
    Object details;
    details.emplace("reason", reason_);
    details.emplace("path", path_);
    const std::string what = reason_ == "missing" ? "is missing" : text_;
    const std::string where = path_.empty() ? std::string("it") : fmt::format("'{}'", path_);
    return Error(ErrorCode::output_invalid,
                 fmt::format("The result does not fit the type it is read into: {} {}", where, what),
                 std::move(details));
}

std::optional<std::string_view> first_unknown(const Object& object, std::span<const std::string_view> names) {
    for (const auto& member : object) {
        const std::string_view name(member.key().data(), member.key().size());
        if (std::ranges::find(names, name) == names.end()) return name;
    }
    return std::nullopt;
}

bool is_within(const void* type, const Within* within) noexcept {
    for (; within != nullptr; within = within->outer) {
        if (within->type == type) return true;
    }
    return false;
}

Value of_type(std::string_view name) {
    Object out;
    out.emplace("type", name);
    return out;
}

Object empty_object_schema() {
    Object out;
    out.emplace("type", "object");
    out.emplace("properties", Object());
    return out;
}

void add_member(Object& schema, std::string_view name, Value of_member, bool required) {
    schema.at("properties").as_object().insert_or_assign(name, std::move(of_member));
    if (!required) return;
    if (!schema.contains("required")) schema.emplace("required", Array());
    schema.at("required").as_array().emplace_back(name);
}

Value integer_schema(std::optional<std::int64_t> lowest, std::optional<std::uint64_t> highest) {
    Object out;
    out.emplace("type", "integer");
    if (lowest) out.emplace("minimum", *lowest);
    if (highest) out.emplace("maximum", *highest);
    return out;
}

Value list_schema(Value items) {
    Object out;
    out.emplace("type", "array");
    out.emplace("items", std::move(items));
    return out;
}

Value set_schema(Value items) {
    Value out = list_schema(std::move(items));
    out.get_object().emplace("uniqueItems", true);
    return out;
}

Value fixed_schema(Value items, std::size_t count) {
    Value out = list_schema(std::move(items));
    out.get_object().emplace("minItems", count);
    out.get_object().emplace("maxItems", count);
    return out;
}

Value tuple_schema(Array items) {
    Object out;
    const std::size_t count = items.size();
    out.emplace("type", "array");
    if (count != 0) out.emplace("prefixItems", std::move(items));  // never empty
    out.emplace("minItems", count);
    out.emplace("maxItems", count);
    return out;
}

Value map_schema(Value values) {
    Object out;
    out.emplace("type", "object");
    out.emplace("additionalProperties", std::move(values));
    return out;
}

Value enum_schema(Array names) {
    Object out;
    out.emplace("type", "string");
    out.emplace("enum", std::move(names));
    return out;
}

Value nullable_schema(Value schema) {
    Object& out = schema.as_object();
    if (auto* const alternatives = out.if_contains("anyOf")) {
        Array& all = alternatives->as_array();
        const Value null = of_type("null");
        if (std::ranges::find(all, null) == all.end()) all.push_back(null);
    }
    Value* const type = out.if_contains("type");
    if (type == nullptr || !type->is_string() || *type == "null") return schema;
    *type = Array{*type, "null"};
    if (auto* const names = out.if_contains("enum")) names->as_array().emplace_back(nullptr);
    return schema;
}

void add_default(Value& schema, Value initial) {
    schema.as_object().emplace("default", std::move(initial));
}

Value any_of_schema(Array alternatives) {
    Object out;
    out.emplace("anyOf", std::move(alternatives));
    return out;
}

bool whole_number(const Value& value, std::int64_t& out) noexcept {
    return whole_number_of(value, out);
}

bool whole_number(const Value& value, std::uint64_t& out) noexcept {
    return whole_number_of(value, out);
}

bool real_number(const Value& value, double& out) noexcept {
    if (const auto* d = value.if_double()) {
        out = *d;
    } else if (const auto* i = value.if_int64()) {
        out = static_cast<double>(*i);
    } else if (const auto* u = value.if_uint64()) {
        out = static_cast<double>(*u);
    } else {
        return false;
    }
    return true;
}

void check_names(std::string_view tool, const std::vector<Param>& params) {
    for (std::size_t i = 0; i < params.size(); ++i) {
        if (params[i].name().empty()) {
            throw std::invalid_argument(fmt::format("tool '{}': parameter {} needs a name", tool, i + 1));
        }
        for (std::size_t k = 0; k < i; ++k) {
            if (params[i].name() == params[k].name()) {
                throw std::invalid_argument(
                    fmt::format("tool '{}': two parameters are named '{}'", tool, params[i].name()));
            }
        }
    }
}

void refuse_default(std::string_view tool, const Param& param, const Fault& fault) {
    Fault named = fault;
    named.inside(param.name());
    throw std::invalid_argument(
        fmt::format("tool '{}': the default does not fit: {}", tool, named.message()));
}

}  // namespace typed

namespace {

/// Above or below: which of two bounds leaves less.
bool is_narrower(std::string_view keyword, const Value& said, const Value& of_type) {
    double a = 0;
    double b = 0;
    if (!typed::real_number(said, a) || !typed::real_number(of_type, b)) return true;
    return keyword == "minimum" ? a > b : a < b;
}

}  // namespace

Param::Param(std::string_view name, std::string_view description) : name_(name) {
    if (!description.empty()) keywords_.emplace("description", description);
}

Param& Param::keyword(std::string_view name, Value value) {
    keywords_.insert_or_assign(name, std::move(value));
    return *this;
}

Value Param::schema(Value of_type) const {
    Object& out = of_type.as_object();
    for (const auto& said : keywords_) {
        const bool bound = said.key() == "minimum" || said.key() == "maximum";
        const Value* const there = out.if_contains(said.key());
        if (bound && there != nullptr && !is_narrower(said.key(), said.value(), *there)) continue;
        out.insert_or_assign(said.key(), said.value());
    }
    return of_type;
}

}  // namespace callgate
