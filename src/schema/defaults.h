// JSON Schema's `default`, applied: what a schema says about members that are absent.
//
// Members are found through properties, items, prefixItems, allOf and references inside the document. What
// stands under anyOf, oneOf, if or not may or may not apply to a value, and is left alone. Where an object is
// itself a default, the defaults inside it are in it, too. Where several schemas describe one member, the
// first counts. A member that is there is never changed, null included.
//
// Threads: immutable once made.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <callgate/json.h>

namespace callgate::schema {

class Defaults {
public:
    /// Of a schema that compiles. What lies beyond 100,000 steps of the search is left alone.
    explicit Defaults(const Value& schema);
    Defaults(Defaults&&) noexcept;
    Defaults& operator=(Defaults&&) noexcept;
    ~Defaults();

    bool empty() const noexcept;
    /// How many members were filled in. `places`, where it is asked for, gets a JSON pointer to each.
    std::size_t fill(Value& value, std::vector<std::string>* places = nullptr) const;

private:
    struct Tree;
    std::unique_ptr<const Tree> tree_;
};

/// The value without what fill() put in these places.
Value without(const Value& filled, const std::vector<std::string>& places);

}  // namespace callgate::schema
