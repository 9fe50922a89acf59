// The tree of a parsed pattern, between the ECMA-262 parser and the engines.
//
// Nodes live in one vector and name each other by index; the children of a node form a chain by `next`.
// Classes and escapes are already sets of code points, so that no engine's own idea of \s or `.` matters.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "schema/regex_charset.h"
#include "schema/unicode_names.h"

namespace callgate::schema {

using NodeId = std::uint32_t;
inline constexpr NodeId kNoNode = std::numeric_limits<NodeId>::max();
inline constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();

enum class NodeKind : std::uint8_t {
    empty,
    literal,         ///< value: the code point
    set,             ///< value: index into Ast::sets
    begin,           ///< ^
    end,             ///< $, only at the very end of the text
    word_boundary,   ///< \b, or \B when negated
    group,           ///< value: number of the capturing group; child
    concat,          ///< children in order
    alternate,       ///< children are the choices
    repeat,          ///< child, min, max
    look,            ///< child; look-ahead, or look-behind
    back_reference,  ///< value: index into Ast::references
};

struct Node {
    NodeKind kind = NodeKind::empty;
    bool lazy = false;
    bool negated = false;
    bool behind = false;
    std::uint32_t value = 0;
    std::uint32_t min = 0;
    std::uint32_t max = 0;
    NodeId child = kNoNode;
    NodeId next = kNoNode;
};

struct PropertyItem {
    UnicodeProperty property;
    bool negated = false;
};

/// With `properties` empty, `negated` is false: the parser has inverted the ranges. Ranges are normalized.
struct CharSet {
    CodeRanges ranges;
    std::vector<PropertyItem> properties;
    bool negated = false;
};

struct Ast {
    std::vector<Node> nodes;
    std::vector<CharSet> sets;
    /// Group numbers a back-reference may mean: several where alternatives share a group name.
    std::vector<std::vector<std::uint32_t>> references;
    NodeId root = kNoNode;
    std::uint32_t group_count = 0;
    bool has_word_boundary = false;
    bool has_back_reference = false;

    /// The first construct that the linear-time engines cannot run; empty when there is none.
    std::string foreign;
    std::size_t foreign_offset = 0;
    bool foreign_to_all = false;  ///< nor can PCRE2
};

/// Why a pattern cannot be used. `unsupported`: it is valid, but not for us.
struct PatternError {
    bool unsupported = false;
    std::size_t offset = 0;
    std::string problem;
    std::string advice;
};

}  // namespace callgate::schema
