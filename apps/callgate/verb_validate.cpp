#include "verb_validate.h"

#include <algorithm>
#include <memory>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "input.h"
#include "options.h"
#include "tool/suggest.h"
#include "tool_call.h"

namespace callgate::cli {

namespace {

// Schemas have their own bounds (schema::Limits); a tool definition wraps them a little.
constexpr std::size_t kToolDepth = 512;

class Validation {
public:
    explicit Validation(const ValidateOptions& options) : options_(options) {}

    ValidateReport run() {
        report_.tool_path = input_name(options_.tool);
        report_.has_arguments = !options_.arguments.empty();
        if (auto judged = judge(); !judged) {
            report_.outcome = ValidateOutcome::unusable;
            report_.error = std::move(judged.error());
        }
        return std::move(report_);
    }

private:
    Result<void> judge() {
        if (options_.tool == kStandardInput && options_.arguments == kStandardInput)
            return fail(ErrorCode::config_error,
                        "Standard input can be either the tool or the arguments, not both.",
                        {{"reason", "usage"}});
        CALLGATE_TRY(read_resources());
        CALLGATE_TRY_ASSIGN(const Value document, read_schema_file(options_.tool));
        CALLGATE_TRY_ASSIGN(ToolFile file, tools_in(document));
        if (file.is_list && !report_.has_arguments) return check_each(std::move(file));
        if (report_.has_arguments) CALLGATE_TRY(read_arguments(file.is_list));
        CALLGATE_TRY_ASSIGN(report_.tool, file.is_list ? named_tool(std::move(file.tools))
                                                       : one_tool(std::move(file.tools.front())));
        return check_tool();
    }

    Result<void> check_tool() {
        CALLGATE_TRY_ASSIGN(const schema::Schema input, compile(report_.tool->input));
        report_.dialect = input.dialect();
        if (report_.has_arguments) return check_arguments(input);
        if (report_.tool->output) CALLGATE_TRY(compile(*report_.tool->output));
        report_.outcome = ValidateOutcome::valid;
        return {};
    }

    Result<Value> read_document(const std::string& path, ErrorCode code, std::size_t depth,
                                std::size_t nodes) {
        return read_json(path, json::ParseLimits(options_.limits.max_bytes, depth, nodes), code,
                         Limit::can_be_raised, report_.excerpt);
    }

    Result<Value> read_schema_file(const std::string& path) {
        return read_document(path, ErrorCode::config_error, kToolDepth,
                             schema::Limits().max_schema_nodes * 2);
    }

    Result<ToolFile> tools_in(const Value& document) const {
        if (options_.bare_schema) {
            ToolFile file;
            file.tools.push_back({"", as_bare_schema(document)});
            return file;
        }
        DefinitionLimits limits;
        limits.max_depth = kToolDepth;
        limits.max_bytes = options_.limits.max_bytes;
        auto file = read_tool_file(document, limits);
        if (!file) return about_tool(std::move(file.error()));
        return file;
    }

    tl::unexpected<Error> about_tool(Error error) const {
        error.details["path"] = options_.tool;
        return about(std::move(error), input_name(options_.tool));
    }

    Result<ToolInFile> one_tool(FoundTool found) {
        if (options_.whole_call && options_.bare_schema)
            return fail(ErrorCode::config_error, "A bare schema has no name that a call could name.",
                        {{"reason", "usage"}});
        if (!found.tool) return about_tool(std::move(found.tool.error()));
        if (options_.whole_call && found.tool->name != call_name_)
            return about(
                Error(ErrorCode::config_error,
                      fmt::format("it calls '{}', and the tool is '{}'.", call_name_, found.tool->name),
                      {{"reason", "other_tool"}}),
                input_name(options_.arguments));
        return std::move(*found.tool);
    }

    // The one of the list that the call names.
    Result<ToolInFile> named_tool(std::vector<FoundTool> tools) {
        std::optional<ToolInFile> found;
        std::vector<std::string> names;
        for (FoundTool& one : tools) {
            if (!one.tool) continue;  // it is not the one that is called
            names.push_back(one.tool->name);
            if (one.tool->name != call_name_) continue;
            if (found)
                return about_tool(Error(ErrorCode::config_error,
                                        fmt::format("Two of its tools are called '{}'.", call_name_),
                                        {{"reason", "ambiguous_name"}}));
            found = std::move(*one.tool);
        }
        if (found) return std::move(*found);
        const std::vector<std::string_view> known(names.begin(), names.end());
        const auto near = suggest_names(call_name_, known);
        return about_tool(
            Error(ErrorCode::config_error,
                  fmt::format("None of its {} tools is called '{}'.{}", tools.size(), call_name_,
                              near.empty() ? "" : fmt::format(" Did you mean '{}'?", near.front())),
                  {{"reason", "unknown_tool"}}));
    }

