#include "mcp/uri_template.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/encoding.h"
#include "mcp/uri.h"

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

// Nothing: what is encoded is no text, or is what may only stand as itself.
std::optional<std::string> decoded(std::string_view text, bool slashes) {
    auto value = base::percent_decode(text);
    if (!value || value->find('\0') != std::string::npos) return std::nullopt;
    if (slashes) {
        if (std::count(value->begin(), value->end(), '/') != std::count(text.begin(), text.end(), '/'))
            return std::nullopt;
        return value;
    }
    if (value->find_first_of("/\\") != std::string::npos || *value == "." || *value == "..")
        return std::nullopt;
    return value;
}

}  // namespace

Result<UriTemplate> UriTemplate::parse(std::string_view text) {
    if (!uri_fits(text)) return bad_template(text.substr(0, 100), "is too long");
    UriTemplate made;
    for (std::string_view rest = text; !rest.empty();) {
        const std::size_t open = rest.find('{');
        if (open != 0) {
            made.parts_.push_back({std::string(rest.substr(0, open)), false, false});
            if (made.parts_.back().text.find('}') != std::string::npos)
                return bad_template(text, "closes a brace that is not open");
            if (!is_normal_uri(made.parts_.back().text))
                return bad_template(
                    text, fmt::format("encodes what no URI that is served does: \"{}\" is "
                                      "written \"{}\"",
                                      made.parts_.back().text, normal_uri(made.parts_.back().text)));
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
bool UriTemplate::match_from(std::size_t part, std::string_view uri, Search& search) const {
    if (++search.steps > kMaxSteps) return false;
    if (part == parts_.size()) return uri.empty() && decode(search);
    const Part& here = parts_[part];
    if (!here.variable)
        return uri.starts_with(here.text) && match_from(part + 1, uri.substr(here.text.size()), search);
    for (std::size_t length = 1; length <= uri.size() && search.steps <= kMaxSteps; ++length) {
        if (!here.slashes && uri[length - 1] == '/') return false;
        search.texts.push_back(uri.substr(0, length));
        if (match_from(part + 1, uri.substr(length), search)) return true;
        search.texts.pop_back();
    }
    return false;
}

// What the variables say, once all of the URI is divided among them. It is read in whole, so it counts.
bool UriTemplate::decode(Search& search) const {
    search.found.clear();
    auto text = search.texts.begin();
    for (const Part& part : parts_) {
        if (!part.variable) continue;
        search.steps += text->size();
        auto value = decoded(*text++, part.slashes);
        if (!value) return false;
        const auto [at, added] = search.found.try_emplace(part.text, std::move(*value));
        if (!added && at->second != *value) return false;
    }
    return true;
}

std::optional<Variables> UriTemplate::match(std::string_view uri) const {
    if (!uri_fits(uri)) return std::nullopt;
    Search search;
    if (!match_from(0, uri, search)) return std::nullopt;
    return std::move(search.found);
}

}  // namespace callgate::mcp
