#include "verb_tools.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <callgate/definitions.h>
#include <callgate/registry.h>

#include "base/try.h"

#include "demo_tools.h"
#include "error_report.h"
#include "options.h"
#include "program.h"

namespace callgate::cli {

namespace {

struct ToolsLine {
    std::optional<std::string> scopes;
    std::string format;
    bool json = false;
    std::string color = "auto";
};

ScopeSet scopes_in(const std::string& list) {
    ScopeSet scopes;
    for (std::size_t at = 0; at <= list.size();) {
        const std::size_t end = std::min(list.find(',', at), list.size());
        if (end > at) scopes.add(std::string_view(list).substr(at, end - at));
        at = end + 1;
    }
    return scopes;
}

Risk risk_of(const Contract& contract, const std::string& action) {
    const auto found = contract.risk_map.find(action);
    return found != contract.risk_map.end() ? found->second : contract.risk.value_or(Risk::low);
}

EffectClass effect_of(const Contract& contract, const std::string& action) {
    const auto found = contract.effect_map.find(action);
    return found != contract.effect_map.end() ? found->second : contract.effect;
}

Value json_of(const DemoTool& demo) {
    const Contract& contract = demo.tool.contract;
    const ToolDefinition& definition = demo.tool.definition;
    Array actions;
    for (const std::string& action : demo.tool.body->actions())
        actions.push_back({{"name", action},
                           {"risk", to_string(risk_of(contract, action))},
                           {"effect", to_string(effect_of(contract, action))}});
    return {{"name", definition.name},
            {"compact", definition.compact()},
            {"description", definition.description},
            {"risk", to_string(contract.risk.value_or(Risk::low))},
            {"effect", to_string(contract.effect)},
            {"scopes", Array(contract.scopes.all().begin(), contract.scopes.all().end())},
            {"actions", std::move(actions)},
            {"shows", demo.shows},
            {"parameters", definition.input_schema}};
}

std::string in_table(const std::vector<DemoTool>& tools, const Style& style) {
    std::vector<std::vector<std::string>> rows = {{"tool", "risk", "effect", "what it shows"}};
    for (const DemoTool& demo : tools) {
        const bool several = !demo.tool.body->actions().empty();
        const Contract& contract = demo.tool.contract;
        rows.push_back({demo.tool.definition.compact(),
                        several ? "by action" : std::string(to_string(risk_of(contract, "call"))),
                        several ? "by action" : std::string(to_string(effect_of(contract, "call"))),
                        std::string(demo.shows)});
        for (const std::string& action : demo.tool.body->actions())
            rows.push_back({"  --action " + action, std::string(to_string(risk_of(contract, action))),
                            std::string(to_string(effect_of(contract, action))), ""});
    }
    return table(rows, style);
}

// Always JSON: it is for a request.
Result<void> print_in_form(const std::vector<DemoTool>& tools, std::string_view word,
                           const Console& console) {
    std::vector<ToolDefinition> definitions;
    for (const DemoTool& demo : tools) definitions.push_back(demo.tool.definition);
    const DefinitionForm form = definition_form_from_string(word).value_or(DefinitionForm::bare);
    CALLGATE_TRY_ASSIGN(const WrittenDefinition written, write_definitions(definitions, form));
    console.out << json::write_pretty(written.document) << '\n';
    for (const std::string& note : written.notes) console.err << "note: " << note << '\n';
    return {};
}

int run(const ToolsLine& line, const Console& console) {
    std::vector<DemoTool> tools = demo_tools();
    if (line.scopes) {
        Registry registry;
        if (auto added = add_demo_tools(registry); !added) {
            print_error(added.error(), std::nullopt, line.json, color_mode(line.color), console);
            return kUnusable;
        }
        Context caller;
        caller.scopes = scopes_in(*line.scopes);
        std::set<std::string> visible;
        for (const ToolDefinition& one : registry.visible_definitions(caller)) visible.insert(one.name);
        std::erase_if(tools,
                      [&](const DemoTool& demo) { return !visible.contains(demo.tool.definition.name); });
    }
    if (!line.format.empty()) {
        if (auto printed = print_in_form(tools, line.format, console); !printed) {
            print_error(printed.error(), std::nullopt, line.json, color_mode(line.color), console);
            return kUnusable;
        }
    } else if (line.json) {
        Array list;
        for (const DemoTool& demo : tools) list.push_back(json_of(demo));
        console.out << json::write_pretty(Object{{"tools", std::move(list)}}) << '\n';
    } else {
        console.out << in_table(tools, console.out_terminal.style(color_mode(line.color)));
    }
    return 0;
}

}  // namespace

void add_tools(Verb& program, const Console& console) {
    auto line = std::make_shared<ToolsLine>();
    Verb& verb = program.add("tools", "the built-in demo set, to try the runtime on");
    verb.option("--scopes", "A,B", "only what a caller sees who was granted these scopes; \"\" for none",
                line->scopes)
        .empty_too();
    verb.option("--format", "FORM",
                "the definitions as a request takes them: mcp, openai (Chat Completions), responses, "
                "anthropic, gemini, bedrock, or bare",
                line->format)
        .one_of({"mcp", "openai", "responses", "anthropic", "gemini", "bedrock", "bare"});
    add_output_options(verb, line->json, line->color);
    verb.exits(0, "listed").exits(2, "wrong usage");
    verb.example("callgate tools")
        .example("callgate tools --scopes notes")
        .example("callgate tools --format anthropic")
        .example("callgate tools --json | jq -r '.tools[].compact'");
    verb.runs([line, &console] { return run(*line, console); });
}

}  // namespace callgate::cli
