#include "mcp/uri_template.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/encoding.h"

namespace callgate::mcp {
namespace {

constexpr std::size_t kMaxParts = 64;
constexpr std::size_t kMaxSteps = 100'000;

bool is_name(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
               (c >= 'A' && c <= 'Z');
    });
}

tl::unexpected<Error> bad_template(std::string_view text, std::string_view why) {
    return fail(ErrorCode::config_error, fmt::format("The template \"{}\" {}.", text, why),
                {{"reason", "bad_template"}});
}

}  // namespace

Result<UriTemplate> UriTemplate::parse(std::string_view text) {
    UriTemplate made;
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t open = rest.find('{');
        if (open != 0) {
            made.parts_.push_back({std::string(rest.substr(0, open)), false, false});
            if (made.parts_.back().text.find('}') != std::string::npos)
                return bad_template(text, "closes a brace that is not open");
            rest.remove_prefix(std::min(open, rest.size()));
            continue;
        }
        const std::size_t close = rest.find('}');
        if (close == std::string_view::npos) return bad_template(text, "has an open brace");
        std::string_view name = rest.substr(1, close - 1);
        const bool slashes = name.starts_with('+');
        if (slashes) name.remove_prefix(1);
        if (!is_name(name)) return bad_template(text, "has an expression other than {name} and {+name}");
        if (!made.parts_.empty() && made.parts_.back().variable)
            return bad_template(text, "has two variables with nothing between them");
        made.parts_.push_back({std::string(name), true, slashes});
        rest.remove_prefix(close + 1);
    }
    if (made.parts_.empty() || made.parts_.size() > kMaxParts)
        return bad_template(text, fmt::format("has no parts, or more than {}", kMaxParts));
    return made;
}

// The shortest text for each variable first; bounded, since a pattern with many of them could try for long.
bool UriTemplate::match_from(std::size_t part, std::string_view uri, Variables& found,
                             std::size_t& steps) const {
    if (++steps > kMaxSteps) return false;
    if (part == parts_.size()) return uri.empty();
    const Part& here = parts_[part];
    if (!here.variable)
        return uri.starts_with(here.text) && match_from(part + 1, uri.substr(here.text.size()), found, steps);
    for (std::size_t length = 1; length <= uri.size(); ++length) {
        if (!here.slashes && uri[length - 1] == '/') return false;
        if (!match_from(part + 1, uri.substr(length), found, steps)) continue;
        auto decoded = base::percent_decode(uri.substr(0, length));
        if (!decoded) return false;
        const auto [at, added] = found.try_emplace(here.text, *decoded);
        return added || at->second == *decoded;
    }
    return false;
}

std::optional<Variables> UriTemplate::match(std::string_view uri) const {
    Variables found;
    std::size_t steps = 0;
    if (!match_from(0, uri, found, steps)) return std::nullopt;
    return found;
}

std::vector<std::string> UriTemplate::names() const {
    std::vector<std::string> all;
    for (const Part& part : parts_) {
        if (part.variable) all.push_back(part.text);
    }
    return all;
}

}  // namespace callgate::mcp
