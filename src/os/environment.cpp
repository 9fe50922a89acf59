#include "os/environment.h"

#include <algorithm>

#include <unistd.h>

namespace callgate::os {
namespace {

bool is_handed_on(std::string_view name, std::span<const std::string> also) {
    return std::ranges::find(kHandedOn, name) != kHandedOn.end() || name.starts_with("LC_") ||
           std::ranges::find(also, name) != also.end();
}

void set(Environment& in, const std::string& name, const std::string& value) {
    const auto at = std::ranges::find(in, name, &Environment::value_type::first);
    if (at == in.end()) {
        in.emplace_back(name, value);
    } else {
        at->second = value;
    }
}

}  // namespace

Environment own_environment() {
    Environment all;
    for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
        const std::string_view entry = *at;
        const std::size_t equals = entry.find('=');
        if (equals == std::string_view::npos || equals == 0) continue;
        const std::string name(entry.substr(0, equals));
        // Of two, the one that getenv() finds.
        if (std::ranges::find(all, name, &Environment::value_type::first) == all.end())
            all.emplace_back(name, entry.substr(equals + 1));
    }
    return all;
}

Environment child_environment(const Environment& ours, std::span<const std::string> also,
                              const Environment& given) {
    Environment made;
    for (const auto& [name, value] : ours) {
        if (is_handed_on(name, also) && !value.starts_with("()")) set(made, name, value);
    }
    for (const auto& [name, value] : given) set(made, name, value);
    return made;
}

Environment whole_environment(const Environment& ours, const Environment& given) {
    Environment made;
    for (const auto& [name, value] : ours) {
        if (!name.starts_with("CALLGATE_")) set(made, name, value);
    }
    for (const auto& [name, value] : given) set(made, name, value);
    return made;
}

}  // namespace callgate::os
