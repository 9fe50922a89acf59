// For tests: a client of raw sockets, which sends exactly the bytes it is given and blocks until an answer is
// there. What takes longer than kPatience is an error, so that a test fails instead of hanging.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/must.h"
#include "os/fd.h"
#include "os/unix_socket.h"

namespace callgate::net {

inline constexpr int kPatienceSeconds = 60;

struct TestAnswer {
    int status = 0;
    std::string head;  ///< the status line and all headers
    std::string body;
    bool cut = false;  ///< the connection ended before the answer did

    std::string header(std::string_view name) const {
        const std::string line = "\r\n" + std::string(name) + ": ";
        const std::size_t at = head.find(line);
        if (at == std::string::npos) return {};
        const std::size_t begin = at + line.size();
        return head.substr(begin, head.find("\r\n", begin) - begin);
    }
};

class TestClient {
public:
    explicit TestClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        connect(port);
        be_patient();
    }
    /// Of a socket that is not connected yet.
    void connect(std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
            throw std::runtime_error("cannot connect");
        const int at_once = 1;
        ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    }
    /// Of a socket that there is already.
    explicit TestClient(os::Fd socket) : socket_(std::move(socket)) {
        ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) & ~O_NONBLOCK);
        be_patient();
    }

    int fd() const noexcept { return socket_.get(); }

    /// False: the peer takes nothing any more.
    bool send(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t put = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (put <= 0) return false;
            bytes.remove_prefix(static_cast<std::size_t>(put));
        }
        return true;
    }
    void end_sending() { ::shutdown(socket_.get(), SHUT_WR); }
    /// Goes without a word, as a process that is killed does with something unread.
    void reset() {
        const linger at_once{1, 0};
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        socket_.reset();
    }
    void close() { socket_.reset(); }
    /// Gives back the memory for what it has read, all of which was taken.
    void forget() { std::string().swap(got_); }

    /// Until these bytes have come; everything up to their end, which later reads do not see again. Short of
    /// them where the connection ends before.
    std::string read_until(std::string_view end) {
        for (;;) {
            const std::size_t at = got_.find(end);
            if (at != std::string::npos) return take(at + end.size());
            if (!read_more()) return take(got_.size());
        }
    }
    std::string read_bytes(std::size_t count) {
        while (got_.size() < count && read_more()) {
        }
        return take(std::min(count, got_.size()));
    }
    std::string read_to_end() {
        while (read_more()) {
        }
        return take(got_.size());
    }
    /// What the next recv() gives, however much that is.
    std::string read_once() {
        if (got_.empty()) read_more();
        return take(got_.size());
    }
    /// How many segments with data have come: of a server that sends at once, how often it wrote.
    std::uint32_t segments() const {
        // Linux's tcp_info as far as tcpi_data_segs_in, which the C library's has not.
        std::array<std::uint32_t, 39> info{};
        socklen_t size = sizeof info;
        ::getsockopt(socket_.get(), IPPROTO_TCP, TCP_INFO, info.data(), &size);
        return info[38];
    }
    /// Sends byte by byte, until an answer has begun or nothing more is taken.
    void drip(std::string_view bytes) {
        const timeval moment{0, 5'000};
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof moment);
        for (const char c : bytes) {
            char seen = 0;
            if (!send({&c, 1}) || ::recv(socket_.get(), &seen, 1, MSG_PEEK) >= 0) break;
        }
        be_patient();
    }
    /// Whether the connection has ended, with nothing left to read.
    bool ended() { return got_.empty() && !read_more(); }

    /// The head alone of the next answer, as for a stream.
    TestAnswer read_head() {
        TestAnswer answer;
        answer.head = read_until("\r\n\r\n");
        answer.cut = !answer.head.ends_with("\r\n\r\n");
        if (answer.head.starts_with("HTTP/1.1 ") && answer.head.size() > 12)
            answer.status = std::stoi(answer.head.substr(9, 3));
        return answer;
    }
    /// A chunk of a stream; nothing at its end. A cut one throws.
    std::optional<std::string> read_chunk() {
        const std::string line = read_until("\r\n");
        if (!line.ends_with("\r\n")) throw std::runtime_error("the stream was cut");
        const std::size_t size = std::stoul(line, nullptr, 16);
        std::string data = read_bytes(size + 2);
        if (data.size() != size + 2) throw std::runtime_error("the stream was cut");
        data.resize(size);
        if (size == 0) return std::nullopt;
        return data;
    }
    /// The next answer in whole. `to_head`: of a HEAD request, so without a body.
    TestAnswer read_answer(bool to_head = false) {
        TestAnswer answer = read_head();
        if (answer.cut || to_head) return answer;
        if (answer.header("Transfer-Encoding") == "chunked") {
            while (auto chunk = read_chunk()) answer.body += *chunk;
        } else if (const std::string size = answer.header("Content-Length"); !size.empty()) {
            answer.body = read_bytes(std::stoul(size));
            answer.cut = answer.body.size() != std::stoul(size);
        } else if (answer.status >= 200 && answer.status != 204 && answer.status != 304) {
            answer.body = read_to_end();
        }
        return answer;
    }
    TestAnswer ask(std::string_view request) {
        send(request);
        return read_answer();
    }

private:
    void be_patient() {
        const timeval patience{kPatienceSeconds, 0};
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    }
    bool read_more() {
        char room[16 << 10];
        const ssize_t got = ::recv(socket_.get(), room, sizeof room, 0);
        if (got < 0 && errno == EAGAIN) throw std::runtime_error("nothing came for a minute");
        if (got <= 0) return false;
        got_.append(room, static_cast<std::size_t>(got));
        return true;
    }
    std::string take(std::size_t count) {
        std::string taken = got_.substr(0, count);
        got_.erase(0, count);
        return taken;
    }

    os::Fd socket_;
    std::string got_;
};

/// "GET / HTTP/1.1" with these further headers, each with its line end.
inline std::string get(std::string_view target = "/", std::string_view headers = {}) {
    return "GET " + std::string(target) + " HTTP/1.1\r\nHost: localhost\r\n" + std::string(headers) + "\r\n";
}
inline std::string post(std::string_view body, std::string_view headers = {}) {
    return "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
           std::string(headers) + "\r\n" + std::string(body);
}

}  // namespace callgate::net
