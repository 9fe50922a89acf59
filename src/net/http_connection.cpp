#include "net/http_connection.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <boost/asio/post.hpp>

#include "net/http_reply.h"

namespace callgate::net {
namespace {

// What a peer may send ahead of the answer it waits for; then it is read no further.
constexpr std::size_t kMostAhead = 64u << 10;
// A stream's pieces leave at the end of a turn of the loop, or once there are so many.
constexpr std::size_t kEarly = 64u << 10;
constexpr std::size_t kPiecesPerWrite = 16;

HttpHeaders plain_text() {
    return {{"Content-Type", "text/plain; charset=utf-8"}};
}

}  // namespace

HttpConnection::HttpConnection(std::shared_ptr<HttpShard> shard, const os::Fd& socket, HttpPeer peer)
    : shard_(std::move(shard)),
      link_(std::make_shared<HttpLink>(shard_->thread(), shard_->limits().max_waiting_bytes)),
      peer_(std::make_shared<const HttpPeer>(std::move(peer))),
      socket_(shard_->thread()->context()),
      stream_(socket.get(), shard_->state().tls.get()),
      reader_(shard_->limits()) {
    link_->connection = this;
}

HttpConnection::~HttpConnection() {
    link_->connection = nullptr;
    if (phase_ != Phase::closed) shard_->state().connection_has_gone();
}

bool HttpConnection::start(os::Fd socket) {
    boost::system::error_code error;
    socket_.assign(socket.get(), error);
    if (error) {
        close();
        return false;
    }
    socket.release();
    shard_->set_deadline(*this, stream_.ready() ? HttpDeadline::idle : HttpDeadline::tls);
    wait_to_read();
    return true;
}

void HttpConnection::end_when_idle() {
    close_after_ = true;
    if (phase_ == Phase::reading && reader_.stage() == HttpRequestReader::Stage::nothing) close();
}

void HttpConnection::close() {
    if (phase_ == Phase::closed) return;
    phase_ = Phase::closed;
    link_->connection = nullptr;
    HttpConnectionHook::unlink();
    shard_->set_deadline(*this, HttpDeadline::none);
    boost::system::error_code ignored;
    socket_.close(ignored);
    out_.clear();
    std::string().swap(ahead_);
    shard_->state().connection_has_gone();
    if (const auto function = std::exchange(on_gone_, nullptr)) function();
}

void HttpConnection::deadline_passed() {
    switch (kind) {
        case HttpDeadline::head: refuse({408, "The head of the request took too long."}); return drive({});
        case HttpDeadline::body: refuse({408, "The body of the request took too long."}); return drive({});
        case HttpDeadline::quiet:
            link_->waiting.fetch_add(idle_text_.size() + kHttpFraming, std::memory_order_relaxed);
            return write(exchange_, idle_text_, idle_text_.size() + kHttpFraming);
        case HttpDeadline::write: shard_->state().slow_readers.fetch_add(1, std::memory_order_relaxed); break;
        default: break;
    }
    close();
}

// ---- what comes

void HttpConnection::wait_to_read() {
    if (ahead_.size() >= kMostAhead) return wait_for_error();
    if (std::exchange(waits_to_read_, true)) return;
    socket_.async_wait(socket_.wait_read,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                           self->waits_to_read_ = false;
                           if (!error) self->readable();
                       });
}

// A peer that is too far ahead is not read, but still noticed when it resets the connection.
void HttpConnection::wait_for_error() {
    if (std::exchange(waits_for_error_, true)) return;
    socket_.async_wait(socket_.wait_error,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                           self->waits_for_error_ = false;
                           if (!error) self->close();
                       });
}

void HttpConnection::readable() {
    if (phase_ == Phase::closed) return;
    const SocketStream::Moved moved = stream_.read(shard_->room());
    if (kind == HttpDeadline::tls && stream_.ready()) shard_->set_deadline(*this, HttpDeadline::idle);
    switch (moved.state) {
        case SocketStream::State::done:
            if (phase_ == Phase::lingering) return wait_to_read();
            return drive({shard_->room().data(), moved.bytes});
        case SocketStream::State::waits_read: return wait_to_read();
        case SocketStream::State::waits_write: return wait_to_write_for_reading();
        case SocketStream::State::ended:
            // Who has said everything may still read an answer that is known.
            if (phase_ == Phase::answered) return drive({});
            return close();
        case SocketStream::State::failed: return close();
    }
}

// Goes on with everything that can be done now. `fresh` is what has just come.
void HttpConnection::drive(std::string_view fresh) {
    std::string kept;
    if (!ahead_.empty()) {
        kept = std::move(ahead_);
        ahead_.clear();
        fresh = kept.append(fresh);
    }
    while (goes_on(fresh)) {
    }
    if (phase_ == Phase::closed) return;
    if (phase_ != Phase::lingering) ahead_.assign(fresh);
    if (phase_ == Phase::answering && (kind == HttpDeadline::head || kind == HttpDeadline::body ||
                                       kind == HttpDeadline::idle))
        shard_->set_deadline(*this, HttpDeadline::none);
    if (phase_ != Phase::answered) wait_to_read();
}

