#include "tool/tool_name.h"

#include <cstdint>

#include <fmt/format.h>

#include "base/unseen.h"
#include "base/utf8.h"

namespace callgate {

namespace {

constexpr std::size_t kShownBytes = 64;
constexpr std::string_view kMcpPrefix = "mcp__";

std::optional<std::string> server_fault(std::string_view server) {
    if (server.find("__") != std::string_view::npos)
        return fmt::format(
            "has \"__\" in its server's part \"{}\", which parts server and tool in the names "
            "that models are shown",
            shown_name(server));
    if (server.ends_with('_'))
        return fmt::format(
            "has a server's part \"{}\" that ends in '_', so that nobody could tell where it "
            "ends in the names that models are shown",
            shown_name(server));
    return std::nullopt;
}

}  // namespace

std::optional<std::string> word_fault(std::string_view text, std::size_t max_bytes) {
    if (text.empty()) return "is empty";
    if (text.size() > max_bytes)
        return fmt::format("has {} bytes, and {} are allowed", text.size(), max_bytes);
    if (const auto at = base::find_invalid_utf8(text)) return fmt::format("is not UTF-8 at byte {}", *at);
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t length = base::utf8_sequence_length(text.substr(at));
        const char32_t c = base::decode_utf8(text.substr(at, length));
        if (base::is_space(c)) return fmt::format("has a space at byte {}", at);
        if (base::is_unseen(c))
            return fmt::format("has a control or invisible character (U+{:04X}) at byte {}",
                               static_cast<std::uint32_t>(c), at);
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
    return server_fault(split_name(name).server);
}

NameParts split_name(std::string_view canonical) {
    const std::size_t slash = canonical.find('/');
    if (slash == std::string_view::npos) return {{}, canonical};
    return {canonical.substr(0, slash), canonical.substr(slash + 1)};
}

NameParts parse_qualified_name(std::string_view name) {
    const std::size_t at = name.find("__");
    if (at == std::string_view::npos || at == 0 || at + 2 == name.size()) return {{}, name};
    return {name.substr(0, at), name.substr(at + 2)};
}

NameParts parse_mcp_name(std::string_view name) {
    if (!name.starts_with(kMcpPrefix)) return {{}, name};
    const NameParts parts = parse_qualified_name(name.substr(kMcpPrefix.size()));
    return parts.server.empty() ? NameParts{{}, name} : parts;
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
