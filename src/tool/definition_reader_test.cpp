#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <callgate/definitions.h>

#include "tool/definition_forms.h"
#include "tool/tool_testing.h"

namespace callgate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::string_view kSchema =
    R"({"type":"object","properties":{"path":{"type":"string"}},"required":["path"]})";

// The schema above in the place of each '@'.
Value document_of(std::string_view text) {
    std::string whole;
    for (const char c : text) {
        if (c == '@') {
            whole += kSchema;
        } else {
            whole += c;
        }
    }
    return json_of(whole);
}

Result<ReadDefinition> read_one(std::string_view text) {
    auto list = read_definition_list(document_of(text));
    if (!list) return tl::unexpected(list.error());
    EXPECT_EQ(list->entries.size(), 1u) << text;
    return list->entries.at(0).read;
}

ReadDefinition good(std::string_view text) {
    auto read = read_one(text);
    EXPECT_TRUE(read) << text << ": " << read.error().message;
    return read ? *read : ReadDefinition();
}

// "reason place" of a refusal; the message is kept.
std::string message_of_refusal;
std::string reader_refusal(std::string_view text, const DefinitionLimits& limits = {}) {
    const auto read = read_definitions(document_of(text), limits);
    if (read) return "read";
    EXPECT_EQ(read.error().code, ErrorCode::config_error);
    message_of_refusal = read.error().message;
    const Object& details = read.error().details;
    return std::string(details.at("reason").as_string()) + ' ' + std::string(details.at("place").as_string());
}

std::vector<std::string> names_in(std::string_view text) {
    std::vector<std::string> names;
    const auto all = read_definitions(document_of(text));
    EXPECT_TRUE(all) << text << ": " << all.error().message;
    if (!all) return names;
    for (const ToolDefinition& one : *all) {
        names.push_back(one.name);
        EXPECT_EQ(json::write(one.input_schema), kSchema) << text;
    }
    return names;
}

struct FormCase {
    DefinitionForm form;
    const char* text;
    const char* input_place;
};

const FormCase kForms[] = {
    {DefinitionForm::mcp, R"({"name":"read","description":"Read a file","inputSchema":@})", "/inputSchema"},
    {DefinitionForm::openai,
     R"({"type":"function","function":{"name":"read","description":"Read a file","parameters":@}})",
     "/function/parameters"},
    {DefinitionForm::responses,
     R"({"type":"function","name":"read","description":"Read a file","parameters":@,"strict":null})",
     "/parameters"},
    {DefinitionForm::anthropic, R"({"name":"read","description":"Read a file","input_schema":@})",
     "/input_schema"},
    {DefinitionForm::gemini, R"({"name":"read","description":"Read a file","parametersJsonSchema":@})",
     "/parametersJsonSchema"},
    {DefinitionForm::bedrock,
     R"({"toolSpec":{"name":"read","description":"Read a file","inputSchema":{"json":@}}})",
     "/toolSpec/inputSchema/json"},
    {DefinitionForm::bare, R"({"name":"read","description":"Read a file","parameters":@})", "/parameters"}};

TEST(DefinitionReader, EveryFormIsRecognisedAndReadWhole) {
    for (const FormCase& one : kForms) {
        const ReadDefinition read = good(one.text);
        EXPECT_EQ(read.form, one.form) << one.text;
        EXPECT_EQ(read.definition.name, "read");
        EXPECT_EQ(read.definition.description, "Read a file");
        EXPECT_EQ(json::write(read.definition.input_schema), kSchema);
        EXPECT_EQ(read.input_place, one.input_place);
        EXPECT_FALSE(read.strict);
        EXPECT_THAT(read.ignored, IsEmpty());
    }
}

TEST(DefinitionReader, EveryFormIsReadOutOfAList) {
    std::string list;
    for (const FormCase& one : kForms) list += (list.empty() ? "" : ",") + std::string(one.text);
    EXPECT_EQ(names_in("[" + list + "]").size(), std::size(kForms));
    EXPECT_EQ(names_in(R"({"tools":[)" + list + "]}").size(), std::size(kForms));
}

TEST(DefinitionReader, EnvelopesAreOpened) {
    EXPECT_THAT(names_in(R"({"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":@}]}})"),
                ElementsAre("a"));
    EXPECT_THAT(names_in(R"({"toolConfig":{"tools":[{"toolSpec":{"name":"a","inputSchema":{"json":@}}},
                             {"cachePoint":{"type":"default"}}],"toolChoice":{"auto":{}}}})"),
                ElementsAre("a"));
    EXPECT_THAT(names_in(R"([{"functionDeclarations":[{"name":"a","parametersJsonSchema":@},
                              {"name":"b","parametersJsonSchema":@}]}])"),
                ElementsAre("a", "b"));
    EXPECT_THAT(names_in(R"({"tools":[{"functionDeclarations":[{"name":"a","parametersJsonSchema":@}]}]})"),
                ElementsAre("a"));
    EXPECT_THAT(names_in(R"({"function_declarations":[{"name":"a","parameters_json_schema":@}]})"),
                ElementsAre("a"));
    EXPECT_THAT(names_in("[]"), IsEmpty());
}

