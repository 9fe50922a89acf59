// What a document of tool definitions holds, and in which forms.
#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include <callgate/definitions.h>

#include "base/try.h"
#include "json/size.h"
#include "tool/definition_parts.h"
#include "tool/gemini_schema.h"
#include "tool/tool_name.h"

namespace callgate {

namespace {

const Object* object_in(const Object& object, std::string_view member) {
    const Value* const value = object.if_contains(member);
    return value == nullptr ? nullptr : value->if_object();
}

constexpr std::array<std::string_view, 7> kSchemaTypes{"array",  "boolean", "integer", "null",
                                                       "number", "object",  "string"};
constexpr std::array<std::string_view, 14> kGoogleTools{
    "codeExecution",       "code_execution", "computerUse",
    "enterpriseWebSearch", "fileSearch",     "file_search",
    "googleMaps",          "googleSearch",   "googleSearchRetrieval",
    "google_maps",         "google_search",  "retrieval",
    "urlContext",          "url_context"};

const Value* declarations_in(const Object& object) {
    const Value* const list = object.if_contains("functionDeclarations");
    return list != nullptr ? list : object.if_contains("function_declarations");
}

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
            if (text_member(*object, "type") == "namespace")
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
                list_.cursor_place = step_in(place, "nextCursor");
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
            return not_read(
                "too_many_tools", place,
                fmt::format("There are more than {} tools. Give fewer at once.", limits_.max_definitions));
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
            return not_read(
                "bad_tool", place,
                fmt::format("A declaration is an object; this is {}.", json::kind_with_article(value)));
        const FoundForm found{DefinitionForm::gemini, &value.get_object(), place};
        return read_definition_parts(found, value.get_object());
    }

    Result<ReadDefinition> read_one(const Value& value, const std::string& place) const {
        CALLGATE_TRY(check_size(value, place));
        const Object* const object = value.if_object();
        if (object == nullptr)
            return not_read(
                "not_a_tool", place,
                fmt::format("A tool definition is an object; this is {}.", json::kind_with_article(value)));
        CALLGATE_TRY_ASSIGN(const FoundForm found, form_of(*object, place));
        return read_definition_parts(found, *object);
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
        const std::string_view type = text_member(object, "type");
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
        return not_read("more_pages", list.cursor_place,
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
