// How tools are listed, and their results written, in each revision.
#include "mcp/codec.h"

#include <gtest/gtest.h>

#include <callgate/callgate.h>

#include "mcp/mcp_testing.h"

namespace callgate::mcp {
namespace {

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
