#include "tool/suggest.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace callgate {

namespace {

constexpr std::size_t kLongest = 256;
constexpr std::size_t kComparedInFull = 64;
constexpr std::size_t kMostSuggestions = 3;
constexpr double kLikeEnough = 0.6;
constexpr double kOneInsideTheOther = 0.7;

std::string folded(std::string_view name) {
    std::string out(name);
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return out;
}

double ratio(std::size_t shared, std::size_t a, std::size_t b) {
    return a + b == 0 ? 1.0 : 2.0 * static_cast<double>(shared) / static_cast<double>(a + b);
}

bool one_holds_other(std::string_view a, std::string_view b) {
    return !a.empty() && !b.empty() &&
           (a.find(b) != std::string_view::npos || b.find(a) != std::string_view::npos);
}

std::size_t shared_in_order(std::string_view a, std::string_view b) {
    std::vector<std::uint32_t> row(b.size() + 1, 0);
    for (const char c : a) {
        std::uint32_t diagonal = 0;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::uint32_t above = row[j];
            row[j] = c == b[j - 1] ? diagonal + 1 : std::max(above, row[j - 1]);
            diagonal = above;
        }
    }
    return row[b.size()];
}

using Counts = std::array<std::uint16_t, 256>;

Counts counts_of(std::string_view text) {
    Counts counts{};
    for (const char c : text) ++counts[static_cast<unsigned char>(c)];
    return counts;
}

// Never below shared_in_order(), and much cheaper.
std::size_t shared_at_most(Counts counts, std::string_view text) {
    std::size_t shared = 0;
    for (const char c : text) {
        std::uint16_t& left = counts[static_cast<unsigned char>(c)];
        if (left == 0) continue;
        --left;
        ++shared;
    }
    return shared;
}

double similarity_of_folded(std::string_view a, std::string_view b) {
    const double alike = ratio(shared_in_order(a, b), a.size(), b.size());
    return one_holds_other(a, b) ? std::max(alike, kOneInsideTheOther) : alike;
}

struct Candidate {
    std::string_view name;
    std::string folded;
    double score;  // at most; then exactly
};

bool likelier(const Candidate& a, const Candidate& b) {
    return a.score != b.score ? a.score > b.score : a.name < b.name;
}

}  // namespace

double similarity(std::string_view a, std::string_view b) {
    return similarity_of_folded(folded(a), folded(b));
}

std::vector<std::string> suggest_names(std::string_view given, std::span<const std::string_view> known) {
    if (given.empty() || given.size() > kLongest) return {};
    const std::string wanted = folded(given);
    const Counts counts = counts_of(wanted);

    std::vector<Candidate> candidates;
    for (const std::string_view name : known) {
        if (name.size() > kLongest) continue;
        std::string text = folded(name);
        double at_most = ratio(shared_at_most(counts, text), wanted.size(), text.size());
        if (one_holds_other(wanted, text)) at_most = std::max(at_most, kOneInsideTheOther);
        if (at_most >= kLikeEnough) candidates.push_back({name, std::move(text), at_most});
    }
    if (candidates.size() > kComparedInFull) {
        std::ranges::nth_element(candidates, candidates.begin() + kComparedInFull, likelier);
        candidates.erase(candidates.begin() + kComparedInFull, candidates.end());
    }
    for (Candidate& candidate : candidates) candidate.score = similarity_of_folded(wanted, candidate.folded);
    std::erase_if(candidates, [](const Candidate& candidate) { return candidate.score < kLikeEnough; });
    std::ranges::sort(candidates, likelier);

    std::vector<std::string> names;
    for (const Candidate& candidate : candidates) {
        if (names.size() == kMostSuggestions) break;
        names.emplace_back(candidate.name);
    }
    return names;
}

}  // namespace callgate
