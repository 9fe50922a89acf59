// One connection of the HTTP server: a state machine that three events drive: the socket can be read, it can
// be written, a deadline has passed. It never waits, keeps nothing to read into, and while a stream is idle
// holds little more than this object.
//
// At most one request is with the handler. While it is, the socket is watched only if the answer did not come
// before the handler returned; what a peer sends ahead then is kept, up to a limit.
//
// Threads: belongs to its shard's loop thread, except HttpLink.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "net/http_request_reader.h"
#include "net/http_shard.h"
#include "net/out_queue.h"
#include "net/socket_stream.h"
#include "net/socket_watch.h"
#include "os/fd.h"

namespace callgate::net {

/// At most, of a piece that becomes a chunk.
inline constexpr std::size_t kHttpFraming = 20;

/// How requests and replies find what is of their connection, from any thread, whether or not it is still
/// there.
struct HttpLink {
    HttpLink(std::shared_ptr<LoopThread> runs_on, std::size_t most, HttpPeer at_the_end,
             std::shared_ptr<std::atomic<std::size_t>> held_by_all)
        : thread(std::move(runs_on)),
          most_waiting(most),
          peer(std::move(at_the_end)),
          held(std::move(held_by_all)) {}

    const std::shared_ptr<LoopThread> thread;
    const std::size_t most_waiting;
    const HttpPeer peer;
    const std::shared_ptr<std::atomic<std::size_t>> held;  ///< HttpServerState::held
    std::atomic<std::size_t> waiting{0};
    // Only on the thread:
    HttpConnection* connection = nullptr;
    std::uint64_t left = 0;  ///< the last exchange whose answer has left in whole
};

class HttpConnection final : public std::enable_shared_from_this<HttpConnection>,
                             public SocketOwner,
                             public HttpDeadlineHook,
                             public HttpConnectionHook {
public:
    HttpConnection(std::shared_ptr<HttpShard> shard, os::Fd socket, HttpPeer peer);
    ~HttpConnection() override;

    /// False: the system has no room to watch it; it is closed.
    bool start();
    void ready(Readiness what) override;
    void end_when_idle();
    void close();
    void deadline_passed();

    // What a reply asks for. `exchange` is its own: what comes after its end changes nothing. None of these
    // calls the handler or on_gone's function before it returns.
    void send(std::uint64_t exchange, HttpResponse response);
    void begin(std::uint64_t exchange, int status, const HttpHeaders& headers, std::string idle_text);
    /// `counted`: what the link's `waiting` has of it already; at least its size and kHttpFraming.
    void write(std::uint64_t exchange, std::string bytes, std::size_t counted);
    void end(std::uint64_t exchange);
    void abandon(std::uint64_t exchange);
    void released(std::uint64_t exchange);
    void too_slow(std::uint64_t exchange);
    void on_gone(std::uint64_t exchange, std::function<void()> function);

private:
    /// What it waits for before it reads again; TLS may have to write first.
    enum class ReadsWhen : std::uint8_t { never, readable, writable };
    enum class Phase : std::uint8_t {
        reading,    ///< the next request
        answering,  ///< the handler has it, or a stream goes on
        answered,   ///< the answer is known in whole and has not left yet
        lingering,  ///< nothing more is written; what the peer still sends is dropped
        closed,
    };

    bool current(std::uint64_t exchange) const noexcept {
        return exchange == exchange_ && phase_ == Phase::answering;
    }
    void wait_to_read();
    void ready_for_nobody(Readiness what);
    void watch_for(bool Readiness::* what);
    void readable();
    void drive(std::string_view fresh);
    bool goes_on(std::string_view& input);
    void read(std::string_view& input);
    void read_body(bool nothing_more);
    bool head_is_served();
    void dispatch();
    void refuse(const HttpRefusal& refusal);
    void count_held();

    void answer(int status, const HttpHeaders& headers, std::string body, std::string_view content_type = {});
    void enqueue(std::string bytes);
    void add_piece(std::string bytes);
    void left();
    void left_later();
    bool flush();
    void all_has_left();
    void wait_to_write();
    void wait_to_write_for_reading();
    void exchange_has_ended();
    void linger();

    const std::shared_ptr<HttpShard> shard_;
    const std::shared_ptr<HttpLink> link_;
    os::Fd socket_;
    SocketWatch::Place place_ = SocketWatch::kNowhere;
    Readiness watched_for_;
    SocketStream stream_;
    HttpRequestReader reader_;
    std::string ahead_;  // came after the request that is being answered
    OutQueue out_;
    std::string idle_text_;  // of the stream that goes on; "": it may be quiet
    std::function<void()> on_gone_;
    std::uint64_t exchange_ = 0;  // counts requests
    std::size_t held_ = 0;        // as it was counted last
    Phase phase_ = Phase::reading;
    ReadsWhen reads_when_ = ReadsWhen::never;
    bool one_one_ = true;    // of the request that is being answered: HTTP/1.1
    bool bodiless_ = false;  // its answer has none, whatever is written
    bool chunked_ = false;
    bool streaming_ = false;
    bool in_handler_ = false;
    bool head_judged_ = false;  // of the request that is being read
    bool close_after_ = false;
    bool waits_to_write_ = false;
    bool drives_later_ = false;
    bool broken_ = false;  // nothing can be written any more
};

}  // namespace callgate::net
