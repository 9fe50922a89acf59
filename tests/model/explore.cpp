#include "explore.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace callgate::model {

namespace {

using Index = std::uint32_t;
constexpr Index kNone = ~Index{0};

std::uint64_t hash_of(const Packed& packed) {
    std::uint64_t hash = 0x9E3779B97F4A7C15ull;
    for (const std::uint64_t word : packed) {
        hash = (hash ^ word) * 0xBF58476D1CE4E5B9ull;
        hash ^= hash >> 31;
    }
    return hash;
}

/// The worlds found so far, each once, in the order they were found. Whole worlds are compared: two never
/// count as one because their hashes are equal.
class Found {
public:
    Found() : table_(1u << 16, kNone) {}

    /// Its index, and whether it is new.
    std::pair<Index, bool> add(const Packed& packed, Index parent) {
        if ((worlds_.size() + 1) * 2 > table_.size()) grow();
        std::size_t at = hash_of(packed) & (table_.size() - 1);
        while (table_[at] != kNone) {
            if (worlds_[table_[at]] == packed) return {table_[at], false};
            at = (at + 1) & (table_.size() - 1);
        }
        const Index index = static_cast<Index>(worlds_.size());
        table_[at] = index;
        worlds_.push_back(packed);
        parents_.push_back(parent);
        return {index, true};
    }

    std::size_t size() const { return worlds_.size(); }
    const Packed& operator[](Index index) const { return worlds_[index]; }
    Index parent(Index index) const { return parents_[index]; }

private:
    void grow() {
        std::vector<Index> bigger(table_.size() * 2, kNone);
        for (Index i = 0; i < worlds_.size(); ++i) {
            std::size_t at = hash_of(worlds_[i]) & (bigger.size() - 1);
            while (bigger[at] != kNone) at = (at + 1) & (bigger.size() - 1);
            bigger[at] = i;
        }
        table_ = std::move(bigger);
    }

    std::vector<Packed> worlds_;
    std::vector<Index> parents_;
    std::vector<Index> table_;
};

/// The way to `last`, told from the beginning, and then `move`. Node names are kept from step to step.
std::vector<std::string> tell(const Found& found, Index last, const Move* move, const Settings& settings) {
    std::vector<Index> path;
    for (Index i = last; i != kNone; i = found.parent(i)) path.push_back(i);
    std::ranges::reverse(path);
    std::vector<std::string> steps;
    World world(settings);
    for (const Index next : std::span(path).subspan(1)) {
        for (const Move& possible : all_moves()) {
            World after = world;
            if (!after.apply(possible) || after.pack() != found[next]) continue;
            world = after;
            steps.push_back(fmt::format("{:<62} {}", to_string(possible), world.describe()));
            break;
        }
    }
    if (move == nullptr) return steps;
    for (const Move& possible : all_moves()) {
        World after = world;
        if (possible.kind != move->kind || !after.apply(possible) || after.violation().empty()) continue;
        steps.push_back(fmt::format("{:<62} {}", to_string(possible), after.describe()));
        break;
    }
    return steps;
}

/// Marks what can reach a world where nothing runs, going backwards over the moves.
class Reachability {
public:
    /// `first_edge[i]` to `first_edge[i + 1]` are the worlds that follow world i.
    Reachability(const std::vector<std::uint64_t>& first_edge, const std::vector<Index>& targets)
        : count_(first_edge.size() - 1), first_(count_ + 1, 0), sources_(targets.size()) {
        for (const Index target : targets) ++first_[target + 1];
        for (std::size_t i = 0; i < count_; ++i) first_[i + 1] += first_[i];
        std::vector<std::uint64_t> at(first_.begin(), first_.end() - 1);
        for (Index i = 0; i < count_; ++i) {
            for (std::uint64_t e = first_edge[i]; e < first_edge[i + 1]; ++e) sources_[at[targets[e]]++] = i;
        }
    }

    std::vector<bool> backwards_from(std::vector<Index> open) const {
        std::vector<bool> reached(count_, false);
        for (const Index i : open) reached[i] = true;
        while (!open.empty()) {
            const Index i = open.back();
            open.pop_back();
            for (std::uint64_t e = first_[i]; e < first_[i + 1]; ++e) {
                if (reached[sources_[e]]) continue;
                reached[sources_[e]] = true;
                open.push_back(sources_[e]);
            }
        }
        return reached;
    }

private:
    std::size_t count_;
    std::vector<std::uint64_t> first_;
    std::vector<Index> sources_;
};

}  // namespace

Explored explore(const Settings& settings, std::uint64_t max_states, Seen& seen) {
    Explored result;
    Found found;
    std::vector<Index> quiet;
    std::vector<std::uint64_t> first_edge{0};
    std::vector<Index> targets;
    found.add(World(settings).pack(), kNone);
    Index level_end = 1;
    for (Index i = 0; i < found.size(); ++i) {
        if (i == level_end) {
            ++result.depth;
            level_end = static_cast<Index>(found.size());
        }
        World world = World::unpack(found[i], settings);
        world.seen = &seen;
        if (world.quiet()) quiet.push_back(i);
        World after = world;
        for (const Move& move : all_moves()) {
            if (!after.apply(move)) continue;
            if (!after.violation().empty()) {
                result.finding = Finding{after.violation(), tell(found, i, &move, settings)};
                result.states = found.size();
                result.transitions = targets.size() + 1;
                return result;
            }
            const auto [index, is_new] = found.add(after.pack(), i);
            if (index != i) targets.push_back(index);
            after = world;
        }
        first_edge.push_back(targets.size());
        if (found.size() > max_states) break;
    }
    result.states = found.size();
    result.transitions = targets.size();
    const Index looked_at = static_cast<Index>(first_edge.size() - 1);
    result.complete = looked_at == found.size();
    // What follows the worlds at the edge was not looked at: they count as worlds where a call can end.
    for (Index i = looked_at; i < found.size(); ++i) quiet.push_back(i);
    first_edge.resize(found.size() + 1, targets.size());

    const std::vector<bool> ends = Reachability(first_edge, targets).backwards_from(std::move(quiet));
    for (Index i = 0; i < ends.size(); ++i) {
        if (ends[i]) continue;
        if (++result.stuck == 1) {
            result.finding =
                Finding{"stuck: from here a call can never end", tell(found, i, nullptr, settings)};
        }
    }
    return result;
}

}  // namespace callgate::model
