#include "verb_policy.h"

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <callgate/policy.h>
#include <callgate/runtime.h>

#include "base/try.h"
#include "call_report.h"
#include "demo_tools.h"
#include "error_report.h"
#include "input.h"
#include "options.h"
#include "policy_call.h"
#include "policy_faults.h"
#include "program.h"

namespace callgate::cli {

namespace {

struct PolicyLine {
    std::string call;
    std::string policy;
    bool json = false;
    std::string color = "auto";
};

std::string_view name_of(PolicyFinding::What what) noexcept {
    switch (what) {
        case PolicyFinding::What::never_matches: return "never_matches";
        case PolicyFinding::What::shadowed: return "shadowed";
        case PolicyFinding::What::uncovered_tool: return "uncovered_tool";
        case PolicyFinding::What::undeclared_tool: return "undeclared_tool";
        case PolicyFinding::What::unknown_tool: break;
    }
    return "unknown_tool";
}

std::string_view words(PolicyFinding::What what) noexcept {
    switch (what) {
        case PolicyFinding::What::never_matches: return "never matches";
        case PolicyFinding::What::shadowed: return "shadowed";
        case PolicyFinding::What::uncovered_tool: return "uncovered tool";
        case PolicyFinding::What::undeclared_tool: return "undeclared tool";
        case PolicyFinding::What::unknown_tool: break;
    }
    return "unknown tool";
}

// One of the two verbs at work.
class PolicyRun {
public:
    PolicyRun(const PolicyLine& line, const Console& console)
        : line_(line),
          console_(console),
          color_(color_mode(line.color)),
          style_(console.out_terminal.style(color_)) {}

    int test() { return answer(try_test()); }
    int lint() { return answer(try_lint()); }

private:
    Result<Value> read(const std::string& path) {
        return read_json(path, json::ParseLimits(), ErrorCode::config_error, Limit::fixed, excerpt_);
    }

    Result<void> prepare(Runtime& runtime) {
        CALLGATE_TRY(add_demo_tools(runtime.tools()));
        if (line_.policy.empty()) return {};
        CALLGATE_TRY_ASSIGN(auto document, read(line_.policy));
        auto config = policy_from_json(document);
        if (!config) {
            config.error().details["violations"] = faults_of_policy(document);
            return about(std::move(config.error()), input_name(line_.policy));
        }
        auto set = runtime.policy().set(*config);
        if (!set) {
            set.error().details["violations"] = faults_of_policy(document);
            return about(std::move(set.error()), input_name(line_.policy));
        }
        return {};
    }

    Result<int> try_test() {
        if (line_.call == kStandardInput && line_.policy == kStandardInput)
            return fail(ErrorCode::config_error,
                        "Standard input can be either the call or the policy, not both.",
                        {{"reason", "usage"}});
        Runtime runtime;
        CALLGATE_TRY(prepare(runtime));
        CALLGATE_TRY_ASSIGN(auto document, read(line_.call));
        auto call = policy_call_from_json(document);
        if (!call) return about(std::move(call.error()), input_name(line_.call));
        const std::string tool = call->request.tool;
        const CallExplanation explanation =
            runtime.explain(std::move(call->request), std::move(call->caller), call->at);
        if (line_.json) {
            console_.out << json::write_pretty(Object{
                                {"tool", tool},
                                {"stages", to_json(explanation.stages)},
                                {"decision",
                                 explanation.decision ? callgate::to_json(*explanation.decision) : Value()},
                                {"refused", explanation.refused ? json_of(*explanation.refused) : Value()},
                                {"arguments", explanation.arguments},
                                {"error", nullptr}})
                         << '\n';
        } else {
            console_.out << text_of(tool, explanation);
        }
        return exit_code(explanation);
    }

    static int exit_code(const CallExplanation& explanation) {
        if (explanation.decision && explanation.decision->gate == Gate::allow) return 0;
        if (explanation.decision && explanation.decision->gate == Gate::confirm)
            return static_cast<int>(CallExit::needs_approval);
        return static_cast<int>(CallExit::refused);
    }

