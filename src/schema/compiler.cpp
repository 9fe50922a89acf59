#include "schema/compiler.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "schema/compiler_impl.h"
#include "schema/finish.h"
#include "schema/metacheck.h"

namespace callgate::schema {

namespace {

// Keywords beside a `$ref` that change nothing about what it accepts.
bool is_silent(const Keyword& keyword) {
    if (keyword.vocabulary == Vocabulary::metadata || keyword.vocabulary == Vocabulary::content) return true;
    return keyword.vocabulary == Vocabulary::core && keyword.name != "$ref" &&
           keyword.name != "$dynamicRef" && keyword.name != "$recursiveRef";
}

}  // namespace

Result<std::shared_ptr<const Program>> Compiler::run(const Value& document, CheckMetaschema check) {
    if (!document.is_object() && !document.is_bool())
        return schema_fault("not_a_schema", "#", "a schema is an object or a boolean.");
    CALLGATE_TRY(index_.add_root(document));
    CALLGATE_TRY(index_.add_referenced());
    for (const std::uint32_t id : index_.documents()) {
        if (check == CheckMetaschema::no) break;
        const Resource& resource = index_.resource(id);
        CALLGATE_TRY(check_against_metaschema(resource));
    }

    Program& program = *program_;
    program.limits = options_.limits;
    program.dialect = index_.resource(0).dialect;
    program.dynamic = index_.is_dynamic();
    program.blocks.resize(2);
    program.blocks[kFalse].types = 0;
    program.locations = {"#", "#"};

    CALLGATE_TRY_ASSIGN(program.root, block_for(document));
    while (!todo_.empty()) {
        const auto [id, schema] = todo_.back();
        todo_.pop_back();
        CALLGATE_TRY(compile_block(id, *schema));
    }
    if (options_.unknown_members == UnknownMembers::reject && document.is_object())
        close_root(document.get_object());
    CALLGATE_TRY(finish_program(program));
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
        CALLGATE_TRY_ASSIGN(auto target, index_.resolve(place, reference->get_string()));
        passed.push_back(at);
        at = target.schema;
    }
    for (const Value* reference : passed) followed_.emplace(reference, at);
    return at;
}

Result<BlockId> Compiler::block_for(const Value& schema) {
    CALLGATE_TRY_ASSIGN(auto meant, follow_plain_refs(schema));
    const Value& target = *meant;
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
    CALLGATE_TRY_ASSIGN(out, sub_at(work, *value, keyword));
    if (found != nullptr) *found = true;
    return {};
}

Result<Range> Compiler::sub_list(const Work& work, const Value& list, std::string_view keyword) {
    const Array* array = list.if_array();
    if (array == nullptr || array->empty()) return misshapen(work, keyword, "a non-empty array of schemas");
    std::vector<BlockId> ids;
    for (const Value& schema : *array) {
        CALLGATE_TRY_ASSIGN(auto id, sub_at(work, schema, keyword));
        ids.push_back(id);
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
    // In the order of the steps: cheap tests first.
    using Part = Status (Compiler::*)(Work&);
    static constexpr Part kParts[] = {&Compiler::enums,   &Compiler::references,  &Compiler::types,
                                      &Compiler::strings, &Compiler::numbers,     &Compiler::arrays,
                                      &Compiler::objects, &Compiler::combinators, &Compiler::unevaluated};
    for (const Part part : kParts) {
        if (only_ref && part != &Compiler::references) continue;
        CALLGATE_TRY((this->*part)(work));
    }

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
            CALLGATE_TRY(dynamic_reference(work, reference, keyword == "$recursiveRef"));
            continue;
        }
        CALLGATE_TRY_ASSIGN(auto target, index_.resolve(work.place, reference));
        CALLGATE_TRY_ASSIGN(auto block, block_for(*target.schema));
        if (block == kTrue) continue;
        work.steps.push_back({Op::apply, block, kNone, kNone, {}, "$ref"});
    }
    return {};
}

Compiler::Status Compiler::dynamic_reference(Work& work, std::string_view reference, bool recursive) {
    const std::string_view keyword = recursive ? "$recursiveRef" : "$dynamicRef";
    CALLGATE_TRY_ASSIGN(auto target, index_.resolve(work.place, reference));
    CALLGATE_TRY_ASSIGN(auto initial, block_for(*target.schema));

    // Only a reference that first lands on a dynamic anchor looks at the dynamic scope.
    const std::uint32_t home = index_.place(*target.schema).resource;
    const std::string name = recursive ? "" : target.anchor;
    const bool lands_on_anchor =
        (recursive || !name.empty()) && index_.dynamic_anchor(home, name) == target.schema;
    const auto& owners = index_.dynamic_anchors(name);
    if (!lands_on_anchor || owners.size() == 1) {
        work.steps.push_back({Op::apply, initial, kNone, kNone, {}, keyword});
        return {};
    }
    DynamicRef dynamic{initial, {}};
    for (const auto& [resource, schema] : owners) {
        CALLGATE_TRY_ASSIGN(auto block, block_for(*schema));
        dynamic.targets.emplace_back(resource, block);
    }
    work.steps.push_back({Op::apply_dynamic, end_of(program_->dynamic_refs), kNone, kNone, {}, keyword});
    program_->dynamic_refs.push_back(std::move(dynamic));
    return {};
}

// The contract says that unknown arguments are refused. Only where the root leaves no doubt about which are
// known.
void Compiler::close_root(const Object& schema) {
    const BlockId root = program_->root;
    if (root <= kFalse || program_->blocks[root].object_rule == kNone) return;
    if (schema.contains("additionalProperties") ||
        std::ranges::any_of(kRuleOnMembers, [&](std::string_view name) { return schema.contains(name); }))
        return;
    ObjectRule& rule = program_->objects[program_->blocks[root].object_rule];
    if (!rule.has_properties) return;
    rule.additional = kFalse;
    rule.has_additional = true;
}

Result<std::shared_ptr<const Program>> compile_program(const Value& document, const CompileOptions& options,
                                                       CheckMetaschema check) {
    return Compiler(options).run(document, check);
}

}  // namespace callgate::schema
