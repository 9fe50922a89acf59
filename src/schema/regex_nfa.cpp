#include "schema/regex_nfa.h"

#include <algorithm>
#include <array>
#include <span>

namespace callgate::schema {
namespace {

/// The encodings of a block of code points: one range of bytes per position.
struct ByteSequence {
    std::uint8_t low[4];
    std::uint8_t high[4];
    unsigned length;
};

struct Branch {
    std::uint8_t low;
    std::uint8_t high;
    std::uint32_t out;
};

// Only the newest states and shapes are compared with a new one: what comes back does so soon, and large
// classes stay linear.
constexpr std::size_t kLook = 32;

void append_sequences(CodeRange range, std::vector<ByteSequence>& out);

/// Builds from the end to the start: every part knows the state that follows it.
class NfaBuilder {
public:
    NfaBuilder(const Ast& ast, std::size_t max_states)
        : ast_(ast), max_states_(max_states), work_left_(8 * max_states) {}

    std::optional<Nfa> run() {
        nfa_.states.reserve(64);
        const std::uint32_t match = add(NfaKind::match, 0);
        nfa_.start = build(ast_.root, match);
        if (failed_) {
            return std::nullopt;
        }
        return std::move(nfa_);
    }

private:
    std::uint32_t build(NodeId id, std::uint32_t next);
    std::uint32_t build_concat(const Node& node, std::uint32_t next);
    std::uint32_t build_repeat(const Node& node, std::uint32_t next);
    std::uint32_t build_loop(NodeId body, std::uint32_t next, bool at_least_once);
    std::uint32_t build_set(const CharSet& set, std::uint32_t next);
    std::uint32_t build_property_set(const CharSet& set, std::uint32_t next);
    std::uint32_t build_ranges(std::span<const CodeRange> ranges, std::uint32_t next);
    std::uint32_t build_sequences(std::span<const ByteSequence> sequences, std::size_t depth,
                                  std::uint32_t next);
    std::uint32_t add_bytes(std::span<const Branch> branches);
    std::uint32_t intern_shape(std::span<const ByteRange> ranges);

    std::uint32_t add(NfaKind kind, std::uint32_t out, std::uint32_t other = 0) {
        if (nfa_.states.size() >= max_states_) {
            failed_ = true;
            return 0;
        }
        nfa_.states.push_back({kind, out, other});
        return static_cast<std::uint32_t>(nfa_.states.size() - 1);
    }
    std::uint32_t add_byte_range(unsigned low, unsigned high, std::uint32_t out) {
        const Branch branch{static_cast<std::uint8_t>(low), static_cast<std::uint8_t>(high), out};
        return add_bytes({&branch, 1});
    }

    static constexpr std::uint32_t kNone = 0xFFFFFFFF;

