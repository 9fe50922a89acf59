#include "json/size.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <boost/container/small_vector.hpp>

#include "json/pointer.h"

namespace callgate::json {
namespace {

// Walks a document without recursion, so that its depth cannot hurt.
class Walk {
public:
    explicit Walk(const Value& root) { push(root, 1); }

    bool next() {
        if (todo_.empty()) return false;
        const auto [value, depth] = todo_.back();
        todo_.pop_back();
        ++nodes;
        ++bytes;
        if (depth > deepest) deepest = depth;
        if (const auto* text = value->if_string()) {
            bytes += text->size() + 1;
        } else if (const auto* array = value->if_array()) {
            for (const Value& element : *array) push(element, depth + 1);
        } else if (const auto* object = value->if_object()) {
            for (const auto& member : *object) {
                bytes += member.key().size() + 3;
                push(member.value(), depth + 1);
            }
        }
        return true;
    }

    std::size_t nodes = 0;
    std::size_t bytes = 0;
    std::size_t deepest = 0;

private:
    void push(const Value& value, std::size_t depth) { todo_.emplace_back(&value, depth); }
    boost::container::small_vector<std::pair<const Value*, std::size_t>, 32> todo_;
};

Error past(std::string_view reason, std::string_view what, std::size_t limit) {
    return Error(ErrorCode::invalid_arguments,
                 "The document has more than " + std::to_string(limit) + " " + std::string(what) +
                     "; send less at once.",
                 {{"reason", reason}, {"limit", limit}});
}

}  // namespace

Result<void> check_size(const Value& value, const ParseLimits& limits) {
    Walk walk(value);
    while (walk.next()) {
        if (walk.nodes > limits.max_nodes)
            return tl::unexpected(past("too_many_nodes", "values", limits.max_nodes));
        if (walk.deepest > limits.max_depth + 1)
            return tl::unexpected(past("too_deep", "levels", limits.max_depth));
        if (walk.bytes > limits.max_bytes)
            return tl::unexpected(past("too_large", "bytes", limits.max_bytes));
    }
    return {};
}

ParseLimits any_size() noexcept {
    constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
    return {kAny, kAny, kAny};
}

std::size_t text_size_up_to(const Value& value, std::size_t enough) {
    Walk walk(value);
    while (walk.next() && walk.bytes <= enough) {
    }
    return walk.bytes;
}

std::size_t held_bytes(const Value& value) {
    constexpr std::size_t kEach = 32;  // a value with its share of what holds it
    Walk walk(value);
    while (walk.next()) {
    }
    return walk.bytes + kEach * walk.nodes;
}

namespace {

std::optional<Unwritable> find_fault(const Value& value, std::size_t deepest) {
    const auto bad = [](const Value& one) {
        const double* number = one.if_double();
        return number != nullptr && !std::isfinite(*number);
    };
    if (!value.is_structured()) return bad(value) ? std::optional(Unwritable{}) : std::nullopt;
    const auto member = [](const Value& object, std::size_t at) -> const Object::value_type& {
        return *(object.get_object().begin() + static_cast<std::ptrdiff_t>(at));
    };
    struct Level {
        const Value* container;
        std::size_t next;
    };
    boost::container::small_vector<Level, 16> levels;
    levels.push_back({&value, 0});
    while (!levels.empty()) {
        auto& [container, next] = levels.back();
        const Array* const array = container->if_array();
        const std::size_t size = array != nullptr ? array->size() : container->get_object().size();
        if (next == size) {
            levels.pop_back();
            continue;
        }
        const Value& one = array != nullptr ? (*array)[next] : member(*container, next).value();
        ++next;
        if (bad(one)) {
            std::string path;
            for (const auto& [outer, after] : levels) {
                if (outer->is_array()) {
                    append_index(path, after - 1);
                } else {
                    const auto key = member(*outer, after - 1).key();
                    append_token(path, {key.data(), key.size()});
                }
            }
            return Unwritable{false, std::move(path)};
        }
        if (!one.is_structured()) continue;
        if (levels.size() >= deepest) return Unwritable{true, {}};
        levels.push_back({&one, 0});
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string> find_not_finite(const Value& value) {
    auto fault = find_fault(value, std::numeric_limits<std::size_t>::max());
    return fault ? std::optional(std::move(fault->path)) : std::nullopt;
}

std::optional<Unwritable> find_unwritable(const Value& value) {
    return find_fault(value, kDeepestKept);
}

std::string Unwritable::what() const {
    if (too_deep) return "more than " + std::to_string(kDeepestKept) + " levels, one inside the other";
    return "a number at " + path + " that is NaN or infinite, which JSON cannot say";
}

std::string_view kind_with_article(const Value& value) noexcept {
    switch (value.kind()) {
        case boost::json::kind::null: return "null";
        case boost::json::kind::bool_: return "a boolean";
        case boost::json::kind::int64:
        case boost::json::kind::uint64:
        case boost::json::kind::double_: return "a number";
        case boost::json::kind::string: return "a string";
        case boost::json::kind::array: return "an array";
        case boost::json::kind::object: return "an object";
    }
    return "something else";
}

}  // namespace callgate::json
