#include "tool/credential_check.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/encoding.h"
#include "json/pointer.h"
#include "redact/key_rules.h"

namespace callgate {

namespace {

constexpr std::size_t kDeepestLooked = 256;
constexpr std::size_t kShortestBearer = 8;
// Looked at around one place, so that the search takes time in proportion to the text.
constexpr std::size_t kLongestToken = 512;
constexpr std::size_t kLongestName = 128;

bool is_alnum(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool is_token_char(char c) {
    return is_alnum(c) || c == '-' || c == '_' || c == '.' || c == '~' || c == '+' || c == '/' || c == '=';
}

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool equal_without_case(std::string_view a, std::string_view b) {
    return std::ranges::equal(a, b, {}, lower, lower);
}

// Stands for a value that somebody else puts in: ${TOKEN}, $TOKEN, {token}, {{token}}, <token>, %TOKEN%,
// ****, …
bool is_placeholder(std::string_view text) {
    if (text.empty() || text == "[REDACTED]") return true;
    const char first = text.front();
    const char last = text.back();
    if (first == '$' && text.size() > 1 && (is_alnum(text[1]) || text[1] == '_' || text[1] == '{'))
        return true;
    if ((first == '<' && last == '>') || (first == '{' && last == '}')) return true;
    if (first == '%' && last == '%' && text.size() > 2) return true;
    return std::ranges::all_of(text, [](char c) { return c == '*' || c == '.' || c == 'x' || c == 'X'; }) ||
           text == "…";
}

std::string_view token_at(std::string_view text, std::size_t at) {
    text = text.substr(at, kLongestToken);
    return text.substr(
        0, static_cast<std::size_t>(std::ranges::find_if_not(text, is_token_char) - text.begin()));
}

struct KnownToken {
    std::string_view prefix;
    std::size_t rest;  // at least so many characters follow
};

constexpr std::array kKnownTokens{
    KnownToken{"sk-", 16},      KnownToken{"sk_live_", 10},
    KnownToken{"sk_test_", 10}, KnownToken{"rk_live_", 10},
    KnownToken{"ghp_", 16},     KnownToken{"gho_", 16},
    KnownToken{"ghu_", 16},     KnownToken{"ghs_", 16},
    KnownToken{"ghr_", 16},     KnownToken{"github_pat_", 16},
    KnownToken{"glpat-", 16},   KnownToken{"xoxb-", 10},
    KnownToken{"xoxp-", 10},    KnownToken{"xoxa-", 10},
    KnownToken{"xoxr-", 10},    KnownToken{"xoxs-", 10},
    KnownToken{"xapp-", 10},    KnownToken{"xai-", 20},
    KnownToken{"AKIA", 16},     KnownToken{"ASIA", 16},
    KnownToken{"AIza", 30},     KnownToken{"ya29.", 16},
    KnownToken{"hf_", 20},      KnownToken{"npm_", 20},
    KnownToken{"pypi-", 20},    KnownToken{"dop_v1_", 20},
    KnownToken{"shpat_", 16},   KnownToken{"AGE-SECRET-KEY-", 16},
};

// Made tokens have digits among their letters; names such as "sk-learn-feature-selection" have not.
bool is_known_token(std::string_view token) {
    return std::ranges::any_of(kKnownTokens, [&](const KnownToken& known) {
        if (!token.starts_with(known.prefix) || token.size() < known.prefix.size() + known.rest) return false;
        const std::string_view rest = token.substr(known.prefix.size());
        if (known.prefix == "AKIA" || known.prefix == "ASIA")
            return std::ranges::none_of(rest.substr(0, known.rest),
                                        [](char c) { return !is_alnum(c) || (c >= 'a' && c <= 'z'); });
        return std::ranges::any_of(rest, [](char c) { return c >= '0' && c <= '9'; });
    });
}

bool is_web_token(std::string_view token) {
    if (!token.starts_with("eyJ")) return false;
    const std::size_t first = token.find('.');
    const std::size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
    return second != std::string_view::npos && first >= 8 && second - first > 8;
}

bool begins_token(std::string_view text) {
    return text.starts_with("eyJ") || std::ranges::any_of(kKnownTokens, [&](const KnownToken& known) {
               return text.starts_with(known.prefix);
           });
}

bool has_made_token(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
        if (!is_alnum(text[i])) {
            ++i;
            continue;
        }
        if (begins_token(text.substr(i))) {
            const std::string_view token = token_at(text, i);
            if (is_web_token(token) || is_known_token(token)) return true;
        }
        // '=', '/', '.' and '+' may stand before a token as well as in it: go on after the word only.
        while (i < text.size() && (is_alnum(text[i]) || text[i] == '_' || text[i] == '-')) ++i;
    }
    return false;
}

bool has_authorization(std::string_view text) {
    for (const std::string_view scheme : {"bearer ", "basic "}) {
        for (std::size_t i = 0; i + scheme.size() < text.size(); ++i) {
            if (!equal_without_case(text.substr(i, scheme.size()), scheme)) continue;
            if (i > 0 && is_alnum(text[i - 1])) continue;
            const std::string_view token = token_at(text, i + scheme.size());
            if (scheme == "bearer ") {
                // A word after "bearer" is prose: "bearer authentication".
                if (token.size() >= kShortestBearer && !is_placeholder(token) &&
                    !std::ranges::all_of(token, [](char c) { return c >= 'a' && c <= 'z'; }))
                    return true;
            } else if (const auto decoded = base::base64_decode(token);
                       decoded && decoded->find(':') != std::string::npos) {
                return true;
            }
        }
    }
    return false;
}

bool has_password_in_url(std::string_view text) {
    for (std::size_t at = text.find("://"); at != std::string_view::npos; at = text.find("://", at + 3)) {
        const std::string_view rest = text.substr(at + 3);
        const std::string_view authority = rest.substr(0, rest.find_first_of("/?# \t\r\n\"'"));
        const std::size_t host = authority.rfind('@');
        if (host == std::string_view::npos) continue;
        const std::size_t colon = authority.find(':');
        if (colon < host && !is_placeholder(authority.substr(colon + 1, host - colon - 1))) return true;
    }
    return false;
}

// Such a name tells what or where a secret is, not the secret: auth_type, token_url, secret_name.
bool describes_only(std::string_view name) {
    constexpr std::array<std::string_view, 20> kEnds{
        "type", "method", "scheme", "mode", "name",   "id",       "ref",    "url",    "uri",   "path",
        "file", "env",    "header", "kind", "format", "provider", "prefix", "policy", "scope", "required"};
    return std::ranges::any_of(kEnds, [&](std::string_view end) {
        if (name.size() <= end.size() || !equal_without_case(name.substr(name.size() - end.size()), end))
            return false;
        const char before = name[name.size() - end.size() - 1];
        const char first = name[name.size() - end.size()];
        return !is_alnum(before) || (first >= 'A' && first <= 'Z' && before >= 'a' && before <= 'z');
    });
}

// `name=value` with a name that announces a secret, as in a query or a connection string.
bool has_secret_assignment(std::string_view text) {
    constexpr std::string_view kBorders = "=?&#; \t\r\n,\"'";
    for (std::size_t at = text.find('='); at != std::string_view::npos; at = text.find('=', at + 1)) {
        const std::size_t from = at > kLongestName ? at - kLongestName : 0;
        const std::string_view before = text.substr(from, at - from);
        const std::size_t border = before.find_last_of(kBorders);
        const std::string_view name = border == std::string_view::npos ? before : before.substr(border + 1);
        if (redact::classify_key(name) != redact::KeyKind::sensitive || describes_only(name)) continue;
        const std::string_view rest = text.substr(at + 1, kLongestToken);
        if (!is_placeholder(rest.substr(0, rest.find_first_of("&#; \t\r\n,\"'")))) return true;
    }
    return false;
}

bool is_secret_under(std::string_view name, const Value& value) {
    if (const boost::json::string* text = value.if_string()) {
        return redact::classify_key(name) != redact::KeyKind::plain && !is_placeholder(*text) &&
               !describes_only(name);
    }
    // A yes or no is no secret, and a number under `max_tokens` is an amount.
    return value.is_number() && redact::classify_key(name) == redact::KeyKind::sensitive &&
           !describes_only(name);
}

class Search {
public:
    std::optional<CredentialFinding> found;

