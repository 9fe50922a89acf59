// A client that asks once, over pipes, what the server's tools are.
#include <array>
#include <string>
#include <string_view>

#include <unistd.h>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

namespace cg = callgate;

int main() {
    cg::Runtime runtime;
    runtime.tools().add_or_throw(
        cg::tool("twice", "A number and itself", [](int n) { return 2 * n; }, cg::param("n")).read_only());
    cg::mcp::Server server(runtime);

    std::array<int, 2> to_server{};
    std::array<int, 2> to_client{};
    if (pipe(to_server.data()) != 0 || pipe(to_client.data()) != 0) return 2;
    constexpr std::string_view kRequest =
        R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{)"
        R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
        R"("io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},)"
        R"("io.modelcontextprotocol/clientCapabilities":{}}}})"
        "\n";
    if (write(to_server[1], kRequest.data(), kRequest.size()) != static_cast<ssize_t>(kRequest.size()))
        return 2;
    close(to_server[1]);
    if (cg::mcp::serve_stdio(server, to_server[0], to_client[1]) != 0) return 3;

    std::string answer(4096, '\0');
    const ssize_t size = read(to_client[0], answer.data(), answer.size());
    if (size <= 0) return 4;
    answer.resize(static_cast<std::size_t>(size));
    return cg::json::parse(answer).value().at("result").at("tools").at(0).at("name") == "twice" ? 0 : 1;
}
