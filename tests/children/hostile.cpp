// A command that does one hostile thing: hostile_child MARKER KIND [SOCKET REQUEST-AS-HEX]
//
// The marker is in the command line, so that whoever counts finds every process that came of it. Each process
// ends by itself after a minute, storms have a bound, and nothing is signalled that is not below the test.
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

constexpr unsigned kLife = 60;
constexpr int kStorm = 50;
constexpr int kHops = 20'000;
constexpr long kFlood = 1'000'000'000;

void write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t taken = ::write(fd, text.data(), text.size());
        if (taken < 0 && errno == EINTR) continue;
        if (taken <= 0) ::_exit(0);
        text.remove_prefix(static_cast<std::size_t>(taken));
    }
}

void say(std::string_view line) {
    write_all(1, std::string(line) + "\n");
}

[[noreturn]] void stay() {
    for (;;) ::pause();
}

void be_deaf() {
    for (const int one : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1}) std::signal(one, SIG_IGN);
}

pid_t make_another() {
    const pid_t made = ::fork();
    if (made == 0) ::alarm(kLife);  // not inherited
    return made;
}

[[noreturn]] void echo() {
    std::array<char, 65'536> block;
    for (;;) {
        const ssize_t got = ::read(0, block.data(), block.size());
        if (got <= 0) ::_exit(0);
        write_all(1, {block.data(), static_cast<std::size_t>(got)});
    }
}

// A tree of fifty, all of them deaf.
[[noreturn]] void storm() {
    be_deaf();
    for (int made = 1, width = 7; made < kStorm; made += width) {
        if (make_another() == 0) {
            for (int i = 1; i < width && i + made < kStorm; ++i) {
                if (make_another() == 0) stay();
            }
            stay();
        }
    }
    say("ready");
    stay();
}

// Always one process, and soon another: each makes the next and ends.
[[noreturn]] void runaway() {
    be_deaf();
    say("ready");
    for (int hop = 0; hop < kHops; ++hop) {
        const pid_t next = make_another();
        if (next > 0) ::_exit(0);
        if (next < 0) break;
    }
    ::_exit(0);
}

[[noreturn]] void flood() {
    const std::string block(65'536, 'x');
    const std::string line = "a line of a kind that nobody wants to read\n";
    for (long written = 0; written < kFlood; written += static_cast<long>(block.size() + line.size())) {
        write_all(2, line);
        write_all(2, block);
    }
    ::_exit(0);
}

// Gone from where it was started: another session, and another parent. Returns in the process that remains.
void escape() {
    const pid_t first = ::getpid();
    if (make_another() > 0) stay();
    ::setsid();
    const pid_t second = ::getpid();
    if (make_another() > 0) ::_exit(0);
    while (::getppid() == second || ::getppid() == first) static_cast<void>(::poll(nullptr, 0, 1));
}

std::string from_hex(std::string_view digits) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
        bytes.push_back(static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
    return bytes;
}

// "approved", or why not.
std::string try_to_approve(const char* path, const std::string& request) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::strncpy(name.sun_path, path, sizeof name.sun_path - 1);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0) return "no connection";
    static_cast<void>(::send(fd, request.data(), request.size(), MSG_NOSIGNAL));
    ::shutdown(fd, SHUT_WR);
    std::string answer;
    std::array<char, 4096> block;
    for (;;) {
        const ssize_t got = ::read(fd, block.data(), block.size());
        if (got <= 0) break;
        answer.append(block.data(), static_cast<std::size_t>(got));
        if (answer.find("\"ok\":true") != std::string::npos) return "approved";
        if (answer.find("own_descendant") != std::string::npos) return "refused";
    }
    return "no answer";
}

[[noreturn]] void be(std::string_view kind, const char* path, const std::string& request) {
    if (kind == "echo") echo();
    if (kind == "exit") ::_exit(3);
    if (kind == "garbage") {
        std::string noise(65'536, '\0');
        for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<char>(i * i >> 3);
        write_all(1, noise);
        echo();
    }
    if (kind == "deaf") {
        be_deaf();
        say("ready");
        stay();
    }
    if (kind == "silent") {
        be_deaf();
        for (int fd = 0; fd <= 2; ++fd) ::close(fd);
        stay();
    }
    if (kind == "storm") storm();
    if (kind == "runaway") runaway();
    if (kind == "flood") flood();
    if (kind == "orphan") {
        be_deaf();
        escape();
        say("ready");
        stay();
    }
    if (kind == "stopped") {
        be_deaf();
        if (make_another() == 0) {
            ::setsid();
            say("ready");
            ::raise(SIGSTOP);
        }
        stay();
    }
    if (kind == "stop_launcher") {
        be_deaf();
        ::kill(::getppid(), SIGSTOP);
        say("ready");
        stay();
    }
    if (kind == "kill_launcher") {
        be_deaf();
        if (make_another() == 0) {
            ::setsid();
            stay();
        }
        say("ready");  // first: without a launcher it may be ended at any moment
        ::kill(::getppid(), SIGKILL);
        stay();
    }
    if (kind == "approve") {
        say(try_to_approve(path, request));
        echo();
    }
    if (kind == "approve_orphan") {
        escape();
        say(try_to_approve(path, request));
        stay();
    }
    if (kind == "approve_fatherless") {
        const pid_t launcher = ::getppid();
        ::kill(launcher, SIGKILL);
        while (::getppid() == launcher) static_cast<void>(::poll(nullptr, 0, 1));
        escape();
        say(try_to_approve(path, request));
        stay();
    }
    std::fprintf(stderr, "hostile_child: there is no kind '%s'\n", std::string(kind).c_str());
    ::_exit(2);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    ::alarm(kLife);
    be(argv[2], argc > 3 ? argv[3] : "", argc > 4 ? from_hex(argv[4]) : "");
}