    void text(std::string_view place, std::string_view text) {
        if (found) return;
        if (const auto form = credential_form(text))
            found = CredentialFinding{std::string(place), std::string(*form)};
    }

    // A value that stands for itself; `name` is the member it is the value of.
    void value(const std::string& place, std::string_view name, const Value& value, std::size_t depth = 0) {
        if (found || depth > kDeepestLooked) return;
        if (is_secret_under(name, value)) {
            found = CredentialFinding{place, "a value under a name that announces a secret"};
        } else if (const boost::json::string* text_value = value.if_string()) {
            text(place, *text_value);
        } else if (const Object* object = value.if_object()) {
            for (const auto& member : *object)
                this->value(below(place, member.key()), member.key(), member.value(), depth + 1);
        } else if (const Array* array = value.if_array()) {
            for (std::size_t i = 0; i < array->size(); ++i)
                this->value(fmt::format("{}/{}", place, i), name, (*array)[i], depth + 1);
        }
    }

    // A schema: only some of its members are values. `name` is the property it describes.
    void schema(const std::string& place, std::string_view name, const Value& schema, std::size_t depth = 0) {
        if (found || depth > kDeepestLooked) return;
        if (const Array* array = schema.if_array()) {
            for (std::size_t i = 0; i < array->size(); ++i)
                this->schema(fmt::format("{}/{}", place, i), name, (*array)[i], depth + 1);
        }
        const Object* object = schema.if_object();
        if (object == nullptr) return;
        for (const auto& member : *object) {
            const std::string_view keyword = member.key();
            const std::string here = below(place, keyword);
            if (keyword == "default" || keyword == "const" || keyword == "examples") {
                value(here, name, member.value(), depth + 1);
            } else if (keyword == "enum") {
                // Choices that everybody may see are no secret for the name they stand under: token_kind,
                // auth.
                value(here, {}, member.value(), depth + 1);
            } else if (keyword.starts_with("x-")) {
                value(here, keyword, member.value(), depth + 1);
            } else if (is_map_of_schemas(keyword) && member.value().is_object()) {
                for (const auto& inner : member.value().get_object())
                    this->schema(below(here, inner.key()), inner.key(), inner.value(), depth + 1);
            } else {
                this->schema(here, name, member.value(), depth + 1);
            }
        }
    }

private:
    static bool is_map_of_schemas(std::string_view keyword) {
        return keyword == "properties" || keyword == "patternProperties" || keyword == "$defs" ||
               keyword == "definitions" || keyword == "dependentSchemas";
    }

