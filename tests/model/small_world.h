// Worlds that fit into one number, explored to their end: every state that can be reached, no bound.
//
// A world has `pack()`, `unpack(number, settings)`, `kMoves`, `apply(move)` (false: not possible here, and it
// is as it was), `name(move)` and `violation()`.
//
// Threads: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "explore.h"

namespace callgate::model {

template <class World, class Settings>
Explored explore_small(const Settings& settings) {
    struct From {
        std::uint64_t parent;
        int move;
        std::uint32_t depth;
    };
    Explored result;
    std::map<std::uint64_t, From> found;
    std::vector<std::uint64_t> open{World(settings).pack()};
    found.emplace(open[0], From{open[0], -1, 0});
    const auto way_to = [&](std::uint64_t last, int move) {
        std::vector<std::string> steps{World::name(move)};
        for (From from = found.at(last); from.move >= 0; from = found.at(from.parent))
            steps.push_back(World::name(from.move));
        std::ranges::reverse(steps);
        return steps;
    };
    for (std::size_t i = 0; i < open.size(); ++i) {
        const World world = World::unpack(open[i], settings);
        const std::uint32_t depth = found.at(open[i]).depth;
        for (int move = 0; move < World::kMoves; ++move) {
            World after = world;
            if (!after.apply(move)) continue;
            ++result.transitions;
            if (!after.violation().empty()) {
                result.finding = Finding{after.violation(), way_to(open[i], move)};
                result.states = found.size();
                return result;
            }
            const std::uint64_t packed = after.pack();
            if (!found.emplace(packed, From{open[i], move, depth + 1}).second) continue;
            open.push_back(packed);
            result.depth = std::max(result.depth, depth + 1);
        }
    }
    result.states = found.size();
    result.complete = true;
    return result;
}

}  // namespace callgate::model