    // Every tool of a list by itself. It is as good as the worst of them.
    Result<void> check_each(ToolFile file) {
        if (file.tools.empty())
            return about_tool(
                Error(ErrorCode::config_error, "There is no tool in this list.", {{"reason", "not_a_tool"}}));
        ValidateReport whole = std::move(report_);
        whole.outcome = ValidateOutcome::valid;
        whole.notes = std::move(file.notes);
        std::size_t broken = 0;
        for (FoundTool& one : file.tools) {
            report_ = ValidateReport();
            report_.tool_path = fmt::format("{}, {}", whole.tool_path, one.place);
            auto checked = [&]() -> Result<void> {
                CALLGATE_TRY_ASSIGN(report_.tool, one_tool(std::move(one)));
                return check_tool();
            }();
            if (!checked) {
                ++broken;
                report_.error = std::move(checked.error());
                if (report_.tool && !report_.tool->name.empty())
                    report_.error->message =
                        fmt::format("{}: {}", report_.tool->name, report_.error->message);
            }
            whole.each.push_back(std::move(report_));
        }
        report_ = std::move(whole);
        if (broken == 0) return {};
        return fail(ErrorCode::config_error,
                    fmt::format("{} of {} tools cannot be used.", broken, file.tools.size()),
                    {{"reason", "bad_tools"}, {"path", options_.tool}});
    }

    // The arguments; out of a call, with the name of its tool.
    Result<void> read_arguments(bool of_a_list) {
        CALLGATE_TRY_ASSIGN(arguments_, read_document(options_.arguments, ErrorCode::invalid_arguments,
                                                      options_.limits.max_depth, options_.limits.max_nodes));
        if (!of_a_list && !options_.whole_call) return {};
        auto call = tool_call_from_json(arguments_);
        if (!call) return about(std::move(call.error()), input_name(options_.arguments));
        call_name_ = std::move(call->name);
        arguments_ = std::move(call->arguments);
        if (!arguments_.is_string()) return {};
        // OpenAI's are a text.
        auto parsed = json::parse(std::string_view(arguments_.get_string()), options_.limits);
        if (!parsed) {
            parsed.error().code = ErrorCode::invalid_arguments;
            return about(std::move(parsed.error()), input_name(options_.arguments) + ", arguments");
        }
        arguments_ = std::move(*parsed);
        return {};
    }

    Result<void> read_resources() {
        for (const std::string& resource : options_.resources) {
            // The URI may have a query, so the last sign is the one that divides.
            const std::size_t sign = resource.rfind('=');
            if (sign == std::string::npos || sign == 0 || sign + 1 == resource.size())
                return fail(ErrorCode::config_error,
                            fmt::format("--resource {}: give it as URI=FILE, such as "
                                        "https://example.org/address.json=address.json.",
                                        resource),
                            {{"reason", "usage"}});
            CALLGATE_TRY_ASSIGN(Value document, read_schema_file(resource.substr(sign + 1)));
            if (auto added = resources_.add(resource.substr(0, sign), std::move(document)); !added)
                return about(std::move(added.error()), "--resource");
        }
        return {};
    }

    Result<schema::Schema> compile(const PlacedSchema& placed) {
        schema::CompileOptions compile_options;
        compile_options.default_dialect = options_.default_dialect;
        compile_options.assert_format = options_.assert_format;
        compile_options.allow_pcre2 = options_.pcre2;
        compile_options.unknown_members =
            options_.open ? schema::UnknownMembers::as_schema_says : schema::UnknownMembers::reject;
        compile_options.resources = &resources_;
        auto compiled = schema::Schema::compile(placed.schema, compile_options);
        if (compiled) return compiled;
        compiled.error().details["path"] = options_.tool;
        compiled.error().details["place"] = placed.place;
        std::string name = input_name(options_.tool);
        if (!placed.place.empty()) name += fmt::format(", {}", placed.place);
        return about(std::move(compiled.error()), name);
    }

    Result<void> check_arguments(const schema::Schema& schema) {
        if (options_.coerce) {
            schema::Coerced coerced = schema.coerce(arguments_, *options_.coerce);
            report_.coercions = std::move(coerced.changes);
            arguments_ = std::move(coerced.value);
            report_.coerced = arguments_;
        }
        schema::Explanation explanation = schema.explain(arguments_, options_.max_errors);
        if (explanation.verdict == schema::Verdict::over_budget) {
            std::string message = "It is too costly to check these arguments with this schema.";
            if (!explanation.violations.empty()) message = explanation.violations.front().message;
            return about(Error(ErrorCode::invalid_arguments, std::move(message),
                               {{"reason", "over_budget"}, {"path", options_.arguments}}),
                         input_name(options_.arguments));
        }
        const bool valid = explanation.verdict == schema::Verdict::valid;
        report_.outcome = valid ? ValidateOutcome::valid : ValidateOutcome::invalid;
        report_.violations = std::move(explanation.violations);
        report_.truncated = explanation.truncated;
        return {};
    }

