// Many byte patterns found in one pass (Aho-Corasick).
//
// After each byte, the state's depth is the length of the longest suffix of the text that begins a pattern:
// bytes before it can be part of no later match. Cost is linear in the text, whatever the patterns. Patterns
// are secrets or forms of them, so the memory is wiped when it is given back.
//
// Threads: immutable once built; may be shared.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/cleansing.h"

namespace callgate::redact {

struct Pattern {
    base::SecretBytes bytes;  ///< at least kMinPattern of them
    /// The byte before or after an occurrence holds a few bits of the secret as well (base64).
    bool spills_left = false;
    bool spills_right = false;
};

class Automaton {
public:
    using State = std::uint32_t;
    static constexpr State kRoot = 0;
    static constexpr std::size_t kMinPattern = 3;

    Automaton();
    explicit Automaton(std::span<const Pattern> patterns);

    bool empty() const noexcept { return nodes_.size() == 1; }
    std::size_t longest() const noexcept { return longest_; }

    State next(State state, unsigned char byte) const noexcept {
        for (;;) {
            if (state == kRoot) {
                return root_[byte];
            }
            for (State child = nodes_[state].child; child != kRoot; child = nodes_[child].sibling) {
                if (nodes_[child].label == byte) {
                    return child;
                }
            }
            state = nodes_[state].fail;
        }
    }

    std::size_t depth(State state) const noexcept { return nodes_[state].depth; }

    /// Whether a pattern ends here, and the longest that does.
    bool matches(State state) const noexcept { return nodes_[state].longest != 0; }
    std::size_t longest_match(State state) const noexcept { return nodes_[state].longest; }
    std::size_t longest_left_spill(State state) const noexcept { return nodes_[state].longest_left_spill; }
    bool spills_right(State state) const noexcept { return nodes_[state].spills_right; }

    /// From the root: the first offset at or after `from` where a pattern may begin. It may find one where
    /// none does, but passes none over.
    std::size_t skip(std::string_view text, std::size_t from) const noexcept;

private:
    struct Node {
        State child = kRoot;
        State sibling = kRoot;
        State fail = kRoot;
        std::uint32_t depth = 0;
        std::uint32_t longest = 0;
        std::uint32_t longest_left_spill = 0;
        std::uint8_t label = 0;
        bool spills_right = false;
    };

    static constexpr std::size_t kFilterBits = 1u << 16;
    static std::size_t filter_slot(const char* three) noexcept;

    void insert(const Pattern& pattern);
    void link();

    base::CleansedVector<Node> nodes_;
    std::array<State, 256> root_{};
    base::CleansedVector<std::uint64_t> filter_;  // which three-byte beginnings exist
    std::size_t longest_ = 0;
};

}  // namespace callgate::redact
