// How tools are listed, and their results written, in each revision.
#include "mcp/codec.h"

#include <gtest/gtest.h>

#include <callgate/callgate.h>

#include "mcp/mcp_testing.h"

namespace callgate::mcp {
namespace {

struct Listed {
    ToolDefinition definition{"t", "", Object{{"type", "object"}}};
    Contract contract;
    Value in(const Codec& codec) const { return codec.tool({definition.name, &definition, &contract, {}}); }
    std::string hints(const Codec& codec = codec_2026_07_28()) const {
        const Value tool = in(codec);
        const Value* annotations = tool.as_object().if_contains("annotations");
        return annotations == nullptr ? "-" : json::write(*annotations);
    }
};

TEST(Codec, AContractSaysWhetherAToolReads) {
    Listed tool;
    EXPECT_EQ(tool.hints(), "-") << "nobody has said what it does";
    tool.contract.effect = EffectClass::read;
    EXPECT_EQ(tool.hints(), R"({"readOnlyHint":true})");
    EXPECT_EQ(tool.hints(codec_2025_03_26()), R"({"readOnlyHint":true})");
    EXPECT_EQ(tool.hints(codec_2024_11_05()), "-") << "it has no annotations";
    tool.contract.effect_map["list"] = EffectClass::read;
    EXPECT_EQ(tool.hints(), R"({"readOnlyHint":true})");
    tool.contract.effect_map["delete"] = EffectClass::unsafe;
    EXPECT_EQ(tool.hints(), R"({"readOnlyHint":false})");
    for (const auto effect :
         {EffectClass::keyed, EffectClass::verify, EffectClass::tx, EffectClass::unsafe}) {
        Listed writes;
        writes.contract.effect = effect;
        EXPECT_EQ(writes.hints(), R"({"readOnlyHint":false})") << to_string(effect);
    }
}

TEST(Codec, ADefinitionsOwnAnnotationsStand) {
    Listed tool;
    tool.contract.effect = EffectClass::read;
    tool.definition.annotations = {{"title", "T"}, {"readOnlyHint", false}};
    EXPECT_EQ(tool.hints(), R"({"title":"T","readOnlyHint":false})");
    tool.definition.annotations = {{"destructiveHint", true}};
    EXPECT_EQ(tool.hints(), R"({"destructiveHint":true})") << "what destroys is not said to read";
    tool.definition.annotations = {{"title", "T"}, {"openWorldHint", false}};
    EXPECT_EQ(tool.hints(), R"({"title":"T","openWorldHint":false,"readOnlyHint":true})");
}

TEST(Codec, NoRevisionPromisesTasksInAList) {
    Listed tool;
    tool.definition.extra = {{"execution", Object{{"taskSupport", "required"}}}, {"_meta", Object{{"a", 1}}}};
    for (const Codec* codec : codecs()) {
        EXPECT_FALSE(tool.in(*codec).as_object().contains("execution")) << codec->revision();
    }
    EXPECT_TRUE(tool.in(codec_2025_11_25()).as_object().contains("_meta"));
}

std::string result_in(const Codec& codec, ToolResult result) {
    OutcomeData ended;
    ended.state = State::succeeded;
    ended.succeeded = true;
    ended.result = std::move(result);
    return codec.call_result(Outcome(std::move(ended)));
}

TEST(Codec, AResultSaysWhatItsRevisionCan) {
    for (const Codec* codec : codecs()) {
        EXPECT_EQ(result_in(*codec, Value("a")), R"({"content":[{"type":"text","text":"a"}]})");
        EXPECT_EQ(result_in(*codec, Value(Array{1})), R"({"content":[{"type":"text","text":"[1]"}]})");
        const std::string object = result_in(*codec, Value(Object{{"a", 1}}));
        EXPECT_EQ(object.find("structuredContent") != std::string::npos, codec->revision() >= "2025-06-18");
        const std::string audio = result_in(*codec, std::vector{Block::of_audio("RIFF", "audio/wav")});
        EXPECT_EQ(audio.find("\"audio\"") != std::string::npos, codec->revision() >= "2025-03-26");
    }
}

class ResultsOverLines : public testing::Test {
protected:
    ResultsOverLines() {
        Tool marked = schema_tool(ToolDefinition("marked", "", Object{{"type", "object"}}),
                                  [](const Object&, CallContext&) -> ToolReturn {
                                      ToolResult result(Value("done"));
                                      result.extra["_meta"] = Object{{"mine", 1}};
                                      return result;
                                  });
        marked.definition.extra["_meta"] = Object{{"listed", 1}};
        runtime.tools().add_or_throw(std::move(marked).read_only().risk(Risk::low));
        runtime.tools().add_or_throw(schema_tool(ToolDefinition("nested", "", Object{{"type", "object"}}),
                                                 [](const Object&, CallContext&) -> ToolReturn {
                                                     return ToolResult(
                                                         Value(Object{{"_meta", Object{{"inside", 1}}}}));
                                                 })
                                         .read_only()
                                         .risk(Risk::low));
    }
    Value call(std::string_view name) {
        return client.request(1, "tools/call", modern({{"name", name}})).at("result").at("_meta");
    }

    Runtime runtime;
    Server server{runtime};
    LineClient client{server};
};

TEST_F(ResultsOverLines, SayOfTheServerWhatMembersInsideThemDoNotHide) {
    const std::string server_info = "io.modelcontextprotocol/serverInfo";
    const Value list = client.request(1, "tools/list", modern()).at("result");
    EXPECT_EQ(list.at("tools").at(0).at("_meta").at("listed"), 1);
    EXPECT_TRUE(list.at("_meta").as_object().contains(server_info));
    EXPECT_TRUE(call("nested").as_object().contains(server_info));
    EXPECT_EQ(call("marked"), Value(Object{{"mine", 1}})) << "its own";
}

}  // namespace
}  // namespace callgate::mcp