    std::string text_of(const std::string& tool, const CallExplanation& explanation) const {
        const std::string name = style_.bold(clipped(tool, 160));
        std::string out;
        const PolicyDecision* decision = explanation.decision ? &*explanation.decision : nullptr;
        if (decision == nullptr) {
            out = fmt::format("{} {}: {}\n", style_.red("✗"), name, style_.red("would be refused"));
        } else if (decision->gate == Gate::allow) {
            out = fmt::format("{} {}: {}\n", style_.green("✓"), name, style_.green("would run"));
        } else if (decision->gate == Gate::confirm) {
            const std::string people =
                decision->approvals == 1 ? "a person" : fmt::format("{} people", decision->approvals);
            out = fmt::format("{} {}: {}\n", style_.yellow("?"), name,
                              style_.yellow(fmt::format("would need the approval of {}", people)));
        } else if (decision->gate == Gate::preview) {
            out = fmt::format("{} {}: {}\n", style_.yellow("?"), name, style_.yellow("would be previewed"));
        } else {
            out = fmt::format("{} {}: {}\n", style_.red("✗"), name, style_.red("would be denied"));
        }
        out += to_text(explanation.stages, style_);
        if (decision == nullptr) return out;
        std::vector<std::vector<std::string>> rows = {{"decided by", decided_by(*decision)}};
        for (const std::string& why : decision->risk_reasons)
            rows.push_back({"risk raised by", printable(why)});
        for (const std::string& hard : decision->overrides)
            rows.push_back({"hard override", printable(hard)});
        return out + '\n' + table(rows, Style{.color = false, .width = style_.width});
    }

    static std::string decided_by(const PolicyDecision& decision) {
        if (!decision.grant_id.empty()) return printable(fmt::format("grant '{}'", decision.grant_id));
        if (!decision.rule_id.empty()) return printable(fmt::format("rule '{}'", decision.rule_id));
        return "the matrix of autonomy and risk";
    }

    Result<int> try_lint() {
        Runtime runtime;
        CALLGATE_TRY(prepare(runtime));
        const std::vector<PolicyFinding> findings = runtime.policy().lint(runtime.tools());
        if (line_.json) {
            Array list;
            for (const PolicyFinding& one : findings)
                list.push_back(
                    {{"what", name_of(one.what)}, {"subject", one.subject}, {"message", one.message}});
            console_.out << json::write_pretty(Object{{"findings", std::move(list)}, {"error", nullptr}})
                         << '\n';
        } else if (findings.empty()) {
            console_.out << fmt::format("{} {}: {}\n", style_.green("✓"),
                                        style_.bold(printable(input_name(line_.policy))),
                                        style_.green("nothing to remark"));
        } else {
            console_.out << fmt::format(
                "{} {}: {}\n", style_.red("✗"), style_.bold(printable(input_name(line_.policy))),
                style_.red(fmt::format("{} finding{}", findings.size(), findings.size() == 1 ? "" : "s")));
            std::vector<std::vector<std::string>> rows = {{"finding", "rule or tool", "why"}};
            for (const PolicyFinding& one : findings)
                rows.push_back(
                    {std::string(words(one.what)), printable(one.subject), printable(one.message)});
            console_.out << table(rows, style_);
        }
        return findings.empty() ? 0 : 1;
    }

    int answer(const Result<int>& exit_code) const {
        if (exit_code) return *exit_code;
        print_error(exit_code.error(), excerpt_, line_.json, color_, console_);
        return kUnusable;
    }

    const PolicyLine& line_;
    const Console& console_;
    const ColorMode color_;
    const Style style_;
    std::optional<Excerpt> excerpt_;
};

}  // namespace

void add_policy(Verb& program, const Console& console) {
    Verb& group = program.add("policy", "try a policy before you rely on it");

    auto line = std::make_shared<PolicyLine>();
    Verb& test = group.add("test", "what would be decided about a call, stage by stage; nothing is run");
    test.argument("CALL.json",
                  "the file with the call; - reads it from standard input: {\"tool\": …, \"arguments\": {…}} "
                  "and, as wanted, action, principal, tenant, autonomy (\"A2\"), scopes ([\"notes\"]), time "
                  "(\"2026-05-14T22:30:00Z\")",
                  line->call)
        .required()
        .completed_by(Completes::file);
    test.option("--policy", "POLICY", "the file with the policy; the default one otherwise", line->policy)
        .completed_by(Completes::file);
    add_output_options(test, line->json, line->color);
    test.text("The tools are those of callgate tools.");
    test.exits(0, "it would run")
        .exits(2, "unusable input")
        .exits(3, "it would be refused, or only previewed")
        .exits(4, "it would need a person's approval");
    test.example("callgate policy test call.json")
        .example("callgate policy test --policy policy.json call.json")
        .example(
            "echo '{\"tool\": \"add\", \"arguments\": {\"a\": 1, \"b\": 2}}' \\\n      | callgate policy "
            "test -");
    test.runs([line, &console] { return PolicyRun(*line, console).test(); });

    line = std::make_shared<PolicyLine>();
    Verb& lint = group.add("lint", "rules that can never decide, and tools that no rule covers");
    lint.argument("POLICY.json", "the file with the policy; - reads it from standard input", line->policy)
        .required()
        .completed_by(Completes::file);
    add_output_options(lint, line->json, line->color);
    lint.text("The tools are those of callgate tools.");
    lint.exits(0, "no findings").exits(1, "findings").exits(2, "unusable input");
    lint.example("callgate policy lint policy.json");
    lint.runs([line, &console] { return PolicyRun(*line, console).lint(); });
}

}  // namespace callgate::cli
