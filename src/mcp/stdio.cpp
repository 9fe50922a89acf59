#include "mcp/stdio.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <future>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <boost/asio/post.hpp>

#include "mcp/batch.h"
#include "mcp/server_parts.h"
#include "os/system_error.h"

namespace callgate::mcp {
namespace asio = boost::asio;
namespace {

constexpr std::size_t kReadBytes = 64u << 10;
/// A client that does not read is given up when so much waits for it.
constexpr std::size_t kMaxWaiting = 64u << 20;
/// Answers to lines that came together leave together, up to so much.
constexpr std::size_t kMaxGathered = 64u << 10;

bool is_socket(int fd) {
    struct stat about{};
    return ::fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode);
}

// A descriptor of our own that does not block. A pipe or a terminal is opened again, so that whoever shares
// it with us does not find it changed; a file is not, which would begin at its beginning, and never blocks.
os::Fd own_descriptor(int fd, int mode) {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ((flags & O_ACCMODE) != mode && (flags & O_ACCMODE) != O_RDWR)) return {};
    struct stat about{};
    if (::fstat(fd, &about) == 0 && (S_ISFIFO(about.st_mode) || S_ISCHR(about.st_mode))) {
        os::Fd again(
            ::open(fmt::format("/proc/self/fd/{}", fd).c_str(), mode | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
        if (again) return again;
    }
    return os::Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
}

// How it was before. A regular file never blocks, whatever its flags say.
int do_not_block(int fd) {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags >= 0) (void)::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    return flags;
}

bool would_block() {
    return errno == EAGAIN;  // EWOULDBLOCK is the same on Linux
}

}  // namespace

// The way back for what came.
class StdioConnection::Way final : public Outlet {
public:
    explicit Way(std::shared_ptr<StdioConnection> connection) : connection_(std::move(connection)) {}

    void message(std::string text) override { connection_->send(text); }
    void respond(std::string text, int /*status*/) override { connection_->send(text); }
    void on_gone(std::function<void()> /*function*/) override {}  // the session's end calls its requests off
    void drop() override {}
    void acknowledge() override {}

private:
    const std::shared_ptr<StdioConnection> connection_;
};

StdioConnection::StdioConnection(std::shared_ptr<ServerCore> core, os::Fd in, os::Fd out,
                                 std::function<void(std::string)> ended)
    : core_(std::move(core)),
      in_(std::move(in)),
      out_(std::move(out)),
      in_is_socket_(is_socket(in_.get())),
      out_is_socket_(is_socket(out_.get())),
      readable_(core_->loop().context()),
      writable_(core_->loop().context()),
      ended_(std::move(ended)),
      lines_(core_->options().limits.message.max_bytes),
      buffer_(kReadBytes) {}

void StdioConnection::begin() {
    session_ = core_->new_session_over_lines();
    in_flags_ = do_not_block(in_.get());
    out_flags_ = do_not_block(out_.get());
    session_->side = std::make_shared<Way>(shared_from_this());
    boost::system::error_code failed;
    // A regular file cannot be waited for: it is always ready.
    (void)readable_.assign(::fcntl(in_.get(), F_DUPFD_CLOEXEC, 3), failed);
    if (!failed) (void)writable_.assign(::fcntl(out_.get(), F_DUPFD_CLOEXEC, 3), failed);
    if (failed) {
        end(fmt::format("standard input and output cannot be used: {}", failed.message()));
        return;
    }
    wait_to_read();
}

void StdioConnection::wait_to_read() {
    readable_.async_wait(asio::posix::stream_descriptor::wait_read,
                         [self = shared_from_this()](const boost::system::error_code& failed) {
                             if (self->over_ || failed == asio::error::operation_aborted) return;
                             self->read_some();
                         });
}

void StdioConnection::read_some() {
    const ssize_t got = in_is_socket_ ? ::recv(in_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT)
                                      : ::read(in_.get(), buffer_.data(), buffer_.size());
    if (got < 0 && (would_block() || errno == EINTR)) {
        wait_to_read();
        return;
    }
    if (got < 0) {
        end(fmt::format("standard input cannot be read: {}", os::errno_text(errno)));
        return;
    }
    const auto take = [this](const wire::LineReader::Line& line) { take_line(line); };
    if (got == 0) {
        lines_.finish(take);
        input_ended();
        return;
    }
    gathers_ = true;
    lines_.feed({buffer_.data(), static_cast<std::size_t>(got)}, take);
    gathers_ = false;
    if (!over_ && !writing_ && !waiting_.empty()) write_some();
    if (!over_) wait_to_read();
}

void StdioConnection::take_line(const wire::LineReader::Line& line) {
    if (over_) return;
    const auto outlet = std::make_shared<Way>(shared_from_this());
    if (line.too_long) {
        outlet->respond(error_text(nullptr, {codes::kInvalidRequest,
                                             fmt::format("A message has at most {} bytes.",
                                                         core_->options().limits.message.max_bytes)}),
                        0);
        return;
    }
    ReadMessages read = read_messages(line.text, core_->options().limits.message);
    const std::size_t most = core_->options().limits.max_batch;
    if (read.batch && (session_->codec == nullptr || !session_->codec->batches())) {
        outlet->respond(error_text(nullptr, {codes::kInvalidRequest,
                                             "A line is one message: batches are of 2025-03-26."}),
                        0);
        return;
    }
    if (!read.batch) {
        take_one(read.all.front(), outlet, false);
        return;
    }
    if (read.all.size() > most) {
        outlet->respond(error_text(nullptr, {codes::kInvalidRequest,
                                             fmt::format("A batch has at most {} messages.", most)}),
                        0);
        return;
    }
    const auto batch = std::make_shared<Batch>(read.all.size(), [outlet](std::string text) {
        if (!text.empty()) outlet->message(std::move(text));
    });
    for (ReadMessage& one : read.all) {
        take_one(one, std::make_shared<BatchWay>(batch, id_of(one), outlet), true);
    }
}

