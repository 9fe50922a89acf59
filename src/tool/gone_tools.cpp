#include "tool/gone_tools.h"

#include <algorithm>
#include <utility>

#include "tool/tool_name.h"

namespace callgate {

void GoneTools::remember(std::string_view name, std::shared_ptr<LiveState> live) {
    const NameParts parts = split_name(name);
    if (parts.server.empty()) return;
    auto at = servers_.find(parts.server);
    if (at == servers_.end()) {
        if (servers_.size() >= max_tools_) drop_those_as_new();
        if (servers_.size() >= max_tools_) {
            is_full_ = true;
            return;
        }
        at = servers_.try_emplace(std::string(parts.server)).first;
    }
    if (!has_room(at->second)) {
        // Looked for once for a server: where nothing more can be found, each of its tools would look again.
        if (!at->second.has_forgotten) {
            drop_those_as_new();
            at = servers_.try_emplace(std::string(parts.server)).first;
        }
        if (!has_room(at->second)) {
            at->second.has_forgotten = true;
            return;
        }
    }
    if (at->second.tools.insert_or_assign(std::string(parts.tool), std::move(live)).second) ++size_;
}

std::shared_ptr<LiveState> GoneTools::take(std::string_view name) {
    const NameParts parts = split_name(name);
    const auto server = servers_.find(parts.server);
    if (server == servers_.end()) return nullptr;
    auto& tools = server->second.tools;
    const auto at = tools.find(parts.tool);
    if (at == tools.end()) return nullptr;
    std::shared_ptr<LiveState> live = std::move(at->second);
    tools.erase(at);
    --size_;
    if (tools.empty() && !server->second.has_forgotten) servers_.erase(server);
    return live;
}

bool GoneTools::must_be_reviewed(std::string_view name) const {
    const NameParts parts = split_name(name);
    if (parts.server.empty()) return false;
    const auto server = servers_.find(parts.server);
    return server != servers_.end() ? server->second.has_forgotten : is_full_;
}

bool GoneTools::has_room(const Server& server) const noexcept {
    return size_ < max_tools_ && server.tools.size() < std::max<std::size_t>(max_tools_ / 4, 1);
}

// One that a call under way still uses can yet become another.
void GoneTools::drop_those_as_new() {
    for (auto server = servers_.begin(); server != servers_.end();) {
        size_ -= std::erase_if(server->second.tools, [](const auto& tool) {
            return tool.second.use_count() == 1 && tool.second->is_as_new();
        });
        const bool tells_nothing = server->second.tools.empty() && !server->second.has_forgotten;
        server = tells_nothing ? servers_.erase(server) : std::next(server);
    }
}

}  // namespace callgate
