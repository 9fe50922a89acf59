// One server, many clients over both transports, while what it serves changes and after it has gone.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

#include "base/must.h"
#include "mcp/mcp_testing.h"
#include "net/net_testing.h"

namespace callgate::mcp {
namespace {

Tool echo(const char* name, bool inlined) {
    Tool made = tool(name, "", [](const std::string& text) { return text; }, param("text")).read_only();
    if (inlined) made.run_inline();
    return made;
}

std::string post_of(int id, std::string_view name, std::string_view text) {
    const std::string body = json::write(
        Value(Object{{"jsonrpc", "2.0"},
                     {"id", id},
                     {"method", "tools/call"},
                     {"params", modern({{"name", name}, {"arguments", Object{{"text", text}}}})}}));
    return fmt::format(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMCP-Protocol-Version: "
        "2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {}\r\nContent-Length: {}\r\n\r\n{}",
        name, body.size(), body);
}

TEST(ManyClients, GetTheirOwnAnswersWhileTheRegistryChanges) {
    Runtime runtime;
    runtime.tools().add_or_throw(echo("inline", true));
    runtime.tools().add_or_throw(echo("pooled", false));
    Server server(runtime);
    HttpOptions options;
    options.threads = 3;
    const auto endpoint = must(HttpEndpoint::open(server, options));
    std::atomic<int> wrong{0};
    std::vector<std::thread> clients;
    for (int c = 0; c < 4; ++c) {
        clients.emplace_back([&, c] {
            net::TestClient client(endpoint->port());
            for (int i = 0; i < 50; ++i) {
                const std::string text = fmt::format("{} of {}", i, c);
                const auto answer = client.ask(post_of(i, i % 2 == 0 ? "inline" : "pooled", text));
                if (answer.body.find(text) == std::string::npos) ++wrong;
            }
        });
        clients.emplace_back([&, c] {
            LineClient client(server);
            (void)client.initialize();
            for (int i = 1; i <= 50; ++i) {
                const std::string text = fmt::format("{} by {}", i, c);
                client.send(Object{{"jsonrpc", "2.0"},
                                   {"id", i},
                                   {"method", "tools/call"},
                                   {"params", Object{{"name", i % 2 == 0 ? "inline" : "pooled"},
                                                     {"arguments", Object{{"text", text}}}}}});
                Value answer = client.read();
                while (answer.as_object().contains("method")) answer = client.read();  // the list has changed
                if (json::write(answer).find(text) == std::string::npos) ++wrong;
            }
        });
    }
    for (int i = 0; i < 50; ++i) {
        runtime.tools().add_or_throw(echo("other", false), IfPresent::replace);
        EXPECT_TRUE(server.add(Resource("test://r", "r", [](CallContext&) -> ResourceRead {
            return std::vector<ResourceContents>{ResourceContents::of_text("x")};
        })));
        server.resource_updated("test://r");
    }
    for (std::thread& one : clients) one.join();
    EXPECT_EQ(wrong, 0);
}

TEST(ManyClients, AServerMayGoWhileTheyAskForThings) {
    Runtime runtime;
    runtime.tools().add_or_throw(echo("inline", true));
    runtime.tools().add_or_throw(echo("pooled", false));
    for (int round = 0; round < 5; ++round) {
        auto server = std::make_unique<Server>(runtime);
        auto endpoint = must(HttpEndpoint::open(*server));
        std::atomic<int> begun{0};
        std::vector<std::thread> clients;
        for (int c = 0; c < 4; ++c) {
            // Connected before the server goes.
            auto connected = std::make_shared<net::TestClient>(endpoint->port());
            clients.emplace_back([&, connected] {
                net::TestClient& client = *connected;
                for (int i = 0;; ++i) {
                    if (!client.send(post_of(i, i % 2 == 0 ? "inline" : "pooled", "x"))) return;
                    ++begun;
                    if (client.read_answer().status != 200) return;
                }
            });
        }
        while (begun < 20) std::this_thread::yield();
        endpoint.reset();
        server.reset();
        for (std::thread& one : clients) one.join();
    }
}

}  // namespace
}  // namespace callgate::mcp
