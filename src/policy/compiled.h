// A policy, checked and ready to be asked: patterns, windows and argument schemas compiled, rules sorted by
// what they do.
//
// make() refuses a configuration that could not mean what it says, and names the rule. What it makes never
// changes; a reload makes another one with a higher revision.
//
// Threads: may be shared; everything is const.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/policy.h>
#include <callgate/schema.h>

#include "base/clock.h"
#include "policy/glob.h"
#include "policy/scratch_pool.h"
#include "policy/time_window.h"

namespace callgate::policy {

struct CompiledRule {
    std::string id;
    Rule::Do decision = Rule::Do::confirm;
    std::string reason;
    std::uint32_t approvals = 1;
    std::optional<Risk> raise_to;
    std::size_t position = 0;  ///< in the configuration, from 0

    std::vector<Glob> tools;
    std::vector<Glob> actions;
    std::vector<Glob> principals;
    std::vector<Glob> tenants;
    Risk at_least = Risk::low;
    Risk at_most = Risk::critical;
    std::uint8_t effects = 0;  ///< bit n: EffectClass n
    std::optional<CompiledWindow> when;
    std::optional<schema::Schema> arguments;
    std::optional<Predicate> predicate;
    /// What stands for it where it decided: its id, with the name and version of its predicate.
    std::string identity;

    /// For people: "Rule 'mine'", or where it stands if it has no name of its own, "Rule 3 ('rule-…')".
    std::string shown() const;
};

class Compiled {
public:
    /// config_error {reason, rule?}; the message says which rule and what to change.
    static Result<std::shared_ptr<const Compiled>> make(PolicyConfig config, std::uint64_t revision);

    std::uint64_t revision() const noexcept { return revision_; }
    const PolicyConfig& config() const noexcept { return config_; }  ///< every rule with its id

    /// Both in the order of the configuration.
    const std::vector<CompiledRule>& raising() const noexcept { return raising_; }
    const std::vector<CompiledRule>& deciding() const noexcept { return deciding_; }
    bool has_predicates() const noexcept { return has_predicates_; }

    bool quiet(base::WallTime now) const { return !quiet_hours_.empty() && in_quiet_hours(now); }
    bool secret(std::string_view scope) const noexcept;
    /// Whether the name is one of the destructive words, or begins or ends with one: "delete_file",
    /// "files.delete" and "deleteFile" do, "undelete" does not. Case does not count.
    [[gnu::hot]] bool destructive(std::string_view name) const noexcept;

    bool limits_tools() const noexcept { return limits_tools_; }
    bool limits_principals() const noexcept { return limits_principals_; }
    bool limits_runs() const noexcept { return limits_runs_; }

    ScratchPool& scratch() const noexcept { return scratch_; }

private:
    Compiled() = default;
    Result<void> compile_rules();
    Result<void> compile_rest();
    bool in_quiet_hours(base::WallTime now) const;

    PolicyConfig config_;
    std::uint64_t revision_ = 0;
    std::vector<CompiledRule> raising_;
    std::vector<CompiledRule> deciding_;
    std::vector<CompiledWindow> quiet_hours_;
    std::vector<Glob> secret_scopes_;
    std::vector<std::string> destructive_;  // lower case
    // Bit n: some word begins (ends) with letter n; bit 26: with something else. Most names need no more than
    // this.
    std::uint32_t first_letters_ = 0;
    std::uint32_t last_letters_ = 0;
    bool has_predicates_ = false;
    bool limits_tools_ = false;
    bool limits_principals_ = false;
    bool limits_runs_ = false;
    mutable ScratchPool scratch_;
};

/// Patterns that may be used: not empty, not too long, not too many. `what` names the list in the error.
Result<std::vector<Glob>> compile_globs(const std::vector<std::string>& patterns, std::string_view what);

/// A UseLimits that says something.
[[gnu::hot]] bool limits_anything(const UseLimits& limits) noexcept;

}  // namespace callgate::policy