bool HttpConnection::goes_on(std::string_view& input) {
    if (!flush()) {
        if (broken_) close();
        return false;
    }
    switch (phase_) {
        case Phase::answered: exchange_has_ended(); return phase_ == Phase::reading;
        case Phase::reading:
            if (input.empty()) return false;
            read(input);
            return true;
        case Phase::answering:
        case Phase::lingering:
        case Phase::closed: return false;
    }
    return false;
}

void HttpConnection::read(std::string_view& input) {
    input.remove_prefix(reader_.feed(input));
    switch (reader_.stage()) {
        case HttpRequestReader::Stage::nothing: return;
        case HttpRequestReader::Stage::head:
            if (kind != HttpDeadline::head) shard_->set_deadline(*this, HttpDeadline::head);
            return;
        case HttpRequestReader::Stage::body: return read_body(input.empty());
        case HttpRequestReader::Stage::whole:
            if (head_is_served()) dispatch();
            return;
        case HttpRequestReader::Stage::refused: return refuse(reader_.refusal());
    }
}

void HttpConnection::read_body(bool nothing_more) {
    const bool begins = !head_judged_;
    if (!head_is_served()) return;
    if (begins) shard_->set_deadline(*this, HttpDeadline::body);
    // Whoever did not wait for it does not need it.
    if (begins && nothing_more && reader_.head().expects_continue) enqueue("HTTP/1.1 100 Continue\r\n\r\n");
}

// Once, as soon as the head is known: nobody sends a body for nothing.
bool HttpConnection::head_is_served() {
    if (std::exchange(head_judged_, true)) return true;
    const auto refusal = shard_->state().rules.judge(reader_.head());
    if (refusal) refuse(*refusal);
    return !refusal;
}

void HttpConnection::dispatch() {
    HttpHead head;
    std::string body;
    reader_.take(head, body);
    head_judged_ = false;
    ++exchange_;
    phase_ = Phase::answering;
    one_one_ = head.one_one;
    bodiless_ = head.text(head.method) == "HEAD";
    close_after_ = close_after_ || !head.keeps_alive || shard_->draining() ||
                   exchange_ >= shard_->limits().max_requests_per_connection;
    HttpServerState& state = shard_->state();
    state.requests.fetch_add(1, std::memory_order_relaxed);
    in_handler_ = true;
    try {
        state.handler(make_request(std::move(head), std::move(body), peer_), make_reply(link_, exchange_));
    } catch (...) {
        close_after_ = true;
        released(exchange_);
    }
    in_handler_ = false;
}

// What was read of it is of no use any more, and neither is what follows.
void HttpConnection::refuse(const HttpRefusal& refusal) {
    shard_->state().refused_requests.fetch_add(1, std::memory_order_relaxed);
    ++exchange_;
    close_after_ = true;
    bodiless_ = false;
    one_one_ = true;
    answer(refusal.status, plain_text(), refusal.text + "\n");
    reader_ = HttpRequestReader(shard_->limits());
}

// ---- what leaves

void HttpConnection::send(std::uint64_t exchange, HttpResponse response) {
    if (!current(exchange)) return;
    answer(response.status, response.headers, std::move(response.body));
    left();
}

void HttpConnection::answer(int status, const HttpHeaders& headers, std::string body) {
    HttpFraming framing;
    framing.close = close_after_;
    framing.keep_alive = !one_one_ && !close_after_;
    if (has_body(status)) framing.size = body.size();
    std::string head;
    append_head(head, status, headers, framing, shard_->date());
    enqueue(std::move(head));
    if (has_body(status) && !bodiless_) enqueue(std::move(body));
    phase_ = Phase::answered;
}

void HttpConnection::begin(std::uint64_t exchange, int status, const HttpHeaders& headers,
                           std::string idle_text) {
    if (!current(exchange) || streaming_) return;
    streaming_ = true;
    bodiless_ = bodiless_ || !has_body(status);
    if (!bodiless_ && shard_->limits().quiet_time.count() > 0) idle_text_ = std::move(idle_text);
    HttpFraming framing;
    framing.chunked = one_one_ && has_body(status);
    // Only its end says where the answer of HTTP/1.0 ends.
    close_after_ = close_after_ || !one_one_;
    framing.close = close_after_;
    chunked_ = framing.chunked;
    std::string head;
    append_head(head, status, headers, framing, shard_->date());
    enqueue(std::move(head));
    left_later();
}

void HttpConnection::write(std::uint64_t exchange, std::string bytes, std::size_t counted) {
    const std::size_t before = out_.bytes();
    const bool taken = current(exchange) && streaming_ && !bodiless_ && !bytes.empty();
    if (taken) add_piece(std::move(bytes));
    // In one step, so that never less is counted than waits.
    link_->waiting.fetch_sub(counted - (out_.bytes() - before), std::memory_order_relaxed);
    if (!taken) return;
    if (out_.bytes() > kEarly && !waits_to_write_) flush();
    left_later();
}