TEST(DefinitionReader, McpAndBareHaveTitleOutputAndAnnotations) {
    for (const char* const text : {R"({"name":"a","title":"A","inputSchema":@,
                                       "outputSchema":{"type":"integer"},"annotations":{"x":1}})",
                                   R"({"name":"a","title":"A","parameters":@,
                                       "output_schema":{"type":"integer"},"annotations":{"x":1}})"}) {
        const ReadDefinition read = good(text);
        EXPECT_EQ(read.definition.title, "A");
        EXPECT_EQ(read.definition.output_schema, json_of(R"({"type":"integer"})"));
        EXPECT_EQ(Value(read.definition.annotations), json_of(R"({"x":1})"));
        EXPECT_THAT(read.ignored, IsEmpty());
    }
}

TEST(DefinitionReader, WhatMcpHasBesideIsKept) {
    for (const char* const text :
         {R"({"name":"a","inputSchema":@,"icons":[{"src":"x"}],"_meta":{"v":1.0}})",
          R"({"name":"a","parameters":@,"icons":[{"src":"x"}],"_meta":{"v":1.0}})"}) {
        const ReadDefinition read = good(text);
        EXPECT_EQ(Value(read.definition.extra), json_of(R"({"icons":[{"src":"x"}],"_meta":{"v":1.0}})"));
        EXPECT_THAT(read.ignored, IsEmpty());
    }
}

TEST(DefinitionReader, WhatADefinitionHasNoPlaceForIsNamed) {
    EXPECT_THAT(good(R"({"name":"a","input_schema":@,"type":"custom","cache_control":{}})").ignored,
                ElementsAre("cache_control"));
    EXPECT_THAT(good(R"({"type":"function","index":0,"function":{"name":"a","examples":[]}})").ignored,
                ElementsAre("index", "examples"));
}

TEST(DefinitionReader, OpenAiAndGeminiToolsWithoutParametersTakeNone) {
    for (const char* const text :
         {R"({"type":"function","name":"now"})", R"({"type":"function","name":"now","parameters":null})",
          R"({"type":"function","function":{"name":"now"}})",
          R"({"functionDeclarations":[{"name":"now","description":"what time it is"}]})"}) {
        const ReadDefinition read = good(text);
        EXPECT_EQ(read.definition.input_schema, json_of(R"({"type":"object","properties":{}})")) << text;
        EXPECT_EQ(read.input_place, "");
    }
}

TEST(DefinitionReader, StrictIsRemembered) {
    EXPECT_TRUE(good(R"({"type":"function","function":{"name":"a","parameters":@,"strict":true}})").strict);
    EXPECT_TRUE(good(R"({"toolSpec":{"name":"a","inputSchema":{"json":@},"strict":true}})").strict);
}

TEST(DefinitionReader, GeminisOwnSchemasBecomeJsonSchema) {
    const ReadDefinition read = good(R"({"name":"a","parameters":{"type":"OBJECT","nullable":true,
        "properties":{"n":{"type":"INTEGER","format":"int32","minimum":1},
                      "tags":{"type":"ARRAY","items":{"type":"STRING"},"maxItems":"5"},
                      "unit":{"type":"STRING","enum":["c","f"],"nullable":true,"example":"c"},
                      "any":{"anyOf":[{"type":"STRING"},{"type":"NUMBER"}],"nullable":true},
                      "open":{"type":"TYPE_UNSPECIFIED"}},
        "propertyOrdering":["tags","n"],"required":["n"]}})");
    EXPECT_EQ(read.form, DefinitionForm::gemini);
    EXPECT_EQ(json::write(read.definition.input_schema),
              R"({"type":"object","properties":{)"
              R"("tags":{"type":"array","items":{"type":"string"},"maxItems":5},)"
              R"("n":{"type":"integer","format":"int32","minimum":1},)"
              R"("unit":{"type":["string","null"],"enum":["c","f",null],"examples":["c"]},)"
              R"("any":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"null"}]},"open":{}},)"
              R"("required":["n"]})");
}

