#include "tool/definition_parts.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "json/pointer.h"
#include "json/size.h"
#include "tool/definition_forms.h"
#include "tool/gemini_schema.h"

namespace callgate {

namespace {

// Gemini's members as its SDKs for Python have them.
struct OtherName {
    std::string_view theirs;
    std::string_view ours;
};
constexpr std::array kSnakeCase{OtherName{"parameters_json_schema", "parametersJsonSchema"},
                                OtherName{"response_json_schema", "responseJsonSchema"}};

// One definition, of a form that is known.
class DefinitionParts {
public:
    DefinitionParts(const FoundForm& found, const Object& outside)
        : layout_(layout_of(found.form)), parts_(*found.parts), place_(found.place) {
        read_.form = found.form;
        if (&outside != &parts_) {
            for (const auto& member : outside) {
                if (member.key() != layout_.wrapper && member.key() != "type")
                    read_.ignored.emplace_back(member.key());
            }
        } else if (found.form == DefinitionForm::responses || found.form == DefinitionForm::anthropic) {
            known("type");
        }
    }

    Result<ReadDefinition> read() {
        ToolDefinition& definition = read_.definition;
        definition.name = text_member(parts_, "name");
        known("name");
        if (definition.name.empty())
            return not_read("bad_tool", step_in(place_, "name"),
                            "It has no 'name', or the name is no text. Add one.");
        CALLGATE_TRY(take_text("description", definition.description));
        if (layout_.has_title) {
            CALLGATE_TRY(take_text("title", definition.title));
            CALLGATE_TRY(take_annotations());
        }
        if (layout_.has_strict) CALLGATE_TRY(take_strict());
        CALLGATE_TRY(take_input());
        CALLGATE_TRY(take_output());
        for (const auto& member : parts_) {
            const std::string_view name = member.key();
            if (std::ranges::find(known_, name) != known_.end()) continue;
            if (layout_.has_title) {
                definition.extra.emplace(name, member.value());
            } else {
                read_.ignored.emplace_back(name);
            }
        }
        return std::move(read_);
    }

private:
    void known(std::string_view member) { known_.push_back(member); }

    Result<void> take_text(std::string_view member, std::string& into) {
        known(member);
        const Value* const value = given_in(parts_, member);
        if (value == nullptr) return {};
        if (!value->is_string())
            return not_read("bad_tool", step_in(place_, member),
                            fmt::format("This must be a text, and is {}.", json::kind_with_article(*value)));
        into = value->get_string();
        return {};
    }

    Result<void> take_annotations() {
        known("annotations");
        const Value* const value = given_in(parts_, "annotations");
        if (value == nullptr) return {};
        if (!value->is_object())
            return not_read(
                "bad_tool", step_in(place_, "annotations"),
                fmt::format("This must be an object of hints, and is {}.", json::kind_with_article(*value)));
        read_.definition.annotations = value->get_object();
        return {};
    }

    Result<void> take_strict() {
        known("strict");
        const Value* const value = given_in(parts_, "strict");
        if (value == nullptr) return {};
        if (!value->is_bool())
            return not_read("bad_tool", step_in(place_, "strict"), "This must be true or false.");
        read_.strict = value->get_bool();
        return {};
    }

    Result<void> take_input() {
        known(layout_.input);
        if (layout_.form == DefinitionForm::gemini)
            return take_gemini("parameters", layout_.input, [&](Value schema, std::string at) {
                read_.definition.input_schema = std::move(schema);
                read_.input_place = std::move(at);
            });
        const Value* schema = given_in(parts_, layout_.input);
        std::string at = step_in(place_, layout_.input);
        if (schema == nullptr) {
            if (layout_.input_may_be_missing) return takes_none();
            return not_read("bad_tool", at,
                            fmt::format("It has no '{}'. Add the schema of its arguments: {{\"type\": "
                                        "\"object\"}} if it takes any.",
                                        layout_.input));
        }
        const Object* const holder = schema->if_object();
        const bool holds_json = holder != nullptr && holder->size() == 1 && holder->contains("json");
        if (layout_.form == DefinitionForm::bedrock) {
            if (holder == nullptr || !holder->contains("json"))
                return not_read("bad_tool", step_in(at, "json"),
                                "Its 'inputSchema' has no 'json'. Put the schema there.");
            schema = &holder->at("json");
            json::append_token(at, "json");
        } else if (holds_json && layout_.form == DefinitionForm::mcp) {
            return not_read("bad_tool", at,
                            "This holds 'json', as Bedrock's do. If the tool is one of Bedrock's, put it "
                            "into {\"toolSpec\": …}; if it is one of MCP's, put the schema itself here.");
        }
        if (!schema->is_object())
            return not_read("bad_tool", at,
                            fmt::format("A schema of arguments is an object, such as {{\"type\": "
                                        "\"object\"}}; this is {}.",
                                        json::kind_with_article(*schema)));
        read_.definition.input_schema = *schema;
        read_.input_place = std::move(at);
        return {};
    }

