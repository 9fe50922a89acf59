// Where everything is: the resources, anchors and subschemas of a schema document and of all it refers to.
//
// A document enters the index when it is the root or when a `$ref` first needs it; its subschemas are then
// known with their base URI and dialect. Only documents at hand are found: the schema itself, the operator's
// resources, the built-in metaschemas. Nothing is ever fetched.
//
// Threads: used by one compile, on one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <callgate/schema.h>

#include "schema/keywords.h"

namespace callgate::schema {

/// A schema with an identity of its own: a document's root, or a subschema with `$id`.
struct Resource {
    std::string uri;  ///< absolute where the document says so; no fragment
    const Value* root = nullptr;
    Dialect dialect = Dialect::draft2020_12;
    std::uint8_t vocabularies = 0;
    bool assert_format = false;
};

/// One subschema.
struct Place {
    std::uint32_t resource = 0;
    /// For people: a pointer into the document; before it the document's URI, if it is not the root.
    std::string location;
};

class Index {
public:
    explicit Index(const CompileOptions& options) : options_(options) {}

    /// Enter the root document. `document` must outlive the index.
    Result<void> add_root(const Value& document);

    const Resource& resource(std::uint32_t id) const { return resources_[id]; }
    const Place& place(const Value& subschema) const { return places_.at(&subschema); }

    /// The subschema that `reference` means when it stands at `from`. Enters further documents as needed.
    struct Target {
        const Value* schema = nullptr;
        std::string anchor;  ///< set when the reference's fragment is a plain name
    };
    Result<Target> resolve(const Place& from, std::string_view reference);

    /// The subschema with this `$dynamicAnchor` in a resource (the name "" stands for `$recursiveAnchor`).
    const Value* dynamic_anchor(std::uint32_t resource, std::string_view name) const;

    /// Per resource, the subschema with a dynamic anchor of this name.
    const std::map<std::uint32_t, const Value*>& dynamic_anchors(std::string_view name) const;

    /// True once any document in the index has a `$dynamicRef` or `$recursiveRef`.
    bool is_dynamic() const noexcept { return dynamic_; }

    /// Enter every document that the known ones refer to.
    Result<void> add_referenced();

    /// The resources that are whole documents and not built in, in the order they were entered.
    const std::vector<std::uint32_t>& documents() const noexcept { return documents_; }

private:
    struct PendingRef {
        std::uint32_t resource;
        std::string_view reference;
    };

    Result<void> add_document(const Value& document, std::string uri, Dialect dialect,
                              const std::string& location);
    Result<void> walk(const Value& schema, std::uint32_t resource, const std::string& location,
                      std::size_t depth);
    Result<void> walk_children(const Value& value, Shape shape, std::uint32_t resource,
                               const std::string& location, std::size_t depth);
    Result<void> enter_identity(const Value& value, std::uint32_t& resource, const std::string& location);
    Result<void> enter_anchors(const Value& value, std::uint32_t resource, const std::string& location);
    Result<void> add_anchor(std::uint32_t resource, std::string_view name, const Value& at,
                            const std::string& location);
    Result<void> choose_dialect(Resource& resource, const std::string& location);
    const Value* known_document(std::string_view uri) const;
    Result<bool> enter(std::string_view uri, Dialect dialect);
    Result<const Value*> point_into(std::uint32_t resource, std::string_view pointer,
                                    std::string_view reference, const Place& from);
    Result<void> check_size(const Value& document, std::string_view location);

    const CompileOptions& options_;
    std::vector<Resource> resources_;
    std::unordered_map<const Value*, Place> places_;
    std::unordered_map<std::string, std::uint32_t> by_uri_;
    std::unordered_map<std::string, const Value*> anchors_;  ///< "uri#name"
    std::map<std::string, std::map<std::uint32_t, const Value*>, std::less<>> dynamic_anchors_;
    std::vector<PendingRef> pending_;
    std::vector<std::uint32_t> documents_;
    std::size_t nodes_ = 0;
    bool dynamic_ = false;
};

/// `config_error` about a place in a schema; the message names it.
tl::unexpected<Error> schema_fault(std::string_view reason, std::string_view location,
                                   std::string_view message);

}  // namespace callgate::schema
