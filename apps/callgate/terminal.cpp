#include "terminal.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/shell_word.h"
#include "base/unseen.h"
#include "base/utf8.h"

namespace callgate::cli {

namespace {

// Below this a terminal is too narrow for columns; it is treated as this wide.
constexpr std::size_t kNarrowest = 40;
// No column of a table becomes narrower than this.
constexpr std::size_t kNarrowestColumn = 8;
constexpr std::size_t kNarrowestLast = 24;

struct CodeRange {
    char32_t first;
    char32_t last;
};

bool within(char32_t c, auto const& ranges) {
    return std::ranges::any_of(ranges,
                               [c](const CodeRange& range) { return c >= range.first && c <= range.last; });
}

// Near enough to the terminals' own tables for a caret to stand in the right place.
std::size_t width_of(char32_t c) {
    static constexpr std::array kCombining = {CodeRange{0x0300, 0x036F}, CodeRange{0x1AB0, 0x1AFF},
                                              CodeRange{0x1DC0, 0x1DFF}, CodeRange{0x20D0, 0x20FF},
                                              CodeRange{0xFE20, 0xFE2F}};
    static constexpr std::array kWide = {
        CodeRange{0x1100, 0x115F},   CodeRange{0x2E80, 0x303E},   CodeRange{0x3041, 0xA4CF},
        CodeRange{0xAC00, 0xD7A3},   CodeRange{0xF900, 0xFAFF},   CodeRange{0xFE30, 0xFE6F},
        CodeRange{0xFF00, 0xFF60},   CodeRange{0xFFE0, 0xFFE6},   CodeRange{0x1F300, 0x1F64F},
        CodeRange{0x1F680, 0x1F6FF}, CodeRange{0x1F900, 0x1FAFF}, CodeRange{0x20000, 0x3FFFD}};
    if (within(c, kCombining)) return 0;
    return within(c, kWide) ? 2 : 1;
}

Glyph spelled_out(std::string text, std::size_t bytes, char32_t code) {
    const std::size_t columns = text.size();
    return {std::move(text), columns, bytes, code};
}

std::optional<std::size_t> columns_in_environment() {
    const char* value = std::getenv("COLUMNS");
    if (value == nullptr) return std::nullopt;
    const std::string_view text(value);
    std::size_t columns = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), columns);
    if (fault != std::errc() || end != text.data() + text.size() || columns == 0 || columns > 10'000)
        return std::nullopt;
    return columns;
}

bool is_set(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0';
}

}  // namespace

ColorMode color_mode(std::string_view word) noexcept {
    if (word == "always") return ColorMode::always;
    return word == "never" ? ColorMode::never : ColorMode::automatic;
}

