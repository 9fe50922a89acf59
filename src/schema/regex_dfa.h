// A small deterministic automaton over bytes: the fast way to run a pattern.
//
// One table look-up per byte, no memory, and it stops at the first byte that settles the answer. Building it
// is bounded in states, table size and work; a pattern beyond that is left to another engine.
//
// Threads: immutable once built.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "schema/regex_ast.h"

namespace callgate::schema {

enum class DfaVerdict : std::uint8_t { no, yes, unsure };

class Dfa {
public:
    /// nullopt when the pattern does not fit.
    static std::optional<Dfa> build(const Ast& ast, std::size_t max_states);

    /// `unsure` only where a Unicode property is asked about a character outside ASCII; see can_be_unsure().
    DfaVerdict search(std::string_view text) const noexcept {
        const std::uint8_t* at = reinterpret_cast<const std::uint8_t*>(text.data());
        const std::uint8_t* const end = at + text.size();
        const std::uint16_t* const table = table_.data();
        const std::uint8_t* const columns = columns_.data();
        const std::uint32_t settled = settled_;
        std::uint32_t row = start_;
        if (row < settled) {
            return verdict(row);
        }
        for (;;) {
            const std::uint16_t* const cells = table + row;
            if (row == start_ && lead_ >= 0 && at != end) {
                at = static_cast<const std::uint8_t*>(
                    std::memchr(at, lead_, static_cast<std::size_t>(end - at)));
                at = at == nullptr ? end : at;
            }
            if (at == end) {
                return verdict(cells[end_column_]);
            }
            std::uint32_t next = cells[columns[*at++]];
            if (next == row) {
                // Where one byte stays in a state, many do. In loops of their own, four at a time, their
                // look-ups need not wait for one another.
                while (end - at >= 4 &&
                       ((cells[columns[at[0]]] ^ row) | (cells[columns[at[1]]] ^ row) |
                        (cells[columns[at[2]]] ^ row) | (cells[columns[at[3]]] ^ row)) == 0) {
                    at += 4;
                }
                do {
                    if (at == end) {
                        return verdict(cells[end_column_]);
                    }
                    next = cells[columns[*at++]];
                } while (next == row);
            }
            if (next < settled) {
                return verdict(next);
            }
            row = next;
        }
    }

    bool can_be_unsure() const noexcept { return can_be_unsure_; }
    std::size_t state_count() const noexcept { return table_.size() / stride_; }

private:
    friend class DfaBuilder;

    // The first three rows are the answers no, yes and unsure; a row is named by where it starts in the
    // table.
    DfaVerdict verdict(std::uint32_t row) const noexcept {
        return row == 0 ? DfaVerdict::no : row == stride_ ? DfaVerdict::yes : DfaVerdict::unsure;
    }

    std::vector<std::uint16_t> table_;
    std::array<std::uint8_t, 256> columns_{};
    std::uint32_t stride_ = 1;  ///< columns for bytes, and one for the end of the text
    std::uint32_t end_column_ = 0;
    std::uint32_t settled_ = 0;  ///< rows below are answers
    std::uint32_t start_ = 0;
    int lead_ = -1;  ///< the one byte that leaves the start, if there is just one
    bool can_be_unsure_ = false;
};

}  // namespace callgate::schema
