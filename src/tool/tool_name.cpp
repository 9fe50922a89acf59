#include "tool/tool_name.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "base/utf8.h"

namespace callgate {

namespace {

constexpr std::size_t kShownBytes = 64;

bool is_space(std::uint32_t c) {
    return c == 0x20 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

// Control characters, and those that are not seen or change how their neighbours are seen.
bool is_unseen(std::uint32_t c) {
    return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == 0xAD || c == 0x034F || c == 0x061C || c == 0x115F ||
           c == 0x1160 || c == 0x180E || (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
           (c >= 0x2060 && c <= 0x206F) || c == 0x3164 || (c >= 0xFE00 && c <= 0xFE0F) || c == 0xFEFF ||
           c == 0xFFA0 || (c >= 0xFFF0 && c <= 0xFFFB) || (c & 0xFFFEu) == 0xFFFEu ||
           (c >= 0xE0000 && c <= 0xE0FFF);
}

}  // namespace

std::optional<std::string> word_fault(std::string_view text, std::size_t max_bytes) {
    if (text.empty()) return "is empty";
    if (text.size() > max_bytes)
        return fmt::format("has {} bytes, and {} are allowed", text.size(), max_bytes);
    if (const auto at = base::find_invalid_utf8(text)) return fmt::format("is not UTF-8 at byte {}", *at);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = base::utf8_sequence_length(text.substr(at));
        const std::uint32_t c = base::decode_utf8(text.substr(at, length));
        if (is_space(c)) return fmt::format("has a space at byte {}", at);
        if (is_unseen(c))
            return fmt::format("has a control or invisible character (U+{:04X}) at byte {}", c, at);
        at += length;
    }
    return std::nullopt;
}

std::optional<std::string> tool_name_fault(std::string_view name, std::size_t max_bytes) {
    if (auto fault = word_fault(name, max_bytes)) return fault;
    if (name.front() == '/') return "begins with '/'";
    if (name.back() == '/') return "ends with '/'";
    if (const std::size_t at = name.find("//"); at != std::string_view::npos)
        return fmt::format("has an empty part at byte {}", at + 1);
    if (const std::size_t at = name.find_first_of("*?"); at != std::string_view::npos)
        return fmt::format("has '{}' at byte {}, which rules use as a wildcard", name[at], at);
    return std::nullopt;
}

std::string shown_name(std::string_view name) {
    std::string shown;
    for (const char c : name.substr(0, kShownBytes)) {
        if (c > 0x20 && c < 0x7F && c != '\\' && c != '"') {
            shown += c;
        } else {
            shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        }
    }
    if (name.size() > kShownBytes) shown += "...";
    return shown;
}

}  // namespace callgate