TEST(DefinitionReader, TheTextsOfGeminisEnumsAreOfTheirType) {
    const ReadDefinition read = good(R"({"name":"a","parameters":{"type":"OBJECT","properties":{
        "n":{"enum":["101","-2"],"type":"INTEGER","format":"enum","nullable":true},
        "x":{"type":"NUMBER","enum":["0.5",1]},"s":{"type":"STRING","enum":["1"]}}}})");
    EXPECT_EQ(json::write(read.definition.input_schema.at("properties")),
              R"({"n":{"enum":[101,-2,null],"type":["integer","null"],"format":"enum"},)"
              R"("x":{"type":"number","enum":[0.5,1]},"s":{"type":"string","enum":["1"]}})");
    EXPECT_EQ(reader_refusal(R"({"name":"a","parameters":{"type":"INTEGER","enum":["1","one"]}})"),
              "bad_tool /parameters/enum/1");
}

TEST(DefinitionReader, WhatGeminisSchemasDoNotHaveIsRefused) {
    EXPECT_EQ(reader_refusal(R"({"name":"a","parameters":{"type":"OBJECT","additionalProperties":false}})"),
              "bad_tool /parameters/additionalProperties");
    EXPECT_THAT(message_of_refusal, HasSubstr("parametersJsonSchema"));
    EXPECT_EQ(reader_refusal(R"([{"functionDeclarations":[{"name":"a","parameters":
                  {"type":"OBJECT","properties":{"b":{"type":["STRING"]}}}}]}])"),
              "bad_tool /0/functionDeclarations/0/parameters/properties/b/type");
    EXPECT_THAT(message_of_refusal,
                StartsWith("[0].functionDeclarations[0].parameters.properties.b.type: This must be one of "));
    EXPECT_EQ(reader_refusal(R"({"name":"a","parameters":{"type":"OBJECT","maxProperties":"many"}})"),
              "bad_tool /parameters/maxProperties");
    EXPECT_EQ(
        reader_refusal(R"({"functionDeclarations":[{"name":"a","parametersJsonSchema":@,"parameters":{}}]})"),
        "bad_tool /functionDeclarations/0");
}

TEST(DefinitionReader, BrokenDefinitionsAreRefusedWithTheirPlace) {
    EXPECT_EQ(reader_refusal(R"({"tools":[{"name":"a","inputSchema":@},{"name":"b","inputSchema":"text"}]})"),
              "bad_tool /tools/1/inputSchema");
    EXPECT_THAT(message_of_refusal, StartsWith("tools[1].inputSchema: A schema of arguments is an object"));
    EXPECT_EQ(reader_refusal(R"({"inputSchema":@})"), "bad_tool /name");
    EXPECT_EQ(reader_refusal(R"({"name":7,"inputSchema":@})"), "bad_tool /name");
    EXPECT_EQ(reader_refusal(R"({"name":"a","inputSchema":null})"), "bad_tool /inputSchema");
    EXPECT_EQ(reader_refusal(R"({"name":"a","inputSchema":true})"), "bad_tool /inputSchema");
    EXPECT_EQ(reader_refusal(R"({"name":"a","inputSchema":@,"outputSchema":1})"), "bad_tool /outputSchema");
    EXPECT_EQ(reader_refusal(R"({"name":"a","inputSchema":@,"description":1})"), "bad_tool /description");
    EXPECT_EQ(reader_refusal(R"({"name":"a","inputSchema":@,"annotations":[]})"), "bad_tool /annotations");
    EXPECT_EQ(reader_refusal(R"({"name":"a","input_schema":@,"strict":"yes"})"), "bad_tool /strict");
    EXPECT_EQ(reader_refusal(R"({"type":"function","function":[]})"), "bad_tool /function");
    EXPECT_EQ(reader_refusal(R"({"toolSpec":{"name":"a","inputSchema":@}})"),
              "bad_tool /toolSpec/inputSchema/json");
    EXPECT_EQ(reader_refusal(R"({"tools":{}})"), "bad_tool /tools");
}

TEST(DefinitionReader, WhatCouldBeTakenForSomethingElseIsRefused) {
    // As Bedrock has it, without its wrapper: an MCP schema like this would accept anything.
    EXPECT_EQ(reader_refusal(R"({"name":"a","inputSchema":{"json":@}})"), "bad_tool /inputSchema");
    EXPECT_THAT(message_of_refusal, HasSubstr("toolSpec"));
    EXPECT_EQ(reader_refusal(R"({"name":"a","inputSchema":@,"input_schema":@})"), "bad_tool ");
    EXPECT_EQ(reader_refusal(R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}})"),
              "bad_tool /error");
    EXPECT_EQ(reader_refusal(R"({"type":"namespace","name":"crm","tools":[]})"), "bad_tool ");
    EXPECT_EQ(reader_refusal(R"([{"type":"custom","name":"sql","format":{"type":"text"}}])"), "bad_tool /0");
}

