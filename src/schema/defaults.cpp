#include "schema/defaults.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "json/pointer.h"

namespace callgate::schema {

namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
constexpr std::size_t kMostSearchSteps = 100'000;
constexpr std::size_t kMostExpansions = 1'000;  // of defaults inside defaults
constexpr std::size_t kDeepestFilled = 512;

struct MemberDefault {
    std::string name;
    std::optional<Value> fallback;
    const Value* written = nullptr;  ///< where the schema says so; only while the tree is made
    std::size_t inside = kNowhere;   ///< the place of what the member's own schema says
};

/// What the schemas of one place in the arguments say together.
struct PlaceDefaults {
    std::vector<MemberDefault> members;
    std::vector<std::size_t> prefix;
    std::size_t items = kNowhere;
    bool useful = false;  ///< there is a default in it or inside
};

const Value* keyword_of(const Value& schema, std::string_view name) {
    const Object* const object = schema.if_object();
    return object != nullptr ? object->if_contains(name) : nullptr;
}

const Value* target_of(const Value& root, const Value& schema) {
    const Value* const reference = keyword_of(schema, "$ref");
    if (reference == nullptr || !reference->is_string()) return nullptr;
    const std::string_view text(reference->get_string().data(), reference->get_string().size());
    return text.starts_with('#') ? json::find(root, text.substr(1)) : nullptr;
}

/// A schema, what it refers to and its allOf: all that always applies to the same value. In that order.
class Together {
public:
    Together(const Value& root, std::size_t& steps) : root_(root), steps_(steps) {}

    const std::vector<const Value*>& of(const Value& schema) {
        all_.clear();
        add(schema);
        return all_;
    }

private:
    void add(const Value& schema) {
        if (steps_ >= kMostSearchSteps || std::ranges::find(all_, &schema) != all_.end()) return;
        ++steps_;
        // Another document, whose references are its own.
        if (&schema != &root_ && keyword_of(schema, "$id") != nullptr) return;
        all_.push_back(&schema);
        if (const Value* const target = target_of(root_, schema)) add(*target);
        const Value* const parts = keyword_of(schema, "allOf");
        if (parts == nullptr || !parts->is_array()) return;
        for (const Value& part : parts->get_array()) add(part);
    }

    const Value& root_;
    std::size_t& steps_;
    std::vector<const Value*> all_;
};

}  // namespace

struct Defaults::Tree {
    std::vector<PlaceDefaults> places;

    explicit Tree(const Value& schema) {
        find_places(schema);
        mark_useful();
        if (places[0].useful) expand_all();
    }

    std::size_t fill(Value& value, std::size_t at, std::string* where, std::vector<std::string>* filled,
                     std::size_t depth) const {
        if (at == kNowhere || !places[at].useful || depth > kDeepestFilled) return 0;
        const PlaceDefaults& place = places[at];
        std::size_t count = 0;
        const auto inside = [&](Value& child, std::size_t child_at, auto&& append) {
            const std::size_t length = where != nullptr ? where->size() : 0;
            if (where != nullptr) append(*where);
            count += fill(child, child_at, where, filled, depth + 1);
            if (where != nullptr) where->resize(length);
        };
        if (Object* const object = value.if_object()) {
            for (const MemberDefault& member : place.members) {
                if (Value* const there = object->if_contains(member.name)) {
                    inside(*there, member.inside,
                           [&](std::string& text) { json::append_token(text, member.name); });
                } else if (member.fallback) {
                    object->emplace(member.name, *member.fallback);
                    ++count;
                    if (filled == nullptr) continue;
                    filled->push_back(*where);
                    json::append_token(filled->back(), member.name);
                }
            }
        } else if (Array* const array = value.if_array()) {
            for (std::size_t i = 0; i < array->size(); ++i) {
                inside((*array)[i], i < place.prefix.size() ? place.prefix[i] : place.items,
                       [&](std::string& text) { json::append_index(text, i); });
            }
        }
        return count;
    }

private:
    void find_places(const Value& root) {
        std::map<const Value*, std::size_t> known;
        std::vector<const Value*> waiting;
        std::size_t steps = 0;
        const auto place_of = [&](const Value& schema) -> std::size_t {
            if (!schema.is_object()) return kNowhere;
            const auto [entry, added] = known.emplace(&schema, places.size());
            if (added) {
                places.emplace_back();
                waiting.push_back(&schema);
            }
            return entry->second;
        };
        place_of(root);
        if (places.empty()) places.emplace_back();
        Together same_value(root, steps);
        for (std::size_t i = 0; i < waiting.size() && steps < kMostSearchSteps; ++i) {
            const std::vector<const Value*> together = same_value.of(*waiting[i]);
            for (const Value* const schema : together) {
                if (const Value* const properties = keyword_of(*schema, "properties");
                    properties != nullptr && properties->is_object()) {
                    for (const auto& entry : properties->get_object())
                        add_member(i, entry.key(), entry.value(), same_value, place_of);
                }
                const Value* prefix = keyword_of(*schema, "prefixItems");
                const Value* items = keyword_of(*schema, "items");
                if (items != nullptr && items->is_array()) std::swap(prefix, items);  // before 2020-12
                if (prefix != nullptr && prefix->is_array() && places[i].prefix.empty()) {
                    for (const Value& item : prefix->get_array()) {
                        const std::size_t place = place_of(item);
                        places[i].prefix.push_back(place);
                    }
                }
                if (items != nullptr && places[i].items == kNowhere) {
                    const std::size_t place = place_of(*items);
                    places[i].items = place;
                }
            }
        }
    }

