// Tool definitions out of documents, whichever form they have.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include <callgate/definitions.h>

#include "base/try.h"
#include "json/pointer.h"
#include "json/size.h"
#include "tool/definition_forms.h"
#include "tool/gemini_schema.h"
#include "tool/tool_name.h"

namespace callgate {

namespace {

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

const Object* object_in(const Object& object, std::string_view member) {
    const Value* const value = object.if_contains(member);
    return value == nullptr ? nullptr : value->if_object();
}

std::string_view text_at(const Object& object, std::string_view member) {
    const Value* const value = object.if_contains(member);
    return value != nullptr && value->is_string() ? std::string_view(value->get_string())
                                                  : std::string_view();
}

// Absent and null are the same to every vendor.
const Value* given_in(const Object& object, std::string_view member) {
    const Value* const value = object.if_contains(member);
    return value == nullptr || value->is_null() ? nullptr : value;
}

// Gemini's members as its SDKs for Python have them.
struct OtherName {
    std::string_view theirs;
    std::string_view ours;
};
constexpr std::array kSnakeCase{OtherName{"parameters_json_schema", "parametersJsonSchema"},
                                OtherName{"response_json_schema", "responseJsonSchema"}};

constexpr std::array<std::string_view, 7> kSchemaTypes{"array",  "boolean", "integer", "null",
                                                       "number", "object",  "string"};
constexpr std::array<std::string_view, 14> kGoogleTools{
    "codeExecution", "code_execution", "computerUse",  "enterpriseWebSearch",   "fileSearch",
    "file_search",   "googleMaps",     "googleSearch", "googleSearchRetrieval", "google_maps",
    "google_search", "retrieval",      "urlContext",   "url_context"};

const Value* gemini_member(const Object& object, std::string_view member) {
    if (const Value* const value = given_in(object, member)) return value;
    const auto* const other = std::ranges::find(kSnakeCase, member, &OtherName::ours);
    return other == kSnakeCase.end() ? nullptr : given_in(object, other->theirs);
}

const Value* declarations_in(const Object& object) {
    const Value* const list = object.if_contains("functionDeclarations");
    return list != nullptr ? list : object.if_contains("function_declarations");
}

// A definition's object, and where in the document its parts stand.
struct FoundForm {
    DefinitionForm form;
    const Object* parts;
    std::string place;
};

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
        definition.name = text_at(parts_, "name");
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
            if (std::ranges::find(known_, name) == known_.end())
                read_.ignored.emplace_back(name);
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
            return not_read("bad_tool", step_in(place_, "annotations"),
                            fmt::format("This must be an object of hints, and is {}.",
                                        json::kind_with_article(*value)));
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
        std::string at = step_in(place_, as_json != nullptr ? json_schema : own);
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

class DefinitionReader {
public:
    explicit DefinitionReader(const DefinitionLimits& limits) : limits_(limits) {}

    Result<DefinitionList> read(const Value& document) {
        if (const Array* const list = document.if_array()) {
            CALLGATE_TRY(take_list(*list, ""));
            return std::move(list_);
        }
        const Object* const object = document.if_object();
        if (object == nullptr)
            return not_read("not_a_tool", "",
                            fmt::format("Neither a tool definition nor a list of them: this is {}.",
                                        json::kind_with_article(document)));
        CALLGATE_TRY_ASSIGN(const bool enveloped, take_envelope(*object));
        if (enveloped) return std::move(list_);
        auto one = read_one(document, "");
        if (!one && one.error().details.at("reason") == "not_a_tool")
            return tl::unexpected(std::move(one.error()));
        list_.entries.push_back({"", std::move(one)});
        return std::move(list_);
    }

private:
    Result<bool> take_envelope(const Object& document) {
        const Object* object = &document;
        std::string place;
        if (object->contains("jsonrpc") && object->contains("error"))
            return not_read("bad_tool", "/error", "The server answered with an error, not with its tools.");
        for (const char* const wrapper : {"result", "toolConfig"}) {
            const Object* const inner = object_in(*object, wrapper);
            if (inner == nullptr || !inner->contains("tools")) continue;
            object = inner;
            place = step_in("", wrapper);
            break;
        }
        if (const Value* const tools = object->if_contains("tools")) {
            if (text_at(*object, "type") == "namespace")
                return not_read("bad_tool", place,
                                "A namespace changes what its tools are called. Give its 'tools' as a list "
                                "of their own.");
            if (!tools->is_array())
                return not_read("bad_tool", step_in(place, "tools"),
                                fmt::format("This must be an array of tools, and is {}.",
                                            json::kind_with_article(*tools)));
            CALLGATE_TRY(take_list(tools->get_array(), step_in(place, "tools")));
            if (const Value* const cursor = given_in(*object, "nextCursor")) {
                if (!cursor->is_string())
                    return not_read("bad_tool", step_in(place, "nextCursor"), "This must be a text.");
                list_.next_cursor = cursor->get_string();
            }
            return true;
        }
        if (declarations_in(*object) == nullptr) return false;
        list_.is_list = true;
        CALLGATE_TRY(take_declarations(*object, place));
        return true;
    }

