// The server that bench-mcp measures: one tool, which repeats what it is given, and every check on its way.
//
//   mcp_bench_server stdio                       for whoever started it
//   mcp_bench_server http                        on a free port of 127.0.0.1, with one thread
//   mcp_bench_server http LEDGER_DIR MARK_DIR    the same, with a durable ledger
//
// Over HTTP it prints its URL, and ends when its standard input is closed.
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

namespace {

namespace cg = callgate;

cg::RuntimeOptions options_of(std::span<char*> places) {
    cg::RuntimeOptions options;
    options.log_calls = false;  // the peers write none
    if (places.size() == 2) {
        options.ledger_dir = places[0];
        options.ledger_mark_dir = places[1];
    }
    return options;
}

void wait_for_end_of_input() {
    char bytes[64];
    while (::read(STDIN_FILENO, bytes, sizeof bytes) > 0) {
    }
}

int serve_http(cg::mcp::Server& server) {
    const auto endpoint = cg::mcp::HttpEndpoint::open(server);
    if (!endpoint) {
        (void)std::fprintf(stderr, "mcp_bench_server: %s\n", endpoint.error().message.c_str());
        return 1;
    }
    (void)std::printf("%s\n", (*endpoint)->url().c_str());
    (void)std::fflush(stdout);
    wait_for_end_of_input();
    return 0;
}

int serve(bool http, std::span<char*> places) {
    auto runtime = cg::Runtime::open(options_of(places));
    if (!runtime) {
        (void)std::fprintf(stderr, "mcp_bench_server: %s\n", runtime.error().message.c_str());
        return 1;
    }
    (*runtime)->tools().add_or_throw(
        cg::tool(
            "echo", "Says it back", [](std::string message) { return message; }, cg::param("message"))
            .read_only()
            .run_inline());
    cg::mcp::Server server(**runtime);
    return http ? serve_http(server) : cg::mcp::serve_stdio(server);
}

}  // namespace

int main(int count, char** all) {
    try {
        const std::span<char*> words(all, static_cast<std::size_t>(count));
        const std::string_view way = count > 1 ? words[1] : "";
        if (way == "stdio" && count == 2) return serve(false, {});
        if (way == "http" && (count == 2 || count == 4)) return serve(true, words.subspan(2));
        (void)std::fprintf(stderr, "usage: mcp_bench_server stdio | http [LEDGER_DIR MARK_DIR]\n");
        return 2;
    } catch (const std::exception& failed) {
        (void)std::fprintf(stderr, "mcp_bench_server: %s\n", failed.what());
        return 1;
    }
}
