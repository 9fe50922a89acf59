#include "policy/compiled.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/guard.h"
#include "base/try.h"
#include "policy/rule_identity.h"
#include "tool/words.h"

namespace callgate::policy {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostRules = 1'000;
constexpr std::size_t kMostPatterns = 256;
constexpr std::size_t kMostWindows = 64;
constexpr std::size_t kMostWords = 256;
constexpr std::size_t kLongestId = 128;
constexpr std::size_t kLongestVersion = 64;
constexpr std::size_t kLongestReason = 2'000;
constexpr std::uint32_t kMostApprovals = 16;
constexpr std::uint32_t kMostCalls = 1'000'000;
constexpr std::uint32_t kMostNotifications = 100'000;
constexpr milliseconds kDay = std::chrono::hours(24);

Error bad(std::string_view reason, std::string message) {
    return {ErrorCode::config_error, std::move(message), {{"reason", reason}}};
}

char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_word(std::string_view word, std::string_view lower_case) noexcept {
    return word.size() == lower_case.size() &&
           std::ranges::equal(word, lower_case, [](char a, char b) { return lower(a) == b; });
}

std::uint32_t letter_bit(char c) noexcept {
    const char small = lower(c);
    return small >= 'a' && small <= 'z' ? 1U << (small - 'a') : 1U << 26;
}

// Between two words: a separator, or a capital after a small letter or digit.
bool separates(char c) noexcept {
    return c == '_' || c == '-' || c == '.' || c == '/' || c == ':' || c == ' ';
}
bool humps(char before, char after) noexcept {
    return ((before >= 'a' && before <= 'z') || (before >= '0' && before <= '9')) && after >= 'A' &&
           after <= 'Z';
}

bool between_words(std::string_view name, std::size_t at) noexcept {
    return at == 0 || at == name.size() || separates(name[at]) || separates(name[at - 1]) ||
           humps(name[at - 1], name[at]);
}

Result<void> check_limits(const UseLimits& limits, std::string_view whose) {
    if (limits.calls > kMostCalls || limits.concurrent > kMostCalls) {
        return tl::unexpected(bad(
            "bad_limit",
            fmt::format("The limits {} allow more than {} calls; use 0 for no limit.", whose, kMostCalls)));
    }
    if (limits.calls > 0 && (limits.window < milliseconds(1) || limits.window > kDay)) {
        return tl::unexpected(
            bad("bad_limit", fmt::format("The limits {} count calls in a window of {} ms; give 1 ms to "
                                         "24 hours.",
                                         whose, limits.window.count())));
    }
    return {};
}

Result<void> check_predicate(const Predicate& predicate) {
    const auto printable = [](std::string_view text, std::size_t longest) {
        return !text.empty() && text.size() <= longest &&
               std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
    };
    if (!printable(predicate.name, kLongestId) || !printable(predicate.version, kLongestVersion)) {
        return tl::unexpected(
            bad("bad_rule",
                fmt::format("its predicate needs a name of 1 to {} and a version of 1 to {} printable "
                            "ASCII characters, by which the record names it",
                            kLongestId, kLongestVersion)));
    }
    if (!predicate.function)
        return tl::unexpected(
            bad("bad_rule", fmt::format("its predicate '{}' has no function", predicate.name)));
    return {};
}

Result<CompiledRule> compile_rule(const Rule& rule) {
    CompiledRule made;
    made.id = rule.id;
    made.decision = rule.decision;
    made.reason = rule.reason;
    made.approvals = rule.approvals;
    made.raise_to = rule.raise_to;
    if (rule.decision > Rule::Do::raise_risk)
        return tl::unexpected(bad("bad_rule", "its decision does not exist"));
    if (rule.reason.size() > kLongestReason) {
        return tl::unexpected(
            bad("bad_rule", fmt::format("its reason is longer than {} bytes", kLongestReason)));
    }
    if (rule.approvals == 0 || rule.approvals > kMostApprovals) {
        return tl::unexpected(bad("bad_rule", fmt::format("it asks for {} approvals; give 1 to {}",
                                                          rule.approvals, kMostApprovals)));
    }
    if (rule.approvals != 1 && rule.decision != Rule::Do::confirm) {
        return tl::unexpected(
            bad("bad_rule", "only a rule that decides 'confirm' can ask for several approvals"));
    }
    if (rule.raise_to && rule.decision != Rule::Do::raise_risk) {
        return tl::unexpected(bad("bad_rule", "raise_to belongs to a rule that decides 'raise_risk'"));
    }
    const auto exists = [](const std::optional<Risk>& risk) { return !risk || *risk <= Risk::critical; };
    if (!exists(rule.raise_to) || !exists(rule.risk_at_least) || !exists(rule.risk_at_most)) {
        return tl::unexpected(bad("bad_rule", "it names a risk level that does not exist"));
    }
    const struct {
        const std::vector<std::string>& from;
        std::vector<Glob>& to;
        std::string_view what;
    } lists[] = {{rule.tools, made.tools, "tools"},
                 {rule.actions, made.actions, "actions"},
                 {rule.principals, made.principals, "principals"},
                 {rule.tenants, made.tenants, "tenants"}};
    for (const auto& list : lists) {
        CALLGATE_TRY_ASSIGN(list.to, compile_globs(list.from, list.what));
    }
    made.at_least = rule.risk_at_least.value_or(Risk::low);
    made.at_most = rule.risk_at_most.value_or(Risk::critical);
    for (const EffectClass effect : rule.effects) {
        if (static_cast<std::size_t>(effect) >= kEffectWords.size()) {
            return tl::unexpected(bad("bad_rule", "it names an effect class that does not exist"));
        }
        made.effects = static_cast<std::uint8_t>(made.effects | 1U << static_cast<unsigned>(effect));
    }
    if (rule.effects.empty()) made.effects = 0xFF;
    if (rule.when) {
        CALLGATE_TRY_ASSIGN(made.when, CompiledWindow::compile(*rule.when));
    }
    if (rule.arguments) {
        CALLGATE_TRY_ASSIGN(made.arguments, schema::Schema::compile(*rule.arguments));
    }
    made.identity = rule.id;
    if (rule.predicate) {
        CALLGATE_TRY(check_predicate(*rule.predicate));
        made.predicate = rule.predicate;
        made.identity = identity_of(rule);
    }
    return made;
}

}  // namespace

