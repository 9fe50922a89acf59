#include "json/text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/utf8.h"

namespace callgate::json {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

constexpr std::uint64_t kOnes = 0x0101010101010101;
constexpr std::uint64_t kHighs = 0x8080808080808080;

/// The high bit of a byte is set where the byte cannot be copied as it is: a control character, a quote, a
/// backslash, or not ASCII. Borrows may set bits above the lowest one set, never below: only the lowest
/// counts.
constexpr std::uint64_t special_bytes(std::uint64_t word) noexcept {
    const std::uint64_t control = word - kOnes * 0x20;
    const std::uint64_t quote = (word ^ (kOnes * '"')) - kOnes;
    const std::uint64_t backslash = (word ^ (kOnes * '\\')) - kOnes;
    return (((control | quote | backslash) & ~word) | word) & kHighs;
}

template <class Word>
Word load(const char* at) noexcept {
    Word word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

constexpr bool kLittleEndian = std::endian::native == std::endian::little;

/// The last 1 to 7 bytes of a string as the low bytes of a word, spaces above them, without reading past the
/// end.
std::uint64_t load_tail(const char* at, std::size_t bytes) noexcept {
    std::uint64_t word = 0;
    if constexpr (kLittleEndian) {
        if (bytes >= 4) {
            word = load<std::uint32_t>(at) | static_cast<std::uint64_t>(load<std::uint32_t>(at + bytes - 4))
                                                 << (8 * (bytes - 4));
        } else {
            const auto byte = [at](std::size_t i) {
                return static_cast<std::uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
            };
            word = byte(0) | byte(bytes / 2) | byte(bytes - 1);
        }
    } else {
        for (std::size_t i = 0; i < bytes; ++i)
            word |= static_cast<std::uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
    }
    return word | (kOnes * ' ') << (8 * bytes);
}

std::uint64_t load_word(const char* at) noexcept {
    if constexpr (kLittleEndian) return load<std::uint64_t>(at);
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8; ++i)
        word |= static_cast<std::uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
    return word;
}

void store_word(char* at, std::uint64_t word) noexcept {
    if constexpr (kLittleEndian) {
        std::memcpy(at, &word, 8);
    } else {
        for (std::size_t i = 0; i < 8; ++i) at[i] = static_cast<char>(word >> (8 * i));
    }
}

/// The letter after the backslash; 0 where it takes \u00XX.
constexpr std::array<char, 32> kShortEscape = [] {
    std::array<char, 32> table{};
    table['\b'] = 'b';
    table['\f'] = 'f';
    table['\n'] = 'n';
    table['\r'] = 'r';
    table['\t'] = 't';
    return table;
}();

/// Prices, shares, scores: decimals with at most six places, written several times faster than to_chars does.
/// Null when `number` is not one, and nothing is written.
///
/// Why the text is right: below 1e9 the scaled number has at most 15 digits, so it is exact, and dividing it
/// again rounds exactly as reading the decimal would. No two decimals of 15 digits read as the same double,
/// so without its trailing zeros this is also the shortest. Below 1e-3 to_chars prefers an exponent.
char* short_decimal(char* out, double number) noexcept {
    constexpr double kScale = 1e6;
    constexpr std::uint64_t kPlaces = 1'000'000;
    const double size = std::fabs(number);
    if (!(size >= 1e-3 && size < 1e9)) return nullptr;
    // A wrong rounding here is caught by the division. NOLINTNEXTLINE(bugprone-incorrect-roundings)
    const auto scaled = static_cast<std::uint64_t>(size * kScale + 0.5);
    if (static_cast<double>(scaled) / kScale != size) return nullptr;
    const std::uint64_t whole = scaled / kPlaces;
    std::uint64_t fraction = scaled % kPlaces;
    if (number < 0) *out++ = '-';
    out = std::to_chars(out, out + 16, whole).ptr;
    *out++ = '.';
    do {
        fraction *= 10;
        *out++ = static_cast<char>('0' + fraction / kPlaces);
        fraction %= kPlaces;
    } while (fraction != 0);
    return out;
}

/// No byte becomes more than this: \u00XX.
constexpr std::size_t kMaxGrowth = 6;

/// Writes the special bytes at `at`, all of them up to the next plain one or to `stop`.
char* escape_special(char* out, const char*& at, const char* stop, const char* end) noexcept {
    do {
        const auto byte = static_cast<unsigned char>(*at);
        if (byte >= 0x80) {
            const std::size_t bytes = base::utf8_sequence_length({at, static_cast<std::size_t>(end - at)});
            if (bytes == 0) {
                out = std::copy(kReplacement.begin(), kReplacement.end(), out);
                ++at;
            } else {
                // Four bytes are one move, however many of them count.
                std::memcpy(out, at, end - at >= 4 ? 4 : bytes);
                out += bytes;
                at += bytes;
            }
            continue;
        }
        if (byte == '"' || byte == '\\') {
            *out++ = '\\';
            *out++ = static_cast<char>(byte);
        } else if (byte >= 0x20) {
            return out;
        } else if (const char letter = kShortEscape[byte]) {
            *out++ = '\\';
            *out++ = letter;
        } else {
            constexpr std::string_view kStart = "\\u00";
            constexpr std::string_view kHex = "0123456789abcdef";
            out = std::copy(kStart.begin(), kStart.end(), out);
            *out++ = kHex[byte >> 4];
            *out++ = kHex[byte & 15];
        }
        ++at;
    } while (at < stop);
    return out;
}

/// Writes from `at` to about `stop`: a character or a word that begins before it is written whole. Nothing is
/// read from `end` on. Needs room for kMaxGrowth times the piece, and a word.
char* escape(char* out, const char*& at, const char* stop, const char* end) noexcept {
    while (at < stop) {
        const auto left = static_cast<std::size_t>(end - at);
        const bool whole = left >= 8;
        const std::uint64_t word = whole ? load_word(at) : load_tail(at, left);
        const std::uint64_t special = special_bytes(word);
        // All eight are stored; only those before the first special one are kept.
        store_word(out, word);
        if (special == 0) [[likely]] {
            const std::size_t plain = whole ? 8 : left;
            at += plain;
            out += plain;
        } else {
            const auto plain = static_cast<std::size_t>(std::countr_zero(special)) / 8;
            at += plain;
            out = escape_special(out + plain, at, stop, end);
        }
    }
    return out;
}

}  // namespace

