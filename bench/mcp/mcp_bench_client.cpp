// A client that starts a server as its child and calls its tool `echo`.
//
//   mcp_bench_client calls WARM_UP CALLS IN_FLIGHT COMMAND...
//   mcp_bench_client pipe WARM_UP CALLS IN_FLIGHT REQUEST_BYTES REPLY_BYTES
//
// IN_FLIGHT requests are under way at a time: 1 is one call after the other, and of more each answer that has
// come is followed by a request, those that came together by as many at once. `pipe` does the same reads and
// writes, of lines of these sizes, with a child that does nothing else. Prints the median and the 99th
// percentile in microseconds (of a call, or with more in flight of a round), calls per second, and how long a
// request's line and its answer's are.
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kInitialize =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",)"
    R"("capabilities":{},"clientInfo":{"name":"bench","version":"1"}}})";
constexpr std::string_view kInitialized = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";

[[noreturn]] void fail(std::string_view what) {
    (void)std::fprintf(stderr, "mcp_bench_client: %.*s\n", static_cast<int>(what.size()), what.data());
    std::exit(1);
}

// Lines over two descriptors that block.
class Lines {
public:
    Lines(int in, int out) : in_(in), out_(out) {}

    void write(std::string_view line) {
        while (!line.empty()) {
            const ssize_t put = ::write(out_, line.data(), line.size());
            if (put < 0 && errno != EINTR) fail("the other side has gone");
            if (put > 0) line.remove_prefix(static_cast<std::size_t>(put));
        }
    }
    /// Whether read() has a line without waiting for one.
    bool has_line() const { return held_.find('\n', last_) != std::string::npos; }
    /// With its line end; "" at the end. Valid until the next.
    std::string_view read() {
        const std::size_t before = std::exchange(last_, 0);
        held_.erase(0, before);
        for (;;) {
            if (const std::size_t end = held_.find('\n'); end != std::string::npos) {
                last_ = end + 1;
                return std::string_view(held_).substr(0, last_);
            }
            char bytes[16u << 10];
            const ssize_t got = ::read(in_, bytes, sizeof bytes);
            if (got == 0) return {};
            if (got < 0 && errno != EINTR) fail("the other side cannot be read");
            if (got > 0) held_.append(bytes, static_cast<std::size_t>(got));
        }
    }

private:
    const int in_;
    const int out_;
    std::string held_;
    std::size_t last_ = 0;
};

