// What an operator would want to know about a policy before relying on it. Whatever is reported is
// certain; what cannot be proved is not reported.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "json/equal.h"
#include "policy/memory.h"
#include "policy/schema_facts.h"
#include "schema/similar.h"
#include "tool/tool_entry.h"

namespace callgate {

namespace {

using policy::Compiled;
using policy::CompiledRule;
using policy::Glob;
using What = PolicyFinding::What;
using Tools = std::vector<std::shared_ptr<const ToolEntry>>;

// Every name that `inner` matches is matched by `outer`; a list that is empty matches everything.
bool covers(const std::vector<Glob>& outer, const std::vector<Glob>& inner) {
    if (outer.empty()) return true;
    const auto is_covered = [&](const Glob& one) {
        return std::ranges::any_of(outer, [&](const Glob& glob) { return glob.covers(one); });
    };
    if (inner.empty()) return is_covered(Glob("*"));
    return std::ranges::all_of(inner, is_covered);
}

bool same_window(const TimeWindow& a, const TimeWindow& b) {
    return a.from == b.from && a.until == b.until && a.zone == b.zone && a.weekdays == b.weekdays;
}

bool same_predicate(const Rule& a, const Rule& b) {
    return a.predicate && b.predicate && a.predicate->name == b.predicate->name &&
           a.predicate->version == b.predicate->version;
}

bool always_before(const Rule& first, const CompiledRule& outer, const Rule& later,
                   const CompiledRule& inner) {
    if (!covers(outer.tools, inner.tools) || !covers(outer.actions, inner.actions) ||
        !covers(outer.principals, inner.principals) || !covers(outer.tenants, inner.tenants)) {
        return false;
    }
    if (outer.at_least > inner.at_least || outer.at_most < inner.at_most) return false;
    if ((inner.effects & ~outer.effects) != 0) return false;
    // Nobody knows what a function says, except that the same one says the same. One that fails makes an
    // allowing rule pass the call on.
    if (first.predicate && (first.decision == Rule::Do::allow || !same_predicate(first, later))) return false;
    if (first.when && (!later.when || !same_window(*first.when, *later.when))) return false;
    if (!first.arguments || policy::always_satisfied(*first.arguments)) return true;
    // A schema too costly to judge makes an allowing rule pass the call on.
    return first.decision != Rule::Do::allow && later.arguments &&
           json::equal(*first.arguments, *later.arguments);
}

class Linter {
public:
    Linter(const Compiled& policy, Tools tools) : policy_(policy), tools_(std::move(tools)) {
        for (const auto& tool : tools_) names_.push_back(tool->name());
    }

    std::vector<PolicyFinding> run() {
        std::vector<const CompiledRule*> all;
        for (const CompiledRule& rule : policy_.raising()) all.push_back(&rule);
        for (const CompiledRule& rule : policy_.deciding()) all.push_back(&rule);
        std::ranges::sort(all, {}, &CompiledRule::position);
        for (const CompiledRule* rule : all) check(*rule);
        for (const auto& tool : tools_) {
            const auto speaks = [&](const CompiledRule& rule) {
                return any_matches(rule.tools, tool->name());
            };
            if (std::ranges::any_of(policy_.deciding(), speaks)) continue;
            add(What::uncovered_tool, tool->name(), "No rule decides about this tool; the matrix does.");
        }
        for (const auto& tool : tools_) {
            if (!tool->undeclared()) continue;
            add(What::undeclared_tool, tool->name(),
                "Nobody declared what it risks or what repeating it would do: it runs as low and unsafe. Say "
                "so in its contract, with risk() or effect().");
        }
        return std::move(findings_);
    }

private:
    void add(What what, std::string subject, std::string message) {
        findings_.push_back({what, std::move(subject), std::move(message)});
    }

    void check(const CompiledRule& rule) {
        check_names(rule);
        if (auto why = never_matches(rule)) {
            add(What::never_matches, rule.id, std::move(*why));
        } else if (const CompiledRule* first = shadow(rule)) {
            add(What::shadowed, rule.id,
                fmt::format("{} comes first and matches every call that this one would match.",
                            first->shown()));
        }
    }

