// The choices of a script: the same seed makes the same ones.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "base/rng.h"

namespace callgate::calls {

class Dice {
public:
    explicit Dice(std::uint64_t seed) : rng_(seed) {}

    std::size_t below(std::size_t bound) { return static_cast<std::size_t>(rng_.below(bound)); }
    bool chance(std::size_t percent) { return below(100) < percent; }
    template <class T>
    T of(std::initializer_list<T> all) {
        return *(all.begin() + below(all.size()));
    }
    template <class T>
    T& of(std::vector<T>& all) {
        return all[below(all.size())];
    }
    /// An index, by weight.
    std::size_t weighted(std::initializer_list<std::size_t> weights) {
        std::size_t sum = 0;
        for (const std::size_t weight : weights) sum += weight;
        std::size_t left = below(sum);
        std::size_t index = 0;
        for (const std::size_t weight : weights) {
            if (left < weight) return index;
            left -= weight;
            ++index;
        }
        return 0;
    }

private:
    base::SeededRng rng_;
};

}  // namespace callgate::calls
