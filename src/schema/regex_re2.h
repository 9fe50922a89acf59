// RE2 for the patterns that are too large for our own automaton, and for characters it has no tables for.
//
// Linear time: a search whose cost could still reach seconds (a huge program on a huge text) answers
// over_limit without being started. RE2 takes milliseconds to compile a Unicode property, so the compilation
// can wait for the first text that needs it.
//
// Threads: immutable to its users; search() may be called from any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "schema/regex.h"

namespace re2 {
class RE2;
}

namespace callgate::schema {

class Re2Pattern {
public:
    /// `pattern` comes from emit_pattern(). Failure: half a sentence.
    static tl::expected<std::unique_ptr<Re2Pattern>, std::string> compile(std::string pattern,
                                                                          std::size_t memory);

    /// For a pattern that is known to fit: compiled by the first search.
    static std::unique_ptr<Re2Pattern> deferred(std::string pattern, std::size_t memory);

    ~Re2Pattern();

    RegexMatch search(std::string_view text) const;

    /// Instructions of the program; a guess on the high side where it is not compiled yet.
    std::size_t weight() const noexcept { return weight_; }

private:
    static constexpr std::size_t kDeferredWeight = 4'000;

    Re2Pattern(std::string pattern, std::size_t memory);
    const re2::RE2& compiled() const;

    std::string pattern_;
    std::size_t memory_;
    std::size_t weight_ = kDeferredWeight;
    mutable std::once_flag once_;
    mutable std::unique_ptr<re2::RE2> re2_;
};

}  // namespace callgate::schema
