#include "redact/automaton.h"

#include <algorithm>

namespace callgate::redact {

Automaton::Automaton() : nodes_(1) {}

Automaton::Automaton(std::span<const Pattern> patterns) : nodes_(1), filter_(kFilterBits / 64) {
    std::size_t bytes = 1;
    for (const auto& pattern : patterns) {
        bytes += pattern.bytes.size();
    }
    nodes_.reserve(bytes);
    for (const auto& pattern : patterns) {
        insert(pattern);
    }
    link();
}

std::size_t Automaton::filter_slot(const char* three) noexcept {
    const auto byte = [three](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(three[i])}; };
    return (byte(0) | byte(1) << 8 | byte(2) << 16) * 0x9e3779b1u >> 16;
}

std::size_t Automaton::skip(std::string_view text, std::size_t from) const noexcept {
    if (empty()) {
        return text.size();
    }
    // Near the end three bytes are not there to be judged.
    for (; from + kMinPattern <= text.size(); ++from) {
        const auto slot = filter_slot(text.data() + from);
        if ((filter_[slot / 64] >> slot % 64 & 1) != 0) {
            break;
        }
    }
    return from;
}

void Automaton::insert(const Pattern& pattern) {
    const auto text = base::view(pattern.bytes);
    if (text.size() < kMinPattern) {
        return;
    }
    const auto slot = filter_slot(text.data());
    filter_[slot / 64] |= std::uint64_t{1} << slot % 64;
    longest_ = std::max(longest_, text.size());

    State state = kRoot;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        State child = state == kRoot ? root_[byte] : nodes_[state].child;
        while (child != kRoot && nodes_[child].label != byte) {
            child = nodes_[child].sibling;
        }
        if (child == kRoot) {
            child = static_cast<State>(nodes_.size());
            Node node;
            node.label = byte;
            node.depth = nodes_[state].depth + 1;
            node.sibling = nodes_[state].child;
            nodes_.push_back(node);
            nodes_[state].child = child;
            if (state == kRoot) {
                root_[byte] = child;
            }
        }
        state = child;
    }
    auto& end = nodes_[state];
    end.longest = end.depth;
    end.spills_right = end.spills_right || pattern.spills_right;
    if (pattern.spills_left) {
        end.longest_left_spill = end.depth;
    }
}

void Automaton::link() {
    base::CleansedVector<State> queue;
    queue.reserve(nodes_.size());
    for (State child = nodes_[kRoot].child; child != kRoot; child = nodes_[child].sibling) {
        queue.push_back(child);
    }
    for (std::size_t i = 0; i < queue.size(); ++i) {
        const State state = queue[i];
        auto& node = nodes_[state];
        const auto& fallback = nodes_[node.fail];
        node.longest = std::max(node.longest, fallback.longest);
        node.longest_left_spill = std::max(node.longest_left_spill, fallback.longest_left_spill);
        node.spills_right = node.spills_right || fallback.spills_right;
        for (State child = node.child; child != kRoot; child = nodes_[child].sibling) {
            nodes_[child].fail = next(node.fail, nodes_[child].label);
            queue.push_back(child);
        }
    }
}

}  // namespace callgate::redact
