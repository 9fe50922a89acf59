#include "schema/compiler.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "schema/finish.h"
#include "schema/index.h"
#include "schema/keywords.h"
#include "schema/metacheck.h"

namespace callgate::schema {

namespace {

// Keywords beside a `$ref` that change nothing about what it accepts.
bool is_silent(const Keyword& keyword) {
    if (keyword.vocabulary == Vocabulary::metadata || keyword.vocabulary == Vocabulary::content) return true;
    return keyword.vocabulary == Vocabulary::core && keyword.name != "$ref" &&
           keyword.name != "$dynamicRef" && keyword.name != "$recursiveRef";
}

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

class Compiler {
public:
    explicit Compiler(const CompileOptions& options) : options_(options), index_(options) {}

    Result<std::shared_ptr<const Program>> run(const Value& document, CheckMetaschema check);

private:
    using Status = Result<void>;

    // One subschema being compiled.
    struct Work {
        Work(const Object& object, const Place& where, const Resource& home)
            : schema(object), place(where), resource(home) {
            for (const auto& entry : object) present |= bit_of(entry.key());
        }

        const Object& schema;
        const Place& place;
        const Resource& resource;
        Block block;
        std::vector<Step> steps;
        std::uint64_t present =
            0;  ///< a bit per name that is there: most keywords are not, and most questions end here

        static constexpr std::uint64_t bit_of(std::string_view name) noexcept {
            if (name.size() < 2) return 1;
            return std::uint64_t{1} << ((name.size() * 11 + static_cast<unsigned char>(name[1]) * 5u +
                                         static_cast<unsigned char>(name.back()) * 3u) &
                                        63);
        }

        const Value* get(std::string_view name) const {
            if ((present & bit_of(name)) == 0) return nullptr;
            const Value* value = schema.if_contains(name);
            if (value == nullptr) return nullptr;
            const Keyword* keyword = find_keyword(name, resource.dialect);
            const bool active = keyword != nullptr &&
                                (resource.vocabularies & static_cast<std::uint8_t>(keyword->vocabulary)) != 0;
            return active ? value : nullptr;
        }
    };

    Result<BlockId> block_for(const Value& schema);
    Result<const Value*> follow_plain_refs(const Value& schema);
    Status compile_block(BlockId id, const Value& schema);

    Status references(Work& work);
    Status dynamic_reference(Work& work, std::string_view reference, bool recursive);
    Status types(Work& work);
    Status enums(Work& work);
    Status combinators(Work& work);
    Status strings(Work& work);
    Status numbers(Work& work);
    Status arrays(Work& work);
    Status objects(Work& work);
    Status members(Work& work, ObjectRule& rule, bool& used);
    Status dependents(Work& work, ObjectRule& rule, bool& used);
    Status unevaluated(Work& work);
    void close_root(const Object& schema);

    Status sub(const Work& work, std::string_view keyword, BlockId& out, bool* found = nullptr);
    Result<BlockId> sub_at(const Work& work, const Value& schema, std::string_view keyword);
    Result<Range> sub_list(const Work& work, const Value& list, std::string_view keyword);
    Status count(const Work& work, std::string_view keyword, std::uint32_t& out, bool* found = nullptr);
    Status bound(const Work& work, std::string_view keyword, bool& has, Number& out);
    Result<std::uint32_t> pattern(const Work& work, std::string_view keyword, std::string_view text);
    Result<std::vector<std::string>> name_list(const Work& work, const Value& value,
                                               std::string_view keyword);

    static tl::unexpected<Error> misshapen(const Work& work, std::string_view keyword,
                                           std::string_view expected) {
        return schema_fault("not_a_schema", work.place.location,
                            fmt::format("{} must be {}.", keyword, expected));
    }

