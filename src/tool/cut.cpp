#include "tool/cut.h"

#include "base/utf8.h"
#include "json/text.h"

namespace callgate {
namespace {

std::size_t size_as_json(char c) {
    switch (c) {
        case '"':
        case '\\':
        case '\b':
        case '\f':
        case '\n':
        case '\r':
        case '\t': return 2;
        default: return static_cast<unsigned char>(c) < 0x20 ? 6 : 1;
    }
}

constexpr std::size_t kReplacementBytes = 3;

}  // namespace

std::string cut_to_bytes(std::string_view text, std::size_t max_bytes, std::string_view marker) {
    std::string valid;
    if (!base::is_valid_utf8(text)) {
        valid = json::valid_utf8(text);
        text = valid;
    }
    if (text.size() <= max_bytes) return std::string(text);
    marker = base::truncate_to_bytes(marker, max_bytes);
    std::string out(base::truncate_to_bytes(text, max_bytes - marker.size()));
    out += marker;
    return out;
}

bool has_more_characters(std::string_view text, std::size_t limit) noexcept {
    return text.size() > limit && base::truncate_to_code_points(text, limit).size() < text.size();
}

std::string cut_to_characters(std::string_view text, std::size_t limit, std::string_view marker) {
    if (has_more_characters(text, limit)) return cut_to_bytes(text, limit, marker);
    return base::is_valid_utf8(text) ? std::string(text) : json::valid_utf8(text);
}

std::string_view prefix_as_json(std::string_view text, std::size_t max_bytes) noexcept {
    std::size_t used = 0;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t bytes = base::utf8_sequence_length(text.substr(at));
        const std::size_t cost = bytes == 0 ? kReplacementBytes : bytes > 1 ? bytes : size_as_json(text[at]);
        if (cost > max_bytes - used) break;
        used += cost;
        at += bytes == 0 ? 1 : bytes;
    }
    return text.substr(0, at);
}

}  // namespace callgate
