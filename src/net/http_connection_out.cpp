// What leaves a connection: answers in whole, streams, and the end.
#include <array>
#include <charconv>
#include <utility>

#include <boost/asio/post.hpp>

#include "net/http_connection.h"

namespace callgate::net {
namespace {

// A stream's pieces leave at the end of a turn of the loop, or once there are so many.
constexpr std::size_t kEarly = 64u << 10;
constexpr std::size_t kPiecesPerWrite = 16;

HttpHeaders plain_text() {
    return {{"Content-Type", "text/plain; charset=utf-8"}};
}

}  // namespace

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

void HttpConnection::send(std::uint64_t exchange, HttpResponse response) {
    if (!current(exchange)) return;
    answer(response.status, response.headers, std::move(response.body), response.content_type);
    left();
}

void HttpConnection::answer(int status, const HttpHeaders& headers, std::string body,
                            std::string_view content_type) {
    HttpFraming framing;
    framing.content_type = content_type;
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
    boost::asio::post(shard_->thread()->context(), [self = shared_from_this()] {
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
            count_held();
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
    count_held();
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
    watch_for(&Readiness::write);
}

// TLS has something of its own to write before it can read.
void HttpConnection::wait_to_write_for_reading() {
    if (reads_when_ != ReadsWhen::never) return;
    reads_when_ = ReadsWhen::writable;
    watch_for(&Readiness::write);
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