void StdioConnection::take_one(ReadMessage& read, const std::shared_ptr<Outlet>& outlet, bool in_batch) {
    Arrival arrival{outlet, session_, nullptr, false};
    arrival.in_batch = in_batch;
    if (auto* bad = std::get_if<BadMessage>(&read))
        core_->refuse(*bad, arrival);
    else
        core_->take(std::move(std::get<Message>(read)), arrival);
}

void StdioConnection::send(std::string_view text) {
    if (over_) return;
    wire::append_line(waiting_, text);
    if (waiting_.size() - written_ > kMaxWaiting) {
        end("the client does not read what it is sent");
        return;
    }
    if (!writing_ && (!gathers_ || waiting_.size() - written_ > kMaxGathered)) write_some();
}

void StdioConnection::write_some() {
    writing_ = false;
    while (written_ < waiting_.size()) {
        const char* from = waiting_.data() + written_;
        const std::size_t left = waiting_.size() - written_;
        const ssize_t put = out_is_socket_ ? ::send(out_.get(), from, left, MSG_DONTWAIT | MSG_NOSIGNAL)
                                           : ::write(out_.get(), from, left);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && would_block()) {
            // A client that is always a little behind must not make it grow.
            if (written_ > waiting_.size() / 2) {
                waiting_.erase(0, written_);
                written_ = 0;
            }
            wait_to_write();
            return;
        }
        if (put < 0) {
            end(errno == EPIPE ? std::string()
                               : fmt::format("standard output cannot be written: {}", os::errno_text(errno)));
            return;
        }
        written_ += static_cast<std::size_t>(put);
    }
    waiting_.clear();
    written_ = 0;
    if (input_over_) input_ended();
}

void StdioConnection::wait_to_write() {
    writing_ = true;
    writable_.async_wait(asio::posix::stream_descriptor::wait_write,
                         [self = shared_from_this()](const boost::system::error_code& failed) {
                             if (self->over_ || failed == asio::error::operation_aborted) return;
                             self->write_some();
                         });
}

// The client has said all it will. What it asked for is still answered: it may have closed only this side.
void StdioConnection::input_ended() {
    input_over_ = true;
    core_->answers_no_more(*session_);
    // Looked at again when an answer has left. Who listens has gone.
    const bool under_way = std::any_of(session_->requests.begin(), session_->requests.end(),
                                       [](const auto& one) { return !one.second->listens; });
    if (under_way || writing_)
        watch_output();
    else
        end({});
}

// A client that has gone altogether, rather than closed this side, wants no answers.
void StdioConnection::watch_output() {
    if (std::exchange(watches_output_, true)) return;
    writable_.async_wait(asio::posix::stream_descriptor::wait_error,
                         [self = shared_from_this()](const boost::system::error_code& failed) {
                             if (!self->over_ && !failed) self->end({});
                         });
}

void StdioConnection::end(std::string trouble) {
    if (over_) return;
    over_ = true;
    boost::system::error_code ignored;
    (void)readable_.close(ignored);
    (void)writable_.close(ignored);
    // In this order: both may be the same.
    if (out_flags_ >= 0) (void)::fcntl(out_.get(), F_SETFL, out_flags_);
    if (in_flags_ >= 0) (void)::fcntl(in_.get(), F_SETFL, in_flags_);
    // Not here: whoever sends may be in the middle of the sessions, the listeners or the questions.
    core_->at_home([core = core_, session = session_] { core->end_session(session); });
    auto ended = std::exchange(ended_, nullptr);
    ended(std::move(trouble));
}

int serve_stdio(Server& server, int in, int out, const std::stop_token& stop) {
    const auto& core = server.parts().core;
    os::Fd from = own_descriptor(in, O_RDONLY);
    os::Fd to = own_descriptor(out, O_WRONLY);
    if (!from || !to) {
        (void)std::fprintf(stderr, "callgate: standard input and output cannot be used\n");
        return 1;
    }
    std::promise<std::string> ended;
    const auto connection = std::make_shared<StdioConnection>(
        core, std::move(from), std::move(to),
        [&ended](std::string trouble) { ended.set_value(std::move(trouble)); });
    core->at_home([connection] { connection->begin(); });
    const std::stop_callback stops(stop, [&] { core->at_home([connection] { connection->stop(); }); });
    const std::string trouble = ended.get_future().get();
    if (trouble.empty()) return 0;
    (void)std::fprintf(stderr, "callgate: %s\n", trouble.c_str());
    return 1;
}

int serve_stdio(Server& server) {
    (void)std::signal(SIGPIPE, SIG_IGN);
    return serve_stdio(server, STDIN_FILENO, STDOUT_FILENO);
}

int serve(Runtime& runtime, ServerOptions options) {
    Server server(runtime, std::move(options));
    return serve_stdio(server);
}

}  // namespace callgate::mcp