    Result<void> take_output() {
        if (layout_.output.empty()) return {};
        known(layout_.output);
        if (layout_.form == DefinitionForm::gemini) {
            if (given_in(parts_, "response") == nullptr && gemini_member(parts_, layout_.output) == nullptr)
                return {};
            return take_gemini("response", layout_.output, [&](Value schema, std::string at) {
                read_.definition.output_schema = std::move(schema);
                read_.output_place = std::move(at);
            });
        }
        const Value* const schema = given_in(parts_, layout_.output);
        if (schema == nullptr) return {};
        read_.output_place = step_in(place_, layout_.output);
        if (!schema->is_object() && !schema->is_bool())
            return not_read("bad_tool", read_.output_place,
                            fmt::format("A schema is an object or a boolean; this is {}.",
                                        json::kind_with_article(*schema)));
        read_.definition.output_schema = *schema;
        return {};
    }

    // One of two: Gemini's own kind of schema, or a JSON Schema.
    template <class Put>
    Result<void> take_gemini(std::string_view own, std::string_view json_schema, Put put) {
        known(own);
        for (const OtherName& other : kSnakeCase) {
            if (other.ours == json_schema) known(other.theirs);
        }
        known(json_schema);
        const Value* const as_json = gemini_member(parts_, json_schema);
        const Value* const as_own = given_in(parts_, own);
        if (as_json != nullptr && as_own != nullptr)
            return not_read("bad_tool", place_,
                            fmt::format("It has both '{}' and '{}'. Give one of them.", own, json_schema));
        if (as_json == nullptr && as_own == nullptr) return takes_none();
        std::string_view spelled = as_json != nullptr ? json_schema : own;
        for (const OtherName& other : kSnakeCase) {
            if (other.ours == spelled && given_in(parts_, spelled) == nullptr) spelled = other.theirs;
        }
        std::string at = step_in(place_, spelled);
        if (as_json != nullptr) {
            if (!as_json->is_object())
                return not_read("bad_tool", at,
                                fmt::format("A schema is an object here; this is {}.",
                                            json::kind_with_article(*as_json)));
            put(*as_json, std::move(at));
            return {};
        }
        auto translated = json_schema_of_gemini(*as_own);
        if (!translated)
            return not_read("bad_tool", at + translated.error().place, translated.error().message);
        put(std::move(*translated), std::move(at));
        return {};
    }

    Result<void> takes_none() {
        read_.definition.input_schema = Object{{"type", "object"}, {"properties", Object()}};
        return {};
    }

    const FormLayout& layout_;
    const Object& parts_;
    const std::string& place_;
    ReadDefinition read_;
    std::vector<std::string_view> known_;
};

}  // namespace

tl::unexpected<Error> not_read(std::string_view reason, std::string_view place, std::string_view message) {
    const std::string shown = shown_place(place);
    return fail(ErrorCode::config_error,
                shown.empty() ? std::string(message) : fmt::format("{}: {}", shown, message),
                {{"reason", reason}, {"place", place}});
}

std::string step_in(std::string place, std::string_view token) {
    json::append_token(place, token);
    return place;
}

std::string step_in(std::string place, std::size_t index) {
    json::append_index(place, index);
    return place;
}

std::string_view text_member(const Object& object, std::string_view member) {
    const Value* const value = object.if_contains(member);
    return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                  : std::string_view();
}

const Value* given_in(const Object& object, std::string_view member) {
    const Value* const value = object.if_contains(member);
    return value == nullptr || value->is_null() ? nullptr : value;
}

const Value* gemini_member(const Object& object, std::string_view member) {
    if (const Value* const value = given_in(object, member)) return value;
    const auto* const other = std::ranges::find(kSnakeCase, member, &OtherName::ours);
    return other == kSnakeCase.end() ? nullptr : given_in(object, other->theirs);
}

Result<ReadDefinition> read_definition_parts(const FoundForm& found, const Object& outside) {
    return DefinitionParts(found, outside).read();
}

}  // namespace callgate
