#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <callgate/secret_stores.h>

#include "base/locked_bytes.h"
#include "base/try.h"
#include "secrets/rules.h"

namespace callgate {
namespace {

constexpr std::string_view kPrefix = "CALLGATE_SECRET_";

// "google-drive" → "GOOGLE_DRIVE". Words of letters and digits with one joint between them, so that the two
// underscores between connector and key cannot come from either.
std::optional<std::string> upper_case(std::string_view name) {
    std::string out;
    for (const char c : name) {
        if (c >= 'a' && c <= 'z') {
            out.push_back(static_cast<char>(c - 'a' + 'A'));
        } else if (c >= '0' && c <= '9') {
            out.push_back(c);
        } else if ((c == '-' || c == '.' || c == '_') && !out.empty() && out.back() != '_') {
            out.push_back('_');
        } else {
            return std::nullopt;
        }
    }
    if (out.empty() || out.back() == '_') return std::nullopt;
    return out;
}

}  // namespace

struct EnvironmentSecrets::State {
    std::map<std::string, base::LockedBytes, std::less<>> values;
};

EnvironmentSecrets::EnvironmentSecrets() : state_(std::make_unique<State>()) {
    std::vector<std::string> taken;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const std::size_t equals = text.find('=');
        if (!text.starts_with(kPrefix) || equals == text.npos) continue;
        std::string name(text.substr(0, equals));
        state_->values.insert_or_assign(name, base::LockedBytes(text.substr(equals + 1)));
        ::explicit_bzero(*entry + equals + 1, text.size() - equals - 1);
        taken.push_back(std::move(name));
    }
    for (const std::string& name : taken) ::unsetenv(name.c_str());
}

EnvironmentSecrets::~EnvironmentSecrets() = default;

std::optional<std::string> EnvironmentSecrets::variable(std::string_view connector, std::string_view key) {
    const auto first = upper_case(connector);
    const auto second = upper_case(key);
    if (!first || !second) return std::nullopt;
    return std::string(kPrefix) + *first + "__" + *second;
}

Result<Secret> EnvironmentSecrets::load(std::string_view connector, std::string_view key) const {
    const auto name = variable(connector, key);
    if (!name)
        return tl::unexpected(secrets::no_such_secret(
            connector, key, "its name cannot be written as an environment variable, use another store"));
    const auto found = state_->values.find(*name);
    if (found == state_->values.end())
        return tl::unexpected(
            secrets::no_such_secret(connector, key, "set " + *name + " before the program starts"));
    CALLGATE_TRY(secrets::check_value(connector, key, found->second.view()));
    return Secret(found->second.view());
}

}  // namespace callgate
