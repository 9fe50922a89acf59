// Any bytes as a pattern: it compiles or is refused, and every engine that takes it gives the same verdict.
//
// Input: one byte for the length of the pattern (in steps of two), the pattern, then the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/utf8.h"
#include "schema/regex.h"

using callgate::schema::Regex;
using callgate::schema::RegexMatch;
using callgate::schema::RegexOptions;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::string_view pattern = rest.substr(0, std::size_t{data[0]} * 2);
    const std::string_view text = rest.substr(pattern.size());
    if (!callgate::base::is_valid_utf8(text)) {
        return 0;
    }

    const auto plain = Regex::compile(pattern);
    RegexOptions no_dfa;
    no_dfa.max_dfa_states = 0;
    no_dfa.max_re2_memory = 1u << 20;
    const auto re2 = Regex::compile(pattern, no_dfa);
    if (plain && re2) {
        const RegexMatch first = plain->search(text);
        const RegexMatch second = re2->search(text);
        const bool settled = first != RegexMatch::over_limit && second != RegexMatch::over_limit;
        if (settled && first != second) {
            std::abort();
        }
    }

    RegexOptions backtracking;
    backtracking.allow_pcre2 = true;
    backtracking.pcre2_match_limit = 1'000;
    const auto any = Regex::compile(pattern, backtracking);
    if (any) {
        any->search(text);
    }
    if (plain && !any) {
        std::abort();
    }

    const bool valid = Regex::is_valid(pattern);
    const bool refused_as_bad = !any && any.error().details.at("reason").as_string() == "bad_pattern";
    if (valid && refused_as_bad) {
        std::abort();
    }
    return 0;
}
