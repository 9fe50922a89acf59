#include "ledger/audit/canonical_text.h"

#include <algorithm>
#include <array>

#include "base/encoding.h"
#include "base/utf8.h"
#include "ledger/audit/event.h"

namespace callgate::ledger {
namespace {

// The characters of a string that need no second look.
consteval std::array<bool, 256> plain_characters() {
    std::array<bool, 256> plain{};
    for (std::size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
    return plain;
}
constexpr std::array<bool, 256> kPlain = plain_characters();
constexpr std::string_view kLetters = "\"\\btnfr";
constexpr std::string_view kMeant = "\"\\\b\t\n\f\r";
constexpr std::string_view kDigits = "0123456789abcdef";

bool is_plain(char c) {
    return kPlain[static_cast<unsigned char>(c)];
}

bool is_lower_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

}  // namespace

bool CanonicalScan::string(std::string_view& raw, std::size_t& bytes) noexcept {
    if (!take('"')) return fault("a string was expected");
    const std::size_t begin = at_;
    std::size_t saved = 0;  // by reading the escapes
    while (true) {
        while (at_ < text_.size() && is_plain(text_[at_])) ++at_;
        if (at_ == text_.size()) return fault("a string does not end");
        const char c = text_[at_];
        if (c == '"') break;
        if (c == '\\') {
            const std::size_t length = escape();
            if (length == 0) return fault("this character is not escaped in the one canonical way");
            at_ += length;
            saved += length - 1;
        } else {
            const std::size_t length = base::utf8_sequence_length(text_.substr(at_));
            if (length <= 1) return fault("a string holds a control character or is not UTF-8");
            at_ += length;
        }
    }
    raw = text_.substr(begin, at_ - begin);
    bytes = raw.size() - saved;
    ++at_;
    return true;
}

/// The length of the escape here, 0 if it is not canonical.
std::size_t CanonicalScan::escape() const noexcept {
    const std::string_view rest = text_.substr(at_ + 1);
    if (rest.empty()) return 0;
    if (kLetters.find(rest[0]) != std::string_view::npos) return 2;
    if (!rest.starts_with("u00") || rest.size() < 5 || !is_lower_hex(rest[4])) return 0;
    if (rest[3] != '0' && rest[3] != '1') return 0;
    const auto code = static_cast<char>(base::hex_value(rest[3]) * 16 + base::hex_value(rest[4]));
    return kMeant.find(code) == std::string_view::npos ? 6 : 0;
}

bool CanonicalScan::hex_digits(std::size_t count, std::string_view& digits) noexcept {
    const std::size_t begin = at_;
    for (; count > 0; --count, ++at_)
        if (at_ == text_.size() || !is_lower_hex(text_[at_]))
            return fault("a lower-case hexadecimal digit was expected");
    digits = text_.substr(begin, at_ - begin);
    return true;
}

bool CanonicalScan::hex_string(std::string_view& digits) {
    if (!take('"')) return fault("a string was expected");
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_lower_hex(text_[at_])) ++at_;
    digits = text_.substr(begin, at_ - begin);
    const auto bytes = base::hex_decode(digits);
    if (!bytes) return fault("pairs of lower-case hexadecimal digits were expected");
    if (base::is_valid_utf8(*bytes)) return fault("text that is UTF-8 is not spelled in hexadecimal");
    return take('"') || fault("a string does not end");
}

bool CanonicalScan::integer(std::uint64_t& number) noexcept {
    constexpr std::size_t kMaxDigits = 16;
    const std::size_t begin = at_;
    number = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
        if (at_ - begin == kMaxDigits) return fault("integers are below 2^53");
        number = number * 10 + static_cast<std::uint64_t>(text_[at_++] - '0');
    }
    if (at_ == begin) return fault("an integer was expected");
    if (text_[begin] == '0' && at_ != begin + 1) return fault("an integer does not begin with 0");
    return number <= kMaxAuditInteger || fault("integers are below 2^53");
}

std::string unescaped(std::string_view raw) {
    std::string out;
    out.reserve(raw.size());
    for (std::size_t i = 0; i < raw.size(); ++i) {
        if (raw[i] != '\\') {
            out.push_back(raw[i]);
        } else if (raw[++i] != 'u') {
            out.push_back(kMeant[kLetters.find(raw[i])]);
        } else {
            out.push_back(static_cast<char>(base::hex_value(raw[i + 3]) * 16 + base::hex_value(raw[i + 4])));
            i += 4;
        }
    }
    return out;
}

void append_canonical(std::string& out, std::string_view text) {
    out.push_back('"');
    while (!text.empty()) {
        // Bytes above 0x7f are plain here: they have been looked at.
        const auto special = std::find_if_not(text.begin(), text.end(), [](char c) {
            return is_plain(c) || static_cast<unsigned char>(c) >= 0x7f;
        });
        const auto run = static_cast<std::size_t>(special - text.begin());
        out.append(text.substr(0, run));
        if (special == text.end()) break;
        out.push_back('\\');
        if (const std::size_t letter = kMeant.find(*special); letter != std::string_view::npos) {
            out.push_back(kLetters[letter]);
        } else {
            out.append("u00");
            append_hex(out, {&*special, 1});
        }
        text.remove_prefix(run + 1);
    }
    out.push_back('"');
}

void append_hex(std::string& out, std::string_view bytes) {
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        out.push_back(kDigits[byte >> 4]);
        out.push_back(kDigits[byte & 15]);
    }
}

}  // namespace callgate::ledger
