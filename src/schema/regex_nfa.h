// A pattern as a nondeterministic automaton over the bytes of UTF-8, the step between the tree and the DFA.
//
// Code points outside ASCII that depend on a Unicode property lead to `unsure`: whoever runs the automaton
// has to ask another engine there. Building stops at a limit of states and of work, however large the counted
// repetitions of the pattern are.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "schema/regex_ast.h"

namespace callgate::schema {

enum class NfaKind : std::uint8_t {
    bytes,  ///< one byte, whose slot in `shape` picks one of the outs from `out` on
    split,  ///< `out` or `other`, without a byte
    begin,  ///< `out`, only at the start of the text
    end,    ///< `out`, only at the end of the text
    match,
    unsure,
};

struct NfaState {
    NfaKind kind = NfaKind::match;
    std::uint32_t out = 0;    ///< a state; for `bytes` an index into Nfa::outs
    std::uint32_t other = 0;  ///< a state; for `bytes` the shape
};

struct ByteRange {
    std::uint8_t low;
    std::uint8_t high;
    std::uint8_t slot;

    friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

/// How one state tells bytes apart: sorted ranges, `count` of them from `first` on in Nfa::ranges. The same
/// shape serves many states, each with its own outs.
struct ByteShape {
    std::uint32_t first;
    std::uint32_t count;
};

struct Nfa {
    std::vector<NfaState> states;
    std::vector<ByteShape> shapes;
    std::vector<ByteRange> ranges;
    std::vector<std::uint32_t> outs;
    std::uint32_t start = 0;
};

/// nullopt when the pattern needs more than `max_states`, or has what a byte automaton cannot express
/// (look-around, back-references, word boundaries).
std::optional<Nfa> build_nfa(const Ast& ast, std::size_t max_states);

}  // namespace callgate::schema
