// Equality and hashing of instances in JSON Schema's sense, across both forms of instance: numbers by value,
// objects whatever their order. Work is charged to the run's budget; past it the answer means nothing and the
// run is over.
//
// Threads: read-only.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "json/whole_number.h"
#include "schema/instance.h"
#include "schema/number.h"
#include "schema/run.h"

namespace callgate::schema {

inline bool is_number(Kind kind) noexcept {
    return kind == Kind::int64 || kind == Kind::uint64 || kind == Kind::number;
}

template <class A, class B>
bool equal_nodes(A a, B b, Run& run);

template <class A, class B>
bool equal_members(A a, B b, Run& run) {
    if (a.object_size() != b.object_size() || !run.spend(a.object_size())) return false;
    auto guess = b.members();
    for (auto at = a.members(); !at.done(); at.next(), guess.next()) {
        // Equal objects mostly have their members in the same order.
        if (guess.key() == at.key()) {
            if (!equal_nodes(at.value(), guess.value(), run)) return false;
            continue;
        }
        if (!run.spend(b.object_size())) return false;
        bool same = false;
        b.find(at.key(), [&](B other) { same = equal_nodes(at.value(), other, run); });
        if (!same) return false;
    }
    return true;
}

template <class A, class B>
bool equal_nodes(A a, B b, Run& run) {
    const Kind kind = a.kind();
    const Kind other = b.kind();
    if (is_number(kind)) return is_number(other) && compare(a.number(), b.number()) == 0;
    if (kind != other) return false;
    switch (kind) {
        case Kind::boolean: return a.truth() == b.truth();
        case Kind::string: return a.string() == b.string();
        case Kind::array: {
            if (a.array_size() != b.array_size() || !run.spend(a.array_size()) || !run.enter()) return false;
            auto right = b.items();
            bool same = true;
            for (auto left = a.items(); same && !left.done(); left.next(), right.next())
                same = equal_nodes(left.item(), right.item(), run);
            run.leave();
            return same;
        }
        case Kind::object: {
            if (!run.enter()) return false;
            const bool same = equal_members(a, b, run);
            run.leave();
            return same;
        }
        default: return true;  // null
    }
}

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
    a = (a ^ b) * 0xD6E8'FEB8'6659'FD93u;
    return a ^ (a >> 32);
}

inline std::uint64_t hash_text(std::string_view text, std::uint64_t seed) noexcept {
    std::uint64_t h = mix(seed, text.size());
    while (text.size() >= 8) {
        std::uint64_t word;
        std::memcpy(&word, text.data(), 8);
        h = mix(h, word);
        text.remove_prefix(8);
    }
    std::uint64_t rest = 0;
    if (!text.empty()) std::memcpy(&rest, text.data(), text.size());
    return mix(h, rest);
}

// The same for all forms of one number.
inline std::uint64_t hash_number(const Number& number, std::uint64_t seed) noexcept {
    if (number.kind == Number::Kind::int64) return mix(seed + 1, static_cast<std::uint64_t>(number.i));
    if (number.kind == Number::Kind::uint64) return mix(seed + 1, number.u);
    if (const auto whole = json::whole_of<std::int64_t>(number.d))
        return mix(seed + 1, static_cast<std::uint64_t>(*whole));
    if (const auto whole = json::whole_of<std::uint64_t>(number.d)) return mix(seed + 1, *whole);
    return mix(seed + 2, std::bit_cast<std::uint64_t>(number.d));
}

template <class Node>
std::uint64_t hash_node(Node node, std::uint64_t seed, Run& run) {
    switch (node.kind()) {
        case Kind::null: return mix(seed, 3);
        case Kind::boolean: return mix(seed, node.truth() ? 4 : 5);
        case Kind::int64:
        case Kind::uint64:
        case Kind::number: return hash_number(node.number(), seed);
        case Kind::string:
            run.spend(node.string().size() / 64 + 1);
            return hash_text(node.string(), seed + 6);
        case Kind::array: {
            std::uint64_t h = mix(seed, 7);
            if (!run.spend(node.array_size() + 1) || !run.enter()) return h;
            for (auto at = node.items(); !at.done(); at.next())
                h = mix(h + 1, hash_node(at.item(), seed, run));
            run.leave();
            return h;
        }
        case Kind::object: {
            std::uint64_t h = mix(seed, 8);
            if (!run.spend(node.object_size() + 1) || !run.enter()) return h;
            for (auto at = node.members(); !at.done(); at.next())
                h += mix(hash_text(at.key(), seed + 9), hash_node(at.value(), seed, run));
            run.leave();
            return mix(h, node.object_size());
        }
    }
    return seed;
}

}  // namespace callgate::schema