void TextSink::flush() {
    out_.append(buffer_, static_cast<std::size_t>(next_ - buffer_));
    next_ = buffer_;
}

void TextSink::put_double(double number) {
    if (!std::isfinite(number)) return put_token("null");
    need(kMaxToken);
    if (char* const end = short_decimal(next_, number)) {
        next_ = end;
        return;
    }
    // People read 1000000000.0 more easily than 1e+09.
    constexpr double kWrittenOut = 1e15;
    if (std::fabs(number) < kWrittenOut && std::trunc(number) == number && number != 0) {
        next_ = std::to_chars(next_, next_ + kMaxToken, static_cast<std::int64_t>(number)).ptr;
        *next_++ = '.';
        *next_++ = '0';
        return;
    }
    char* const end = std::to_chars(next_, next_ + kMaxToken, number).ptr;
    const std::string_view text(next_, static_cast<std::size_t>(end - next_));
    next_ = end;
    if (text.find_first_of(".e") == std::string_view::npos) {
        *next_++ = '.';
        *next_++ = '0';
    }
}

void TextSink::put_quoted(std::string_view text, bool colon) {
    const char* at = text.data();
    const char* const end = at + text.size();
    char* out = nullptr;
    bool first = true;
    do {
        const std::size_t piece = std::min(static_cast<std::size_t>(end - at), kPiece);
        need(piece * kMaxGrowth + 16);
        out = next_;
        if (first) *out++ = '"';
        first = false;
        out = escape(out, at, at + piece, end);
        next_ = out;
    } while (at != end);
    *out++ = '"';
    *out = ':';
    next_ = out + static_cast<int>(colon);
}

std::string valid_utf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t bytes = base::utf8_sequence_length(text);
        out += bytes == 0 ? kReplacement : text.substr(0, bytes);
        text.remove_prefix(bytes == 0 ? 1 : bytes);
    }
    return out;
}

}  // namespace callgate::json
