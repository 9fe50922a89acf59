#include "schema/regex_window.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/utf8.h"

namespace callgate::schema {
namespace {

constexpr std::uint64_t kMaxWidth = 1u << 30;
constexpr std::uint32_t kWorthwhileCount = 4;

/// The number of code points a node always takes, if it is always the same number.
std::optional<std::uint64_t> fixed_width(const Ast& ast, NodeId id) {
    const Node& node = ast.nodes[id];
    switch (node.kind) {
        case NodeKind::empty: return 0;
        case NodeKind::literal:
        case NodeKind::set: return 1;
        case NodeKind::group: return fixed_width(ast, node.child);
        case NodeKind::concat: {
            std::uint64_t sum = 0;
            for (NodeId child = node.child; child != kNoNode; child = ast.nodes[child].next) {
                const auto width = fixed_width(ast, child);
                if (!width || sum + *width > kMaxWidth) return std::nullopt;
                sum += *width;
            }
            return sum;
        }
        case NodeKind::alternate: {
            const auto width = fixed_width(ast, node.child);
            for (NodeId child = node.child; child != kNoNode; child = ast.nodes[child].next) {
                if (fixed_width(ast, child) != width) return std::nullopt;
            }
            return width;
        }
        case NodeKind::repeat: {
            const auto width = fixed_width(ast, node.child);
            if (!width || node.min != node.max || *width * node.min > kMaxWidth) return std::nullopt;
            return *width * node.min;
        }
        default: return std::nullopt;
    }
}

/// The terms of the pattern in order, with groups and sequences opened.
void flatten(const Ast& ast, NodeId id, std::vector<NodeId>& out) {
    const Node& node = ast.nodes[id];
    if (node.kind == NodeKind::group) {
        flatten(ast, node.child, out);
    } else if (node.kind == NodeKind::concat) {
        for (NodeId child = node.child; child != kNoNode; child = ast.nodes[child].next) {
            flatten(ast, child, out);
        }
    } else {
        out.push_back(id);
    }
}

/// A repeated single character whose counts an engine would have to unroll.
bool is_counted_character(const Ast& ast, const Node& node) {
    if (node.kind != NodeKind::repeat || std::max(node.min, node.max) < kWorthwhileCount) return false;
    if (node.max == kUnlimited && node.min <= 1) return false;
    NodeId child = node.child;
    while (ast.nodes[child].kind == NodeKind::group) child = ast.nodes[child].child;
    return ast.nodes[child].kind == NodeKind::literal || ast.nodes[child].kind == NodeKind::set;
}

bool matches_only_ascii(const Ast& ast) {
    for (const Node& node : ast.nodes) {
        if (node.kind == NodeKind::literal && node.value >= 0x80) return false;
    }
    return std::all_of(ast.sets.begin(), ast.sets.end(), [](const CharSet& set) {
        return set.properties.empty() && (set.ranges.empty() || set.ranges.back().last < 0x80);
    });
}

}  // namespace

bool LengthWindow::holds(std::string_view text) const noexcept {
    // A code point has one to four bytes, which settles most texts without counting.
    const bool not_too_long = text.size() <= max;
    if (text.size() < min) return false;
    if (not_too_long && (ascii_only || text.size() / 4 >= min)) return true;
    if (ascii_only || text.size() / 4 > max) return false;
    const std::size_t count = base::count_valid_code_points(text);
    return count >= min && count <= max;
}

LengthWindow extract_window(Ast& ast) {
    LengthWindow window;
    std::vector<NodeId> terms;
    flatten(ast, ast.root, terms);
    if (terms.size() < 3 || ast.nodes[terms.front()].kind != NodeKind::begin ||
        ast.nodes[terms.back()].kind != NodeKind::end) {
        return window;
    }
    std::uint64_t fixed = 0;
    NodeId counted = kNoNode;
    bool counted_varies = false;
    for (std::size_t i = 1; i + 1 < terms.size(); ++i) {
        const Node& term = ast.nodes[terms[i]];
        const auto width = fixed_width(ast, terms[i]);
        if (width) {
            fixed += *width;
            if (!counted_varies && is_counted_character(ast, term) &&
                (counted == kNoNode || term.min > ast.nodes[counted].min)) {
                counted = terms[i];
            }
        } else if (counted_varies || !is_counted_character(ast, term)) {
            return window;
        } else {
            counted = terms[i];
            counted_varies = true;
        }
    }
    if (counted == kNoNode) {
        return window;
    }
    Node& node = ast.nodes[counted];
    if (!counted_varies) {
        fixed -= node.min;
    }
    window.min = fixed + node.min;
    if (node.max != kUnlimited) {
        window.max = fixed + node.max;
    }
    window.ascii_only = matches_only_ascii(ast);
    node.min = 0;
    node.max = kUnlimited;
    return window;
}

}  // namespace callgate::schema
