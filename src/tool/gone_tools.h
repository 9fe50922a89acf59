// What is remembered of tools of servers that have gone: their health, breaker, retry budget and quarantine,
// so that no server heals a tool by taking it away and bringing it again.
//
// It is bounded. What tells nothing, because a new tool would have the same, goes first. Where there is still
// no room, what would have to be forgotten is held against its server: from then on nobody can say that a
// tool of it that comes is new, and must_be_reviewed() says so.
//
// Threads: none of its own; its owner guards it (the registry, by its lock).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "tool/live_state.h"

namespace callgate {

class GoneTools {
public:
    explicit GoneTools(std::size_t max_tools) : max_tools_(max_tools) {}

    /// `name` is canonical; of tools without a server nothing is remembered.
    void remember(std::string_view name, std::shared_ptr<LiveState> live);
    /// What is remembered of it, which is forgotten here; null if nothing is.
    std::shared_ptr<LiveState> take(std::string_view name);
    /// Of a tool that comes and of which nothing is remembered: whether something of its server was
    /// forgotten.
    bool must_be_reviewed(std::string_view name) const;

    std::size_t size() const noexcept { return size_; }

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>()(text);
        }
    };
    template <class Held>
    using ByName = std::unordered_map<std::string, Held, Hash, std::equal_to<>>;
    struct Server {
        ByName<std::shared_ptr<LiveState>> tools;
        bool has_forgotten = false;
    };

    bool has_room(const Server& server) const noexcept;
    void drop_those_as_new();

    const std::size_t max_tools_;
    std::size_t size_ = 0;
    ByName<Server> servers_;
    bool is_full_ = false;  // for good: not even the servers can be remembered
};

}  // namespace callgate
