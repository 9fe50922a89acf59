// Patterns over names: `*` is any text, `?` is one character, everything else is itself. Case counts.
//
// A match takes no memory, does not recurse, and at most (length of the text) × (length of the pattern)
// steps; patterns are at most 256 bytes. The usual forms (a plain name, `prefix*`, `*`) are one comparison.
//
// Threads: immutable values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace callgate::policy {

class Glob {
public:
    static constexpr std::size_t kMaxBytes = 256;

    explicit Glob(std::string pattern);

    bool matches(std::string_view text) const noexcept;
    const std::string& pattern() const noexcept { return pattern_; }
    /// Without `*` and `?`: it names one thing.
    bool literal() const noexcept { return shape_ == Shape::literal; }
    /// Certain that everything `other` matches is matched by this one too. False also when that is not easily
    /// told.
    bool covers(const Glob& other) const noexcept;

private:
    enum class Shape : std::uint8_t { literal, prefix, general };

    std::string pattern_;
    Shape shape_ = Shape::literal;
    std::size_t plain_ = 0;  // bytes before the first wildcard
};

/// True for an empty list: what is absent matches everything.
bool any_matches(const std::vector<Glob>& globs, std::string_view text) noexcept;

}  // namespace callgate::policy