    const CompileOptions& options_;
    Index index_;
    std::shared_ptr<Program> program_ = std::make_shared<Program>();
    std::unordered_map<const Value*, BlockId> known_;
    std::vector<std::pair<BlockId, const Value*>> todo_;
    std::unordered_map<std::string, std::uint32_t> known_patterns_;
    std::size_t pattern_weight_ = 0;
    std::unordered_map<const Value*, const Value*> followed_;  ///< where plain references end
};

template <class T>
tl::unexpected<Error> forward(Result<T>& result) {
    return tl::unexpected<Error>(std::move(result.error()));
}

std::uint32_t end_of(const auto& list) {
    return static_cast<std::uint32_t>(list.size());
}

Result<std::shared_ptr<const Program>> Compiler::run(const Value& document, CheckMetaschema check) {
    if (!document.is_object() && !document.is_bool())
        return schema_fault("not_a_schema", "#", "a schema is an object or a boolean.");
    if (auto added = index_.add_root(document); !added) return forward(added);
    if (auto added = index_.add_referenced(); !added) return forward(added);
    for (const std::uint32_t id : index_.documents()) {
        if (check == CheckMetaschema::no) break;
        const Resource& resource = index_.resource(id);
        if (auto checked = check_against_metaschema(resource); !checked) return forward(checked);
    }

    Program& program = *program_;
    program.limits = options_.limits;
    program.dialect = index_.resource(0).dialect;
    program.dynamic = index_.is_dynamic();
    program.blocks.resize(2);
    program.blocks[kFalse].types = 0;
    program.locations = {"#", "#"};

    auto root = block_for(document);
    if (!root) return forward(root);
    program.root = *root;
    while (!todo_.empty()) {
        const auto [id, schema] = todo_.back();
        todo_.pop_back();
        if (auto compiled = compile_block(id, *schema); !compiled) return forward(compiled);
    }
    if (options_.unknown_members == UnknownMembers::reject && document.is_object())
        close_root(document.get_object());
    if (auto finished = finish_program(program); !finished) return forward(finished);
    return std::shared_ptr<const Program>(std::move(program_));
}

// A subschema that only refers elsewhere is the one it refers to. Not where the dynamic scope matters,
// because the way there is then part of the meaning.
Result<const Value*> Compiler::follow_plain_refs(const Value& schema) {
    const Value* at = &schema;
    std::vector<const Value*> passed;
    for (std::size_t hops = 0; !index_.is_dynamic(); ++hops) {
        if (const auto known = followed_.find(at); known != followed_.end()) {
            at = known->second;
            break;
        }
        const Object* object = at->if_object();
        const Value* reference = object != nullptr ? object->if_contains("$ref") : nullptr;
        if (reference == nullptr || !reference->is_string()) break;
        const Place& place = index_.place(*at);
        const Dialect dialect = index_.resource(place.resource).dialect;
        const bool plain = dialect == Dialect::draft7 || std::ranges::all_of(*object, [&](const auto& entry) {
                               const Keyword* keyword = find_keyword(entry.key(), dialect);
                               return keyword == nullptr || keyword->name == "$ref" || is_silent(*keyword);
                           });
        if (!plain) break;
        if (hops > options_.limits.max_subschemas)
            return schema_fault("cyclic_ref", place.location,
                                "the $ref leads back to itself without looking at any part of the instance.");
        auto target = index_.resolve(place, reference->get_string());
        if (!target) return forward(target);
        passed.push_back(at);
        at = target->schema;
    }
    for (const Value* reference : passed) followed_.emplace(reference, at);
    return at;
}

Result<BlockId> Compiler::block_for(const Value& schema) {
    auto meant = follow_plain_refs(schema);
    if (!meant) return forward(meant);
    const Value& target = **meant;
    if (target.is_bool()) return target.get_bool() ? kTrue : kFalse;
    const auto [known, added] = known_.emplace(&target, end_of(program_->blocks));
    if (added) {
        program_->blocks.emplace_back();
        program_->locations.push_back(index_.place(target).location);
        todo_.emplace_back(known->second, &target);
    }
    return known->second;
}

Result<BlockId> Compiler::sub_at(const Work& work, const Value& schema, std::string_view keyword) {
    if (!schema.is_object() && !schema.is_bool())
        return misshapen(work, keyword, "a schema (object or boolean)");
    return block_for(schema);
}

Compiler::Status Compiler::sub(const Work& work, std::string_view keyword, BlockId& out, bool* found) {
    const Value* value = work.get(keyword);
    if (value == nullptr) return {};
    auto id = sub_at(work, *value, keyword);
    if (!id) return forward(id);
    out = *id;
    if (found != nullptr) *found = true;
    return {};
}

Result<Range> Compiler::sub_list(const Work& work, const Value& list, std::string_view keyword) {
    const Array* array = list.if_array();
    if (array == nullptr || array->empty()) return misshapen(work, keyword, "a non-empty array of schemas");
    std::vector<BlockId> ids;
    for (const Value& schema : *array) {
        auto id = sub_at(work, schema, keyword);
        if (!id) return forward(id);
        ids.push_back(*id);
    }
    const Range range{end_of(program_->lists), end_of(ids)};
    program_->lists.insert(program_->lists.end(), ids.begin(), ids.end());
    return range;
}

Compiler::Status Compiler::count(const Work& work, std::string_view keyword, std::uint32_t& out,
                                 bool* found) {
    const Value* value = work.get(keyword);
    if (value == nullptr) return {};
    const auto number = number_of(*value);
    if (!number || !is_integer(*number) || compare(*number, Number::of(std::int64_t{0})) < 0)
        return misshapen(work, keyword, "a non-negative integer");
    // No instance is larger than this.
    const bool huge = compare(*number, Number::of(std::int64_t{kNone - 1})) >= 0;
    if (huge) {
        out = kNone - 1;
    } else {
        out = number->kind == Number::Kind::real ? static_cast<std::uint32_t>(number->d)
                                                 : static_cast<std::uint32_t>(number->i);
    }
    if (found != nullptr) *found = true;
    return {};
}

Compiler::Status Compiler::bound(const Work& work, std::string_view keyword, bool& has, Number& out) {
    const Value* value = work.get(keyword);
    if (value == nullptr) return {};
    const auto number = number_of(*value);
    if (!number) return misshapen(work, keyword, "a number");
    has = true;
    out = *number;
    return {};
}

Result<std::uint32_t> Compiler::pattern(const Work& work, std::string_view keyword, std::string_view text) {
    const auto [known, added] = known_patterns_.emplace(text, end_of(program_->patterns));
    if (!added) return known->second;
    RegexOptions options;
    options.allow_pcre2 = options_.allow_pcre2;
    options.max_pattern_bytes = options_.limits.max_pattern_bytes;
    auto compiled = Regex::compile(text, options);
    if (!compiled) {
        Error error = std::move(compiled.error());
        error.message =
            fmt::format("Unusable schema at {}/{}: {}", work.place.location, keyword, error.message);
        error.details["schema_path"] = fmt::format("{}/{}", work.place.location, keyword);
        return tl::unexpected<Error>(std::move(error));
    }
    pattern_weight_ += compiled->weight();
    if (pattern_weight_ > options_.limits.max_pattern_weight)
        return schema_fault(
            "too_large", work.place.location,
            "the patterns of this schema are too costly together; use fewer or simpler ones.");
    program_->patterns.push_back(std::move(*compiled));
    program_->pattern_texts.emplace_back(text);
    return known->second;
}

Result<std::vector<std::string>> Compiler::name_list(const Work& work, const Value& value,
                                                     std::string_view keyword) {
    const Array* array = value.if_array();
    std::vector<std::string> names;
    if (array == nullptr) return misshapen(work, keyword, "an array of strings");
    for (const Value& name : *array) {
        if (!name.is_string()) return misshapen(work, keyword, "an array of strings");
        names.emplace_back(std::string_view(name.get_string()));
    }
    return names;
}

Compiler::Status Compiler::compile_block(BlockId id, const Value& schema) {
    const Place& place = index_.place(schema);
    // Resolving references may enter more resources: what is needed here is copied.
    const Resource resource = index_.resource(place.resource);
    Work work(schema.get_object(), place, resource);
    work.block.resource = place.resource;

    const bool only_ref = resource.dialect == Dialect::draft7 && work.schema.contains("$ref");
    using Part = Status (Compiler::*)(Work&);
    static constexpr Part kParts[] = {&Compiler::types,       &Compiler::enums,      &Compiler::strings,
                                      &Compiler::numbers,     &Compiler::arrays,     &Compiler::objects,
                                      &Compiler::combinators, &Compiler::unevaluated};
    if (auto done = references(work); !done) return done;
    if (!only_ref) {
        for (const Part part : kParts) {
            if (auto done = (this->*part)(work); !done) return done;
        }
    }

    // Cheap tests first.
    std::ranges::stable_partition(work.steps, [](const Step& step) { return step.op == Op::check_enum; });
    Block& block = work.block;
    block.steps = {end_of(program_->steps), end_of(work.steps)};
    program_->steps.insert(program_->steps.end(), work.steps.begin(), work.steps.end());
    block.only_types = work.steps.empty() && block.string_rule == kNone && block.number_rule == kNone &&
                       block.array_rule == kNone && block.object_rule == kNone && !block.has_unevaluated;
    program_->blocks[id] = block;
    return {};
}

Compiler::Status Compiler::references(Work& work) {
    for (const std::string_view keyword : {"$ref", "$dynamicRef", "$recursiveRef"}) {
        const Value* value = work.get(keyword);
        if (value == nullptr) continue;
        if (!value->is_string()) return misshapen(work, keyword, "a URI reference in a string");
        const std::string_view reference = value->get_string();
        if (keyword != "$ref") {
            if (auto done = dynamic_reference(work, reference, keyword == "$recursiveRef"); !done)
                return done;
            continue;
        }
        auto target = index_.resolve(work.place, reference);
        if (!target) return forward(target);
        auto block = block_for(*target->schema);
        if (!block) return forward(block);
        if (*block == kTrue) continue;
        work.steps.push_back({Op::apply, *block, kNone, kNone, {}, "$ref"});
    }
    return {};
}

Compiler::Status Compiler::dynamic_reference(Work& work, std::string_view reference, bool recursive) {
    const std::string_view keyword = recursive ? "$recursiveRef" : "$dynamicRef";
    auto target = index_.resolve(work.place, reference);
    if (!target) return forward(target);
    auto initial = block_for(*target->schema);
    if (!initial) return forward(initial);

    // Only a reference that first lands on a dynamic anchor looks at the dynamic scope.
    const std::uint32_t home = index_.place(*target->schema).resource;
    const std::string name = recursive ? "" : target->anchor;
    const bool lands_on_anchor =
        (recursive || !name.empty()) && index_.dynamic_anchor(home, name) == target->schema;
    const auto& owners = index_.dynamic_anchors(name);
    if (!lands_on_anchor || owners.size() == 1) {
        work.steps.push_back({Op::apply, *initial, kNone, kNone, {}, keyword});
        return {};
    }
    DynamicRef dynamic{*initial, {}};
    for (const auto& [resource, schema] : owners) {
        auto block = block_for(*schema);
        if (!block) return forward(block);
        dynamic.targets.emplace_back(resource, *block);
    }
    work.steps.push_back({Op::apply_dynamic, end_of(program_->dynamic_refs), kNone, kNone, {}, keyword});
    program_->dynamic_refs.push_back(std::move(dynamic));
    return {};
}

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
        auto blocks = sub_list(work, *list, "allOf");
        if (!blocks) return forward(blocks);
        for (std::uint32_t i = 0; i < blocks->count; ++i)
            work.steps.push_back({Op::apply, program_->lists[blocks->first + i], kNone, kNone, {}, "allOf"});
    }
    for (const std::string_view keyword : {"anyOf", "oneOf"}) {
        const Value* list = work.get(keyword);
        if (list == nullptr) continue;
        auto blocks = sub_list(work, *list, keyword);
        if (!blocks) return forward(blocks);
        work.steps.push_back(
            {keyword == "anyOf" ? Op::any_of : Op::one_of, kNone, kNone, kNone, *blocks, keyword});
    }
    BlockId block = kNone;
    if (auto done = sub(work, "not", block); !done) return done;
    if (block != kNone) work.steps.push_back({Op::reject, block, kNone, kNone, {}, "not"});

