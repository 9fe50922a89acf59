#include <algorithm>

#include <callgate/context.h>

namespace callgate {

ScopeSet::ScopeSet(std::initializer_list<std::string_view> scopes) : all_(scopes.begin(), scopes.end()) {
    std::ranges::sort(all_);
    all_.erase(std::ranges::unique(all_).begin(), all_.end());
}

ScopeSet::ScopeSet(const std::vector<std::string>& scopes) : all_(scopes) {
    std::ranges::sort(all_);
    all_.erase(std::ranges::unique(all_).begin(), all_.end());
}

void ScopeSet::add(std::string_view scope) {
    const auto place = std::ranges::lower_bound(all_, scope, std::less<>{});
    if (place == all_.end() || *place != scope) all_.emplace(place, scope);
}

bool ScopeSet::contains(std::string_view scope) const noexcept {
    const auto place = std::ranges::lower_bound(all_, scope, std::less<>{});
    return place != all_.end() && *place == scope;
}

}  // namespace callgate
