#include "json/tape.h"

#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "base/utf8.h"
#include "json/tape_fault.h"

namespace callgate::json {

namespace {

// Behind the copied text: the scanner may load 16 bytes from any place in it, and stops at the NULs.
constexpr std::size_t kPadding = 32;
constexpr std::size_t kSmallObject = 16;
// What trim() leaves of each buffer.
constexpr std::size_t kKeptBytes = 256u << 10;

constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

bool is_digit(char c) noexcept {
    return static_cast<unsigned char>(c - '0') < 10;
}

std::uint64_t load8(const char* at) noexcept {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

// The first eight bytes of a key, zero-filled: two keys of at most eight bytes are equal exactly when these
// and their lengths are.
std::uint64_t head_of(const Cell& key) noexcept {
    const std::uint64_t word = load8(key.text);
    return key.size >= 8 ? word : word & ((std::uint64_t{1} << (key.size * 8)) - 1);
}

// Unknown to whoever writes the document, so that it cannot be made of colliding keys.
std::uint64_t hash_seed() {
    static const std::uint64_t seed = [] {
        std::uint64_t value = 0x9E37'79B9'7F4A'7C15u;
        [[maybe_unused]] const auto got = ::getrandom(&value, sizeof value, GRND_NONBLOCK);
        return value | 1;
    }();
    return seed;
}

__extension__ using Wide = unsigned __int128;

std::uint64_t hash_key(const Cell& key, std::uint64_t seed) noexcept {
    std::uint64_t h = seed ^ (key.size * 0x9E37'79B9'7F4A'7C15u);
    const char* at = key.text;
    std::size_t left = key.size;
    const auto mix = [&](std::uint64_t word) {
        const auto product = static_cast<Wide>(h ^ word) * 0xD6E8'FEB8'6659'FD93u;
        h = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64) ^ seed;
    };
    for (; left >= 8; left -= 8, at += 8) mix(load8(at));
    if (left > 0) mix(load8(at) & ((std::uint64_t{1} << (left * 8)) - 1));
    return h ^ (h >> 32);
}

// As base::utf8_sequence_length(). NUL padding makes reading ahead safe.
std::size_t utf8_sequence(const char* at) noexcept {
    return base::utf8_sequence_length_by([&](std::size_t i) { return static_cast<unsigned char>(at[i]); });
}

// How many bytes from `at` on are plain string content: ASCII, no quote, backslash or control character.
// At most 16 are looked at.
std::size_t plain_run(const char* at) noexcept {
#if defined(__SSE2__)
    const __m128i chunk = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i quote = _mm_cmpeq_epi8(chunk, _mm_set1_epi8('"'));
    const __m128i escape = _mm_cmpeq_epi8(chunk, _mm_set1_epi8('\\'));
    // Signed comparison: bytes from 0x80 up are negative, so this finds controls and non-ASCII in one step.
    const __m128i special = _mm_cmplt_epi8(chunk, _mm_set1_epi8(0x20));
    const auto found =
        static_cast<unsigned>(_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, escape), special)));
    return found == 0 ? 16 : static_cast<std::size_t>(std::countr_zero(found));
#else
    for (std::size_t i = 0; i < 16; ++i) {
        const auto c = static_cast<unsigned char>(at[i]);
        if (c < 0x20 || c >= 0x80 || c == '"' || c == '\\') return i;
    }
    return 16;
#endif
}

