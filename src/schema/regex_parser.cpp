#include "schema/regex_parser.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "schema/regex_reader.h"
#include "schema/regex_tree.h"

namespace callgate::schema {
namespace {

constexpr std::size_t kMaxNamedGroups = 1'000;

/// An open group, as far as names and messages go; its content is TreeBuilder's.
struct OpenGroup {
    std::size_t offset = 0;
    std::size_t names_at_open = 0;
    std::size_t names_at_choice = 0;  ///< where the names of the current choice start
};

struct NamedGroup {
    std::string name;
    std::uint32_t number;
};

struct PendingReference {
    std::size_t index;  ///< into Ast::references
    std::size_t offset;
    std::string name;  ///< empty: by number
    std::uint32_t number = 0;
};

class Parser {
public:
    Parser(std::string_view pattern, const PatternSyntax& syntax)
        : pattern_(pattern),
          syntax_(syntax),
          in_(pattern, syntax.lenient),
          tree_(pattern.size() / 2 + 8, syntax.simplify) {}

    tl::expected<Ast, PatternError> run();

private:
    bool parse();
    bool parse_term();
    bool parse_escape(std::size_t start);
    bool parse_reference(std::size_t start);
    bool parse_quantifier();
    bool parse_braces(std::size_t start, std::uint32_t& min, std::uint32_t& max);
    bool open_group(std::size_t start);
    bool open_named_group(std::size_t start);
    bool open_modifiers(std::size_t start);
    bool close_group(std::size_t start);
    bool open(NodeId node, std::size_t start, bool may_repeat = true);
    bool resolve_references();

    void note_foreign(std::size_t offset, std::string what, bool to_all = false);