    const Ast& ast_;
    std::size_t max_states_;
    std::size_t work_left_;
    bool failed_ = false;
    Nfa nfa_;
    std::vector<NodeId> pending_;
    std::vector<ByteSequence> sequences_;
    std::array<std::vector<Branch>, 4> branches_;  ///< by position in the encoding
    std::vector<ByteRange> ranges_;
    std::vector<std::uint32_t> outs_;
    std::size_t shareable_from_ = 0;  ///< states from here on belong to the set being built
};

bool is_everything(std::span<const CodeRange> ranges) {
    // Surrogates do not occur in UTF-8, so it does not matter whether they are in.
    char32_t next = 0;
    for (const CodeRange& range : ranges) {
        if (range.first > next && !(next >= kFirstSurrogate && range.first <= kLastSurrogate + 1)) {
            return false;
        }
        next = range.last + 1;
    }
    return next > kMaxCodePoint;
}

std::uint32_t NfaBuilder::build(NodeId id, std::uint32_t next) {
    if (failed_ || work_left_ == 0) {
        failed_ = true;
        return 0;
    }
    --work_left_;
    const Node& node = ast_.nodes[id];
    switch (node.kind) {
        case NodeKind::empty: return next;
        case NodeKind::literal: {
            const CodeRange one{node.value, node.value};
            return node.value < 0x80 ? add_byte_range(node.value, node.value, next)
                                     : build_ranges({&one, 1}, next);
        }
        case NodeKind::set: return build_set(ast_.sets[node.value], next);
        case NodeKind::begin: return add(NfaKind::begin, next);
        case NodeKind::end: return add(NfaKind::end, next);
        case NodeKind::group: return build(node.child, next);
        case NodeKind::concat: return build_concat(node, next);
        case NodeKind::repeat: return build_repeat(node, next);
        case NodeKind::alternate: {
            std::uint32_t choice = kNone;
            for (NodeId child = node.child; child != kNoNode; child = ast_.nodes[child].next) {
                const std::uint32_t branch = build(child, next);
                choice = choice == kNone ? branch : add(NfaKind::split, choice, branch);
            }
            return choice;
        }
        case NodeKind::word_boundary:
        case NodeKind::look:
        case NodeKind::back_reference: break;
    }
    failed_ = true;
    return 0;
}

std::uint32_t NfaBuilder::build_concat(const Node& node, std::uint32_t next) {
    const std::size_t base = pending_.size();
    for (NodeId child = node.child; child != kNoNode; child = ast_.nodes[child].next) {
        pending_.push_back(child);
    }
    while (pending_.size() > base) {
        const NodeId child = pending_.back();
        pending_.pop_back();
        next = build(child, next);
    }
    return next;
}

std::uint32_t NfaBuilder::build_loop(NodeId body, std::uint32_t next, bool at_least_once) {
    const Node& node = ast_.nodes[body];
    const std::uint32_t loop = add(NfaKind::split, next, next);
    std::uint32_t first;
    if (!at_least_once && node.kind == NodeKind::set && ast_.sets[node.value].properties.empty() &&
        is_everything(ast_.sets[node.value].ranges)) {
        // Any text at all: looping over bytes lets the DFA see that nothing can go wrong any more.
        first = add_byte_range(0x00, 0xFF, loop);
    } else {
        first = build(body, loop);
    }
    if (failed_) {
        return 0;
    }
    nfa_.states[loop].other = first;
    return at_least_once ? first : loop;
}

std::uint32_t NfaBuilder::build_repeat(const Node& node, std::uint32_t next) {
    std::uint32_t required = node.min;
    std::uint32_t at = next;
    if (node.max == kUnlimited) {
        at = build_loop(node.child, at, required > 0);
        required -= required > 0 ? 1 : 0;
    } else {
        for (std::uint32_t i = node.min; i < node.max && !failed_; ++i) {
            at = add(NfaKind::split, next, build(node.child, at));
        }
    }
    for (; required > 0 && !failed_; --required) {
        at = build(node.child, at);
    }
    return at;
}

std::uint32_t NfaBuilder::build_set(const CharSet& set, std::uint32_t next) {
    return set.properties.empty() ? build_ranges(set.ranges, next) : build_property_set(set, next);
}

std::uint32_t NfaBuilder::build_property_set(const CharSet& set, std::uint32_t next) {
    std::vector<Branch> branches;
    for (unsigned c = 0; c < 0x80; ++c) {
        bool inside = std::any_of(set.ranges.begin(), set.ranges.end(),
                                  [&](const CodeRange& r) { return c >= r.first && c <= r.last; });
        for (const PropertyItem& item : set.properties) {
            if (!item.property.has_parts) {
                failed_ = true;
                return 0;
            }
            inside = inside || has_property(item.property, static_cast<unsigned char>(c)) != item.negated;
        }
        if (inside == set.negated) {
            continue;
        }
        const auto byte = static_cast<std::uint8_t>(c);
        if (!branches.empty() && branches.back().high + 1u == c) {
            branches.back().high = byte;
        } else {
            branches.push_back({byte, byte, next});
        }
    }
    branches.push_back({0x80, 0xFF, add(NfaKind::unsure, 0)});
    shareable_from_ = nfa_.states.size();
    return add_bytes(branches);
}

std::uint32_t NfaBuilder::build_ranges(std::span<const CodeRange> ranges, std::uint32_t next) {
    sequences_.clear();
    for (const CodeRange& range : ranges) {
        append_sequences(range, sequences_);
        if (sequences_.size() > max_states_) {
            failed_ = true;
            return 0;
        }
    }
    shareable_from_ = nfa_.states.size();
    return build_sequences(sequences_, 0, next);
}

// The sequences are sorted, and at each position two of them have the same range or ranges apart: a tree.
std::uint32_t NfaBuilder::build_sequences(std::span<const ByteSequence> sequences, std::size_t depth,
                                          std::uint32_t next) {
    std::vector<Branch>& branches = branches_[depth];
    branches.clear();
    for (std::size_t i = 0; i < sequences.size() && !failed_;) {
        const ByteSequence& head = sequences[i];
        std::size_t end = i + 1;
        while (end < sequences.size() && sequences[end].low[depth] == head.low[depth]) ++end;
        const std::uint32_t out =
            depth + 1 == head.length ? next : build_sequences(sequences.subspan(i, end - i), depth + 1, next);
        if (!branches.empty() && branches.back().out == out && branches.back().high + 1u == head.low[depth]) {
            branches.back().high = head.high[depth];
        } else {
            branches.push_back({head.low[depth], head.high[depth], out});
        }
        i = end;
    }
    return add_bytes(branches);
}

std::uint32_t NfaBuilder::add_bytes(std::span<const Branch> branches) {
    std::vector<ByteRange>& ranges = ranges_;
    std::vector<std::uint32_t>& outs = outs_;
    ranges.clear();
    outs.clear();
    for (const Branch& branch : branches) {
        const auto slot =
            static_cast<std::size_t>(std::find(outs.begin(), outs.end(), branch.out) - outs.begin());
        if (slot == outs.size()) {
            outs.push_back(branch.out);
        }
        ranges.push_back({branch.low, branch.high, static_cast<std::uint8_t>(slot)});
    }
    const std::uint32_t shape = intern_shape(ranges);
    const std::size_t newest = nfa_.states.size() > kLook ? nfa_.states.size() - kLook : 0;
    for (std::size_t id = std::max(shareable_from_, newest); id < nfa_.states.size(); ++id) {
        const NfaState& state = nfa_.states[id];
        if (state.kind == NfaKind::bytes && state.other == shape &&
            std::equal(outs.begin(), outs.end(), nfa_.outs.begin() + state.out)) {
            return static_cast<std::uint32_t>(id);
        }
    }
    const auto first = static_cast<std::uint32_t>(nfa_.outs.size());
    nfa_.outs.insert(nfa_.outs.end(), outs.begin(), outs.end());
    return add(NfaKind::bytes, first, shape);
}

std::uint32_t NfaBuilder::intern_shape(std::span<const ByteRange> ranges) {
    const std::size_t stop = nfa_.shapes.size() > kLook ? nfa_.shapes.size() - kLook : 0;
    for (std::size_t i = nfa_.shapes.size(); i > stop; --i) {
        const ByteShape& shape = nfa_.shapes[i - 1];
        const auto known = std::span(nfa_.ranges).subspan(shape.first, shape.count);
        if (std::equal(known.begin(), known.end(), ranges.begin(), ranges.end())) {
            return static_cast<std::uint32_t>(i - 1);
        }
    }
    nfa_.shapes.push_back(
        {static_cast<std::uint32_t>(nfa_.ranges.size()), static_cast<std::uint32_t>(ranges.size())});
    nfa_.ranges.insert(nfa_.ranges.end(), ranges.begin(), ranges.end());
    return static_cast<std::uint32_t>(nfa_.shapes.size() - 1);
}

// Cuts a range of sequences of one length until, from some byte on, all of them are full blocks: then one
// byte range per position describes it.
void append_aligned(CodeRange range, std::vector<ByteSequence>& out) {
    for (unsigned bits = 6; bits <= 18; bits += 6) {
        const char32_t mask = (char32_t{1} << bits) - 1;
        if ((range.first & ~mask) == (range.last & ~mask)) {
            break;
        }
        if ((range.first & mask) != 0) {
            append_aligned({range.first, range.first | mask}, out);
            append_aligned({(range.first | mask) + 1, range.last}, out);
            return;
        }
        if ((range.last & mask) != mask) {
            append_aligned({range.first, (range.last & ~mask) - 1}, out);
            append_aligned({range.last & ~mask, range.last}, out);
            return;
        }
    }
    ByteSequence sequence{};
    sequence.length = range.last < 0x800 ? 2 : range.last < 0x10000 ? 3 : 4;
    const unsigned lead = sequence.length == 2 ? 0xC0 : sequence.length == 3 ? 0xE0 : 0xF0;
    for (unsigned i = 0; i < sequence.length; ++i) {
        const unsigned shift = 6 * (sequence.length - 1 - i);
        const unsigned mark = i == 0 ? lead : 0x80;
        sequence.low[i] = static_cast<std::uint8_t>(mark | (range.first >> shift & 0x3F));
        sequence.high[i] = static_cast<std::uint8_t>(mark | (range.last >> shift & 0x3F));
    }
    out.push_back(sequence);
}

// Splits where the number of bytes changes, and leaves out the surrogates, which UTF-8 does not encode.
void append_sequences(CodeRange range, std::vector<ByteSequence>& out) {
    constexpr CodeRange kParts[] = {{0, 0x7F},
                                    {0x80, 0x7FF},
                                    {0x800, kFirstSurrogate - 1},
                                    {kLastSurrogate + 1, 0xFFFF},
                                    {0x10000, kMaxCodePoint}};
    for (const CodeRange& part : kParts) {
        const CodeRange both{std::max(range.first, part.first), std::min(range.last, part.last)};
        if (both.first > both.last) {
            continue;
        }
        if (both.last < 0x80) {
            ByteSequence one{};
            one.length = 1;
            one.low[0] = static_cast<std::uint8_t>(both.first);
            one.high[0] = static_cast<std::uint8_t>(both.last);
            out.push_back(one);
        } else {
            append_aligned(both, out);
        }
    }
}

}  // namespace

std::optional<Nfa> build_nfa(const Ast& ast, std::size_t max_states) {
    return NfaBuilder(ast, max_states).run();
}

}  // namespace callgate::schema
