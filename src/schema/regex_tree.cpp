#include "schema/regex_tree.h"

#include <utility>

#include "schema/regex_reader.h"

namespace callgate::schema {

TreeBuilder::TreeBuilder(std::size_t expected_nodes, bool simplify) : frames_(1), simplify_(simplify) {
    ast_.nodes.reserve(expected_nodes);
}

NodeId TreeBuilder::add(NodeKind kind, std::uint32_t value) {
    Node& node = ast_.nodes.emplace_back();
    node.kind = kind;
    node.value = value;
    return static_cast<NodeId>(ast_.nodes.size() - 1);
}

void TreeBuilder::append(NodeId term, bool may_repeat) {
    Frame& frame = frames_.back();
    if (frame.first_term == kNoNode) {
        frame.first_term = term;
    } else {
        ast_.nodes[frame.last_term].next = term;
    }
    frame.last_term = term;
    frame.may_repeat = may_repeat;
}

void TreeBuilder::append_set(CharSet set) {
    const bool single =
        set.properties.empty() && set.ranges.size() == 1 && set.ranges[0].first == set.ranges[0].last;
    if (single) {
        append_literal(set.ranges[0].first);
        return;
    }
    ast_.sets.push_back(std::move(set));
    append(add(NodeKind::set, static_cast<std::uint32_t>(ast_.sets.size() - 1)), true);
}

bool TreeBuilder::repeat_last(std::uint32_t min, std::uint32_t max, bool lazy) {
    Frame& frame = frames_.back();
    if (!frame.may_repeat) {
        return false;
    }
    // The repeated term moves to a new place, so that the chain to it stays as it is.
    const Node term = ast_.nodes[frame.last_term];
    ast_.nodes.push_back(term);
    Node repeat;
    repeat.kind = NodeKind::repeat;
    repeat.lazy = lazy;
    repeat.min = min;
    repeat.max = max;
    repeat.child = static_cast<NodeId>(ast_.nodes.size() - 1);
    ast_.nodes[frame.last_term] = repeat;
    frame.may_repeat = false;
    return true;
}

void TreeBuilder::next_choice() {
    Frame& frame = frames_.back();
    NodeId choice = frame.first_term;
    if (choice == kNoNode) {
        choice = add(NodeKind::empty);
    } else if (ast_.nodes[choice].next != kNoNode) {
        choice = add(NodeKind::concat);
        ast_.nodes[choice].child = frame.first_term;
    }
    if (frame.first_choice == kNoNode) {
        frame.first_choice = choice;
    } else {
        ast_.nodes[frame.last_choice].next = choice;
    }
    frame.last_choice = choice;
    frame.first_term = kNoNode;
    frame.last_term = kNoNode;
    frame.may_repeat = false;
}

// (?:a|[bc]|.) is one set: smaller for every engine, and known to be one character wide.
NodeId TreeBuilder::merged_choices(NodeId first) {
    CharSet set;
    for (NodeId id = first; id != kNoNode; id = ast_.nodes[id].next) {
        const Node& node = ast_.nodes[id];
        if (node.kind == NodeKind::literal) {
            set.ranges.push_back({node.value, node.value});
        } else if (node.kind == NodeKind::set && ast_.sets[node.value].properties.empty()) {
            const CodeRanges& ranges = ast_.sets[node.value].ranges;
            set.ranges.insert(set.ranges.end(), ranges.begin(), ranges.end());
        } else {
            return kNoNode;
        }
    }
    finish_set(set);
    ast_.sets.push_back(std::move(set));
    return add(NodeKind::set, static_cast<std::uint32_t>(ast_.sets.size() - 1));
}

NodeId TreeBuilder::finish_choices() {
    next_choice();
    const NodeId first = frames_.back().first_choice;
    if (ast_.nodes[first].next == kNoNode) {
        return first;
    }
    if (const NodeId merged = simplify_ ? merged_choices(first) : kNoNode; merged != kNoNode) {
        return merged;
    }
    const NodeId alternate = add(NodeKind::alternate);
    ast_.nodes[alternate].child = first;
    return alternate;
}

void TreeBuilder::open(NodeId node, bool may_repeat) {
    Frame& frame = frames_.emplace_back();
    frame.node = node;
    frame.node_may_repeat = may_repeat;
}

void TreeBuilder::close() {
    const NodeId content = finish_choices();
    const Frame frame = frames_.back();
    frames_.pop_back();
    if (frame.node == kNoNode) {
        append(content, frame.node_may_repeat);
    } else {
        ast_.nodes[frame.node].child = content;
        append(frame.node, frame.node_may_repeat);
    }
}

Ast TreeBuilder::finish() {
    ast_.root = finish_choices();
    return std::move(ast_);
}

}  // namespace callgate::schema