    Result<void> take_list(const Array& list, const std::string& place) {
        list_.is_list = true;
        for (std::size_t i = 0; i < list.size(); ++i) {
            const Object* const object = list[i].if_object();
            std::string at = step_in(place, i);
            if (object != nullptr && declarations_in(*object) != nullptr) {
                CALLGATE_TRY(take_declarations(*object, at));
                continue;
            }
            // A mark between tools, not one of them.
            if (object != nullptr && object->size() == 1 && object->contains("cachePoint")) continue;
            auto one = read_one(list[i], at);
            CALLGATE_TRY(add(std::move(at), std::move(one)));
        }
        return {};
    }

    // Gemini's group of declarations, which may have tools of Google's own beside it.
    Result<void> take_declarations(const Object& group, const std::string& place) {
        for (const auto& member : group) {
            std::string at = step_in(place, member.key());
            if (&member.value() != declarations_in(group)) {
                CALLGATE_TRY(add(at, vendor_tool(at, member.key())));
                continue;
            }
            const Array* const list = member.value().if_array();
            if (list == nullptr)
                return not_read("bad_tool", at,
                                fmt::format("This must be an array of declarations, and is {}.",
                                            json::kind_with_article(member.value())));
            for (std::size_t i = 0; i < list->size(); ++i) {
                std::string one = step_in(at, i);
                auto read = read_declaration((*list)[i], one);
                CALLGATE_TRY(add(std::move(one), std::move(read)));
            }
        }
        return {};
    }

    Result<void> add(std::string place, Result<ReadDefinition> read) {
        if (list_.entries.size() >= limits_.max_definitions)
            return not_read("too_many_tools", place,
                            fmt::format("There are more than {} tools. Give fewer at once.",
                                        limits_.max_definitions));
        list_.entries.push_back({std::move(place), std::move(read)});
        return {};
    }

    Result<void> check_size(const Value& value, const std::string& place) const {
        const json::ParseLimits bounds(limits_.max_bytes, limits_.max_depth, limits_.max_bytes);
        const auto checked = json::check_size(value, bounds);
        if (checked) return {};
        if (checked.error().details.at("reason") == "too_deep")
            return not_read("too_deep", place,
                            fmt::format("It is nested more than {} levels deep.", limits_.max_depth));
        return not_read("too_large", place,
                        fmt::format("It has more than {} bytes. Shorten its texts, or split the tool.",
                                    limits_.max_bytes));
    }

    Result<ReadDefinition> read_declaration(const Value& value, const std::string& place) const {
        CALLGATE_TRY(check_size(value, place));
        if (!value.is_object())
            return not_read("bad_tool", place,
                            fmt::format("A declaration is an object; this is {}.",
                                        json::kind_with_article(value)));
        const FoundForm found{DefinitionForm::gemini, &value.get_object(), place};
        return DefinitionParts(found, value.get_object()).read();
    }

    Result<ReadDefinition> read_one(const Value& value, const std::string& place) const {
        CALLGATE_TRY(check_size(value, place));
        const Object* const object = value.if_object();
        if (object == nullptr)
            return not_read("not_a_tool", place,
                            fmt::format("A tool definition is an object; this is {}.",
                                        json::kind_with_article(value)));
        CALLGATE_TRY_ASSIGN(const FoundForm found, form_of(*object, place));
        return DefinitionParts(found, *object).read();
    }

    static tl::unexpected<Error> vendor_tool(const std::string& place, std::string_view what) {
        return not_read("vendor_tool", place,
                        fmt::format("'{}' is a tool of the vendor's own, and has no definition. Leave it out "
                                    "here, and add it to the request.",
                                    shown_name(what)));
    }

