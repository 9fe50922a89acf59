#include "policy/rule_identity.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/sha256.h"

namespace callgate::policy {

namespace {

constexpr std::string_view kPrefix = "rule-";
constexpr std::size_t kDigits = 16;

Value texts(const std::vector<std::string>& all) {
    return Array(all.begin(), all.end());
}

Value level(const std::optional<Risk>& risk) {
    return risk ? Value(static_cast<std::int64_t>(*risk)) : Value();
}

Value window(const std::optional<TimeWindow>& when) {
    if (!when) return {};
    Array weekdays;
    for (const auto day : when->weekdays) weekdays.emplace_back(static_cast<std::int64_t>(day));
    return Object{{"from", when->from.count()},
                  {"until", when->until.count()},
                  {"zone", when->zone},
                  {"weekdays", std::move(weekdays)}};
}

}  // namespace

std::string identity_of(const Rule& rule) {
    if (!rule.predicate) return rule.id;
    return json::canonical(Array{rule.id, rule.predicate->name, rule.predicate->version});
}

std::string name_by_content(const Rule& rule) {
    Array effects;
    for (const EffectClass effect : rule.effects) effects.emplace_back(static_cast<std::int64_t>(effect));
    Object content{{"decision", static_cast<std::int64_t>(rule.decision)},
                   {"tools", texts(rule.tools)},
                   {"actions", texts(rule.actions)},
                   {"principals", texts(rule.principals)},
                   {"tenants", texts(rule.tenants)},
                   {"risk_at_least", level(rule.risk_at_least)},
                   {"risk_at_most", level(rule.risk_at_most)},
                   {"effects", std::move(effects)},
                   {"when", window(rule.when)},
                   // Wrapped, so that a rule without a schema is not one whose schema is null.
                   {"arguments", rule.arguments ? Array{*rule.arguments} : Array{}},
                   {"approvals", rule.approvals},
                   {"raise_to", level(rule.raise_to)}};
    // Only where there is one: rules without are called what they have always been called.
    if (rule.predicate) content["predicate"] = Array{rule.predicate->name, rule.predicate->version};
    base::Sha256 hash;
    hash.update("callgate-rule-v1").update(json::canonical(content));
    return std::string(kPrefix).append(base::to_hex(hash.finish()).substr(0, kDigits));
}

bool is_name_by_content(std::string_view name) noexcept {
    // A second rule of the same content has a number behind its name.
    if (!name.starts_with(kPrefix) || name.size() < kPrefix.size() + kDigits) return false;
    const std::string_view rest = name.substr(kPrefix.size() + kDigits);
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    return std::ranges::all_of(name.substr(kPrefix.size(), kDigits),
                               [&](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }) &&
           (rest.empty() ||
            (rest.size() > 1 && rest.front() == '-' && std::ranges::all_of(rest.substr(1), is_digit)));
}

}  // namespace callgate::policy
