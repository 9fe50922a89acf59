// Grows the tree of a pattern while it is read: the groups that are open, their choices and their sequences.
//
// Threads: one builder belongs to one parse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schema/regex_ast.h"

namespace callgate::schema {

class TreeBuilder {
public:
    /// `simplify`: a choice between single characters becomes one set.
    TreeBuilder(std::size_t expected_nodes, bool simplify);

    Ast& ast() noexcept { return ast_; }
    Node& node(NodeId id) noexcept { return ast_.nodes[id]; }

    /// A node that is not yet part of the tree.
    NodeId add(NodeKind kind, std::uint32_t value = 0);

    void append(NodeId term, bool may_repeat);
    void append_literal(char32_t code_point) { append(add(NodeKind::literal, code_point), true); }
    void append_set(CharSet set);

    /// Wraps the last term. False when there is none that a quantifier may follow.
    bool repeat_last(std::uint32_t min, std::uint32_t max, bool lazy);

    /// Starts the next choice of the innermost group.
    void next_choice();

    /// `node` receives the group's content as its child; without one the content stands for itself.
    void open(NodeId node, bool may_repeat);
    void close();

    /// Once all groups are closed.
    Ast finish();

private:
    struct Frame {
        NodeId node = kNoNode;
        bool node_may_repeat = true;
        NodeId first_choice = kNoNode;
        NodeId last_choice = kNoNode;
        NodeId first_term = kNoNode;
        NodeId last_term = kNoNode;
        bool may_repeat = false;
    };

    NodeId finish_choices();
    NodeId merged_choices(NodeId first);

    Ast ast_;
    std::vector<Frame> frames_;
    bool simplify_;
};

}  // namespace callgate::schema