    Step step{Op::branch, kNone, kNone, kNone, {}, "if"};
    if (auto done = sub(work, "if", step.a); !done) return done;
    if (step.a == kNone) return {};
    if (auto done = sub(work, "then", step.b); !done) return done;
    if (auto done = sub(work, "else", step.c); !done) return done;
    work.steps.push_back(step);
    return {};
}

Compiler::Status Compiler::strings(Work& work) {
    StringRule rule;
    bool used = false;
    if (auto done = count(work, "minLength", rule.min_length, &used); !done) return done;
    if (auto done = count(work, "maxLength", rule.max_length, &used); !done) return done;
    if (const Value* value = work.get("pattern")) {
        if (!value->is_string()) return misshapen(work, "pattern", "a regular expression in a string");
        auto compiled = pattern(work, "pattern", value->get_string());
        if (!compiled) return forward(compiled);
        rule.pattern = *compiled;
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
    if (auto done = bound(work, "minimum", rule.has_minimum, rule.minimum); !done) return done;
    if (auto done = bound(work, "maximum", rule.has_maximum, rule.maximum); !done) return done;
    if (auto done = bound(work, "exclusiveMinimum", rule.has_above, rule.above); !done) return done;
    if (auto done = bound(work, "exclusiveMaximum", rule.has_below, rule.below); !done) return done;
    if (auto done = bound(work, "multipleOf", rule.has_divisor, divisor); !done) return done;
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
    if (auto done = count(work, "minItems", rule.min_items, &used); !done) return done;
    if (auto done = count(work, "maxItems", rule.max_items, &used); !done) return done;
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
            auto blocks = sub_list(work, *prefix, tuple_in_items ? "items" : "prefixItems");
            if (!blocks) return forward(blocks);
            rule.prefix = *blocks;
        }
        used = true;
        const std::string_view rest = tuple_in_items ? "additionalItems" : "items";
        if (auto done = sub(work, rest, rule.items, &rule.has_items); !done) return done;
    } else if (items != nullptr) {
        if (items->is_array())
            return misshapen(work, "items",
                             "a schema in 2020-12; use prefixItems for a list, or declare $schema");
        if (auto done = sub(work, "items", rule.items, &rule.has_items); !done) return done;
    }
    used |= rule.has_items;

    bool has_contains = false;
    if (auto done = sub(work, "contains", rule.contains, &has_contains); !done) return done;
    if (has_contains) {
        used = true;
        rule.contains_evaluates = work.resource.dialect == Dialect::draft2020_12;
        if (auto done = count(work, "minContains", rule.min_contains); !done) return done;
        if (auto done = count(work, "maxContains", rule.max_contains); !done) return done;
    }
    if (!used) return {};
    work.block.array_rule = end_of(program_->arrays);
    program_->arrays.push_back(rule);
    return {};
}

