#include "oracle.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <span>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace callgate::fault {

namespace {

constexpr int kPipeBytes = 1 << 20;

[[noreturn]] void die(const char* what) {
    std::perror(what);
    std::_Exit(4);
}

class Oracle {
public:
    Oracle(const Channels& channels, const std::string& file) : channels_(channels), file_(file) {}

    [[noreturn]] void run() {
        for (;;) {
            pollfd wanted[] = {{channels_.effects_in.get(), POLLIN, 0},
                               {channels_.questions.get(), POLLIN, 0}};
            if (::poll(wanted, 2, -1) < 0 && errno != EINTR) die("oracle: poll");
            listen();
            if ((wanted[1].revents & POLLIN) != 0) answer();
        }
    }

private:
    /// All that was said until now.
    void listen() {
        Record heard[512];
        for (;;) {
            const ssize_t bytes = ::read(channels_.effects_in.get(), heard, sizeof heard);
            if (bytes < 0 && errno == EAGAIN) return;
            if (bytes <= 0 || bytes % static_cast<ssize_t>(sizeof(Record)) != 0) die("oracle: read");
            const std::size_t count = static_cast<std::size_t>(bytes) / sizeof(Record);
            for (const Record& record : std::span(heard, count)) {
                if (record.kind == Record::Kind::effect) applied_.emplace(record.key, record.call_id);
                records_.push_back(record);
            }
        }
    }

    void answer() {
        Question question;
        if (::recv(channels_.questions.get(), &question, sizeof question, 0) != sizeof question)
            die("oracle: question");
        listen();  // whatever happened before the question was asked
        Answer told{question.nonce, 0};
        if (question.kind == Question::Kind::applied) {
            told.yes = applied_.contains({question.key, question.call_id}) ? 1 : 0;
        } else {
            write_down();
        }
        if (::send(channels_.questions.get(), &told, sizeof told, MSG_NOSIGNAL) != sizeof told)
            die("oracle: answer");
    }

    void write_down() {
        std::FILE* out = std::fopen(file_.c_str(), "wb");
        if (out == nullptr ||
            std::fwrite(records_.data(), sizeof(Record), records_.size(), out) != records_.size() ||
            std::fclose(out) != 0) {
            die("oracle: file");
        }
    }

    const Channels& channels_;
    const std::string& file_;
    std::set<std::pair<std::uint64_t, CallId>> applied_;
    std::vector<Record> records_;
};

}  // namespace

Channels Channels::open() {
    Channels made;
    int pipe[2];
    int pair[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0) die("pipe");
    if (::fcntl(pipe[0], F_SETFL, O_NONBLOCK) != 0) die("pipe");
    (void)::fcntl(pipe[0], F_SETPIPE_SZ, kPipeBytes);
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) die("socketpair");
    made.effects_in = os::Fd(pipe[0]);
    made.effects_out = os::Fd(pipe[1]);
    made.questions = os::Fd(pair[0]);
    made.asking = os::Fd(pair[1]);
    made.ready = os::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    made.freed = os::Fd(::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE));
    if (!made.ready || !made.freed) die("eventfd");
    return made;
}

void run_oracle(const Channels& channels, const std::string& file) {
    Oracle(channels, file).run();
}

std::uint64_t ask(const Channels& channels, Question question) {
    std::random_device device;
    question.nonce = (std::uint64_t{device()} << 32) | device();
    if (::send(channels.asking.get(), &question, sizeof question, MSG_NOSIGNAL) != sizeof question)
        die("ask the oracle");
    for (;;) {
        Answer told;
        if (::recv(channels.asking.get(), &told, sizeof told, 0) != sizeof told) die("hear the oracle");
        if (told.nonce == question.nonce) return told.yes;  // not one that somebody did not live to hear
    }
}

}  // namespace callgate::fault
