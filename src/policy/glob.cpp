#include "policy/glob.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace callgate::policy {

namespace {

// The end of the character that begins at `at`; a byte that begins none stands for itself.
std::size_t after_character(std::string_view text, std::size_t at) noexcept {
    ++at;
    while (at < text.size() && base::is_utf8_continuation(text[at])) ++at;
    return at;
}

// Greedy: only the last star seen ever has to give way, because an earlier one that took less left more to
// match.
bool general_match(std::string_view pattern, std::string_view text) noexcept {
    std::size_t p = 0;
    std::size_t t = 0;
    std::size_t star = std::string_view::npos;
    std::size_t resume = 0;
    while (t < text.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            resume = t;
        } else if (p < pattern.size() && pattern[p] == '?') {
            ++p;
            t = after_character(text, t);
        } else if (p < pattern.size() && pattern[p] == text[t]) {
            ++p;
            ++t;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            resume = after_character(text, resume);
            t = resume;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

}  // namespace

Glob::Glob(std::string pattern) : pattern_(std::move(pattern)) {
    const std::size_t wildcard = pattern_.find_first_of("*?");
    if (wildcard == std::string::npos) {
        plain_ = pattern_.size();
        return;
    }
    plain_ = wildcard;
    const bool only_stars = pattern_.find_first_not_of('*', wildcard) == std::string::npos;
    shape_ = only_stars ? Shape::prefix : Shape::general;
}

bool Glob::matches(std::string_view text) const noexcept {
    switch (shape_) {
        case Shape::literal: return text == pattern_;
        case Shape::prefix: return text.starts_with(std::string_view(pattern_).substr(0, plain_));
        case Shape::general: break;
    }
    return text.starts_with(std::string_view(pattern_).substr(0, plain_)) && general_match(pattern_, text);
}

bool Glob::covers(const Glob& other) const noexcept {
    if (pattern_ == other.pattern_) return true;
    if (other.literal()) return matches(other.pattern_);
    return shape_ == Shape::prefix && std::string_view(other.pattern_)
                                          .substr(0, other.plain_)
                                          .starts_with(std::string_view(pattern_).substr(0, plain_));
}

bool any_matches(const std::vector<Glob>& globs, std::string_view text) noexcept {
    return globs.empty() || std::ranges::any_of(globs, [&](const Glob& glob) { return glob.matches(text); });
}

}  // namespace callgate::policy
