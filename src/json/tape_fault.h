// Why a text was refused: shared by the scanner, which finds it, and by the sentence that tells it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "json/tape.h"

namespace callgate::json {

// Building and destroying a Value recurses; a configured depth beyond this is treated as this.
constexpr std::size_t kDeepest = 10'000;
// Cells, counts and lengths are 32-bit.
constexpr std::size_t kLargestText = 0xFFFF'0000u;

enum class Tape::Fault : std::uint8_t {
    none,
    too_large,
    too_deep,
    too_many_nodes,
    unexpected_end,
    unexpected_character,
    byte_order_mark,
    control_character,
    bad_escape,
    bad_surrogate,
    bad_utf8,
    bad_number,
    number_out_of_range,
    inexact_integer,
    duplicate_key,
    trailing_text,
};

}  // namespace callgate::json
