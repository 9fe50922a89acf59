#include "schema/regex_emit.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace callgate::schema {
namespace {

constexpr std::string_view kAnyCodePoint = "[\\x{0}-\\x{10FFFF}]";
constexpr std::string_view kNoCodePoint = "[^\\x{0}-\\x{10FFFF}]";
constexpr std::uint32_t kRe2MaxCount = 1'000;
constexpr std::uint32_t kRe2MaxChunks = 10;
constexpr std::uint32_t kPcre2MaxCount = 65'535;
constexpr std::size_t kMaxEmitted = 256u << 10;

class Emitter {
public:
    Emitter(const Ast& ast, RegexTarget target) : ast_(ast), target_(target) {}

    tl::expected<std::string, std::string> run() {
        const bool from_start = target_ == RegexTarget::re2 && has_inner_boundary();
        if (from_start) {
            // To RE2 \B holds between the bytes of one character; a walk by whole characters never stands
            // there.
            out_.append("\\A").append(kAnyCodePoint).append("*?(?:");
        }
        emit(ast_.root);
        if (from_start) out_.push_back(')');
        if (!problem_.empty()) {
            return tl::unexpected<std::string>(std::move(problem_));
        }
        return std::move(out_);
    }

private:
    bool has_inner_boundary() const {
        return std::any_of(ast_.nodes.begin(), ast_.nodes.end(), [](const Node& node) {
            return node.kind == NodeKind::word_boundary && node.negated;
        });
    }
    void emit(NodeId id);
    void emit_atom(NodeId id);
    void emit_repeat(const Node& node);
    void emit_repeat_once(const Node& node, std::uint32_t min, std::uint32_t max);
    void emit_look(const Node& node);
    void emit_reference(const Node& node);
    void emit_set(const CharSet& set);
    void emit_code_point(char32_t c);
    void append_ranges(std::string& out, std::span<const CodeRange> ranges) const;
    void append_property(std::string& out, std::string_view name, bool script, bool negated) const;
    std::string property_parts(const UnicodeProperty& property) const;
    bool is_one_part(const UnicodeProperty& property) const;
    void append_one_part(std::string& out, const UnicodeProperty& property, bool negated) const;
    void fail(std::string problem) {
        if (problem_.empty()) problem_ = std::move(problem);
    }
    bool stopped() {
        if (out_.size() > kMaxEmitted)
            fail("it is too large once its classes and repetitions are written out");
        return !problem_.empty();
    }

    const Ast& ast_;
    RegexTarget target_;
    std::string out_;
    std::string problem_;
};

void append_code(std::string& out, char32_t c) {
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        out.push_back(static_cast<char>(c));
        return;
    }
    char digits[8];
    const auto end = std::to_chars(digits, digits + sizeof digits, static_cast<std::uint32_t>(c), 16).ptr;
    out.append("\\x{").append(digits, end).push_back('}');
}

void append_count(std::string& out, std::uint32_t n) {
    char digits[12];
    const auto end = std::to_chars(digits, digits + sizeof digits, n).ptr;
    out.append(digits, end);
}

bool is_surrogate(char32_t c) {
    return c >= kFirstSurrogate && c <= kLastSurrogate;
}

// Text is UTF-8 and holds no surrogates; PCRE2 refuses to see one named.
bool trimmed(CodeRange& range) {
    if (is_surrogate(range.first)) range.first = kLastSurrogate + 1;
    if (is_surrogate(range.last)) range.last = kFirstSurrogate - 1;
    return range.first <= range.last;
}

void Emitter::append_ranges(std::string& out, std::span<const CodeRange> ranges) const {
    for (CodeRange range : ranges) {
        if (!trimmed(range)) {
            continue;
        }
        append_code(out, range.first);
        if (range.last != range.first) {
            out.push_back('-');
            append_code(out, range.last);
        }
    }
}

void Emitter::append_property(std::string& out, std::string_view name, bool script, bool negated) const {
    out.append(negated ? "\\P{" : "\\p{");
    if (script && target_ == RegexTarget::pcre2) {
        // A bare script name means its extensions to PCRE2.
        out.append("sc:");
    }
    out.append(name).push_back('}');
}

bool Emitter::is_one_part(const UnicodeProperty& property) const {
    if (!property.has_parts) {
        return true;
    }
    const bool one_category =
        !property.categories.empty() && property.categories.find(' ') == std::string_view::npos;
    return property.ranges.empty() && (one_category ? property.script.empty() : property.categories.empty());
}

void Emitter::append_one_part(std::string& out, const UnicodeProperty& property, bool negated) const {
    if (property.has_parts) {
        const bool script = !property.script.empty();
        append_property(out, script ? property.script : property.categories, script, negated);
        return;
    }
    out.append(negated ? "\\P{" : "\\p{").append(property.script_extensions ? "scx:" : "");
    out.append(property.pcre2_name).push_back('}');
}

/// The union of the parts, as it stands inside brackets.
std::string Emitter::property_parts(const UnicodeProperty& property) const {
    std::string out;
    for (std::string_view left = property.categories; !left.empty();) {
        const std::string_view one = left.substr(0, left.find(' '));
        left.remove_prefix(std::min(one.size() + 1, left.size()));
        append_property(out, one, false, false);
    }
    if (!property.script.empty()) {
        append_property(out, property.script, true, false);
    }
    append_ranges(out, property.ranges);
    return out;
}

void Emitter::emit_code_point(char32_t c) {
    if (is_surrogate(c)) {
        out_.append(kNoCodePoint);
    } else {
        append_code(out_, c);
    }
}