    const ValidateOptions& options_;
    schema::Resources resources_;
    ValidateReport report_;
    Value arguments_;
    std::string call_name_;
};

// What the command line says, before it means anything.
struct ValidateLine {
    ValidateOptions options;
    bool json = false;
    std::string coerce;
    std::string draft = "2020-12";
    std::string color = "auto";
};

schema::Dialect dialect_named(std::string_view name) {
    for (const auto dialect : {schema::Dialect::draft7, schema::Dialect::draft2019_09}) {
        if (dialect_name(dialect) == name) return dialect;
    }
    return schema::Dialect::draft2020_12;
}

int run(const ValidateLine& line, const Console& console) {
    ValidateOptions options = line.options;
    options.default_dialect = dialect_named(line.draft);
    if (!line.coerce.empty())
        options.coerce = line.coerce == "full" ? schema::CoercionMode::full : schema::CoercionMode::standard;
    const ValidateReport report = validate(options);
    const ColorMode color = color_mode(line.color);
    if (line.json) {
        console.out << json::write_pretty(to_json(report)) << '\n';
    } else if (report.error) {
        console.err << to_text(report, console.err_terminal.style(color));
    } else {
        console.out << to_text(report, console.out_terminal.style(color));
    }
    return static_cast<int>(report.outcome);
}

}  // namespace

ValidateReport validate(const ValidateOptions& options) {
    return Validation(options).run();
}

void add_validate(Verb& program, const Console& console) {
    auto line = std::make_shared<ValidateLine>();
    ValidateOptions& options = line->options;
    Verb& verb = program.add("validate", "is a tool's schema sound, and would this call be accepted?");
    verb.usage("[options] TOOL.json [ARGS.json | -]");
    verb.argument("TOOL.json",
                  "a tool definition: MCP, OpenAI, Anthropic, Gemini, Bedrock, or a bare JSON Schema; or a "
                  "list of them, such as the answer to tools/list",
                  options.tool)
        .required()
        .completed_by(Completes::file);
    verb.argument(
            "ARGS.json",
            "the arguments of a call; - reads them from standard input. With a list of tools, a whole call, "
            "which names one of them. Without it the schemas alone are checked, and the parameters of "
            "one tool are listed",
            options.arguments)
        .completed_by(Completes::file);

    verb.heading("What is checked");
    verb.flag("--schema", "take TOOL.json for a bare JSON Schema, whatever it looks like",
              options.bare_schema);
    verb.flag(
        "--call",
        "take ARGS.json for a whole call: {\"name\": …, \"arguments\": {…}}, an MCP tools/call request, "
        "or a model's",
        options.whole_call);
    verb.flag("--open",
              "allow parameters the schema does not name (they are refused unless the schema itself rules on "
              "them)",
              options.open);
    verb.flag("--format", "let \"format\" decide (date-time, email, uri, …); it is a remark otherwise",
              options.assert_format);
    Option& coerce =
        verb.option("--coerce", "full",
                    "first mend what is plainly meant (\"5\" for 5, JSON in a string, null for an "
                    "absent optional), say what changed, check the result; full: also \"true\" "
                    "and \"false\"",
                    line->coerce);
    coerce.value_alone = "standard";
    coerce.one_of({"standard", "full"});
    verb.option("--draft", "DRAFT", "where the schema has no $schema: 2020-12 (default), 2019-09, draft-07",
                line->draft)
        .one_of({"2020-12", "2019-09", "draft-07"});
    verb.option("--resource", "URI=FILE",
                "a document that $ref may reach; repeatable. Nothing is ever fetched", options.resources);
    verb.flag("--pcre2", "allow look-around and back-references in patterns, under match limits",
              options.pcre2);

    verb.heading("Limits");
    verb.option("--max-bytes", "SIZE", "of each file: 4M by default", options.limits.max_bytes)
        .between(1, std::uint64_t{1} << 30)
        .is_size = true;
    verb.option("--max-depth", "N", "nesting of the arguments: 64 by default", options.limits.max_depth)
        .between(1, 1'000);
    verb.option("--max-nodes", "N", "values in the arguments: 100000 by default", options.limits.max_nodes)
        .between(1, 10'000'000);
    verb.option("--max-errors", "N", "problems listed: 100 by default", options.max_errors)
        .between(1, 10'000);

    verb.heading("Output");
    add_output_options(verb, line->json, line->color);
    verb.exits(0, "valid")
        .exits(1, "invalid")
        .exits(2,
               "unusable input: broken schema, missing file, not JSON, too large, too costly to check, wrong "
               "usage");
    verb.example("callgate validate send_mail.json")
        .example("callgate validate send_mail.json arguments.json")
        .example("callgate validate tools.json call.json")
        .example("echo '{\"to\": \"ada@example.org\"}' | callgate validate send_mail.json -")
        .example(
            "callgate validate --json --coerce send_mail.json arguments.json \\\n      | jq .violations");
    verb.runs([line, &console] { return run(*line, console); });
}

}  // namespace callgate::cli
