// Regular expressions of `pattern` and `patternProperties`: ECMA-262 syntax (u-mode), linear-time matching.
//
// A pattern is parsed as ECMA-262 (so that \d, \s, \w, \cX, \u{…}, \p{Letter} mean what a schema author
// means), then compiled to a small byte-level DFA where that stays within bounds, else to RE2. What RE2
// cannot do (look-around, back-references) is refused with a clear error, or run by PCRE2 under match limits
// where the operator allows it. Matching is a search: patterns are not anchored.
//
// Threads: immutable after compile(); search() may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <callgate/error.h>

namespace callgate::schema {

struct RegexOptions {
    bool allow_pcre2 = false;
    std::size_t max_pattern_bytes = 4'096;
    std::size_t max_dfa_states = 256;  ///< 0 turns the own DFA off
    std::size_t max_re2_memory = 8u << 20;
    unsigned pcre2_match_limit = 100'000;

    RegexOptions() {}
};

enum class RegexMatch : std::uint8_t { no, yes, over_limit };

class Regex {
public:
    /// Takes u-mode syntax, and of non-u habits escaped punctuation (`\-`) and `[\w-.]`.
    /// Failure: config_error with details {reason: "bad_pattern" | "unsupported_pattern", pattern, offset}.
    static Result<Regex> compile(std::string_view pattern, const RegexOptions& options = {});

    /// True when the pattern is valid ECMA-262 in u-mode (the `regex` format); unsupported counts as valid.
    /// False beyond 64 KiB or 1000 named groups.
    static bool is_valid(std::string_view pattern);

    /// `text` is valid UTF-8. over_limit: PCRE2 ran out of its budget, or the pattern is so large and the
    /// text so long that RE2 could need seconds.
    RegexMatch search(std::string_view text) const;

    /// States and instructions it is made of: what compiling it cost, roughly.
    std::size_t weight() const noexcept;

    /// "dfa", "re2" or "pcre2": which engine runs it.
    std::string_view engine() const noexcept;

    Regex(Regex&&) noexcept;
    Regex& operator=(Regex&&) noexcept;
    ~Regex();

private:
    struct Impl;
    explicit Regex(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace callgate::schema