std::string Style::paint(std::string_view code, std::string_view text) const {
    if (!color || text.empty()) return std::string(text);
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

Style Terminal::style(ColorMode mode) const {
    const bool color = mode == ColorMode::always || (mode == ColorMode::automatic && wants_color);
    return {.color = color, .width = is_terminal && width != 0 ? std::max(width, kNarrowest) : 0};
}

Terminal detect_terminal(int fd) {
    Terminal terminal;
    terminal.is_terminal = ::isatty(fd) == 1;
    if (!terminal.is_terminal) return terminal;
    const char* kind = std::getenv("TERM");
    terminal.wants_color = !is_set("NO_COLOR") && kind != nullptr && std::string_view(kind) != "dumb";
    struct winsize size = {};
    if (::ioctl(fd, TIOCGWINSZ, &size) == 0) terminal.width = size.ws_col;
    if (terminal.width == 0) terminal.width = columns_in_environment().value_or(kUsualWidth);
    return terminal;
}

bool is_same_terminal(int one, int other) {
    // The terminal behind /dev/tty as well, which has a number of its own.
    unsigned int devices[2] = {};
    return ::isatty(one) == 1 && ::isatty(other) == 1 && ::ioctl(one, TIOCGDEV, &devices[0]) == 0 &&
           ::ioctl(other, TIOCGDEV, &devices[1]) == 0 && devices[0] == devices[1];
}

Glyph first_glyph(std::string_view text) {
    if (text.empty()) return {};
    const std::size_t bytes = base::utf8_sequence_length(text);
    if (bytes == 0)
        return spelled_out(fmt::format("\\x{:02X}", static_cast<unsigned char>(text.front())), 1, 0);
    const char32_t c = base::decode_utf8(text.substr(0, bytes));
    if (c == U'\t') return {" ", 1, 1, c};
    if (c == U'\n') return spelled_out("\\n", 1, c);
    if (base::is_unseen(c)) {
        const auto number = static_cast<std::uint32_t>(c);
        return spelled_out(
            number < 0x100 ? fmt::format("\\x{:02X}", number) : fmt::format("\\u{{{:X}}}", number), bytes, c);
    }
    return {std::string(text.substr(0, bytes)), width_of(c), bytes, c};
}

std::string printable(std::string_view text) {
    std::string shown;
    shown.reserve(text.size());
    while (!text.empty()) {
        const Glyph glyph = first_glyph(text);
        shown += glyph.shown;
        text.remove_prefix(glyph.bytes);
    }
    return shown;
}

std::string printable_lines(std::string_view text) {
    std::string shown;
    for (;;) {
        const std::size_t end = text.find('\n');
        shown += printable(text.substr(0, end));
        if (end == std::string_view::npos) return shown;
        shown += '\n';
        text.remove_prefix(end + 1);
    }
}

std::string one_line(std::string_view text) {
    std::string line;
    for (const char c : text) {
        if (std::isspace(static_cast<unsigned char>(c)) == 0) {
            line += c;
        } else if (!line.empty() && line.back() != ' ') {
            line += ' ';
        }
    }
    if (line.ends_with(' ')) line.pop_back();
    return line;
}

std::string clipped(std::string_view text, std::size_t columns) {
    std::string shown;
    std::size_t used = 0;
    std::size_t fitting = 0;  // bytes of `shown` that leave room for the mark
    while (!text.empty()) {
        const Glyph glyph = first_glyph(text);
        used += glyph.columns;
        if (used > columns) return shown.substr(0, fitting) + "…";
        shown += glyph.shown;
        if (used < columns) fitting = shown.size();
        text.remove_prefix(glyph.bytes);
    }
    return shown;
}

std::size_t columns_of(std::string_view text) {
    std::size_t columns = 0;
    while (!text.empty()) {
        const Glyph glyph = first_glyph(text);
        columns += glyph.columns;
        text.remove_prefix(glyph.bytes);
    }
    return columns;
}

std::string padded(std::string_view text, std::size_t columns) {
    const std::size_t used = columns_of(text);
    std::string out(text);
    if (used < columns) out.append(columns - used, ' ');
    return out;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
    if (columns == 0) return {std::string(text)};
    std::vector<std::string> lines(1);
    std::size_t used = 0;
    while (!text.empty()) {
        const std::size_t space = text.find(' ');
        const std::string_view word = text.substr(0, space);
        text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
        const std::size_t size = columns_of(word);
        if (used != 0 && used + 1 + size > columns) {
            lines.emplace_back();
            used = 0;
        }
        if (used != 0) lines.back() += ' ';
        used += size + (used != 0 ? 1 : 0);
        lines.back() += word;
    }
    return lines;
}

std::vector<std::string> folded(std::string_view text, std::size_t columns) {
    std::vector<std::string> lines;
    for (const std::string& line : wrapped(text, columns)) {
        std::string_view rest = line;
        std::string piece;
        std::size_t used = 0;
        while (columns != 0 && !rest.empty()) {
            const Glyph glyph = first_glyph(rest);
            if (used != 0 && used + glyph.columns > columns) {
                lines.push_back(std::exchange(piece, {}));
                used = 0;
            }
            piece += rest.substr(0, glyph.bytes);
            used += glyph.columns;
            rest.remove_prefix(glyph.bytes);
        }
        lines.push_back(columns == 0 ? line : piece);
    }
    return lines;
}

std::string indented(std::string_view text, std::size_t indent, const Style& style) {
    std::string out;
    for (const std::string& line : folded(text, style.width > indent + 20 ? style.width - indent : 0))
        out += std::string(indent, ' ') + line + '\n';
    return out;
}

std::string heading_name(std::string_view name, const Style& style) {
    constexpr std::size_t kVerdict = 40;
    return style.width == 0 ? printable(name)
                            : clipped(name, std::max(style.width, kVerdict + kNarrowestColumn) - kVerdict);
}

std::string shell_quoted(std::string_view text) {
    return printable(base::shell_quoted(text));
}

std::string shell_word(std::string_view text) {
    const bool plain = !text.empty() && text.front() != '-' && std::ranges::all_of(text, [](unsigned char c) {
        return c < 0x80 && (std::isalnum(c) != 0 || std::string_view("-_./:@,+").find(static_cast<char>(c)) !=
                                                        std::string_view::npos);
    });
    return plain ? std::string(text) : shell_quoted(text);
}

std::string command_hint(const std::vector<std::string>& words, const Style& style) {
    std::string out;
    std::string line = " ";
    for (std::size_t i = 0; i < words.size(); ++i) {
        // Two columns for the backslash.
        if (style.width != 0 && i != 0 && columns_of(line) + 1 + columns_of(words[i]) + 2 > style.width) {
            out += line + " \\\n";
            line = "     ";
        }
        line += ' ' + words[i];
    }
    return out + line + '\n';
}

std::string fact(std::string_view name, std::string_view value, const Style& style) {
    constexpr std::size_t kNameWidth = 12;
    constexpr std::size_t kIndent = 2 + kNameWidth;
    std::string out;
    const std::size_t room = style.width > kIndent + 20 ? style.width - kIndent : 0;
    for (const std::string& line : folded(value, room)) {
        out += out.empty() ? "  " + style.dim(padded(name, kNameWidth)) : std::string(kIndent, ' ');
        out += line + '\n';
    }
    return out;
}

void add_fact(std::string& out, std::string_view name, std::string_view value, const Style& style) {
    if (!value.empty()) out += fact(name, clipped(one_line(value), kLongestSentence), style);
}

namespace {

// How wide each column is; where that is more than fits, the last gives way first, then the widest.
std::vector<std::size_t> column_widths(const std::vector<std::vector<std::string>>& rows,
                                       const Style& style) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
    }
    if (style.width == 0 || widths.empty()) return widths;
    std::size_t total = 0;
    for (const std::size_t width : widths) total += width + 2;
    const auto shrink = [&](std::size_t& width, std::size_t least) {
        const std::size_t over = total > style.width ? total - style.width : 0;
        const std::size_t less = std::min(over, width > least ? width - least : 0);
        width -= less;
        total -= less;
        return less != 0;
    };
    shrink(widths.back(), kNarrowestLast);
    while (total > style.width) {
        std::size_t& widest = *std::ranges::max_element(widths);
        if (widest <= kNarrowestColumn) break;
        --widest;
        --total;
    }
    return widths;
}

}  // namespace

std::string table(const std::vector<std::vector<std::string>>& rows, const Style& style) {
    const std::vector<std::size_t> widths = column_widths(rows, style);
    std::string out;
    for (std::size_t number = 0; number < rows.size(); ++number) {
        const auto& row = rows[number];
        std::vector<std::vector<std::string>> cells;
        std::size_t height = 1;
        for (std::size_t i = 0; i < row.size(); ++i) {
            cells.push_back(folded(row[i], style.width == 0 ? 0 : widths[i]));
            height = std::max(height, cells.back().size());
        }
        for (std::size_t at = 0; at < height; ++at) {
            std::string line = "  ";
            for (std::size_t i = 0; i < cells.size(); ++i) {
                const std::string cell = at < cells[i].size() ? cells[i][at] : std::string();
                line += i + 1 == cells.size() ? cell : padded(cell, widths[i]) + "  ";
            }
            line.erase(line.find_last_not_of(' ') + 1);
            out += number == 0 ? style.dim(line) : line;
            out += '\n';
        }
    }
    return out;
}

}  // namespace callgate::cli