    static Result<FoundForm> form_of(const Object& object, const std::string& place) {
        if (const Value* const specification = object.if_contains("toolSpec"))
            return wrapped(DefinitionForm::bedrock, "toolSpec", *specification, place);
        for (const char* const vendors : {"systemTool", "cachePoint"}) {
            if (object.size() == 1 && object.contains(vendors)) return vendor_tool(place, vendors);
        }
        if (declarations_in(object) != nullptr)
            return not_read("bad_tool", place, "A group of declarations stands in the list of tools only.");
        CALLGATE_TRY(check_one_schema(object, place));
        const std::string_view type = text_at(object, "type");
        const Value* const function = object.if_contains("function");
        if (function != nullptr && (type == "function" || function->is_object()))
            return wrapped(DefinitionForm::openai, "function", *function, place);
        if (type == "function") return FoundForm{DefinitionForm::responses, &object, place};
        if (object.contains("inputSchema")) return FoundForm{DefinitionForm::mcp, &object, place};
        if (object.contains("input_schema")) return FoundForm{DefinitionForm::anthropic, &object, place};
        if (gemini_member(object, "parametersJsonSchema") != nullptr)
            return FoundForm{DefinitionForm::gemini, &object, place};
        if (const Value* const parameters = object.if_contains("parameters");
            parameters != nullptr && object.contains("name"))
            return FoundForm{is_gemini_schema(*parameters) ? DefinitionForm::gemini : DefinitionForm::bare,
                             &object, place};
        return no_form(object, type, place);
    }

    static Result<FoundForm> wrapped(DefinitionForm form, std::string_view member, const Value& inner,
                                     const std::string& place) {
        if (!inner.is_object())
            return not_read("bad_tool", step_in(place, member),
                            fmt::format("Its '{}' is no object.", member));
        return FoundForm{form, &inner.get_object(), step_in(place, member)};
    }

    // Which of two would hold is not for us to guess.
    static Result<void> check_one_schema(const Object& object, const std::string& place) {
        std::string_view first;
        for (const std::string_view member : {"inputSchema", "input_schema", "parameters"}) {
            if (given_in(object, member) == nullptr) continue;
            if (!first.empty())
                return not_read("bad_tool", place,
                                fmt::format("It has both '{}' and '{}'. Give one of them.", first, member));
            first = member;
        }
        return {};
    }

    static tl::unexpected<Error> no_form(const Object& object, std::string_view type,
                                         const std::string& place) {
        if (type == "custom")
            return not_read("bad_tool", place,
                            "It takes free text, not arguments. Give it a function with one text parameter.");
        if (type == "namespace")
            return not_read("bad_tool", place,
                            "A namespace changes what its tools are called. Give its 'tools' as a list of "
                            "their own.");
        // {"type": "web_search"}, {"type": "bash_20250124", "name": "bash"}, {"googleSearch": {}}. A document
        // that is no list may be a schema whose type is misspelled.
        const bool of_a_schema = std::ranges::find(kSchemaTypes, type) != kSchemaTypes.end();
        if (!type.empty() && !of_a_schema && (!place.empty() || type.find('_') != std::string_view::npos))
            return vendor_tool(place, type);
        for (const std::string_view theirs : kGoogleTools) {
            if (object.size() == 1 && object.contains(theirs)) return vendor_tool(place, theirs);
        }
        return not_read("not_a_tool", place,
                        "This is no tool definition: it has none of 'inputSchema' (MCP), 'input_schema' "
                        "(Anthropic), 'parameters' (OpenAI, Gemini, bare) and 'toolSpec' (Bedrock).");
    }

    const DefinitionLimits& limits_;
    DefinitionList list_;
};

}  // namespace

Result<DefinitionList> read_definition_list(const Value& document, const DefinitionLimits& limits) {
    return DefinitionReader(limits).read(document);
}

Result<std::vector<ToolDefinition>> read_definitions(const Value& document, const DefinitionLimits& limits) {
    CALLGATE_TRY_ASSIGN(DefinitionList list, read_definition_list(document, limits));
    if (list.next_cursor)
        return not_read("more_pages", "/nextCursor",
                        "These are not all tools: the list goes on at its 'nextCursor'. Get the other pages, "
                        "and give all tools as one list.");
    std::vector<ToolDefinition> all;
    for (DefinitionEntry& entry : list.entries) {
        CALLGATE_TRY_ASSIGN(ReadDefinition one, std::move(entry.read));
        all.push_back(std::move(one.definition));
    }
    return all;
}

Result<ToolDefinition> read_definition(const Value& document, const DefinitionLimits& limits) {
    CALLGATE_TRY_ASSIGN(std::vector<ToolDefinition> all, read_definitions(document, limits));
    if (all.size() != 1)
        return not_read("bad_tool", "",
                        fmt::format("There are {} tools in this document; one is asked for.", all.size()));
    return std::move(all.front());
}

}  // namespace callgate
