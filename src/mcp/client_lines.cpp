#include "mcp/client_lines.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "os/system_error.h"

namespace callgate::mcp {
namespace asio = boost::asio;
namespace {

constexpr std::size_t kReadAtOnce = 64u << 10;

bool is_a_socket(int fd) {
    struct stat about{};
    return ::fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode);
}

void never_block(int fd) {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags >= 0) (void)::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

}  // namespace

std::shared_ptr<ClientLines> ClientLines::make(std::shared_ptr<net::LoopThread> thread, os::Fd in, os::Fd out,
                                               std::shared_ptr<void> kept, ClientLineLimits limits) {
    return std::shared_ptr<ClientLines>(
        new ClientLines(std::move(thread), std::move(in), std::move(out), std::move(kept), limits));
}

ClientLines::ClientLines(std::shared_ptr<net::LoopThread> thread, os::Fd in, os::Fd out,
                         std::shared_ptr<void> kept, ClientLineLimits limits)
    : thread_(std::move(thread)),
      limits_(limits),
      in_(std::move(in)),
      out_(std::move(out)),
      in_is_socket_(is_a_socket(in_.get())),
      out_is_socket_(is_a_socket(out_.get())),
      kept_(std::move(kept)),
      readable_(thread_->context()),
      writable_(thread_->context()),
      lines_(limits.max_line),
      buffer_(kReadAtOnce) {}

ClientLines::~ClientLines() = default;

void ClientLines::begin(TransportPeer& peer) {
    peer_ = &peer;
    never_block(in_.get());
    never_block(out_.get());
    boost::system::error_code failed;
    (void)readable_.assign(::fcntl(in_.get(), F_DUPFD_CLOEXEC, 3), failed);
    if (!failed) (void)writable_.assign(::fcntl(out_.get(), F_DUPFD_CLOEXEC, 3), failed);
    if (failed) {
        thread_->post([self = shared_from_this(), what = failed.message()] {
            self->end(fmt::format("The server's input and output cannot be used: {}.", what));
        });
        return;
    }
    wait_to_read();
}

void ClientLines::wait_to_read() {
    readable_.async_wait(asio::posix::stream_descriptor::wait_read,
                         [self = shared_from_this()](const boost::system::error_code& failed) {
                             if (self->over_ || failed == asio::error::operation_aborted) return;
                             self->read_some();
                         });
}

void ClientLines::read_some() {
    const ssize_t got = in_is_socket_ ? ::recv(in_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT)
                                      : ::read(in_.get(), buffer_.data(), buffer_.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        wait_to_read();
        return;
    }
    if (got < 0 && errno != ECONNRESET) {
        end(fmt::format("The server's output cannot be read: {}.", os::errno_text(errno)));
        return;
    }
    const auto take = [this](const wire::LineReader::Line& line) { take_line(line); };
    if (got <= 0) {
        lines_.finish(take);
        end("The server has closed its output.");
        return;
    }
    lines_.feed({buffer_.data(), static_cast<std::size_t>(got)}, take);
    if (!over_) wait_to_read();
}

void ClientLines::take_line(const wire::LineReader::Line& line) {
    if (over_) return;
    if (line.too_long)
        peer_->fault(ServerFault::too_large, fmt::format("A line has more than {} bytes.", limits_.max_line));
    else
        peer_->arrived(line.text, 0, 0);
}

Result<void> ClientLines::send(OutgoingMessage message) {
    if (over_ || peer_ == nullptr)
        return fail(ErrorCode::unavailable, "The connection to the server is closed.",
                    {{"reason", "closed"}});
    const std::size_t waits = waiting_.size() - written_;
    if (waits > 0 && waits + message.text.size() > limits_.max_waiting)
        return fail(ErrorCode::unavailable, "The server does not read what it is sent.",
                    {{"reason", "server_does_not_read"}});
    if (message.request != 0) unsent_.push_back({message.request, before_ + waiting_.size()});
    wire::append_line(waiting_, message.text);
    write_soon();
    return {};
}

// What is sent in one turn leaves together; and a peer learns of a failure in a turn of its own.
void ClientLines::write_soon() {
    if (writes_soon_ || waits_to_write_) return;
    writes_soon_ = true;
    thread_->post([self = shared_from_this()] {
        self->writes_soon_ = false;
        if (!self->over_) self->write_some();
    });
}

void ClientLines::write_some() {
    while (written_ < waiting_.size()) {
        const char* from = waiting_.data() + written_;
        const std::size_t left = waiting_.size() - written_;
        const ssize_t put = out_is_socket_ ? ::send(out_.get(), from, left, MSG_DONTWAIT | MSG_NOSIGNAL)
                                           : ::write(out_.get(), from, left);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && errno == EAGAIN) {
            if (written_ > waiting_.size() / 2) {
                waiting_.erase(0, written_);
                before_ += std::exchange(written_, 0);
            }
            wait_to_write();
            return;
        }
        if (put < 0) {
            end(fmt::format("The server does not take what it is sent: {}.", os::errno_text(errno)));
            return;
        }
        written_ += static_cast<std::size_t>(put);
        while (!unsent_.empty() && unsent_.front().begin < before_ + written_) unsent_.pop_front();
    }
    before_ += std::exchange(written_, 0);
    waiting_.clear();
}

void ClientLines::wait_to_write() {
    waits_to_write_ = true;
    writable_.async_wait(asio::posix::stream_descriptor::wait_write,
                         [self = shared_from_this()](const boost::system::error_code& failed) {
                             self->waits_to_write_ = false;
                             if (self->over_ || failed == asio::error::operation_aborted) return;
                             self->write_some();
                         });
}

// Everything of a request that has not begun to leave is still here.
void ClientLines::end(std::string why) {
    if (over_) return;
    const auto self = shared_from_this();
    const std::deque<Unsent> unsent = std::move(unsent_);
    stop();
    const Error error(ErrorCode::transport, std::move(why), {{"reason", "closed"}});
    for (const Unsent& one : unsent) {
        if (peer_ != nullptr) peer_->lost(one.request, {error, false, 0});
    }
    if (peer_ != nullptr) std::exchange(peer_, nullptr)->closed({error, true, 0});
}

bool ClientLines::forget(std::uint64_t /*request*/, bool /*modern*/) {
    return false;
}

void ClientLines::close() {
    peer_ = nullptr;
    if (!over_) stop();
}

void ClientLines::stop() {
    over_ = true;
    boost::system::error_code ignored;
    (void)readable_.close(ignored);
    (void)writable_.close(ignored);
    in_.reset();
    out_.reset();
    kept_.reset();
    unsent_.clear();
    std::string().swap(waiting_);
}

}  // namespace callgate::mcp
