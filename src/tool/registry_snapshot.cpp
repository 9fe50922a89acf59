#include "tool/registry_snapshot.h"

namespace callgate {

std::uint64_t RegistrySnapshot::revision() const noexcept {
    return tools_ ? tools_->revision : 0;
}

std::size_t RegistrySnapshot::size() const noexcept {
    return tools_ ? tools_->listed.size() : 0;
}

std::span<const ListedTool> RegistrySnapshot::tools() const& noexcept {
    if (names_) return names_->listed;
    if (tools_) return tools_->listed;
    return {};
}

Result<std::vector<ListedTool>> RegistrySnapshot::visible_to(const Context& caller) const& {
    std::vector<ListedTool> out;
    const std::span<const ListedTool> all = tools();
    out.reserve(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!tools_->entries[i]->visible_to(caller.scopes)) continue;
        if (names_ && !names_->faults.empty()) {
            if (const auto fault = names_->faults.find(i); fault != names_->faults.end())
                return tl::unexpected(fault->second);
        }
        out.push_back(all[i]);
    }
    return out;
}

}  // namespace callgate
