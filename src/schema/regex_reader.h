// Reads the parts of a pattern that stand for characters: escapes, classes, group names.
//
// The structure around them (groups, choices, repetition) is regex_parser's. A read function returns false
// after it has set error().
//
// Threads: one reader belongs to one parse.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "schema/regex_ast.h"

namespace callgate::schema {

/// What an escape or one member of a class stands for: one code point, or a set.
struct CharUnit {
    bool is_set = false;
    char32_t code_point = 0;
    CharSet set;
};

class PatternReader {
public:
    /// `pattern` is valid UTF-8.
    PatternReader(std::string_view pattern, bool lenient) : pattern_(pattern), lenient_(lenient) {}

    bool at_end() const noexcept { return at_ == pattern_.size(); }
    std::size_t offset() const noexcept { return at_; }
    /// NUL past the end; at_end() tells it from a NUL in the pattern.
    char peek(std::size_t ahead = 0) const noexcept {
        return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0';
    }
    void skip(std::size_t bytes) noexcept { at_ += bytes; }
    bool take(std::string_view text) noexcept;

    /// The next code point of the pattern, which must be there.
    char32_t take_code_point() noexcept { return schema::take_code_point(pattern_, at_); }

    /// After a backslash at `start`: everything that stands for characters.
    bool read_escape(std::size_t start, bool in_class, CharUnit& out);

    /// After "[" at `start`.
    bool read_class(std::size_t start, CharSet& out);

    /// A group's name and the ">" after it.
    bool read_group_name(std::size_t start, std::string& out);

    /// Decimal digits; saturates below kUnlimited.
    std::uint32_t take_number() noexcept;

    bool fail(std::size_t offset, std::string problem, std::string advice);
    bool fail_unsupported(std::size_t offset, std::string problem, std::string advice);
    PatternError take_error() { return std::move(*error_); }

    /// The first property that only an engine with its own table knows.
    const std::string& foreign_property() const noexcept { return foreign_property_; }
    std::size_t foreign_offset() const noexcept { return foreign_offset_; }

private:
    bool read_hex(std::size_t digits, char32_t& out) noexcept;
    bool read_unicode_escape(std::size_t start, char32_t& out);
    bool read_property(std::size_t start, bool negated, CharSet& out);
    bool read_class_unit(std::size_t class_start, CharUnit& out);
    bool is_lenient_escape(char c) const noexcept;
    bool fail_escape(std::size_t start, bool in_class);

    std::string_view pattern_;
    std::size_t at_ = 0;
    bool lenient_;
    std::optional<PatternError> error_;
    std::string foreign_property_;
    std::size_t foreign_offset_ = 0;
};

/// Puts `set` into the form CharSet promises.
void finish_set(CharSet& set);

}  // namespace callgate::schema