    static std::string below(const std::string& place, std::string_view token) {
        return fmt::format("{}/{}", place, json::Pointer::escape(token));
    }
};

}  // namespace

std::optional<std::string_view> credential_form(std::string_view text) {
    if (const std::size_t begin = text.find("-----BEGIN ");
        begin != std::string_view::npos &&
        text.substr(begin, 64).find("PRIVATE KEY") != std::string_view::npos)
        return "a private key";
    if (has_authorization(text)) return "an authorization header";
    if (has_made_token(text)) return "an access token";
    if (has_password_in_url(text)) return "a URL with a password";
    if (has_secret_assignment(text)) return "a secret in a query or a connection string";
    return std::nullopt;
}

std::optional<CredentialFinding> find_credential(const Tool& tool) {
    Search search;
    const Contract& contract = tool.contract;
    search.text("contract.config_ref", contract.config_ref);
    // A configuration where a reference belongs is refused anyway; if it holds a secret, that is the reason
    // to give.
    if (contract.config_ref.starts_with('{')) {
        if (const auto document = json::parse(contract.config_ref))
            search.value("contract.config_ref", {}, *document);
    }
    search.text("contract.connector_id", contract.connector_id);
    search.text("contract.server", contract.server);
    search.text("contract.target", contract.target);
    search.text("contract.resource_key", contract.resource_key);
    search.text("contract.blast_radius", contract.blast_radius);
    for (const std::string& capability : contract.capabilities)
        search.text("contract.capabilities", capability);
    for (const std::string& scope : contract.scopes.all()) search.text("contract.scopes", scope);
    for (const auto& [action, scopes] : contract.action_scopes) {
        search.text("contract.action_scopes", action);
        for (const std::string& scope : scopes.all()) search.text("contract.action_scopes", scope);
    }
    for (const auto& entry : contract.risk_map) search.text("contract.risk_map", entry.first);
    for (const auto& entry : contract.effect_map) search.text("contract.effect_map", entry.first);
    for (const auto& member : tool.definition.annotations)
        search.value(fmt::format("annotations/{}", json::Pointer::escape(member.key())), member.key(),
                     member.value());
    for (const auto& member : tool.definition.extra)
        search.value(json::Pointer::escape(member.key()), member.key(), member.value());
    search.schema("input_schema", {}, tool.definition.input_schema);
    if (tool.definition.output_schema) search.schema("output_schema", {}, *tool.definition.output_schema);
    return std::move(search.found);
}

}  // namespace callgate