TEST(DefinitionReader, ToolsThatTheVendorRunsAreNoDefinitions) {
    for (const char* const text :
         {R"([{"type":"web_search"}])", R"([{"type":"bash_20250124","name":"bash"}])",
          R"([{"type":"mcp","server_label":"d"}])", R"([{"googleSearch":{}}])", R"([{"url_context":{}}])",
          R"([{"systemTool":{"name":"x"}}])"})
        EXPECT_EQ(reader_refusal(text), "vendor_tool /0") << text;
    EXPECT_EQ(reader_refusal(R"([{"functionDeclarations":[],"codeExecution":{}}])"),
              "vendor_tool /0/codeExecution");
    EXPECT_THAT(message_of_refusal, HasSubstr("'codeExecution' is a tool of the vendor's own"));
}

TEST(DefinitionReader, WhatIsNoDefinitionIsRefused) {
    for (const char* const text : {"7", "null", "\"text\"", R"({"name":"a","description":"no schema"})",
                                   R"({"type":"object","properties":{"inputSchema":true}})", "{}",
                                   R"({"type":"strin"})", R"([{"type":"object"}])"})
        EXPECT_THAT(reader_refusal(text), StartsWith("not_a_tool")) << text;
    EXPECT_FALSE(read_definition_list(Value(7)));
    EXPECT_FALSE(read_definition_list(json_of(R"({"name":"a"})")));
}

TEST(DefinitionReader, EachOfAListIsReadByItself) {
    const auto list = read_definition_list(
        document_of(R"({"tools":[{"name":"a","inputSchema":@},"text",{"name":"b","input_schema":@}]})"));
    ASSERT_TRUE(list);
    EXPECT_TRUE(list->is_list);
    ASSERT_EQ(list->entries.size(), 3u);
    EXPECT_TRUE(list->entries[0].read);
    EXPECT_EQ(list->entries[1].place, "/tools/1");
    ASSERT_FALSE(list->entries[1].read);
    EXPECT_THAT(list->entries[1].read.error().message,
                StartsWith("tools[1]: A tool definition is an object"));
    EXPECT_EQ(list->entries[2].read->definition.name, "b");
}

TEST(DefinitionReader, PlacesAreSpelledAsTheDocumentSpellsThem) {
    const ReadDefinition read =
        good(R"({"name":"read","description":"","parameters_json_schema":@,"response_json_schema":@})");
    EXPECT_EQ(read.input_place, "/parameters_json_schema");
    EXPECT_EQ(read.output_place, "/response_json_schema");
}

TEST(DefinitionReader, AnAnswerThatGoesOnIsNotAll) {
    // An empty text is a cursor like any other.
    const std::string_view page = R"({"result":{"tools":[{"name":"a","inputSchema":@}],"nextCursor":""}})";
    EXPECT_THAT(reader_refusal(page), StartsWith("more_pages"));
    const auto list = read_definition_list(document_of(page));
    ASSERT_TRUE(list);
    EXPECT_EQ(list->next_cursor, "");
    EXPECT_EQ(list->cursor_place, "/result/nextCursor");
    EXPECT_EQ(read_definitions(document_of(page)).error().details.at("place"), "/result/nextCursor");
    EXPECT_THAT(names_in(R"({"tools":[{"name":"a","inputSchema":@}],"nextCursor":null})"), ElementsAre("a"));
}

TEST(DefinitionReader, LimitsAreKept) {
    DefinitionLimits limits;
    limits.max_definitions = 2;
    EXPECT_EQ(reader_refusal(R"([{"name":"a","inputSchema":@},{"name":"b","inputSchema":@},
                                 {"name":"c","inputSchema":@}])",
                             limits),
              "too_many_tools /2");
    limits.max_depth = 3;
    EXPECT_EQ(reader_refusal(R"([{"name":"a","inputSchema":@}])", limits), "too_deep /0");
    limits.max_depth = 4;
    EXPECT_EQ(reader_refusal(R"([{"name":"a","inputSchema":@}])", limits), "read");
    limits.max_bytes = 60;
    EXPECT_EQ(reader_refusal(R"([{"name":"a","inputSchema":@}])", limits), "too_large /0");
}

TEST(DefinitionReader, OneIsOne) {
    EXPECT_TRUE(read_definition(document_of(R"({"name":"a","inputSchema":@})")));
    EXPECT_TRUE(read_definition(document_of(R"([{"name":"a","inputSchema":@}])")));
    EXPECT_FALSE(read_definition(document_of("[]")));
}

TEST(DefinitionForms, HaveWordsThatAreReadBack) {
    for (const FormLayout& layout : form_layouts())
        EXPECT_EQ(definition_form_from_string(to_string(layout.form)), layout.form);
    EXPECT_FALSE(definition_form_from_string("mistral"));
}

}  // namespace
}  // namespace callgate