void Emitter::emit_set(const CharSet& set) {
    std::string united;                 // what one pair of brackets can hold
    std::vector<std::string> excluded;  // each stands for everything but its content
    append_ranges(united, set.ranges);
    for (const PropertyItem& item : set.properties) {
        const UnicodeProperty& property = item.property;
        const bool outside = property.complement != item.negated;
        if (is_one_part(property)) {
            append_one_part(united, property, outside);
        } else if (!outside) {
            united += property_parts(property);
        } else {
            excluded.push_back(property_parts(property));
        }
    }
    if (excluded.empty()) {
        if (united.empty()) {
            out_.append(set.negated ? kAnyCodePoint : kNoCodePoint);
        } else {
            out_.append(set.negated ? "[^" : "[").append(united).push_back(']');
        }
        return;
    }
    if (set.negated && united.empty() && excluded.size() == 1) {
        out_.append("[").append(excluded[0]).push_back(']');
        return;
    }
    if (set.negated && target_ == RegexTarget::re2) {
        fail("a negated class over several Unicode properties is an intersection, which RE2 does not have");
        return;
    }
    out_.append(set.negated ? "(?:(?!" : "(?:");
    bool first = true;
    if (!united.empty()) {
        out_.append("[").append(united).push_back(']');
        first = false;
    }
    for (const std::string& content : excluded) {
        out_.append(first ? "[^" : "|[^").append(content).push_back(']');
        first = false;
    }
    out_.push_back(')');
    if (set.negated) {
        out_.append(kAnyCodePoint).push_back(')');
    }
}

void Emitter::emit_atom(NodeId id) {
    const NodeKind kind = ast_.nodes[id].kind;
    const bool wrap = kind != NodeKind::literal && kind != NodeKind::set && kind != NodeKind::group;
    if (wrap) out_.append("(?:");
    emit(id);
    if (wrap) out_.push_back(')');
}

void Emitter::emit_repeat_once(const Node& node, std::uint32_t min, std::uint32_t max) {
    emit_atom(node.child);
    if (max == kUnlimited && min <= 1) {
        out_.push_back(min == 0 ? '*' : '+');
    } else if (min == 0 && max == 1) {
        out_.push_back('?');
    } else {
        out_.push_back('{');
        append_count(out_, min);
        if (max != min) {
            out_.push_back(',');
            if (max != kUnlimited) append_count(out_, max);
        }
        out_.push_back('}');
    }
    if (node.lazy) out_.push_back('?');
}

void Emitter::emit_repeat(const Node& node) {
    const std::uint32_t largest = node.max == kUnlimited ? node.min : node.max;
    const std::uint32_t limit = target_ == RegexTarget::re2 ? kRe2MaxCount : kPcre2MaxCount;
    if (largest <= limit) {
        emit_repeat_once(node, node.min, node.max);
        return;
    }
    if (target_ == RegexTarget::pcre2 || largest > kRe2MaxCount * kRe2MaxChunks) {
        fail("a repetition count of " + std::to_string(largest) + " is too large");
        return;
    }
    std::uint32_t min = node.min;
    std::uint32_t optional = node.max == kUnlimited ? 0 : node.max - node.min;
    for (; min > 0 && !stopped(); min -= std::min(min, limit)) {
        emit_repeat_once(node, std::min(min, limit), std::min(min, limit));
    }
    for (; optional > 0 && !stopped(); optional -= std::min(optional, limit)) {
        emit_repeat_once(node, 0, std::min(optional, limit));
    }
    if (node.max == kUnlimited) {
        emit_repeat_once(node, 0, kUnlimited);
    }
}

void Emitter::emit_look(const Node& node) {
    out_.append(node.behind ? "(?<" : "(?").push_back(node.negated ? '!' : '=');
    emit(node.child);
    out_.push_back(')');
}

// A group that took no part matches the empty text, so naming all candidates in a row means the one that did.
void Emitter::emit_reference(const Node& node) {
    out_.append("(?:");
    for (const std::uint32_t group : ast_.references[node.value]) {
        out_.append("\\g{");
        append_count(out_, group);
        out_.push_back('}');
    }
    out_.push_back(')');
}

void Emitter::emit(NodeId id) {
    if (stopped()) {
        return;
    }
    const Node& node = ast_.nodes[id];
    switch (node.kind) {
        case NodeKind::empty: out_.append("(?:)"); break;
        case NodeKind::literal: emit_code_point(node.value); break;
        case NodeKind::set: emit_set(ast_.sets[node.value]); break;
        case NodeKind::begin: out_.append("\\A"); break;
        case NodeKind::end: out_.append("\\z"); break;
        case NodeKind::word_boundary: out_.append(node.negated ? "\\B" : "\\b"); break;
        case NodeKind::group:
            out_.append(ast_.has_back_reference ? "(" : "(?:");
            emit(node.child);
            out_.push_back(')');
            break;
        case NodeKind::concat:
            for (NodeId child = node.child; child != kNoNode; child = ast_.nodes[child].next) {
                const bool wrap = ast_.nodes[child].kind == NodeKind::alternate;
                if (wrap) out_.append("(?:");
                emit(child);
                if (wrap) out_.push_back(')');
            }
            break;
        case NodeKind::alternate:
            for (NodeId child = node.child; child != kNoNode; child = ast_.nodes[child].next) {
                if (child != node.child) out_.push_back('|');
                emit(child);
            }
            break;
        case NodeKind::repeat: emit_repeat(node); break;
        case NodeKind::look: emit_look(node); break;
        case NodeKind::back_reference: emit_reference(node); break;
    }
}

}  // namespace

tl::expected<std::string, std::string> emit_pattern(const Ast& ast, RegexTarget target) {
    return Emitter(ast, target).run();
}

}  // namespace callgate::schema
