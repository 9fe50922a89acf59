#include "schema/index.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "base/utf8.h"
#include "json/pointer.h"
#include "schema/metaschema.h"
#include "schema/uri.h"

namespace callgate::schema {

namespace {

std::string below(const std::string& location, std::string_view token) {
    std::string path = location;
    json::append_token(path, token);
    return path;
}

std::string below(const std::string& location, std::size_t index) {
    std::string path = location;
    json::append_index(path, index);
    return path;
}

const Value* member(const Value& schema, std::string_view name) {
    const Object* object = schema.if_object();
    return object != nullptr ? object->if_contains(name) : nullptr;
}

std::string_view text_of(const Value* value) {
    if (value == nullptr || !value->is_string()) return {};
    return value->get_string();
}

// The child that one pointer token names.
const Value* step(const Value& value, std::string_view token) {
    if (const Object* object = value.if_object()) return object->if_contains(token);
    const Array* array = value.if_array();
    const auto index = array != nullptr ? json::array_index(token) : std::nullopt;
    return index && *index < array->size() ? &(*array)[*index] : nullptr;
}

bool is_truth(const Value* value) {
    return value != nullptr && value->is_bool() && value->get_bool();
}

}  // namespace

tl::unexpected<Error> schema_fault(std::string_view reason, std::string_view location,
                                   std::string_view message) {
    // Both may quote the schema, which may be anybody's.
    const auto cut = [](std::string_view text, std::size_t bytes) {
        return std::string(base::truncate_to_bytes(text, bytes)) + (text.size() > bytes ? "…" : "");
    };
    const std::string where = cut(location, 500);
    return fail(ErrorCode::config_error, fmt::format("Unusable schema at {}: {}", where, cut(message, 1'000)),
                {{"reason", reason}, {"schema_path", where}});
}

Result<void> Resources::add(std::string_view uri, Value document) {
    const auto [base, fragment] = split_fragment(uri);
    if (!split_uri(uri).has_scheme || !fragment.empty())
        return fail(
            ErrorCode::config_error,
            fmt::format("'{}' cannot name a schema resource: give an absolute URI without a fragment.", uri),
            {{"reason", "bad_resource_uri"}});
    const auto same = std::ranges::find(documents_, base, &std::pair<std::string, Value>::first);
    if (same != documents_.end()) {
        same->second = std::move(document);
    } else {
        documents_.emplace_back(std::string(base), std::move(document));
    }
    return {};
}

Result<void> Index::check_size(const Value& document, std::string_view location) {
    // Counted before anything recurses into the document.
    std::vector<std::pair<const Value*, std::size_t>> open = {{&document, 1}};
    while (!open.empty()) {
        const auto [value, depth] = open.back();
        open.pop_back();
        if (++nodes_ > options_.limits.max_schema_nodes)
            return schema_fault("too_large", location,
                                fmt::format("it has more than {} values.", options_.limits.max_schema_nodes));
        if (depth > options_.limits.max_depth)
            return schema_fault("too_deep", location,
                                fmt::format("it is nested more than {} deep.", options_.limits.max_depth));
        if (const Object* object = value->if_object()) {
            for (const auto& entry : *object) open.emplace_back(&entry.value(), depth + 1);
        } else if (const Array* array = value->if_array()) {
            for (const Value& item : *array) open.emplace_back(&item, depth + 1);
        }
    }
    return {};
}

const Value* Index::known_document(std::string_view uri) const {
    if (options_.resources != nullptr) {
        for (const auto& [known, document] : options_.resources->all()) {
            if (known == uri) return &document;
        }
    }
    return builtin_document(uri);
}

Result<void> Index::choose_dialect(Resource& resource, const std::string& location) {
    const std::string_view named = text_of(member(*resource.root, "$schema"));
    if (named.empty()) return {};
    if (const auto standard = dialect_by_uri(named)) {
        resource.dialect = *standard;
        resource.vocabularies = kAllVocabularies;
        resource.assert_format = options_.assert_format;
        return {};
    }
    const auto [uri, fragment] = split_fragment(named);
    const Value* metaschema = known_document(uri);
    const auto base =
        metaschema != nullptr ? dialect_by_uri(text_of(member(*metaschema, "$schema"))) : std::nullopt;
    if (!base)
        return schema_fault(
            "unknown_dialect", location,
            fmt::format("$schema is '{}'. Known are 2020-12, 2019-09 and draft-07 ('{}', '{}', "
                        "'{}#'), and metaschemas given as resources that extend one of them.",
                        named, dialect_uri(Dialect::draft2020_12), dialect_uri(Dialect::draft2019_09),
                        dialect_uri(Dialect::draft7)));
    resource.dialect = *base;
    resource.vocabularies = kAllVocabularies;
    resource.assert_format = options_.assert_format;
    const Value* vocabulary = member(*metaschema, "$vocabulary");
    if (vocabulary == nullptr || !vocabulary->is_object() || *base == Dialect::draft7) return {};
    const VocabularySet set = read_vocabularies(vocabulary->get_object());
    if (!set.unknown.empty())
        return schema_fault(
            "unknown_vocabulary", location,
            fmt::format("its metaschema requires the vocabulary '{}', which is not known here.",
                        set.unknown));
    resource.vocabularies = set.bits;
    resource.assert_format = set.assert_format || options_.assert_format;
    return {};
}

Result<void> Index::add_root(const Value& document) {
    return add_document(document, "", options_.default_dialect, "#");
}

Result<void> Index::add_document(const Value& document, std::string uri, Dialect dialect,
                                 const std::string& location) {
    CALLGATE_TRY(check_size(document, location));
    const auto id = static_cast<std::uint32_t>(resources_.size());
    Resource resource{std::move(uri), &document, dialect, kAllVocabularies, options_.assert_format};
    CALLGATE_TRY(choose_dialect(resource, location));
    by_uri_.emplace(resource.uri, id);
    resources_.push_back(std::move(resource));
    if (builtin_document(text_of(member(document, "$id"))) != &document) documents_.push_back(id);
    return walk(document, id, location, 0);
}

Result<void> Index::walk(const Value& schema, std::uint32_t resource, const std::string& location,
                         std::size_t depth) {
    if (depth > options_.limits.max_depth)
        return schema_fault("too_deep", location, "subschemas are nested too deep.");
    if (places_.contains(&schema)) return {};
    if (places_.size() >= options_.limits.max_subschemas)
        return schema_fault(
            "too_large", location,
            fmt::format("there are more than {} subschemas.", options_.limits.max_subschemas));
    const Object* object = schema.if_object();
    const bool has_core = object != nullptr && std::ranges::any_of(*object, [](const auto& entry) {
                              return !entry.key().empty() && entry.key().front() == '$';
                          });
    if (has_core) {
        CALLGATE_TRY(enter_identity(schema, resource, location));
        CALLGATE_TRY(enter_anchors(schema, resource, location));
    }
    places_.emplace(&schema, Place{resource, location});
    if (object == nullptr) return {};

    const Dialect dialect = resources_[resource].dialect;
    for (const auto& entry : *object) {
        const Keyword* keyword = find_keyword(entry.key(), dialect);
        if (keyword == nullptr) continue;
        const std::string_view name = keyword->name;
        if (name == "$ref" || name == "$dynamicRef" || name == "$recursiveRef") {
            if (name != "$ref") dynamic_ = true;
            if (entry.value().is_string()) pending_.push_back({resource, text_of(&entry.value())});
            continue;
        }
        if (keyword->shape < Shape::schema) continue;
        CALLGATE_TRY(
            walk_children(entry.value(), keyword->shape, resource, below(location, entry.key()), depth + 1));
    }
    return {};
}

Result<void> Index::walk_children(const Value& value, Shape shape, std::uint32_t resource,
                                  const std::string& location, std::size_t depth) {
    const bool one = shape == Shape::schema || shape == Shape::schema_or_list;
    const bool list = shape == Shape::schema_list || shape == Shape::schema_or_list;
    const bool map =
        shape == Shape::schema_map || shape == Shape::pattern_map || shape == Shape::dependencies;
    if (one && (value.is_object() || value.is_bool())) return walk(value, resource, location, depth);
    if (list && value.is_array()) {
        const Array& items = value.get_array();
        for (std::size_t i = 0; i < items.size(); ++i) {
            CALLGATE_TRY(walk(items[i], resource, below(location, i), depth));
        }
    }
    if (map && value.is_object()) {
        for (const auto& entry : value.get_object()) {
            if (entry.value().is_array()) continue;  // a list of names in `dependencies`
            CALLGATE_TRY(walk(entry.value(), resource, below(location, entry.key()), depth));
        }
    }
    return {};
}

Result<void> Index::enter_identity(const Value& value, std::uint32_t& resource, const std::string& location) {
    const std::string_view written = text_of(member(value, "$id"));
    if (written.empty()) return {};
    const bool draft7 = resources_[resource].dialect == Dialect::draft7;
    // Before 2019-09 nothing beside `$ref` counts, not even an identity.
    if (draft7 && member(value, "$ref") != nullptr) return {};
    const auto [before, fragment] = split_fragment(written);
    if (draft7 && !fragment.empty()) {
        if (before.empty()) return add_anchor(resource, fragment, value, location);
    } else if (!fragment.empty()) {
        return schema_fault("bad_id", location,
                            fmt::format("$id '{}' has a fragment; use $anchor.", written));
    }
    std::string uri = resolve_reference(resources_[resource].uri, before);

    const bool is_document_root = resources_[resource].root == &value;
    const auto known = by_uri_.find(uri);
    if (known != by_uri_.end() && resources_[known->second].root != &value)
        return schema_fault("duplicate_id", location,
                            fmt::format("another schema already has the identity '{}'.", uri));
    if (is_document_root) {
        // Reachable by the name it was found under and by the one it gives itself.
        by_uri_.emplace(uri, resource);
        resources_[resource].uri = std::move(uri);
        return {};
    }
    if (known != by_uri_.end()) {
        resource = known->second;
        return {};
    }
    Resource inner = resources_[resource];
    inner.uri = uri;
    inner.root = &value;
    CALLGATE_TRY(choose_dialect(inner, location));
    resource = static_cast<std::uint32_t>(resources_.size());
    by_uri_.emplace(std::move(uri), resource);
    resources_.push_back(std::move(inner));
    return {};
}

Result<void> Index::enter_anchors(const Value& value, std::uint32_t resource, const std::string& location) {
    const Dialect dialect = resources_[resource].dialect;
    if (dialect == Dialect::draft7) return {};
    if (const auto name = text_of(member(value, "$anchor")); !name.empty()) {
        CALLGATE_TRY(add_anchor(resource, name, value, location));
    }
    if (dialect == Dialect::draft2020_12) {
        if (const auto name = text_of(member(value, "$dynamicAnchor")); !name.empty()) {
            CALLGATE_TRY(add_anchor(resource, name, value, location));
            dynamic_anchors_[std::string(name)].emplace(resource, &value);
        }
    } else if (is_truth(member(value, "$recursiveAnchor")) && resources_[resource].root == &value) {
        dynamic_anchors_[""].emplace(resource, &value);
    }
    return {};
}

Result<void> Index::add_anchor(std::uint32_t resource, std::string_view name, const Value& at,
                               const std::string& location) {
    const auto [known, added] = anchors_.emplace(fmt::format("{}#{}", resources_[resource].uri, name), &at);
    if (!added && known->second != &at)
        return schema_fault("duplicate_anchor", location,
                            fmt::format("the anchor '{}' is there twice.", name));
    return {};
}

const Value* Index::dynamic_anchor(std::uint32_t resource, std::string_view name) const {
    const auto& owners = dynamic_anchors(name);
    const auto found = owners.find(resource);
    return found != owners.end() ? found->second : nullptr;
}

const std::map<std::uint32_t, const Value*>& Index::dynamic_anchors(std::string_view name) const {
    static const std::map<std::uint32_t, const Value*> none;
    const auto found = dynamic_anchors_.find(name);
    return found != dynamic_anchors_.end() ? found->second : none;
}

Result<bool> Index::enter(std::string_view uri, Dialect dialect) {
    if (by_uri_.contains(std::string(uri))) return true;
    const Value* document = known_document(uri);
    if (document == nullptr) return false;
    CALLGATE_TRY(add_document(*document, std::string(uri), dialect, fmt::format("{}#", uri)));
    return true;
}

Result<void> Index::add_referenced() {
    // Entering a document may append to pending_.
    for (std::size_t i = 0; i < pending_.size(); ++i) {
        const Resource& from = resources_[pending_[i].resource];
        const std::string full = resolve_reference(from.uri, pending_[i].reference);
        CALLGATE_TRY_ASSIGN(auto entered, enter(split_fragment(full).first, from.dialect));
        if (entered || options_.resources == nullptr) continue;
        // The identity may be inside one of the operator's documents.
        for (const auto& [uri, document] : options_.resources->all()) {
            CALLGATE_TRY(enter(uri, resources_[pending_[i].resource].dialect));
        }
    }
    pending_.clear();
    return {};
}

Result<Index::Target> Index::resolve(const Place& from, std::string_view reference) {
    const std::string full = resolve_reference(resources_[from.resource].uri, reference);
    const auto [uri, raw_fragment] = split_fragment(full);
    const auto known = by_uri_.find(std::string(uri));
    if (known == by_uri_.end()) {
        const UriParts parts = split_uri(uri);
        if (parts.has_scheme && parts.scheme != "urn" && parts.scheme != "tag")
            return schema_fault(
                "remote_ref", from.location,
                fmt::format("Schemas are never fetched, and $ref '{}' means '{}', which is not at "
                            "hand. Put it under $defs, or give it as a resource.",
                            base::truncate_to_bytes(reference, 200), uri));
        return schema_fault(
            "unresolved_ref", from.location,
            fmt::format("$ref '{}' points nowhere: there is no schema '{}'.", reference, uri));
    }
    const std::uint32_t resource = known->second;
    const std::string fragment = percent_decode(raw_fragment);
    if (fragment.empty()) return Target{resources_[resource].root, {}};
    if (fragment.front() == '/') {
        CALLGATE_TRY_ASSIGN(auto found, point_into(resource, fragment, reference, from));
        return Target{found, {}};
    }
    const auto anchor = anchors_.find(fmt::format("{}#{}", resources_[resource].uri, fragment));
    if (anchor == anchors_.end())
        return schema_fault(
            "unresolved_ref", from.location,
            fmt::format("$ref '{}' points nowhere: there is no anchor '{}'.", reference, fragment));
    return Target{anchor->second, fragment};
}

Result<const Value*> Index::point_into(std::uint32_t resource, std::string_view pointer,
                                       std::string_view reference, const Place& from) {
    const auto nowhere = [&](std::string why) {
        return schema_fault("unresolved_ref", from.location,
                            fmt::format("$ref '{}' points nowhere: {}", reference, why));
    };
    auto path = json::Pointer::parse(pointer);
    if (!path) return nowhere(path.error().message);

    // Step by step, because an `$id` on the way changes what relative references below it mean.
    const Value* at = resources_[resource].root;
    Place place = places_.at(at);
    for (const std::string& token : path->tokens()) {
        at = step(*at, token);
        if (at == nullptr) return nowhere(fmt::format("nothing is at '{}'.", token));
        json::append_token(place.location, token);
        if (const auto known = places_.find(at); known != places_.end()) place = known->second;
    }
    if (!at->is_object() && !at->is_bool()) return nowhere("what is there is no schema.");
    if (!places_.contains(at)) {
        // A place that no keyword makes a schema becomes one by being referred to.
        CALLGATE_TRY(walk(*at, place.resource, place.location, 0));
        CALLGATE_TRY(add_referenced());
    }
    return at;
}

}  // namespace callgate::schema
