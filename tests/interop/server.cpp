// A server for the clients of others: interop-server [--stdio | --port N] [--page-size N]. Lists come three
// entries a page.
//
// Over HTTP it prints its URL when it listens, and ends when its standard input is closed.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string_view>

#include <unistd.h>

#include "offers.h"

namespace {

namespace cg = callgate;

struct Arguments {
    bool stdio = false;
    std::uint16_t port = 0;
    std::size_t page_size = 3;
};

template <class Number>
bool read_number(std::string_view digits, Number& number) {
    const char* last = digits.data() + digits.size();
    const auto [end, error] = std::from_chars(digits.data(), last, number);
    return error == std::errc() && end == last;
}

std::optional<Arguments> read_arguments(int count, char** all) {
    Arguments read;
    for (int i = 1; i < count; ++i) {
        const std::string_view one = all[i];
        bool known = one == "--stdio";
        if (known) read.stdio = true;
        if (one == "--port" && i + 1 < count) known = read_number(all[++i], read.port);
        if (one == "--page-size" && i + 1 < count) known = read_number(all[++i], read.page_size);
        if (!known) return std::nullopt;
    }
    return read;
}

int serve_http(cg::mcp::Server& server, std::uint16_t port) {
    cg::mcp::HttpOptions options;
    options.port = port;
    const auto endpoint = cg::mcp::HttpEndpoint::open(server, options);
    if (!endpoint) {
        (void)std::fprintf(stderr, "interop-server: %s\n", endpoint.error().message.c_str());
        return 1;
    }
    (void)std::printf("%s\n", (*endpoint)->url().c_str());
    (void)std::fflush(stdout);
    char bytes[256];
    while (::read(STDIN_FILENO, bytes, sizeof bytes) > 0) {
    }
    return 0;
}

int serve(const Arguments& arguments) {
    cg::RuntimeOptions quiet;
    quiet.log_calls = false;
    cg::Runtime runtime(quiet);
    cg::mcp::ServerOptions options;
    options.name = "callgate-interop";
    options.title = "Callgate, as others meet it";
    options.version = "1.2.3";
    options.instructions = "Call what you like: nothing here changes anything.";
    options.limits.page_size = arguments.page_size;
    cg::mcp::Server server(runtime, options);
    const auto turns = interop::make_turns();
    interop::add_answers(runtime.tools());
    interop::add_turns(runtime.tools(), turns);
    interop::add_questions(runtime.tools(), turns);
    interop::add_changes(runtime.tools(), server);
    interop::add_catalogue(server);
    return arguments.stdio ? cg::mcp::serve_stdio(server) : serve_http(server, arguments.port);
}

}  // namespace

int main(int count, char** all) {
    try {
        const auto arguments = read_arguments(count, all);
        if (arguments) return serve(*arguments);
        (void)std::fprintf(stderr, "usage: interop-server [--stdio | --port N] [--page-size N]\n");
        return 2;
    } catch (const std::exception& failed) {
        (void)std::fprintf(stderr, "interop-server: %s\n", failed.what());
        return 1;
    }
}