// A process with pipes to its standard input and output.
class Child {
public:
    explicit Child(const std::function<void()>& run) {
        if (::pipe2(to_, O_CLOEXEC) != 0 || ::pipe2(from_, O_CLOEXEC) != 0) fail("there are no pipes left");
        id_ = ::fork();
        if (id_ < 0) fail("no process can be started");
        if (id_ == 0) {
            ::dup2(to_[0], STDIN_FILENO);
            ::dup2(from_[1], STDOUT_FILENO);
            ::close(to_[1]);
            ::close(from_[0]);
            run();
            std::_Exit(127);
        }
        ::close(to_[0]);
        ::close(from_[1]);
    }
    ~Child() {
        ::close(to_[1]);
        ::close(from_[0]);
        (void)::waitpid(id_, nullptr, 0);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    Lines lines() const { return {from_[0], to_[1]}; }

private:
    int to_[2] = {-1, -1};
    int from_[2] = {-1, -1};
    pid_t id_ = -1;
};

struct Lengths {
    std::size_t request = 0;
    std::size_t reply = 0;
};

// `requests(first, count)` gives so many lines; `judge` looks at each answer.
void measure(Lines& lines, std::size_t warm_up, std::size_t calls, std::size_t in_flight,
             const std::function<std::string(std::size_t, std::size_t)>& requests,
             const std::function<void(std::string_view)>& judge) {
    const std::size_t all = warm_up + calls;
    Lengths last{requests(0, 1).size(), 0};
    std::vector<double> us;
    us.reserve(calls);
    std::size_t sent = std::min(in_flight, all);
    lines.write(requests(0, sent));
    auto begin = Clock::now();
    auto before = begin;
    for (std::size_t answered = 0; answered < all;) {
        std::size_t came = 0;
        do {
            const std::string_view answer = lines.read();
            judge(answer);
            last.reply = answer.size();
            ++came;
        } while (lines.has_line());
        const bool warm = answered >= warm_up;
        answered += came;
        const auto now = Clock::now();
        if (warm)
            us.push_back(std::chrono::duration<double, std::micro>(now - before).count());
        else
            begin = now;
        before = now;
        const std::size_t next = std::min(came, all - sent);
        if (next > 0) lines.write(requests(sent, next));
        sent += next;
    }
    const double seconds = std::chrono::duration<double>(before - begin).count();
    std::sort(us.begin(), us.end());
    std::printf("%.3f %.3f %.1f %zu %zu\n", us[us.size() / 2], us[us.size() * 99 / 100],
                static_cast<double>(calls) / seconds, last.request, last.reply);
}

// Ids of as many digits each, so that all lines are of one length.
std::string request(std::size_t number) {
    return R"({"jsonrpc":"2.0","id":)" + std::to_string(10'000'000 + number) +
           R"(,"method":"tools/call","params":{"name":"echo","arguments":{"message":"hello world"}}})"
           "\n";
}

std::string many_requests(std::size_t first, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += request(first + i);
    return text;
}

void measure_calls(std::size_t warm_up, std::size_t calls, std::size_t in_flight,
                   std::vector<char*> command) {
    command.push_back(nullptr);
    const Child server([&] { ::execvp(command[0], command.data()); });
    Lines lines = server.lines();
    lines.write(std::string(kInitialize) + "\n");
    if (lines.read().find(R"("protocolVersion")") == std::string_view::npos) fail("initialize was refused");
    lines.write(std::string(kInitialized) + "\n");
    measure(lines, warm_up, calls, in_flight, many_requests, [](std::string_view answer) {
        if (answer.find(R"("text":"hello world")") == std::string_view::npos) fail("an answer is not one");
    });
}

void measure_pipe(std::size_t warm_up, std::size_t calls, std::size_t in_flight, std::size_t request_bytes,
                  std::size_t reply_bytes) {
    const std::string text = std::string(request_bytes - 1, 'q') + "\n";
    const std::string reply = std::string(reply_bytes - 1, 'r') + "\n";
    const Child server([&] {
        Lines lines(STDIN_FILENO, STDOUT_FILENO);
        for (;;) {
            std::string replies;
            do {
                if (lines.read().empty()) std::_Exit(0);
                replies += reply;
            } while (lines.has_line());
            lines.write(replies);
        }
    });
    Lines lines = server.lines();
    measure(
        lines, warm_up, calls, in_flight,
        [&text](std::size_t /*first*/, std::size_t count) {
            std::string all;
            for (std::size_t i = 0; i < count; ++i) all += text;
            return all;
        },
        [](std::string_view answer) {
            if (answer.empty()) fail("the other side has gone");
        });
}

std::size_t number(std::string_view text) {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value == 0)
        fail("\"" + std::string(text) + "\" is no number above 0");
    return value;
}

}  // namespace

int main(int count, char** all) {
    const std::span<char*> words(all, static_cast<std::size_t>(count));
    const std::string_view what = count > 1 ? words[1] : "";
    (void)std::signal(SIGPIPE, SIG_IGN);
    if (what == "calls" && count > 5) {
        measure_calls(number(words[2]), number(words[3]), number(words[4]), {words.begin() + 5, words.end()});
    } else if (what == "pipe" && count == 7) {
        measure_pipe(number(words[2]), number(words[3]), number(words[4]), number(words[5]),
                     number(words[6]));
    } else {
        (void)std::fprintf(
            stderr,
            "usage: mcp_bench_client calls WARM_UP CALLS IN_FLIGHT COMMAND...\n"
            "       mcp_bench_client pipe WARM_UP CALLS IN_FLIGHT REQUEST_BYTES REPLY_BYTES\n");
        return 2;
    }
    return 0;
}
