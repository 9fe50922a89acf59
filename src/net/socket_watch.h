// Tells which of one thread's sockets can be read or written, without a call of the system for each wait.
//
// Asio arms every wait by a call of its own. Here a socket is registered once, with what it waits for, and
// that is changed only when it is something else: a connection that answers one request after the other is
// registered as it begins, and never again. What has happened is looked up for all sockets at once.
//
// What is reported stays so until it is dealt with (level-triggered): whoever does not want to be notified
// any more says so by change().
//
// Threads: belongs to its loop thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

namespace callgate::net {

/// What a socket is ready for, or to be watched for. A socket that is broken or whose peer has gone is ready
/// for both, whatever it is watched for.
struct Readiness {
    bool read = false;
    bool write = false;
    bool broken = false;  ///< only as an answer: an error, or both directions have ended

    friend bool operator==(const Readiness&, const Readiness&) = default;
};

/// Whose socket is watched.
class SocketOwner {
public:
    virtual ~SocketOwner() = default;
    virtual void ready(Readiness what) = 0;
};

class SocketWatch {
public:
    /// Of a socket that is watched; good until remove().
    using Place = std::size_t;
    static constexpr Place kNowhere = static_cast<Place>(-1);

    explicit SocketWatch(boost::asio::io_context& context) : epoll_(context) {}
    SocketWatch(const SocketWatch&) = delete;
    SocketWatch& operator=(const SocketWatch&) = delete;

    /// Keeps the owner until the socket is removed. kNowhere: the system has no room to watch it.
    Place add(int socket, std::shared_ptr<SocketOwner> owner, Readiness watched_for);
    void change(Place place, int socket, Readiness watched_for);
    /// Before the socket is closed. Its owner is released after this turn of the loop, so that it may call
    /// this itself.
    void remove(Place place, int socket);

private:
    struct Watched {
        std::shared_ptr<SocketOwner> owner;
        std::uint32_t generation = 0;  // of an event for who was here before nobody is notified
    };

    bool open();
    void wait();
    void look();
    std::uint64_t mark(Place place) const noexcept;

    boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type> epoll_;
    std::vector<Watched> places_;
    std::vector<Place> free_;
};

}  // namespace callgate::net
