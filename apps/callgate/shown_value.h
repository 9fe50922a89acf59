// Arguments as somebody must see them who decides about them: every member, nothing that hides.
//
// Characters that cannot be seen, or that turn the writing direction, are spelled out; long texts keep their
// head and tail, and what was left out is named with its size and SHA-256; words whose letters come from
// several scripts, as when a Cyrillic а stands for a Latin a, are pointed at.
//
// Threads: plain values and pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <callgate/json.h>

#include "terminal.h"

namespace callgate::cli {

/// A text that is longer than shown.
struct CutText {
    std::string pointer;  ///< where it stands
    std::size_t bytes = 0;
    std::string sha256;

    bool operator==(const CutText&) const = default;
};

/// Texts of more than `longest` bytes become their first and last parts with "…" between them.
std::vector<CutText> cut_long_texts(Value& value, std::size_t longest = 1'000);

struct Suspicion {
    std::size_t hidden = 0;                ///< characters that cannot be seen
    std::vector<std::string> mixed_words;  ///< each once, at most ten

    bool operator==(const Suspicion&) const = default;
};

/// In all of its texts and names.
Suspicion suspicion_of(const Value& value);

/// Text with its line breaks, safe to show; where there is colour, what was spelled out is marked.
std::string visible(std::string_view text, const Style& style);

/// The whole as indented lines, and what there is to say about them. `full`: nothing is left out; else
/// `how_to_see_all` ends what is said of a text that was cut.
std::string to_text(const Value& value, bool full, std::size_t indent, const Style& style,
                    std::string_view how_to_see_all = "--full shows all of it.");

}  // namespace callgate::cli
