// What a person sees: colour, width, and text that cannot play tricks on the terminal.
//
// Everything that comes from a file goes through printable() before it is shown: control characters, bytes
// that are not UTF-8 and characters that turn the writing direction are spelled out, so that no document can
// move the cursor or hide a line.
//
// Threads: plain values and pure functions; detect_terminal() reads the environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace callgate::cli {

enum class ColorMode : std::uint8_t { automatic, always, never };

/// What --color says: "always", "never", or anything else for automatic.
ColorMode color_mode(std::string_view word) noexcept;

/// Columns of a terminal that does not say.
inline constexpr std::size_t kUsualWidth = 80;

/// Bytes that are shown of a text that somebody gave as a reason, and of an error's message.
inline constexpr std::size_t kLongestSentence = 2'000;
inline constexpr std::size_t kLongestMessage = 1'000;

/// How one stream is written to.
struct Style {
    bool color = false;
    std::size_t width = 0;  ///< columns; 0 where lines need not end, as in a file or pipe

    /// Too narrow for every column of a list: the less important ones are left out.
    bool is_narrow() const noexcept { return width != 0 && width < 110; }

    std::string bold(std::string_view text) const { return paint("1", text); }
    std::string dim(std::string_view text) const { return paint("2", text); }
    std::string red(std::string_view text) const { return paint("1;31", text); }
    std::string green(std::string_view text) const { return paint("1;32", text); }
    std::string yellow(std::string_view text) const { return paint("33", text); }

private:
    std::string paint(std::string_view code, std::string_view text) const;
};

/// Where a stream ends up.
struct Terminal {
    bool is_terminal = false;
    bool wants_color = false;  ///< a terminal that can, and neither NO_COLOR nor TERM=dumb
    std::size_t width = 0;     ///< what the terminal says, else $COLUMNS, else 80; 0 where it is none

    Style style(ColorMode mode) const;
};

Terminal detect_terminal(int fd);

/// Both are the same terminal.
bool is_same_terminal(int one, int other);

/// The streams a verb writes to, and who can be asked.
struct Console {
    std::ostream& out;
    std::ostream& err;
    Terminal out_terminal;
    Terminal err_terminal;
    std::istream* person = nullptr;  ///< standard input where a person sits at it
    // Whether it is that person's terminal that shows the streams: nobody is asked about what they do not
    // see.
    bool person_sees_out = true;
    bool person_sees_err = true;
    bool* loss_reported = nullptr;  ///< set by who said that the answer could not be written
};

/// The first character of `text` as it may be shown.
struct Glyph {
    std::string shown;
    std::size_t columns = 0;
    std::size_t bytes = 0;  ///< of `text` that it stands for; 0 only when there is none
    char32_t code = 0;      ///< 0 also for a byte that is not UTF-8
};

Glyph first_glyph(std::string_view text);

/// `text` on one line, safe to show.
std::string printable(std::string_view text);

/// `text` safe to show, with its line breaks.
std::string printable_lines(std::string_view text);

/// Every run of white space becomes one space, none at the ends.
std::string one_line(std::string_view text);

/// Printable text of at most `columns`, the last one "…" where something was cut off.
std::string clipped(std::string_view text, std::size_t columns);

/// Columns that printable text takes. Colour codes count, so measure before painting.
std::size_t columns_of(std::string_view text);

/// `text` with spaces up to `columns`.
std::string padded(std::string_view text, std::size_t columns);

/// `text` broken at spaces into lines of at most `columns`; a word longer than that keeps its line. 0: one
/// line.
std::vector<std::string> wrapped(std::string_view text, std::size_t columns);

/// As wrapped(), and a word that is longer than `columns` is broken.
std::vector<std::string> folded(std::string_view text, std::size_t columns);

/// Text in lines that fit the style's width behind `indent` spaces; where it has none, on one line.
std::string indented(std::string_view text, std::size_t indent, const Style& style);

/// A name at the head of an answer, with room for a verdict of 40 columns behind it.
std::string heading_name(std::string_view name, const Style& style);

/// For a command line that is to be copied: a word of a shell, in quotes, printable.
std::string shell_quoted(std::string_view text);

/// The same, in quotes only where it needs them.
std::string shell_word(std::string_view text);

/// A command line to be copied: where it does not fit, it goes on behind a backslash. `words` are quoted
/// already where they need it.
std::string command_hint(const std::vector<std::string>& words, const Style& style);

/// "  what        its value", the value in as many lines as it takes where the style has a width. Both are
/// printable text.
std::string fact(std::string_view name, std::string_view value, const Style& style);
/// The same of a value that may be long or empty: on one line, cut; nothing for an empty one.
void add_fact(std::string& out, std::string_view name, std::string_view value, const Style& style);

/// Rows in columns two spaces apart, each line indented by two. Where the style has a width, cells are
/// wrapped until all fits: first the last column, then the widest. The first row is a heading. Cells are
/// printable text.
std::string table(const std::vector<std::vector<std::string>>& rows, const Style& style);

}  // namespace callgate::cli