    std::string_view pattern_;
    const PatternSyntax& syntax_;
    PatternReader in_;
    TreeBuilder tree_;
    std::vector<OpenGroup> groups_{1};
    std::vector<NamedGroup> names_;
    std::vector<PendingReference> pending_;
};

tl::expected<Ast, PatternError> Parser::run() {
    if (!parse()) {
        return tl::unexpected<PatternError>(in_.take_error());
    }
    if (!in_.foreign_property().empty()) {
        note_foreign(in_.foreign_offset(), in_.foreign_property());
    }
    return tree_.finish();
}

void Parser::note_foreign(std::size_t offset, std::string what, bool to_all) {
    Ast& ast = tree_.ast();
    if (ast.foreign.empty() || (to_all && !ast.foreign_to_all)) {
        ast.foreign = std::move(what);
        ast.foreign_offset = offset;
        ast.foreign_to_all = to_all;
    }
}

bool Parser::open(NodeId node, std::size_t start, bool may_repeat) {
    if (groups_.size() > syntax_.max_nesting) {
        return in_.fail_unsupported(start,
                                    "groups are nested deeper than " + std::to_string(syntax_.max_nesting),
                                    "rewrite the pattern with fewer groups");
    }
    groups_.push_back({start, names_.size(), names_.size()});
    tree_.open(node, may_repeat);
    return true;
}

bool Parser::parse() {
    if (const auto invalid = base::find_invalid_utf8(pattern_)) {
        return in_.fail(*invalid, "the pattern is not valid UTF-8", "repair the text's encoding");
    }
    while (!in_.at_end()) {
        if (!parse_term()) {
            return false;
        }
    }
    if (groups_.size() > 1) {
        return in_.fail(groups_.back().offset, "a group is not closed", "add the missing \")\"");
    }
    return resolve_references();
}

bool Parser::parse_term() {
    const std::size_t start = in_.offset();
    switch (in_.peek()) {
        case '|':
            in_.skip(1);
            tree_.next_choice();
            groups_.back().names_at_choice = names_.size();
            return true;
        case '(': return open_group(start);
        case ')': return close_group(start);
        case '^':
        case '$':
            tree_.append(tree_.add(in_.peek() == '^' ? NodeKind::begin : NodeKind::end), false);
            in_.skip(1);
            return true;
        case '*':
        case '+':
        case '?':
        case '{': return parse_quantifier();
        case '}':
        case ']':
            return in_.fail(start, std::string("a lone \"") + in_.peek() + "\"",
                            std::string("escape it as \\") + in_.peek());
        case '.': {
            in_.skip(1);
            CharSet set;
            set.ranges = inverted(line_end_ranges());
            tree_.append_set(std::move(set));
            return true;
        }
        case '[': {
            in_.skip(1);
            CharSet set;
            if (!in_.read_class(start, set)) {
                return false;
            }
            tree_.append_set(std::move(set));
            return true;
        }
        case '\\': in_.skip(1); return parse_escape(start);
        default: tree_.append_literal(in_.take_code_point()); return true;
    }
}

bool Parser::parse_escape(std::size_t start) {
    const char c = in_.at_end() ? '\0' : in_.peek();
    if (c == 'b' || c == 'B') {
        in_.skip(1);
        const NodeId node = tree_.add(NodeKind::word_boundary);
        tree_.node(node).negated = c == 'B';
        tree_.ast().has_word_boundary = true;
        tree_.append(node, false);
        return true;
    }
    if (c == 'k' || (c >= '1' && c <= '9')) {
        return parse_reference(start);
    }
    CharUnit unit;
    if (!in_.read_escape(start, false, unit)) {
        return false;
    }
    if (unit.is_set) {
        finish_set(unit.set);
        tree_.append_set(std::move(unit.set));
    } else {
        tree_.append_literal(unit.code_point);
    }
    return true;
}

bool Parser::parse_reference(std::size_t start) {
    Ast& ast = tree_.ast();
    PendingReference pending{ast.references.size(), start, {}, 0};
    if (in_.take("k")) {
        if (!in_.take("<")) {
            return in_.fail(start, "\\k needs a group name", "write for example \\k<year>");
        }
        if (!in_.read_group_name(start, pending.name)) {
            return false;
        }
    } else {
        pending.number = in_.take_number();
    }
    tree_.append(tree_.add(NodeKind::back_reference, static_cast<std::uint32_t>(pending.index)), true);
    ast.references.emplace_back();
    ast.has_back_reference = true;
    note_foreign(start, "a back-reference");
    pending_.push_back(std::move(pending));
    return true;
}

bool Parser::resolve_references() {
    Ast& ast = tree_.ast();
    for (const PendingReference& pending : pending_) {
        std::vector<std::uint32_t>& groups = ast.references[pending.index];
        if (pending.name.empty()) {
            if (pending.number > ast.group_count) {
                return in_.fail(pending.offset,
                                "a back-reference to group " + std::to_string(pending.number) +
                                    ", but the pattern has " + std::to_string(ast.group_count),
                                "write \\x and two hexadecimal digits for a character by its code");
            }
            groups.push_back(pending.number);
            continue;
        }
        for (const NamedGroup& group : names_) {
            if (group.name == pending.name) {
                groups.push_back(group.number);
            }
        }
        if (groups.empty()) {
            return in_.fail(pending.offset,
                            "a back-reference to \"" + pending.name + "\", which is no group's name",
                            "name a group so, or correct the reference");
        }
    }
    return true;
}

bool Parser::parse_braces(std::size_t start, std::uint32_t& min, std::uint32_t& max) {
    const auto is_digit = [&] { return in_.peek() >= '0' && in_.peek() <= '9'; };
    const auto bad = [&] {
        return in_.fail(start, "\"{\" does not start a repetition count such as {2}, {2,} or {2,5}",
                        "escape it as \\{ to mean the character");
    };
    in_.skip(1);
    if (!is_digit()) {
        return bad();
    }
    min = in_.take_number();
    max = min;
    if (in_.take(",")) {
        max = is_digit() ? in_.take_number() : kUnlimited;
    }
    if (!in_.take("}")) {
        return bad();
    }
    if (min > max) {
        return in_.fail(start, "the repetition counts are in the wrong order", "write the smaller one first");
    }
    return true;
}

bool Parser::parse_quantifier() {
    const std::size_t start = in_.offset();
    const char c = in_.peek();
    std::uint32_t min = c == '+' ? 1 : 0;
    std::uint32_t max = c == '?' ? 1 : kUnlimited;
    if (c == '{') {
        if (!parse_braces(start, min, max)) {
            return false;
        }
    } else {
        in_.skip(1);
    }
    const bool lazy = in_.take("?");
    if (!tree_.repeat_last(min, max, lazy)) {
        return in_.fail(start, std::string("nothing for \"") + c + "\" to repeat",
                        std::string("put it after a character or group, or escape it as \\") + c);
    }
    return true;
}

bool Parser::open_group(std::size_t start) {
    in_.skip(1);
    if (in_.peek() != '?' || in_.at_end()) {
        return open(tree_.add(NodeKind::group, ++tree_.ast().group_count), start);
    }
    in_.skip(1);
    if (in_.take(":")) {
        return open(kNoNode, start);
    }
    const bool ahead = in_.peek() == '=' || in_.peek() == '!';
    const bool behind = in_.peek() == '<' && (in_.peek(1) == '=' || in_.peek(1) == '!');
    if (ahead || behind) {
        in_.skip(behind ? 1 : 0);
        const NodeId node = tree_.add(NodeKind::look);
        tree_.node(node).behind = behind;
        tree_.node(node).negated = in_.peek() == '!';
        in_.skip(1);
        note_foreign(start, behind ? "look-behind" : "look-ahead");
        return open(node, start, false);
    }
    if (in_.take("<")) {
        return open_named_group(start);
    }
    return open_modifiers(start);
}

bool Parser::open_named_group(std::size_t start) {
    std::string name;
    if (!in_.read_group_name(start, name)) {
        return false;
    }
    for (std::size_t i = 0; i < names_.size(); ++i) {
        if (names_[i].name != name) {
            continue;
        }
        // Two groups may share a name only when they stand in different choices of one group.
        std::size_t depth = groups_.size() - 1;
        while (groups_[depth].names_at_open > i) {
            --depth;
        }
        if (i >= groups_[depth].names_at_choice) {
            return in_.fail(start, "two groups are named \"" + name + "\"", "give each group its own name");
        }
    }
    if (names_.size() == kMaxNamedGroups) {
        return in_.fail_unsupported(start, "more than 1000 named groups",
                                    "use (?:…) where no name is needed");
    }
    if (!open(tree_.add(NodeKind::group, ++tree_.ast().group_count), start)) {
        return false;
    }
    // The name belongs to the enclosing choice.
    groups_.back().names_at_open = groups_.back().names_at_choice = names_.size() + 1;
    names_.push_back({std::move(name), tree_.ast().group_count});
    return true;
}

bool Parser::open_modifiers(std::size_t start) {
    std::string flags;
    bool removing = false;
    for (; !in_.at_end() && in_.peek() != ':'; in_.skip(1)) {
        const char c = in_.peek();
        const bool flag = c == 'i' || c == 'm' || c == 's';
        if (c == '-' && !removing) {
            removing = true;
        } else if (flag && flags.find(c) == std::string::npos) {
            flags.push_back(c);
        } else {
            break;
        }
    }
    if (flags.empty() || in_.at_end() || in_.peek() != ':') {
        std::string advice = "use (…), (?:…), (?<name>…), (?=…), (?!…), (?<=…) or (?<!…)";
        if (!flags.empty() && in_.peek() == ')') {
            advice = "ECMA-262 has no inline flags; spell both cases, e.g. [aA]";
        } else if (in_.peek() == 'P') {
            advice = "a named group is (?<name>…) and a reference to it \\k<name> in ECMA-262";
        }
        return in_.fail(start, "\"(?\" does not start a group of ECMA-262", std::move(advice));
    }
    in_.skip(1);
    note_foreign(start, "a group with modifiers", true);
    return open(kNoNode, start);
}

bool Parser::close_group(std::size_t start) {
    if (groups_.size() == 1) {
        return in_.fail(start, "a \")\" without its \"(\"", "remove it, or escape it as \\)");
    }
    in_.skip(1);
    groups_.pop_back();
    tree_.close();
    return true;
}

}  // namespace

tl::expected<Ast, PatternError> parse_pattern(std::string_view pattern, const PatternSyntax& syntax) {
    return Parser(pattern, syntax).run();
}

}  // namespace callgate::schema