    void add_member(std::size_t at, std::string_view name, const Value& schema, Together& same_value,
                    const auto& place_of) {
        const std::size_t inside = place_of(schema);
        auto& members = places[at].members;
        auto member = std::ranges::find(members, name, &MemberDefault::name);
        if (member == members.end()) {
            members.push_back({std::string(name), std::nullopt, nullptr, inside});
            member = std::prev(members.end());
        }
        if (member->fallback) return;
        for (const Value* const part : same_value.of(schema)) {
            if (const Value* const fallback = keyword_of(*part, "default")) {
                member->fallback = *fallback;
                member->written = fallback;
                return;
            }
        }
    }

    void mark_useful() {
        std::vector<std::vector<std::size_t>> around(places.size());
        std::vector<std::size_t> useful;
        for (std::size_t i = 0; i < places.size(); ++i) {
            const auto contains = [&](std::size_t inside) {
                if (inside != kNowhere) around[inside].push_back(i);
            };
            contains(places[i].items);
            std::ranges::for_each(places[i].prefix, contains);
            for (const MemberDefault& member : places[i].members) {
                contains(member.inside);
                if (member.fallback) places[i].useful = true;
            }
            if (places[i].useful) useful.push_back(i);
        }
        while (!useful.empty()) {
            const std::size_t at = useful.back();
            useful.pop_back();
            for (const std::size_t outer : around[at]) {
                if (!std::exchange(places[outer].useful, true)) useful.push_back(outer);
            }
        }
    }

    // Defaults inside defaults, once, so that no call has to. One that would contain itself stays as it is.
    void expand_all() {
        std::vector<std::vector<std::optional<Value>>> expanded(places.size());
        std::size_t left = kMostExpansions;
        for (std::size_t i = 0; i < places.size(); ++i) {
            for (const MemberDefault& member : places[i].members) {
                std::optional<Value> fallback = member.fallback;
                std::vector<const Value*> within{member.written};
                if (fallback) expand(*fallback, member.inside, within, left);
                expanded[i].push_back(std::move(fallback));
            }
        }
        if (left == 0) return;  // more than anybody means: each stays as it is written
        for (std::size_t i = 0; i < places.size(); ++i) {
            for (std::size_t k = 0; k < places[i].members.size(); ++k)
                places[i].members[k].fallback = std::move(expanded[i][k]);
        }
    }

    void expand(Value& value, std::size_t at, std::vector<const Value*>& within, std::size_t& left) const {
        if (at == kNowhere || !places[at].useful || left == 0) return;
        --left;
        const PlaceDefaults& place = places[at];
        if (Object* const object = value.if_object()) {
            for (const MemberDefault& member : place.members) {
                if (left == 0) return;
                const bool new_here = !object->contains(member.name);
                if (new_here &&
                    (!member.fallback || std::ranges::find(within, member.written) != within.end()))
                    continue;
                if (new_here) {
                    object->emplace(member.name, *member.fallback);
                    within.push_back(member.written);
                }
                expand(object->at(member.name), member.inside, within, left);
                if (new_here) within.pop_back();
            }
        } else if (Array* const array = value.if_array()) {
            for (std::size_t i = 0; i < array->size(); ++i)
                expand((*array)[i], i < place.prefix.size() ? place.prefix[i] : place.items, within, left);
        }
    }
};

Defaults::Defaults(const Value& schema) : tree_(std::make_unique<const Tree>(schema)) {}
Defaults::Defaults(Defaults&&) noexcept = default;
Defaults& Defaults::operator=(Defaults&&) noexcept = default;
Defaults::~Defaults() = default;

bool Defaults::empty() const noexcept {
    return !tree_->places[0].useful;
}

std::size_t Defaults::fill(Value& value, std::vector<std::string>* places) const {
    std::string where;
    return tree_->fill(value, 0, places != nullptr ? &where : nullptr, places, 0);
}

Value without(const Value& filled, const std::vector<std::string>& places) {
    Value value = filled;
    // The last first: what was filled in later may stand inside what came before.
    for (auto place = places.rbegin(); place != places.rend(); ++place) {
        auto pointer = json::Pointer::parse(*place);
        if (!pointer || pointer->empty()) continue;
        Value* at = &value;
        const auto& tokens = pointer->tokens();
        for (std::size_t i = 0; i + 1 < tokens.size() && at != nullptr; ++i) {
            if (Object* const object = at->if_object()) {
                at = object->if_contains(tokens[i]);
            } else {
                Array* const array = at->if_array();
                const auto index = array != nullptr ? json::array_index(tokens[i]) : std::nullopt;
                at = index && *index < array->size() ? &(*array)[*index] : nullptr;
            }
        }
        if (at == nullptr) continue;
        if (Object* const object = at->if_object()) object->erase(tokens.back());
    }
    return value;
}

}  // namespace callgate::schema
