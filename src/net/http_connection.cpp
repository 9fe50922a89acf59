#include "net/http_connection.h"

#include <utility>

#include "net/http_reply.h"

namespace callgate::net {
namespace {

// What a peer may send ahead of the answer it waits for; then it is read no further.
constexpr std::size_t kMostAhead = 64u << 10;
// A body that is served however much all connections hold.
constexpr std::size_t kSmallBody = 16u << 10;

}  // namespace

HttpConnection::HttpConnection(std::shared_ptr<HttpShard> shard, os::Fd socket, HttpPeer peer)
    : shard_(std::move(shard)),
      link_(std::make_shared<HttpLink>(shard_->thread(), shard_->limits().max_waiting_bytes, std::move(peer),
                                       shard_->state().held)),
      socket_(std::move(socket)),
      stream_(socket_.get(), shard_->state().tls.get()),
      reader_(shard_->limits()) {
    link_->connection = this;
}

HttpConnection::~HttpConnection() {
    link_->connection = nullptr;
    if (phase_ == Phase::closed) return;
    link_->held->fetch_sub(held_, std::memory_order_relaxed);
    shard_->state().connection_has_gone();
}

bool HttpConnection::start() {
    watched_for_.read = true;
    place_ = shard_->thread()->sockets().add(socket_.get(), shared_from_this(), watched_for_);
    if (place_ == SocketWatch::kNowhere) {
        close();
        return false;
    }
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
    if (place_ != SocketWatch::kNowhere)
        shard_->thread()->sockets().remove(std::exchange(place_, SocketWatch::kNowhere), socket_.get());
    socket_.reset();
    out_.clear();
    std::string().swap(ahead_);
    reader_ = HttpRequestReader(shard_->limits());
    count_held();
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

void HttpConnection::ready(Readiness what) {
    const bool write = what.write && waits_to_write_;
    const bool read = reads_when_ == ReadsWhen::readable   ? what.read
                      : reads_when_ == ReadsWhen::writable ? what.write
                                                           : false;
    if (!write && !read) return ready_for_nobody(what);
    if (write) {
        waits_to_write_ = false;
        drive({});
    }
    if (!read || phase_ == Phase::closed) return;
    reads_when_ = ReadsWhen::never;
    readable();
}

// It would be reported again and again. Of a peer that has gone nothing more can come, and nothing can reach
// it: that is not waited for either where it is read no further because it is too far ahead.
void HttpConnection::ready_for_nobody(Readiness what) {
    if (what.broken) return close();
    watched_for_ = {reads_when_ == ReadsWhen::readable,
                    waits_to_write_ || reads_when_ == ReadsWhen::writable};
    shard_->thread()->sockets().change(place_, socket_.get(), watched_for_);
}

void HttpConnection::watch_for(bool Readiness::* what) {
    if (watched_for_.*what || place_ == SocketWatch::kNowhere) return;
    watched_for_.*what = true;
    shard_->thread()->sockets().change(place_, socket_.get(), watched_for_);
}

void HttpConnection::wait_to_read() {
    if (reads_when_ != ReadsWhen::never || ahead_.size() >= kMostAhead) return;
    reads_when_ = ReadsWhen::readable;
    watch_for(&Readiness::read);
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
    count_held();
    if (phase_ == Phase::answering &&
        (kind == HttpDeadline::head || kind == HttpDeadline::body || kind == HttpDeadline::idle))
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
    if (reader_.known_body_size() > kSmallBody && shard_->state().holds_too_much())
        return refuse({503, "The server holds as much as it can; try again later."});
    if (begins) shard_->set_deadline(*this, HttpDeadline::body);
    // Whoever did not wait for it does not need it.
    if (begins && nothing_more && reader_.head().expects_continue) enqueue("HTTP/1.1 100 Continue\r\n\r\n");
}

// What comes and leaves within one turn is never counted, and costs nothing.
void HttpConnection::count_held() {
    const std::size_t held = reader_.body_bytes() + ahead_.size() + out_.bytes();
    if (held == held_) return;
    link_->held->fetch_add(held - held_, std::memory_order_relaxed);
    held_ = held;
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
        state.handler(make_request(std::move(head), std::move(body), link_), make_reply(link_, exchange_));
    } catch (...) {
        close_after_ = true;
        released(exchange_);
    }
    in_handler_ = false;
}

}  // namespace callgate::net
