#include "validate_report.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tool/summary.h"

namespace callgate::cli {

namespace {

constexpr std::size_t kWidestPath = 32;    // up to here the sentences line up
constexpr std::size_t kLongestPath = 160;  // names can be as long as the whole document

std::string shown_name(const ValidateReport& report) {
    const bool named = report.tool && !report.tool->name.empty();
    return clipped(named ? report.tool->name : report.tool_path, kLongestPath);
}

std::string shown_path(std::string_view pointer) {
    return pointer.empty() ? "(root)" : clipped(pointer, kLongestPath);
}

// The schema says nothing about unknown members, so the reader will not find the rule in it.
bool refused_by_default(const ValidateReport& report) {
    const Object* root = report.tool ? report.tool->input.schema.if_object() : nullptr;
    if (root == nullptr || root->contains("additionalProperties")) return false;
    return std::ranges::any_of(report.violations, [](const schema::Violation& violation) {
        return violation.schema_path == "#/additionalProperties";
    });
}

std::string heading(const ValidateReport& report, const Style& style) {
    const bool valid = report.outcome == ValidateOutcome::valid;
    std::string verdict;
    if (!report.has_arguments) {
        verdict = report.tool && report.tool->output ? "both schemas are sound" : "the schema is sound";
    } else if (valid) {
        verdict =
            report.coercions.empty() ? "the arguments are valid" : "the arguments are valid after coercion";
    } else {
        const std::size_t count = report.violations.size();
        verdict = fmt::format("the arguments are invalid: {}{} problem{}",
                              report.truncated ? "more than " : "", count, count == 1 ? "" : "s");
    }
    const std::string about =
        fmt::format("{}, JSON Schema {}", form_words(*report.tool), dialect_name(*report.dialect));
    return fmt::format("{} {}: {}\n  {}\n", valid ? style.green("✓") : style.red("✗"),
                       style.bold(shown_name(report)), valid ? style.green(verdict) : style.red(verdict),
                       style.dim(about));
}

std::string violation_lines(const std::vector<schema::Violation>& violations, const Style& style) {
    std::size_t path_width = 0;
    for (const auto& violation : violations)
        path_width =
            std::max(path_width, std::min(columns_of(shown_path(violation.instance_path)), kWidestPath));
    std::string out;
    for (const auto& violation : violations) {
        const std::string path = shown_path(violation.instance_path);
        const std::string message = clipped(violation.message, kLongestMessage);
        const std::string where = clipped(violation.schema_path, kLongestPath);
        const std::string path_column = padded(path, path_width);
        const std::size_t indent = 2 + columns_of(path_column) + 2;
        const bool fits =
            style.width == 0 || indent + columns_of(message) + 2 + columns_of(where) <= style.width;
        if (!fits) {
            const bool beside = indent + columns_of(message) <= style.width;
            out += beside ? fmt::format("  {}  {}\n", style.yellow(path_column), message)
                          : indented(path, 2, style) + indented(message, 4, style);
            out += indented(where, beside ? 2 + path_width + 2 : 4, style);
            continue;
        }
        out += fmt::format("  {}  {}  ", style.yellow(path_column), message);
        out += style.dim(where) + "\n";
    }
    return out;
}

std::string coercion_lines(const std::vector<schema::Coercion>& coercions, const Style& style) {
    std::string out = fmt::format("  {}\n", style.dim("changed by coercion before the check:"));
    for (const auto& change : coercions) {
        out += fmt::format("  {}  {} → {}  {}\n", style.yellow(shown_path(change.instance_path)), change.from,
                           change.to, style.dim(change.rule));
    }
    return out;
}

std::string summary(const ValidateReport& report, const Style& style) {
    const ToolInFile& tool = *report.tool;
    const std::vector<ParameterSummary> parameters = summarize_parameters(tool.input.schema);
    std::string out;
    if (!tool.description.empty()) {
        for (const auto& line :
             folded(printable(one_line(tool.description)), style.width > 2 ? style.width - 2 : 0))
            out += fmt::format("  {}\n", line);
    }
    std::string compact = printable(compact_form(shown_name(report), parameters));
    if (tool.output) compact += " -> " + printable(type_text(tool.output->schema));
    out += '\n';
    for (const auto& line : folded(compact, style.width > 4 ? style.width - 4 : 0))
        out += fmt::format("  {}\n", style.bold(line));
    if (!parameters.empty()) {
        std::vector<std::vector<std::string>> rows = {{"parameter", "type", "required", "description"}};
        for (const ParameterSummary& parameter : parameters)
            rows.push_back({printable(parameter.name), printable(parameter.type),
                            parameter.required ? "yes" : "no", printable(one_line(parameter.description))});
        out += "\n" + table(rows, style);
    }
    for (const std::string& note : tool.notes) out += '\n' + indented("note: " + printable(note), 2, style);
    return out;
}

}  // namespace

std::string_view dialect_name(schema::Dialect dialect) noexcept {
    switch (dialect) {
        case schema::Dialect::draft7: return "draft-07";
        case schema::Dialect::draft2019_09: return "2019-09";
        case schema::Dialect::draft2020_12: break;
    }
    return "2020-12";
}

Value to_json(const ValidateReport& report) {
    Object out = {{"valid", report.outcome == ValidateOutcome::valid}, {"tool", nullptr}, {"form", nullptr}};
    if (report.tool) {
        if (!report.tool->name.empty()) out["tool"] = report.tool->name;
        out["form"] = form_word(*report.tool);
    }
    out["dialect"] = report.dialect ? Value(dialect_name(*report.dialect)) : Value();
    Array violations;
    for (const auto& violation : report.violations)
        violations.push_back({{"path", violation.instance_path},
                              {"schema_path", violation.schema_path},
                              {"keyword", violation.keyword},
                              {"message", violation.message}});
    out["violations"] = std::move(violations);
    out["truncated"] = report.truncated;
    Array coercions;
    for (const auto& change : report.coercions)
        coercions.push_back({{"path", change.instance_path},
                             {"rule", change.rule},
                             {"from", change.from},
                             {"to", change.to}});
    out["coercions"] = std::move(coercions);
    out["error"] = report.error ? json_of(*report.error) : Value();
    if (report.coerced) out["arguments"] = *report.coerced;
    if (!report.each.empty()) {
        Array tools;
        for (const ValidateReport& one : report.each) tools.push_back(to_json(one));
        out["tools"] = std::move(tools);
        out["notes"] = Array(report.notes.begin(), report.notes.end());
    } else if (report.outcome == ValidateOutcome::valid && !report.has_arguments && report.tool) {
        const auto found = summarize_parameters(report.tool->input.schema);
        Array parameters;
        for (const ParameterSummary& parameter : found)
            parameters.push_back({{"name", parameter.name},
                                  {"type", parameter.type},
                                  {"required", parameter.required},
                                  {"description", one_line(parameter.description)}});
        out["parameters"] = std::move(parameters);
        out["compact"] = compact_form(report.tool->name, found);
        out["notes"] = Array(report.tool->notes.begin(), report.tool->notes.end());
    }
    return out;
}

Value to_json(const Error& error) {
    ValidateReport report;
    report.error = error;
    return to_json(report);
}

std::string to_text(const ValidateReport& report, const Style& style) {
    if (!report.each.empty()) {
        std::string out = report.error ? error_text(*report.error, std::nullopt, style) : std::string();
        for (const ValidateReport& one : report.each)
            out += one.error ? indented(clipped(one.error->message, kLongestMessage), 2, style)
                             : heading(one, style);
        for (const std::string& note : report.notes) out += indented("note: " + printable(note), 2, style);
        return out;
    }
    if (report.error) return error_text(*report.error, report.excerpt, style);
    std::string out = heading(report, style);
    if (!report.has_arguments) return out + summary(report, style);
    if (!report.coercions.empty()) out += "\n" + coercion_lines(report.coercions, style);
    if (!report.violations.empty()) out += "\n" + violation_lines(report.violations, style);
    if (report.truncated) out += fmt::format("  {}\n", style.dim("there are more; --max-errors shows them"));
    if (refused_by_default(report))
        out += '\n' + indented(
                          "The schema is silent about unknown parameters; they are refused unless --open is "
                          "given.",
                          2, style);
    return out;
}

}  // namespace callgate::cli
