// The tools that were looked up last, under the names that were asked for, so that the next call of one need
// not ask its registry.
//
// Whoever uses it sees to it that it is cleared when a registry has changed.
//
// Threads: belongs to one thread at a time.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include <callgate/registry.h>

#include "tool/tool_entry.h"

namespace callgate::pipeline {

class ToolCache {
public:
    /// Null if there is none. The cache keeps it until it is cleared or another tool takes the place.
    const ToolEntry* find(const Registry& registry, std::string_view name) {
        Slot& slot = slots_[place(name)];
        if (slot.registry != &registry || slot.asked != name) [[unlikely]] {
            slot.entry = registry.understand(name);
            slot.registry = slot.entry ? &registry : nullptr;
            if (slot.entry) slot.asked = name;
        }
        return slot.entry.get();
    }

    void clear() noexcept { slots_ = {}; }

private:
    struct Slot {
        const Registry* registry = nullptr;  // null: empty
        std::string asked;
        std::shared_ptr<const ToolEntry> entry;
    };
    static constexpr std::size_t kSlots = 16;

    static std::size_t place(std::string_view name) noexcept {
        if (name.empty()) return 0;
        const auto at = [&](std::size_t i) {
            return static_cast<std::size_t>(static_cast<unsigned char>(name[i]));
        };
        return (at(0) + 3 * at(name.size() / 2) + 7 * at(name.size() - 1) + name.size()) % kSlots;
    }

    std::array<Slot, kSlots> slots_;
};

}  // namespace callgate::pipeline
