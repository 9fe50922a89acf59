// Tool definitions in the form that somebody else reads.
#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <callgate/definitions.h>

#include "base/try.h"
#include "base/utf8.h"
#include "json/pointer.h"
#include "json/size.h"
#include "tool/definition_forms.h"
#include "tool/tool_name.h"
#include "tool/vendor_schema.h"

namespace callgate {

namespace {

constexpr std::size_t kDeepestWritten = 256;
constexpr std::size_t kUsualDescription = 1'024;  // characters; some endpoints refuse more
constexpr std::size_t kUsualName = 64;            // older models refuse more

// One definition in one form.
class DefinitionWriting {
public:
    DefinitionWriting(const ToolDefinition& definition, DefinitionForm form,
                      const DefinitionWriteOptions& options)
        : definition_(definition), layout_(layout_of(form)), options_(options) {}

    Result<WrittenDefinition> write() {
        CALLGATE_TRY(check());
        CALLGATE_TRY_ASSIGN(Value input, input_schema());
        Object parts;
        if (layout_.form == DefinitionForm::responses) parts.emplace("type", "function");
        parts.emplace("name", definition_.name);
        write_texts(parts);
        if (layout_.form == DefinitionForm::bedrock) input = Object{{"json", std::move(input)}};
        parts.emplace(layout_.input, std::move(input));
        CALLGATE_TRY(write_output(parts));
        write_annotations(parts);
        // OpenAI's Responses take strict for granted where it is not said.
        if (options_.strict || layout_.form == DefinitionForm::responses)
            parts.emplace("strict", options_.strict);
        write_extra(parts);
        written_.document = wrapped(std::move(parts));
        return std::move(written_);
    }

private:
    tl::unexpected<Error> refuse(std::string_view reason, std::string_view place,
                                 std::string_view what) const {
        const std::string shown = shown_name(definition_.name);
        const std::string at = shown_place(place);
        return fail(ErrorCode::config_error,
                    fmt::format("Tool \"{}\" cannot be written as {}: {}{}", shown, layout_.described,
                                at.empty() ? "" : at + ": ", what),
                    {{"reason", reason}, {"form", layout_.word}, {"tool", shown}, {"place", place}});
    }

    void note(std::string_view what) {
        written_.notes.push_back(fmt::format("{}: {}", shown_name(definition_.name), what));
    }

    void left_out(std::string_view what) {
        note(fmt::format("the form {} has no place for its {}, left out.", layout_.word, what));
    }

    Result<void> check() {
        if (const auto fault = form_name_fault(definition_.name, layout_)) {
            // Only recommended there.
            if (layout_.form != DefinitionForm::mcp || definition_.name.empty())
                return refuse("bad_name", "/name", fmt::format("its name {}.", *fault));
            note(fmt::format("not every client takes its name, which {}.", *fault));
        }
        if (layout_.form == DefinitionForm::anthropic && definition_.name.size() > kUsualName)
            note(fmt::format("its name has {} characters, and older models take {}.", definition_.name.size(),
                             kUsualName));
        if (options_.strict && !layout_.has_strict)
            return refuse("not_strict", "", "this form cannot ask for strict schemas. Write it without.");
        for (const auto& [name, text] :
             {std::pair<std::string_view, const std::string&>("/description", definition_.description),
              {"/title", definition_.title}}) {
            if (!base::is_valid_utf8(text))
                return refuse("bad_text", name, "this is not UTF-8, and JSON takes nothing else.");
        }
        CALLGATE_TRY(check(definition_.input_schema, input_place("")));
        if (definition_.output_schema)
            CALLGATE_TRY(check(*definition_.output_schema, fmt::format("/{}", layout_.output)));
        CALLGATE_TRY(check(Value(definition_.annotations), "/annotations"));
        return check(Value(definition_.extra), "");
    }

    Result<void> check(const Value& value, const std::string& place) const {
        const json::ParseLimits bounds(SIZE_MAX, kDeepestWritten, SIZE_MAX);
        if (!json::check_size(value, bounds))
            return refuse("too_deep", "",
                          fmt::format("it is nested more than {} levels deep.", kDeepestWritten));
        if (const auto at = json::find_not_finite(value))
            return refuse("bad_schema", place + *at, "JSON has no NaN and no infinities.");
        return {};
    }

    std::string input_place(std::string_view below) const {
        std::string place;
        if (!layout_.wrapper.empty()) json::append_token(place, layout_.wrapper);
        json::append_token(place, layout_.input);
        if (layout_.form == DefinitionForm::bedrock) json::append_token(place, "json");
        return place + std::string(below);
    }

    Result<Value> input_schema() {
        const Object* const given = definition_.input_schema.if_object();
        if (given == nullptr)
            return refuse("bad_schema", input_place(""), "the schema of its arguments is not an object.");
        if (layout_.form == DefinitionForm::bare) return definition_.input_schema;
        Object schema = *given;
        CALLGATE_TRY(say_object(schema));
        if (layout_.form == DefinitionForm::gemini)
            CALLGATE_TRY(drop_dialect(schema, input_place(""), "schema"));
        if (const auto fault = input_schema_fault(schema, layout_.form))
            return refuse("bad_schema", input_place(fault->place), fault->message);
        if (options_.strict) {
            if (const auto fault = strict_schema_fault(schema, layout_.form))
                return refuse("not_strict", input_place(fault->place), fault->message);
        }
        return Value(std::move(schema));
    }

    // All vendors want it said; arguments are always an object, so it says nothing new.
    Result<void> say_object(Object& schema) const {
        Value* const type = schema.if_contains("type");
        if (type == nullptr) {
            schema.emplace("type", "object");
            return {};
        }
        if (*type == Value(Array{"object"})) *type = "object";
        if (*type == Value("object")) return {};
        return refuse("bad_schema", input_place("/type"),
                      "arguments are always an object, and this schema is for something else. Say \"type\": "
                      "\"object\".");
    }