std::string CompiledRule::shown() const {
    std::string text = is_name_by_content(id) ? fmt::format("Rule {} ('{}')", position + 1, id)
                                              : fmt::format("Rule '{}'", id);
    if (predicate)
        text += fmt::format(" (predicate '{}', version '{}')", predicate->name, predicate->version);
    return text;
}

Result<std::vector<Glob>> compile_globs(const std::vector<std::string>& patterns, std::string_view what) {
    if (patterns.size() > kMostPatterns) {
        return tl::unexpected(bad("too_many", fmt::format("{} has {} patterns; {} are allowed", what,
                                                          patterns.size(), kMostPatterns)));
    }
    std::vector<Glob> globs;
    globs.reserve(patterns.size());
    for (const std::string& pattern : patterns) {
        if (pattern.empty() || pattern.size() > Glob::kMaxBytes) {
            return tl::unexpected(bad(
                "bad_pattern", fmt::format("a pattern in {} is {}; give 1 to {} bytes, '*' for "
                                           "everything",
                                           what, pattern.empty() ? "empty" : "too long", Glob::kMaxBytes)));
        }
        globs.emplace_back(pattern);
    }
    return globs;
}

bool limits_anything(const UseLimits& limits) noexcept {
    return limits.concurrent != 0 || limits.calls != 0 || limits.per_run != 0;
}

Result<std::shared_ptr<const Compiled>> Compiled::make(PolicyConfig config, std::uint64_t revision) {
    // The constructor is private, so that only a checked policy exists; make_shared cannot reach it.
    std::shared_ptr<Compiled> made(new Compiled());
    made->config_ = std::move(config);
    made->revision_ = revision;
    CALLGATE_TRY(made->compile_rules());
    CALLGATE_TRY(made->compile_rest());
    return made;
}

Result<void> Compiled::compile_rules() {
    if (config_.rules.size() > kMostRules) {
        return tl::unexpected(
            bad("too_many", fmt::format("The policy has {} rules; {} are allowed. Say more per rule "
                                        "with patterns.",
                                        config_.rules.size(), kMostRules)));
    }
    std::set<std::string_view> ids;
    std::map<std::string, int> made;  // names by content, and how often
    for (std::size_t i = 0; i < config_.rules.size(); ++i) {
        Rule& rule = config_.rules[i];
        if (rule.id.empty() || is_name_by_content(rule.id)) {
            rule.id = CALLGATE_GUARD(rule_by_content) ? name_by_content(rule) : fmt::format("rule-{}", i + 1);
            if (const int copies = ++made[rule.id]; copies > 1) rule.id += fmt::format("-{}", copies);
        }
        if (rule.id.size() > kLongestId) {
            return tl::unexpected(
                bad("bad_rule",
                    fmt::format("The id of rule number {} is longer than {} bytes.", i + 1, kLongestId)));
        }
        if (!ids.insert(rule.id).second) {
            Error error =
                bad("duplicate_rule", fmt::format("Two rules have the id '{}'; every rule needs its own, "
                                                  "because the record names it.",
                                                  rule.id));
            error.details["rule"] = rule.id;
            return tl::unexpected(std::move(error));
        }
        auto compiled = compile_rule(rule);
        if (!compiled) {
            Error error = std::move(compiled.error());
            error.message = fmt::format("Rule '{}': {}", rule.id, error.message);
            if (!error.message.ends_with('.')) error.message += '.';
            error.details["rule"] = rule.id;
            return tl::unexpected(std::move(error));
        }
        compiled->position = i;
        has_predicates_ = has_predicates_ || compiled->predicate.has_value();
        (rule.decision == Rule::Do::raise_risk ? raising_ : deciding_).push_back(std::move(*compiled));
    }
    return {};
}

