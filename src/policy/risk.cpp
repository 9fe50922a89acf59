// Stage 4: the contract's risk, the four adjusters, the raise-risk rules.
#include <algorithm>
#include <array>
#include <bit>

#include "json/pointer.h"
#include "policy/decide.h"
#include "policy/match.h"

namespace callgate::policy {

namespace {

constexpr std::array<std::string_view, 7> kEverybody{"all",   "*",    "everyone", "@channel",
                                                     "@here", "@all", "@everyone"};
constexpr std::size_t kLongestEverybody = 9;

std::string_view trimmed(std::string_view text) noexcept {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

bool same_letters(std::string_view text, std::string_view lower_case) noexcept {
    return std::ranges::equal(text, lower_case, [](char a, char b) {
        return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
    });
}

// More than one address, separated by ',' or ';'.
bool several(std::string_view text) noexcept {
    bool seen_one = false;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find_first_of(",;"), text.size());
        if (!trimmed(text.substr(0, end)).empty()) {
            if (seen_one) return true;
            seen_one = true;
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return false;
}

bool names_many(std::string_view text) noexcept {
    text = trimmed(text);
    if (text.size() <= kLongestEverybody &&
        std::ranges::any_of(kEverybody, [&](std::string_view word) { return same_letters(text, word); })) {
        return true;
    }
    return several(text);
}

bool is_broadcast(const Value& target) noexcept {
    if (const auto* list = target.if_array()) {
        return list->size() > 1 ||
               (list->size() == 1 && list->front().is_string() && names_many(list->front().get_string()));
    }
    if (const auto* text = target.if_string()) return names_many(*text);
    return false;
}

bool is_above(const Value& radius, std::uint64_t threshold) noexcept {
    switch (radius.kind()) {
        case boost::json::kind::array: return radius.get_array().size() > threshold;
        case boost::json::kind::object: return radius.get_object().size() > threshold;
        case boost::json::kind::int64:
            return radius.get_int64() > 0 && static_cast<std::uint64_t>(radius.get_int64()) > threshold;
        case boost::json::kind::uint64: return radius.get_uint64() > threshold;
        case boost::json::kind::double_: return radius.get_double() > static_cast<double>(threshold);
        default: return false;
    }
}

bool is_destructive(const Compiled& policy, const Question& question) noexcept {
    // A tool that has no actions says in its own name what it does: "server/delete_file".
    const bool by_name =
        question.tool.actions().empty() && (question.action.empty() || question.action == "call");
    return policy.destructive(by_name ? question.tool.own_name() : question.action);
}

Risk raised(Risk risk, unsigned levels) noexcept {
    constexpr auto kTop = static_cast<unsigned>(Risk::critical);
    // A level that does not exist stays what it is, for decide() to refuse.
    if (risk >= Risk::critical) return risk;
    return static_cast<Risk>(std::min(kTop, static_cast<unsigned>(risk) + std::min(levels, kTop)));
}

Risk raised_by_rules(const Compiled& policy, const Question& question, Risk risk) {
    unsigned by_one = 0;
    Risk at_least = risk;
    for (const CompiledRule& rule : policy.raising()) {
        if (!matches(policy, rule, question, risk)) continue;
        if (rule.raise_to) {
            at_least = std::max(at_least, *rule.raise_to);
        } else {
            ++by_one;
        }
    }
    return std::max(raised(risk, by_one), at_least);
}

}  // namespace

RiskAnswer classify(const Compiled& policy, const Question& question) {
    const Risk base = question.tool.risk(question.action);
    unsigned reasons = 0;
    if (const auto& target = question.tool.target()) {
        const Value* value = json::find(question.arguments, *target);
        if (value != nullptr && is_broadcast(*value)) reasons |= broadcast;
    }
    if (is_destructive(policy, question)) reasons |= destructive;
    if (const auto& radius = question.tool.blast_radius()) {
        const Value* value = json::find(question.arguments, *radius);
        if (value != nullptr && is_above(*value, policy.config().blast_radius_above)) reasons |= blast_radius;
    }
    if (policy.quiet(question.now)) reasons |= quiet_hours;
    Risk risk = reasons == 0 ? base : raised(base, static_cast<unsigned>(std::popcount(reasons)));
    if (!policy.raising().empty()) {
        const Risk reached = raised_by_rules(policy, question, risk);
        if (reached > risk) reasons |= by_rule;
        risk = reached;
    }
    return {base, risk, static_cast<std::uint8_t>(reasons)};
}

}  // namespace callgate::policy