Compiler::Status Compiler::objects(Work& work) {
    ObjectRule rule;
    bool used = false;
    if (auto done = count(work, "minProperties", rule.min_members, &used); !done) return done;
    if (auto done = count(work, "maxProperties", rule.max_members, &used); !done) return done;
    if (auto done = members(work, rule, used); !done) return done;
    if (auto done = sub(work, "additionalProperties", rule.additional, &rule.has_additional); !done)
        return done;
    if (auto done = sub(work, "propertyNames", rule.property_names, &used); !done) return done;
    if (auto done = dependents(work, rule, used); !done) return done;
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
            auto block = sub_at(work, entry.value(), "properties");
            if (!block) return forward(block);
            Member& named = member(entry.key());
            named.block = *block;
            named.declared = true;
        }
        used = true;
    }
    if (const Value* value = work.get("required")) {
        auto names = name_list(work, *value, "required");
        if (!names) return forward(names);
        for (const std::string& name : *names) {
            Member& named = member(name);
            rule.required += !named.required;
            named.required = true;
        }
        used |= !names->empty();
    }
    if (const Value* value = work.get("patternProperties")) {
        if (!value->is_object()) return misshapen(work, "patternProperties", "an object of schemas");
        std::vector<PatternMember> patterns;
        for (const auto& entry : value->get_object()) {
            auto compiled = pattern(work, "patternProperties", entry.key());
            if (!compiled) return forward(compiled);
            auto block = sub_at(work, entry.value(), "patternProperties");
            if (!block) return forward(block);
            patterns.push_back({*compiled, *block});
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
                auto list = name_list(work, entry.value(), keyword);
                if (!list) return forward(list);
                dependent.required = std::move(*list);
            } else {
                auto block = sub_at(work, entry.value(), keyword);
                if (!block) return forward(block);
                dependent.block = *block;
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
    if (auto done = sub(work, "unevaluatedItems", block.unevaluated_items); !done) return done;
    if (auto done = sub(work, "unevaluatedProperties", block.unevaluated_members); !done) return done;
    block.has_unevaluated = block.unevaluated_items != kNone || block.unevaluated_members != kNone;
    return {};
}

// The contract says that unknown arguments are refused. Only where the root leaves no doubt about which are
// known.
void Compiler::close_root(const Object& schema) {
    constexpr std::string_view kRuleOnMembers[] = {"additionalProperties",
                                                   "patternProperties",
                                                   "unevaluatedProperties",
                                                   "$ref",
                                                   "$dynamicRef",
                                                   "$recursiveRef",
                                                   "allOf",
                                                   "anyOf",
                                                   "oneOf",
                                                   "not",
                                                   "if",
                                                   "dependentSchemas",
                                                   "dependencies"};
    const BlockId root = program_->root;
    if (root <= kFalse || program_->blocks[root].object_rule == kNone) return;
    if (std::ranges::any_of(kRuleOnMembers, [&](std::string_view name) { return schema.contains(name); }))
        return;
    ObjectRule& rule = program_->objects[program_->blocks[root].object_rule];
    if (!rule.has_properties) return;
    rule.additional = kFalse;
    rule.has_additional = true;
}

}  // namespace

Result<std::shared_ptr<const Program>> compile_program(const Value& document, const CompileOptions& options,
                                                       CheckMetaschema check) {
    return Compiler(options).run(document, check);
}

}  // namespace callgate::schema