Result<void> Compiled::compile_rest() {
    const PolicyLimits& limits = config_.limits;
    for (const auto& [one, whose] :
         {std::pair<const UseLimits&, std::string_view>{limits.per_tool, "per tool"},
          {limits.per_principal, "per principal"},
          {limits.per_run, "per run"}}) {
        CALLGATE_TRY(check_limits(one, whose));
    }
    limits_tools_ = limits_anything(limits.per_tool);
    limits_principals_ = limits_anything(limits.per_principal);
    limits_runs_ = limits_anything(limits.per_run);

    if (config_.quiet_hours.size() > kMostWindows) {
        return tl::unexpected(bad("too_many", fmt::format("There are {} quiet hours; {} are allowed.",
                                                          config_.quiet_hours.size(), kMostWindows)));
    }
    for (const TimeWindow& window : config_.quiet_hours) {
        auto compiled = CompiledWindow::compile(window);
        if (!compiled) {
            compiled.error().message = "Quiet hours: " + compiled.error().message;
            return tl::unexpected(std::move(compiled.error()));
        }
        quiet_hours_.push_back(*compiled);
    }
    auto secret = compile_globs(config_.secret_scopes, "secret_scopes");
    if (!secret) {
        secret.error().message = "The policy: " + secret.error().message + '.';
        return tl::unexpected(std::move(secret.error()));
    }
    secret_scopes_ = std::move(*secret);

    if (config_.destructive_actions.size() > kMostWords) {
        return tl::unexpected(bad("too_many", fmt::format("There are {} destructive actions; {} are allowed.",
                                                          config_.destructive_actions.size(), kMostWords)));
    }
    for (const std::string& word : config_.destructive_actions) {
        if (word.empty() || word.size() > kLongestId) {
            return tl::unexpected(bad("bad_pattern",
                                      "A destructive action is empty or too long; give plain words such "
                                      "as 'delete'."));
        }
        std::string small = word;
        std::ranges::transform(small, small.begin(), lower);
        first_letters_ |= letter_bit(small.front());
        last_letters_ |= letter_bit(small.back());
        destructive_.push_back(std::move(small));
    }
    if (config_.antiflap < milliseconds(0) || config_.antiflap > kDay) {
        return tl::unexpected(bad("bad_limit", "The anti-flap time must be from 0 (off) to 24 hours."));
    }
    if (config_.notifications_per_hour > kMostNotifications) {
        return tl::unexpected(
            bad("bad_limit", fmt::format("{} notifications per hour are more than can be counted; give "
                                         "up to {}, or 0 for no limit.",
                                         config_.notifications_per_hour, kMostNotifications)));
    }
    if (config_.approval_ttl < milliseconds(1) || config_.approval_ttl > kDay) {
        return tl::unexpected(bad("bad_limit", "An approval must be open for 1 ms to 24 hours."));
    }
    for (std::size_t row = 0; row < 5; ++row) {
        for (const Gate gate : config_.matrix[row]) {
            if (gate > Gate::deny)
                return tl::unexpected(bad("bad_matrix", "The matrix has a decision that does not exist."));
            if (row == 0 && gate != Gate::preview && gate != Gate::deny) {
                return tl::unexpected(
                    bad("bad_matrix", fmt::format("The matrix says '{}' at A0; there only 'preview' and "
                                                  "'deny' are possible.",
                                                  to_string(gate))));
            }
        }
    }
    return {};
}

bool Compiled::in_quiet_hours(base::WallTime now) const {
    return std::ranges::any_of(quiet_hours_,
                               [&](const CompiledWindow& window) { return window.contains(now); });
}

bool Compiled::secret(std::string_view scope) const noexcept {
    return std::ranges::any_of(secret_scopes_, [&](const Glob& glob) { return glob.matches(scope); });
}

bool Compiled::destructive(std::string_view name) const noexcept {
    if (name.empty()) return false;
    const char first = lower(name.front());
    const char last = lower(name.back());
    const bool may_begin = (first_letters_ & letter_bit(first)) != 0;
    const bool may_end = (last_letters_ & letter_bit(last)) != 0;
    if (!may_begin && !may_end) return false;
    for (const std::string& word : destructive_) {
        if (word.size() > name.size()) continue;
        if (word.front() == first && between_words(name, word.size()) &&
            same_word(name.substr(0, word.size()), word)) {
            return true;
        }
        const std::size_t at = name.size() - word.size();
        if (word.back() == last && between_words(name, at) && same_word(name.substr(at), word)) return true;
    }
    return false;
}

}  // namespace callgate::policy