int hex_digit(char c) noexcept {
    if (is_digit(c)) return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Four hex digits, or -1.
int hex4(const char* at) noexcept {
    int value = 0;
    for (int i = 0; i < 4; ++i) {
        const int digit = hex_digit(at[i]);
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

// True when the integer literal [first, last) is exactly the double `value`.
bool is_exactly(const char* first, const char* last, double value) {
    char digits[400];
    const auto printed = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::fixed, 0);
    return printed.ec == std::errc() &&
           std::string_view(first, static_cast<std::size_t>(last - first)) ==
               std::string_view(digits, static_cast<std::size_t>(printed.ptr - digits));
}

}  // namespace

// One scan. Works on the padded copy, so that no step needs a bounds check: the NULs behind the text end
// every loop. Each step takes the place where it begins and returns the place behind what it read, or null
// after a fault.
class Tape::Run {
public:
    Run(Tape& tape, std::size_t size, const ParseLimits& limits)
        : tape_(tape),
          begin_(tape.text_.get()),
          end_(begin_ + size),
          deepest_(std::min(limits.max_depth, kDeepest)),
          nodes_left_(limits.max_nodes),
          next_(tape.cells_.get()),
          cells_end_(next_ + tape.cell_capacity_) {}

    bool document() {
        char* at = skip_space(begin_);
        // No JSON text begins with these: they are byte order marks of UTF-8 and UTF-16.
        const auto first = static_cast<unsigned char>(*at);
        if (first == 0xEF || first == 0xFE || first == 0xFF)
            return stop(Fault::byte_order_mark, at) != nullptr;
        at = values(at);
        if (at == nullptr) return false;
        at = skip_space(at);
        if (at != end_) return stop(Fault::trailing_text, at) != nullptr;
        link_containers();
        return true;
    }

private:
    char* stop(Fault fault, const char* where) {
        tape_.fault_ = fault;
        tape_.fault_byte_ = static_cast<std::size_t>(where - begin_);
        return nullptr;
    }
    char* unexpected(const char* at) {
        return stop(at >= end_ ? Fault::unexpected_end : Fault::unexpected_character, at);
    }
    char* bad_number(const char* at) {
        return stop(at >= end_ ? Fault::unexpected_end : Fault::bad_number, at);
    }

    static char* skip_space(char* at) noexcept {
        if (static_cast<unsigned char>(*at) > ' ') [[likely]]
            return at;
        while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r') ++at;
        return at;
    }

    Cell* push(CellKind kind) {
        if (next_ == cells_end_) [[unlikely]]
            grow();
        Cell* cell = next_++;
        cell->kind = kind;
        return cell;
    }

    void grow() {
        const auto used = next_ - tape_.cells_.get();
        tape_.grow_cells();
        next_ = tape_.cells_.get() + used;
        cells_end_ = tape_.cells_.get() + tape_.cell_capacity_;
    }

    // The loop over all values of the document; containers are kept on frames_, not on the stack.
    [[gnu::hot]] char* values(char* at) {
        auto& frames = tape_.frames_;
        frames.clear();
        for (;;) {
            if (nodes_left_ == 0) [[unlikely]]
                return stop(Fault::too_many_nodes, at);
            --nodes_left_;
            switch (*at) {
                case '{':
                case '[': {
                    if (frames.size() == deepest_) [[unlikely]]
                        return stop(Fault::too_deep, at);
                    const bool is_object = *at == '{';
                    frames.push_back({static_cast<std::uint32_t>(next_ - tape_.cells_.get()), 0, is_object});
                    push(is_object ? CellKind::object : CellKind::array);
                    at = skip_space(at + 1);
                    if (*at == (is_object ? '}' : ']')) break;
                    frames.back().count = 1;
                    if (is_object && (at = key(at)) == nullptr) return nullptr;
                    continue;
                }
                case '"':
                    if ((at = string(at, push(CellKind::string))) == nullptr) return nullptr;
                    break;
                case 't':
                    if (std::memcmp(at, "true", 4) != 0) return unexpected(at);
                    push(CellKind::boolean)->truth = true;
                    at += 4;
                    break;
                case 'f':
                    if (std::memcmp(at, "false", 5) != 0) return unexpected(at);
                    push(CellKind::boolean)->truth = false;
                    at += 5;
                    break;
                case 'n':
                    if (std::memcmp(at, "null", 4) != 0) return unexpected(at);
                    push(CellKind::null);
                    at += 4;
                    break;
                default:
                    if (*at != '-' && !is_digit(*at)) return unexpected(at);
                    if ((at = number(at)) == nullptr) return nullptr;
            }
            // A value ended here; so may the containers around it.
            for (;;) {
                if (frames.empty()) return at;
                Frame& top = frames.back();
                at = skip_space(at);
                if (*at == ',') {
                    ++top.count;
                    at = skip_space(at + 1);
                    if (top.is_object && (at = key(at)) == nullptr) return nullptr;
                    break;
                }
                if (*at != (top.is_object ? '}' : ']')) return unexpected(at);
                ++at;
                if (!close(top)) return nullptr;
                frames.pop_back();
            }
        }
    }

    bool close(const Frame& frame) {
        Cell& cell = tape_.cells_[frame.cell];
        cell.size = frame.count;
        // Cells may still move; the index becomes a pointer when the scan is over.
        cell.u = static_cast<std::uint64_t>(next_ - tape_.cells_.get());
        return !frame.is_object || frame.count < 2 || keys_are_unique(frame);
    }

    void link_containers() noexcept {
        Cell* const cells = tape_.cells_.get();
        for (Cell* cell = cells; cell != next_; ++cell) {
            if (cell->kind >= CellKind::array) cell->past_last = cells + cell->u;
        }
    }

    [[gnu::hot]] char* key(char* at) {
        if (*at != '"') return unexpected(at);
        at = string(at, push(CellKind::string));
        if (at == nullptr) return nullptr;
        at = skip_space(at);
        if (*at != ':') return unexpected(at);
        return skip_space(at + 1);
    }

    char* string(char* at, Cell* cell) {
        char* const start = at + 1;
        char* from = start;
        for (;;) {
            const std::size_t run = plain_run(from);
            from += run;
            if (run == 16) continue;
            if (*from == '"') [[likely]] {
                cell->text = start;
                cell->size = static_cast<std::uint32_t>(from - start);
                return from + 1;
            }
            if (static_cast<unsigned char>(*from) >= 0x80) {
                const std::size_t length = utf8_sequence(from);
                if (length == 0) return stop(Fault::bad_utf8, from);
                from += length;
                continue;
            }
            if (*from == '\\') return escaped_string(cell, start, from);
            return stop(from >= end_ ? Fault::unexpected_end : Fault::control_character, from);
        }
    }

    // From the first escape on the string is decoded in place: what is written is never longer than what was
    // read.
    char* escaped_string(Cell* cell, char* start, char* from) {
        char* out = from;
        for (;;) {
            const std::size_t run = plain_run(from);
            if (run != 0) {
                std::memmove(out, from, run);
                out += run;
                from += run;
                if (run == 16) continue;
            }
            const auto c = static_cast<unsigned char>(*from);
            if (c == '"') {
                cell->text = start;
                cell->size = static_cast<std::uint32_t>(out - start);
                return from + 1;
            }
            if (c == '\\') {
                if ((from = escape(from, out)) == nullptr) return nullptr;
            } else if (c >= 0x80) {
                const std::size_t length = utf8_sequence(from);
                if (length == 0) return stop(Fault::bad_utf8, from);
                std::memmove(out, from, length);
                out += length;
                from += length;
            } else {
                return stop(from >= end_ ? Fault::unexpected_end : Fault::control_character, from);
            }
        }
    }

    char* escape(char* from, char*& out) {
        switch (from[1]) {
            case '"':
            case '\\':
            case '/': *out++ = from[1]; break;
            case 'b': *out++ = '\b'; break;
            case 'f': *out++ = '\f'; break;
            case 'n': *out++ = '\n'; break;
            case 'r': *out++ = '\r'; break;
            case 't': *out++ = '\t'; break;
            case 'u': return unicode_escape(from, out);
            default: return stop(from + 1 >= end_ ? Fault::unexpected_end : Fault::bad_escape, from);
        }
        return from + 2;
    }

    char* unicode_escape(char* from, char*& out) {
        const int first = hex4(from + 2);
        if (first < 0) return stop(Fault::bad_escape, from);
        auto c = static_cast<std::uint32_t>(first);
        std::size_t length = 6;
        if (c >= 0xDC00 && c <= 0xDFFF) return stop(Fault::bad_surrogate, from);
        if (c >= 0xD800 && c <= 0xDBFF) {
            const int second = from[6] == '\\' && from[7] == 'u' ? hex4(from + 8) : -1;
            if (second < 0xDC00 || second > 0xDFFF) return stop(Fault::bad_surrogate, from);
            c = 0x10000 + ((c - 0xD800) << 10) + (static_cast<std::uint32_t>(second) - 0xDC00);
            length = 12;
        }
        out = base::encode_utf8(out, c);
        return from + length;
    }

    [[gnu::hot]] char* number(char* at) {
        const char* const start = at;
        const bool negative = *at == '-';
        if (negative) ++at;
        if (!is_digit(*at)) return bad_number(at);

        const char* const digits = at;
        std::uint64_t mantissa = 0;
        if (*at == '0') {
            ++at;
            if (is_digit(*at)) return bad_number(at);
        } else {
            while (is_digit(*at)) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*at++ - '0');
        }
        auto significant = at - digits;
        if (*at != '.' && *at != 'e' && *at != 'E') {
            return integer(start, at, negative, mantissa, significant) ? at : nullptr;
        }

        std::int64_t exponent = 0;
        if (*at == '.') {
            ++at;
            if (!is_digit(*at)) return bad_number(at);
            const char* const fraction = at;
            while (is_digit(*at)) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*at++ - '0');
            exponent = fraction - at;
            significant += at - fraction;
        }
        if (*at == 'e' || *at == 'E') {
            ++at;
            const bool minus = *at == '-';
            if (minus || *at == '+') ++at;
            if (!is_digit(*at)) return bad_number(at);
            std::int64_t written = 0;
            while (is_digit(*at)) {
                if (written < 100'000) written = written * 10 + (*at - '0');
                ++at;
            }
            exponent += minus ? -written : written;
        }

        Cell* cell = push(CellKind::number);
        // Both operands are exact doubles, so the one rounding of the operation is the correct one (Clinger).
        if (significant <= 19 && mantissa <= (std::uint64_t{1} << 53) && exponent >= -22 && exponent <= 22) {
            const auto m = static_cast<double>(mantissa);
            const double magnitude = exponent < 0 ? m / kPowersOfTen[-exponent] : m * kPowersOfTen[exponent];
            cell->d = negative ? -magnitude : magnitude;
            return at;
        }
        double value = 0;
        const auto parsed = std::from_chars(start, static_cast<const char*>(at), value);
        if (parsed.ec == std::errc::result_out_of_range) {
            // Underflow is no loss a writer could have meant otherwise; overflow is.
            if (!is_tiny(start, at)) return stop(Fault::number_out_of_range, start);
            value = negative ? -0.0 : 0.0;
        }
        cell->d = value;
        return at;
    }

    // from_chars reports overflow and underflow alike; strtod tells them apart.
    static bool is_tiny(const char* first, const char* last) {
        const std::string literal(first, last);
        return std::abs(std::strtod(literal.c_str(), nullptr)) < 1.0;
    }

    bool integer(const char* first, const char* last, bool negative, std::uint64_t magnitude,
                 std::ptrdiff_t digits) {
        const bool fits = digits < 20 || (digits == 20 && first[negative] == '1' &&
                                          magnitude >= 10'000'000'000'000'000'000u);
        if (fits && !negative) {
            if (magnitude <= static_cast<std::uint64_t>(INT64_MAX)) {
                push(CellKind::int64)->i = static_cast<std::int64_t>(magnitude);
            } else {
                push(CellKind::uint64)->u = magnitude;
            }
            return true;
        }
        if (fits && magnitude <= std::uint64_t{1} << 63) {
            push(CellKind::int64)->i = static_cast<std::int64_t>(0 - magnitude);
            return true;
        }
        double value = 0;
        const auto parsed = std::from_chars(first, last, value);
        if (parsed.ec != std::errc()) return stop(Fault::number_out_of_range, first) != nullptr;
        if (!is_exactly(first, last, value)) return stop(Fault::inexact_integer, first) != nullptr;
        push(CellKind::number)->d = value;
        return true;
    }

    const Cell* after(const Cell* cell) const noexcept {
        const bool container = cell->kind == CellKind::array || cell->kind == CellKind::object;
        return container ? tape_.cells_.get() + cell->u : cell + 1;
    }

    static bool same_key(const Cell& a, const Cell& b) noexcept {
        return a.size == b.size && std::memcmp(a.text, b.text, a.size) == 0;
    }

    bool keys_are_unique(const Frame& frame) {
        const Cell* key = tape_.cells_.get() + frame.cell + 1;
        if (frame.count > kSmallObject) return many_keys_are_unique(frame, key);

        const Cell* keys[kSmallObject];
        std::uint64_t seen = 0;
        for (std::uint32_t i = 0; i < frame.count; ++i, key = after(key + 1)) {
            keys[i] = key;
            // One bit per key tells most keys apart; only a shared bit needs the comparison.
            const std::uint64_t bit = std::uint64_t{1}
                                      << (((head_of(*key) ^ key->size) * 0x9E37'79B9'7F4A'7C15u) >> 58);
            if ((seen & bit) != 0) [[unlikely]] {
                for (std::uint32_t j = 0; j < i; ++j) {
                    if (same_key(*keys[j], *key)) return duplicate(*key);
                }
            }
            seen |= bit;
        }
        return true;
    }

    bool many_keys_are_unique(const Frame& frame, const Cell* key) {
        const std::uint64_t seed = hash_seed();
        const std::size_t slots = std::bit_ceil(std::size_t{frame.count} * 2);
        auto& table = tape_.key_table_;
        table.assign(slots, 0);
        const Cell* const cells = tape_.cells_.get();
        for (std::uint32_t i = 0; i < frame.count; ++i, key = after(key + 1)) {
            std::size_t slot = hash_key(*key, seed) & (slots - 1);
            for (; table[slot] != 0; slot = (slot + 1) & (slots - 1)) {
                if (same_key(cells[table[slot]], *key)) return duplicate(*key);
            }
            table[slot] = static_cast<std::uint32_t>(key - cells);  // never 0: cell 0 is no key
        }
        return true;
    }

    bool duplicate(const Cell& key) { return stop(Fault::duplicate_key, key.text - 1) != nullptr; }

    Tape& tape_;
    char* const begin_;
    const char* const end_;
    const std::size_t deepest_;
    std::size_t nodes_left_;
    Cell* next_;
    Cell* cells_end_;
};

Tape::Tape() = default;
Tape::~Tape() = default;
Tape::Tape(Tape&&) noexcept = default;
Tape& Tape::operator=(Tape&&) noexcept = default;

void Tape::make_room(std::size_t text_size) {
    if (text_capacity_ < text_size + kPadding) {
        text_capacity_ = std::max<std::size_t>(std::bit_ceil(text_size + kPadding), 1024);
        text_ = std::make_unique_for_overwrite<char[]>(text_capacity_);
    }
    if (cell_capacity_ == 0) grow_cells();
}

void Tape::grow_cells() {
    const std::size_t capacity = std::max<std::size_t>(cell_capacity_ * 2, 64);
    auto cells = std::make_unique_for_overwrite<Cell[]>(capacity);
    std::copy_n(cells_.get(), cell_capacity_, cells.get());
    cells_ = std::move(cells);
    cell_capacity_ = capacity;
}

void Tape::trim() noexcept {
    if (text_capacity_ > kKeptBytes) {
        text_.reset();
        text_capacity_ = 0;
    }
    if (cell_capacity_ * sizeof(Cell) > kKeptBytes) {
        cells_.reset();
        cell_capacity_ = 0;
    }
    if (key_table_.capacity() * sizeof(std::uint32_t) > kKeptBytes) key_table_ = {};
}

bool Tape::scan(std::string_view text, const ParseLimits& limits) {
    limits_ = limits;
    if (text.size() > std::min(limits.max_bytes, kLargestText)) {
        fault_ = Fault::too_large;
        fault_byte_ = 0;
        return false;
    }
    make_room(text.size());
    if (!text.empty()) std::memcpy(text_.get(), text.data(), text.size());
    std::memset(text_.get() + text.size(), 0, kPadding);
    return Run(*this, text.size(), limits).document();
}

}  // namespace callgate::json