void HttpConnection::add_piece(std::string bytes) {
    if (!chunked_) return out_.add(std::move(bytes));
    std::array<char, kHttpFraming> size{};
    char* end = std::to_chars(size.data(), size.data() + size.size() - 4, bytes.size(), 16).ptr;
    *end++ = '\r';
    *end++ = '\n';
    out_.add(std::string(size.data(), end));
    out_.add(std::move(bytes));
    out_.add("\r\n");
}

void HttpConnection::end(std::uint64_t exchange) {
    if (!current(exchange) || !streaming_) return;
    if (chunked_ && !bodiless_) enqueue("0\r\n\r\n");
    phase_ = Phase::answered;
    left_later();
}

void HttpConnection::abandon(std::uint64_t exchange) {
    if (exchange != exchange_ || phase_ == Phase::closed) return;
    on_gone_ = nullptr;
    close_after_ = true;
    phase_ = Phase::answered;
    left_later();
}

void HttpConnection::released(std::uint64_t exchange) {
    if (!current(exchange)) return;
    if (streaming_) return abandon(exchange);
    answer(500, plain_text(), "The request was not answered.\n");
    left();
}

void HttpConnection::too_slow(std::uint64_t exchange) {
    if (exchange != exchange_ || phase_ == Phase::closed) return;
    shard_->state().slow_readers.fetch_add(1, std::memory_order_relaxed);
    close();
}

void HttpConnection::on_gone(std::uint64_t exchange, std::function<void()> function) {
    if (exchange == exchange_ && phase_ != Phase::closed && exchange > link_->left)
        on_gone_ = std::move(function);
}

void HttpConnection::enqueue(std::string bytes) {
    link_->waiting.fetch_add(bytes.size(), std::memory_order_relaxed);
    out_.add(std::move(bytes));
}

// The answer is whole: it goes now. What follows on it goes on later, or another request would be with the
// handler before this call returns.
void HttpConnection::left() {
    if (in_handler_) return;
    if (!flush()) {
        if (broken_) left_later();
    } else if (ahead_.empty() && !close_after_) {
        exchange_has_ended();
    } else {
        left_later();
    }
}

// At the end of this turn of the loop.
void HttpConnection::left_later() {
    if (in_handler_ || std::exchange(drives_later_, true)) return;
    boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
        self->drives_later_ = false;
        if (self->phase_ != Phase::closed) self->drive({});
    });
}

// True: nothing waits to be written any more.
bool HttpConnection::flush() {
    if (out_.empty()) return !broken_;
    if (waits_to_write_ || broken_) return false;
    for (;;) {
        std::array<iovec, kPiecesPerWrite> pieces;
        const SocketStream::Moved moved = stream_.write(out_.front(pieces));
        if (moved.state == SocketStream::State::waits_write) {
            wait_to_write();
            return false;
        }
        if (moved.state != SocketStream::State::done) {
            // TLS that has to read before it can write has been left in the middle of a handshake message.
            broken_ = true;
            return false;
        }
        out_.taken(moved.bytes);
        link_->waiting.fetch_sub(moved.bytes, std::memory_order_relaxed);
        if (out_.empty()) break;
        if (kind == HttpDeadline::write) shard_->set_deadline(*this, HttpDeadline::write);
    }
    all_has_left();
    return true;
}

void HttpConnection::all_has_left() {
    if (phase_ == Phase::answering && !idle_text_.empty()) {
        shard_->set_deadline(*this, HttpDeadline::quiet);
    } else if (kind == HttpDeadline::write) {
        shard_->set_deadline(*this, phase_ == Phase::reading ? HttpDeadline::body : HttpDeadline::none);
    }
}

void HttpConnection::wait_to_write() {
    if (std::exchange(waits_to_write_, true)) return;
    if (kind != HttpDeadline::write) shard_->set_deadline(*this, HttpDeadline::write);
    socket_.async_wait(socket_.wait_write,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                           self->waits_to_write_ = false;
                           if (!error && self->phase_ != Phase::closed) self->drive({});
                       });
}

// TLS has something of its own to write before it can read.
void HttpConnection::wait_to_write_for_reading() {
    if (std::exchange(waits_to_read_, true)) return;
    socket_.async_wait(socket_.wait_write,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                           self->waits_to_read_ = false;
                           if (!error) self->readable();
                       });
}

void HttpConnection::exchange_has_ended() {
    link_->left = exchange_;
    on_gone_ = nullptr;
    streaming_ = false;
    idle_text_.clear();
    if (close_after_) {
        linger();
    } else {
        phase_ = Phase::reading;
        shard_->set_deadline(*this, HttpDeadline::idle);
    }
}

// Closed with something unread, the system would reset the connection, and the peer might not see the answer.
void HttpConnection::linger() {
    phase_ = Phase::lingering;
    stream_.end_writing();
    shard_->set_deadline(*this, HttpDeadline::linger);
}

}  // namespace callgate::net