    void check_names(const CompiledRule& rule) {
        for (const Glob& glob : rule.tools) {
            const auto meant = [&](const auto& tool) { return glob.matches(tool->name()); };
            if (std::ranges::any_of(tools_, meant)) continue;
            std::string message = fmt::format("No registered tool is called '{}'.", glob.pattern());
            if (const auto near = schema::nearest_name(glob.pattern(), names_)) {
                message += fmt::format(" Did you mean '{}'?", *near);
            }
            add(What::unknown_tool, rule.id, std::move(message));
        }
    }

    std::optional<std::string> never_matches(const CompiledRule& rule) const {
        const Rule& source = policy_.config().rules[rule.position];
        if (rule.at_least > rule.at_most) {
            return fmt::format("The risk cannot be at least {} and at most {}.", to_string(rule.at_least),
                               to_string(rule.at_most));
        }
        if (rule.raise_to && *rule.raise_to <= rule.at_least) {
            return fmt::format("It raises the risk to {} where it already is at least {}.",
                               to_string(*rule.raise_to), to_string(rule.at_least));
        }
        if (source.arguments) {
            if (const auto why = policy::never_satisfied(*source.arguments)) {
                return fmt::format("No arguments satisfy its schema: {}.", *why);
            }
        }
        Tools meant;
        std::ranges::copy_if(tools_, std::back_inserter(meant),
                             [&](const auto& tool) { return any_matches(rule.tools, tool->name()); });
        if (meant.empty()) return {};
        const auto all = [&](const auto& holds) { return std::ranges::all_of(meant, holds); };
        if (!rule.actions.empty() && all([&](const auto& tool) { return !has_action(*tool, rule); })) {
            return "None of the tools it names has such an action.";
        }
        if (all([&](const auto& tool) { return !has_effect(*tool, rule); })) {
            return "None of the tools it names has such an effect class.";
        }
        if (source.arguments) {
            std::optional<std::string> missing;
            const auto cannot = [&](const auto& tool) {
                missing = policy::impossible_member(*source.arguments, tool->definition().input_schema,
                                                    tool->contract().open_arguments);
                return missing.has_value();
            };
            if (all(cannot)) {
                return fmt::format(
                    "Its schema requires the argument '{}', which none of the tools it names has.", *missing);
            }
        }
        return {};
    }

    // Tools that list no actions take any.
    static bool has_action(const ToolEntry& tool, const CompiledRule& rule) {
        return tool.actions().empty() || std::ranges::any_of(tool.actions(), [&](const std::string& action) {
                   return any_matches(rule.actions, action);
               });
    }

    static bool has_effect(const ToolEntry& tool, const CompiledRule& rule) {
        const auto wanted = [&](EffectClass effect) {
            return (rule.effects >> static_cast<unsigned>(effect) & 1U) != 0;
        };
        if (wanted(tool.contract().effect)) return true;
        return std::ranges::any_of(tool.contract().effect_map,
                                   [&](const auto& one) { return wanted(one.second); });
    }

    const CompiledRule* shadow(const CompiledRule& rule) const {
        if (rule.decision == Rule::Do::raise_risk) return nullptr;
        const std::vector<Rule>& sources = policy_.config().rules;
        for (const CompiledRule& first : policy_.deciding()) {
            if (first.position >= rule.position) break;
            if (always_before(sources[first.position], first, sources[rule.position], rule)) return &first;
        }
        return nullptr;
    }

    const Compiled& policy_;
    Tools tools_;
    std::vector<std::string_view> names_;
    std::vector<PolicyFinding> findings_;
};

}  // namespace

std::vector<PolicyFinding> Policy::lint(const Registry& tools) const {
    Tools entries;
    for (const ToolDefinition& definition : tools.definitions()) {
        if (auto entry = tools.find(definition.name)) entries.push_back(std::move(entry));
    }
    const std::shared_ptr<const Compiled> compiled = state_->current();
    return Linter(*compiled, std::move(entries)).run();
}

}  // namespace callgate
