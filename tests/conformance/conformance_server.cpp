// A server with what the official conformance suite calls: conformance-server [--stdio | --port N].
//
// Prints its URL when it listens, and ends at SIGTERM or when its standard input is closed.
#include <array>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string_view>

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "fixtures.h"

namespace {

namespace cg = callgate;

struct Arguments {
    bool stdio = false;
    std::uint16_t port = 0;
};

std::optional<Arguments> read_arguments(int count, char** all) {
    Arguments read;
    for (int i = 1; i < count; ++i) {
        const std::string_view one = all[i];
        if (one == "--stdio") {
            read.stdio = true;
        } else if (one == "--port" && i + 1 < count) {
            const std::string_view digits = all[++i];
            const auto [end, error] =
                std::from_chars(digits.data(), digits.data() + digits.size(), read.port);
            if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
        } else {
            return std::nullopt;
        }
    }
    return read;
}

// Signals come here, and to no other thread.
class Ending {
public:
    Ending() {
        sigset_t signals;
        sigemptyset(&signals);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGINT);
        pthread_sigmask(SIG_BLOCK, &signals, nullptr);
        arrived_ = ::signalfd(-1, &signals, SFD_CLOEXEC);
    }
    void wait() const {
        std::array<pollfd, 2> waits{{{arrived_, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}}};
        for (;;) {
            if (::poll(waits.data(), waits.size(), -1) < 0) continue;
            if (waits[0].revents != 0) return;
            char bytes[256];
            if (waits[1].revents != 0 && ::read(STDIN_FILENO, bytes, sizeof bytes) <= 0) return;
        }
    }

private:
    int arrived_ = -1;
};

int serve_http(cg::mcp::Server& server, std::uint16_t port, const Ending& ending) {
    cg::mcp::HttpOptions options;
    options.port = port;
    const auto endpoint = cg::mcp::HttpEndpoint::open(server, options);
    if (!endpoint) {
        (void)std::fprintf(stderr, "conformance-server: %s\n", endpoint.error().message.c_str());
        return 1;
    }
    (void)std::printf("%s\n", (*endpoint)->url().c_str());
    (void)std::fflush(stdout);
    ending.wait();
    return 0;
}

int serve(const Arguments& arguments) {
    std::optional<Ending> ending;
    if (!arguments.stdio) ending.emplace();
    cg::RuntimeOptions quiet;
    quiet.log_calls = false;
    cg::Runtime runtime(quiet);
    cg::mcp::ServerOptions options;
    options.name = "callgate-conformance";
    options.context.autonomy = cg::Autonomy::a3;  // `confirm_delete` counts as a medium risk, by its name
    cg::mcp::Server server(runtime, options);
    conformance::add_content_tools(runtime.tools());
    conformance::add_live_tools(runtime.tools(), server);
    conformance::add_asking_tools(runtime.tools());
    conformance::add_task_tools(runtime.tools());
    conformance::add_resources(server);
    conformance::add_prompts(server);
    return ending ? serve_http(server, arguments.port, *ending) : cg::mcp::serve_stdio(server);
}

}  // namespace

int main(int count, char** all) {
    try {
        const auto arguments = read_arguments(count, all);
        if (arguments) return serve(*arguments);
        (void)std::fprintf(stderr, "usage: conformance-server [--stdio | --port N]\n");
        return 2;
    } catch (const std::exception& failed) {
        (void)std::fprintf(stderr, "conformance-server: %s\n", failed.what());
        return 1;
    }
}
