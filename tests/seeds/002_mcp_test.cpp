// S2 on the wire: what a client of MCP sends and gets.
#include <callgate/callgate.h>
#include <callgate/mcp.h>

#include <gtest/gtest.h>

#include "mcp/mcp_testing.h"

namespace callgate {
namespace {

class Wire {
public:
    Wire() {
        runtime.tools().add_or_throw(tool(
                                         "read_file", "Read a file",
                                         [](const std::string& path) { return "contents of " + path; },
                                         param("path"))
                                         .read_only());
        runtime.tools().add_or_throw(
            schema_tool(ToolDefinition("picture", "", Object{{"type", "object"}}),
                        [](const Object&, CallContext&) -> ToolReturn {
                            return ToolResult(std::vector<Block>{Block::of_text("a dot"),
                                                                 Block::of_image("png", "image/png")});
                        })
                .read_only());
        runtime.tools().add_or_throw(schema_tool(ToolDefinition("broken", "", Object{{"type", "object"}}),
                                                 [](const Object&, CallContext&) -> ToolReturn {
                                                     return tl::unexpected(
                                                         ToolFailure::answered("No such file")
                                                             .with_content(ToolResult(std::vector<Block>{
                                                                 Block::of_text("No such file: /x")})));
                                                 })
                                         .read_only());
        (void)client.initialize("2024-11-05");
    }
    Value call(std::string_view name, Object arguments = {}) {
        return client.request(++id, "tools/call",
                              Object{{"name", name}, {"arguments", std::move(arguments)}});
    }

    std::int64_t id = 0;
    Runtime runtime;
    mcp::Server server{runtime};
    mcp::LineClient client{server};
};

TEST(S2, R11_ACallIsAnsweredWithTypedContent) {
    Wire wire;
    const Value answer = wire.call("read_file", {{"path", "/etc/hosts"}});
    EXPECT_EQ(answer.at("jsonrpc"), "2.0");
    EXPECT_EQ(answer.at("id"), wire.id);
    EXPECT_EQ(answer.at("result").at("content"),
              Value(Array{Object{{"type", "text"}, {"text", "contents of /etc/hosts"}}}));
    const Value items = wire.call("picture").at("result").at("content");
    EXPECT_EQ(items.at(0).at("type"), "text");
    EXPECT_EQ(items.at(1), Value(Object{{"type", "image"}, {"data", "cG5n"}, {"mimeType", "image/png"}}));
}

// S2-13, the server's half.
TEST(S2, R11_AFailureIsMarkedAndSaysWhatTheToolSaid) {
    Wire wire;
    const Value result = wire.call("broken").at("result");
    EXPECT_EQ(result.at("isError"), true);
    EXPECT_EQ(result.at("content").at(0).at("text"), "No such file: /x");
}

}  // namespace
}  // namespace callgate
