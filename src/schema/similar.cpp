#include "schema/similar.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace callgate::schema {

namespace {

constexpr std::size_t kLongest = 64;
constexpr std::size_t kMostNames = 1'000;

// Case, '-' and '_' are how the same name is written differently.
std::string folded(std::string_view name) {
    std::string text;
    for (const char c : name) {
        if (c == '_' || c == '-') continue;
        text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return text;
}

// Insertions, deletions, replacements and swaps of neighbours.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        next[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replace = row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            next[j] = std::min({row[j] + 1, next[j - 1] + 1, replace});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                next[j] = std::min(next[j], before[j - 2] + 1);
        }
        before.swap(row);
        row.swap(next);
    }
    return row[b.size()];
}

}  // namespace

std::optional<std::string_view> nearest_name(std::string_view given,
                                             std::span<const std::string_view> known) {
    if (given.size() > kLongest || known.size() > kMostNames) return std::nullopt;
    const std::string wanted = folded(given);
    std::optional<std::string_view> best;
    std::size_t best_distance = std::max<std::size_t>(1, wanted.size() / 3) + 1;
    for (const std::string_view name : known) {
        if (name.size() > kLongest) continue;
        const std::size_t d = distance(wanted, folded(name));
        if (d >= best_distance || d >= std::max(wanted.size(), name.size())) continue;
        best_distance = d;
        best = name;
    }
    return best;
}

}  // namespace callgate::schema