    // Gemini refuses "$schema" and goes by 2020-12.
    Result<void> drop_dialect(Object& schema, std::string_view place, std::string_view which) {
        if (const auto fault = dialect_fault(schema))
            return refuse("bad_schema", std::string(place) + fault->place, fault->message);
        if (schema.erase("$schema") != 0) left_out(fmt::format("{}'s \"$schema\"", which));
        return {};
    }

    void write_texts(Object& parts) {
        if (!definition_.title.empty()) {
            if (layout_.has_title) {
                parts.emplace("title", definition_.title);
            } else {
                left_out("title");
            }
        }
        // Bedrock refuses an empty one; Gemini and the bare form have it always.
        const bool always = layout_.form == DefinitionForm::gemini || layout_.form == DefinitionForm::bare;
        if (always || !definition_.description.empty()) parts.emplace("description", definition_.description);
        const std::size_t length = base::count_code_points(definition_.description);
        if (layout_.form == DefinitionForm::openai && length > kUsualDescription)
            note(fmt::format("its description has {} characters, and some endpoints take {}.", length,
                             kUsualDescription));
    }

    Result<void> write_output(Object& parts) {
        if (!definition_.output_schema) return {};
        if (layout_.output.empty()) {
            left_out("output schema");
            return {};
        }
        Value schema = *definition_.output_schema;
        const std::string place = fmt::format("/{}", layout_.output);
        if (!schema.is_object() && !schema.is_bool())
            return refuse("bad_schema", place, "an output schema is an object or a boolean.");
        if (layout_.form == DefinitionForm::gemini) {
            Object* const object = schema.if_object();
            if (object == nullptr)
                return refuse("bad_schema", place, "an output schema is an object there, not a boolean.");
            CALLGATE_TRY(drop_dialect(*object, place, "output schema"));
        }
        parts.emplace(layout_.output, std::move(schema));
        return {};
    }

    void write_annotations(Object& parts) {
        if (definition_.annotations.empty()) return;
        if (layout_.has_title) {
            parts.emplace("annotations", definition_.annotations);
        } else {
            left_out("annotations");
        }
    }

    // What forms know each other by, and what a definition says itself, is written for it alone.
    bool has_place_for(std::string_view member) const {
        constexpr std::array<std::string_view, 5> kOwn{"name", "title", "description", "annotations", "type"};
        return layout_.has_title && std::ranges::find(kOwn, member) == kOwn.end() &&
               std::ranges::none_of(form_layouts(), [&](const FormLayout& form) {
                   // Some have no wrapper, or no output, and "" is a name like any other.
                   return !member.empty() &&
                          (member == form.wrapper || member == form.input || member == form.output);
               });
    }

    void write_extra(Object& parts) {
        constexpr std::size_t kMostNamed = 5;
        std::string names;
        std::size_t others = 0;
        for (const auto& member : definition_.extra) {
            if (has_place_for(member.key())) {
                parts.emplace(member.key(), member.value());
            } else if (others++ < kMostNamed) {
                names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", shown_name(member.key()));
            }
        }
        if (others > kMostNamed) names += fmt::format(" and {} more", others - kMostNamed);
        if (others > 0) left_out(names);
    }

    Value wrapped(Object parts) const {
        if (layout_.form == DefinitionForm::openai)
            return Object{{"type", "function"}, {layout_.wrapper, std::move(parts)}};
        if (!layout_.wrapper.empty()) return Object{{layout_.wrapper, std::move(parts)}};
        return parts;
    }

    const ToolDefinition& definition_;
    const FormLayout& layout_;
    const DefinitionWriteOptions& options_;
    WrittenDefinition written_;
};

}  // namespace

Result<WrittenDefinition> write_definition(const ToolDefinition& definition, DefinitionForm form,
                                           const DefinitionWriteOptions& options) {
    return DefinitionWriting(definition, form, options).write();
}

Result<WrittenDefinition> write_definitions(const std::vector<ToolDefinition>& definitions,
                                            DefinitionForm form, const DefinitionWriteOptions& options) {
    if (definitions.empty() && form == DefinitionForm::bedrock)
        return fail(ErrorCode::config_error,
                    "Bedrock takes no list without tools. Leave 'toolConfig' out of the request.",
                    {{"reason", "no_tools"}, {"form", to_string(form)}});
    Array all;
    WrittenDefinition whole;
    std::set<std::string_view> names;
    for (const ToolDefinition& definition : definitions) {
        if (!names.insert(definition.name).second)
            return fail(
                ErrorCode::config_error,
                fmt::format("Two tools are called \"{}\". Names must differ.", shown_name(definition.name)),
                {{"reason", "duplicate_name"},
                 {"form", to_string(form)},
                 {"tool", shown_name(definition.name)}});
        CALLGATE_TRY_ASSIGN(WrittenDefinition one, write_definition(definition, form, options));
        all.push_back(std::move(one.document));
        std::ranges::move(one.notes, std::back_inserter(whole.notes));
    }
    const bool in_tools = form == DefinitionForm::mcp || form == DefinitionForm::bedrock;
    if (form == DefinitionForm::gemini && !all.empty()) {  // Gemini refuses an empty list of declarations
        Value group = Object{{"functionDeclarations", std::move(all)}};
        all = Array();
        all.push_back(std::move(group));
    }
    if (in_tools) {
        whole.document = Object{{"tools", std::move(all)}};
    } else {
        whole.document = std::move(all);
    }
    return whole;
}

}  // namespace callgate
