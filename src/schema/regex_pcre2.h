// PCRE2 under limits, for the patterns that linear-time engines cannot run (look-around, back-references).
//
// Backtracking can take exponential time, so every search has a budget of steps and of text passed over; past
// it the answer is over_limit. PCRE2's own match limit starts again at each position of the text and does not
// see long scans, hence the second count.
//
// Threads: immutable after compile(); search() may be called from any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "schema/regex.h"

struct pcre2_real_code_8;

namespace callgate::schema {

class Pcre2Pattern {
public:
    /// `pattern` comes from emit_pattern(). Failure: a sentence.
    static tl::expected<Pcre2Pattern, std::string> compile(const std::string& pattern,
                                                           bool has_back_reference, unsigned match_limit);

    RegexMatch search(std::string_view text) const;

private:
    struct Free {
        void operator()(pcre2_real_code_8* code) const noexcept;
    };
    Pcre2Pattern(std::unique_ptr<pcre2_real_code_8, Free> code, bool has_back_reference, unsigned match_limit)
        : code_(std::move(code)), has_back_reference_(has_back_reference), match_limit_(match_limit) {}

    std::unique_ptr<pcre2_real_code_8, Free> code_;
    bool has_back_reference_;
    unsigned match_limit_;
};

}  // namespace callgate::schema
