#include "mcp/uri.h"

#include <array>

#include "base/encoding.h"

namespace callgate::mcp {
namespace {

bool is_unreserved(char c) noexcept {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

// The byte that is encoded here; below 0: none is.
int encoded_at(std::string_view uri, std::size_t at) noexcept {
    if (uri[at] != '%' || uri.size() - at < 3) return -1;
    const int high = base::hex_value(uri[at + 1]);
    const int low = base::hex_value(uri[at + 2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

std::array<char, 3> encoded(int byte) noexcept {
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    return {'%', kDigits[static_cast<std::size_t>(byte) / 16], kDigits[static_cast<std::size_t>(byte) % 16]};
}

}  // namespace

std::string normal_uri(std::string_view uri) {
    std::string normal;
    normal.reserve(uri.size());
    for (std::size_t i = 0; i < uri.size(); ++i) {
        const int byte = encoded_at(uri, i);
        if (byte < 0) {
            normal += uri[i];
            continue;
        }
        if (is_unreserved(static_cast<char>(byte))) {
            normal += static_cast<char>(byte);
        } else {
            const auto three = encoded(byte);
            normal.append(three.data(), three.size());
        }
        i += 2;
    }
    return normal;
}

bool is_normal_uri(std::string_view uri) noexcept {
    for (std::size_t i = 0; i < uri.size(); ++i) {
        const int byte = encoded_at(uri, i);
        if (byte < 0) continue;
        const auto three = encoded(byte);
        if (is_unreserved(static_cast<char>(byte)) ||
            uri.substr(i, 3) != std::string_view(three.data(), three.size()))
            return false;
        i += 2;
    }
    return true;
}

}  // namespace callgate::mcp
