#include "net/http_client_connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <sys/socket.h>

namespace callgate::net {

using std::chrono::steady_clock;

HttpClientConnection::HttpClientConnection(std::shared_ptr<HttpClientCore> core, std::string origin)
    : core_(std::move(core)), origin_(std::move(origin)), socket_(core_->thread().context()) {}

void HttpClientConnection::take(const std::shared_ptr<HttpClientExchange>& exchange) {
    exchange_ = exchange;
    exchange->connection = this;
}

std::shared_ptr<HttpClientExchange> HttpClientConnection::release_exchange() noexcept {
    if (exchange_) exchange_->connection = nullptr;
    return std::exchange(exchange_, nullptr);
}

void HttpClientConnection::fail(Error error) {
    // Before it closes: what ends an exchange also drops its connection.
    const auto self = shared_from_this();
    core_->end_later(std::shared_ptr(exchange_), std::move(error));
}

void HttpClientConnection::fail(std::string_view reason, std::string_view text) {
    fail(exchange_->failure(ErrorCode::transport, reason, text));
}

void HttpClientConnection::drop() {
    const auto exchange = release_exchange();
    close();
}

void HttpClientConnection::close() {
    if (phase_ == Phase::closed) return;
    const auto self = shared_from_this();
    phase_ = Phase::closed;
    HttpTimed::unlink();
    if (stream_) stream_->end_writing();
    stream_.reset();
    boost::system::error_code ignored;
    (void)socket_.close(ignored);
    std::string().swap(held_);
    core_->is_closed(self);
}

void HttpClientConnection::deadline_passed() {
    const auto self = shared_from_this();
    switch (phase_) {
        case Phase::connecting:
            if (steady_clock::now() < connect_until_) {
                connect_fault_ = addresses_[next_address_ - 1].text() + ": it did not answer in time";
                return connect_next();
            }
            return fail(exchange_->out_of_time("connect", "it could not be connected to in time"));
        case Phase::securing: return fail(exchange_->out_of_time("tls", "TLS was not agreed on in time"));
        case Phase::running:
            if (!exchange_->all_written())
                return fail(exchange_->out_of_time("write", "it was not taken in time"));
            if (!reader_->head_is_known())
                return fail(exchange_->out_of_time("head", "its answer did not come in time"));
            return fail(exchange_->out_of_time("idle", "its answer stopped coming"));
        case Phase::idle: return close();
        case Phase::closed: return;
    }
}

// ---- an exchange

bool HttpClientConnection::is_usable() const noexcept {
    // Of TLS as well: what comes unasked is mostly its end.
    char first = 0;
    return phase_ == Phase::idle && ::recv(stream_->socket(), &first, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
           errno == EAGAIN;
}

void HttpClientConnection::begin(const std::shared_ptr<HttpClientExchange>& exchange) {
    take(exchange);
    reused_ = true;
    run();
}

void HttpClientConnection::run() {
    phase_ = Phase::running;
    reader_.emplace(exchange_->limits(), exchange_->to_head());
    write();
}

void HttpClientConnection::write() {
    while (!exchange_->all_written() && !broken_) {
        std::array<iovec, 2> room{};
        const SocketStream::Moved moved = stream_->write(exchange_->unwritten(room));
        if (moved.state == SocketStream::State::waits_write) {
            wait_to_write();
            break;
        }
        if (moved.state != SocketStream::State::done) {
            // The peer may have answered before it went.
            broken_ = true;
            read_later();
            break;
        }
        exchange_->written(moved.bytes);
    }
    set_phase_deadline();
    wait_to_read();
}

// None while it is paused, except for what has not left yet.
void HttpClientConnection::set_phase_deadline() {
    const HttpClientLimits& limits = exchange_->limits();
    const bool written = exchange_->all_written();
    const auto time = !written                    ? limits.write_time
                      : !reader_->head_is_known() ? limits.head_time
                                                  : limits.idle_time;
    const bool none = time.count() <= 0 || (written && exchange_->paused());
    core_->set_deadline(*this, none ? steady_clock::time_point::max() : steady_clock::now() + time);
}

void HttpClientConnection::paused() {
    if (phase_ == Phase::running) set_phase_deadline();
}

void HttpClientConnection::resumed() {
    if (phase_ != Phase::running) return;
    set_phase_deadline();
    if (std::exchange(goes_on_later_, true)) return;
    core_->later([self = shared_from_this()] {
        self->goes_on_later_ = false;
        if (self->phase_ == Phase::running && !self->exchange_->paused())
            self->process(std::exchange(self->held_, {}));
    });
}

// ---- the socket

void HttpClientConnection::wait_to_read() {
    if (std::exchange(waits_to_read_, true)) return;
    socket_.async_wait(socket_.wait_read,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                           self->waits_to_read_ = false;
                           if (!error) self->readable();
                       });
}

void HttpClientConnection::wait_to_write() {
    if (std::exchange(waits_to_write_, true)) return;
    socket_.async_wait(socket_.wait_write,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                           self->waits_to_write_ = false;
                           if (!error && self->phase_ == Phase::running) self->write();
                       });
}

// TLS has something of its own to write before it can read.
void HttpClientConnection::wait_to_write_for_reading() {
    if (std::exchange(waits_to_read_, true)) return;
    socket_.async_wait(socket_.wait_write,
                       [self = shared_from_this()](const boost::system::error_code& error) {
                           self->waits_to_read_ = false;
                           if (!error) self->readable();
                       });
}

// In a turn of its own, where no handler may be called yet.
void HttpClientConnection::read_later() {
    if (std::exchange(reads_later_, true)) return;
    core_->later([self = shared_from_this()] {
        self->reads_later_ = false;
        self->readable();
    });
}

void HttpClientConnection::readable() {
    if (phase_ == Phase::closed) return;
    if (phase_ == Phase::running && (goes_on_later_ || exchange_->paused())) return;
    const SocketStream::Moved moved = stream_->read(core_->room());
    const bool over = moved.state == SocketStream::State::ended || moved.state == SocketStream::State::failed;
    if (phase_ == Phase::securing && !over && stream_->ready()) run();
    switch (moved.state) {
        case SocketStream::State::done:
            if (phase_ != Phase::running) return close();
            return process({core_->room().data(), moved.bytes});
        case SocketStream::State::waits_read: return wait_to_read();
        case SocketStream::State::waits_write: return wait_to_write_for_reading();
        case SocketStream::State::ended: return lost(true);
        case SocketStream::State::failed: return lost(false);
    }
}

// A handler may end the exchange, and this connection with it, at each step.
void HttpClientConnection::process(std::string_view bytes) {
    const std::shared_ptr<HttpClientExchange> exchange = exchange_;
    while (exchange_ == exchange) {
        if (exchange->paused()) {
            held_.assign(bytes);
            return;
        }
        switch (reader_->next(bytes)) {
            case HttpResponseReader::Got::more:
                // What drips into a head, or comes before all has left, wins no time.
                if (reader_->head_is_known() && exchange->all_written()) set_phase_deadline();
                return stream_->is_over() ? read_later() : wait_to_read();
            case HttpResponseReader::Got::head: exchange->take_head(reader_->take_head()); break;
            case HttpResponseReader::Got::data: exchange->take_piece(reader_->data()); break;
            case HttpResponseReader::Got::whole: return answer_is_whole(bytes.empty());
            case HttpResponseReader::Got::refused:
                return fail(reader_->fault().reason, reader_->fault().text);
        }
    }
}

// The connection is free first: a handler that sends the next request may have it.
void HttpClientConnection::answer_is_whole(bool nothing_follows) {
    const auto self = shared_from_this();
    const bool stays = nothing_follows && reader_->keeps_alive() && exchange_->all_written() && !broken_;
    const auto seconds = reader_->keep_alive_seconds();
    const auto exchange = release_exchange();
    if (stays) {
        phase_ = Phase::idle;
        wait_to_read();
        // A second sooner than the peer, so that it does not close what is just about to be used.
        core_->is_free(*this, seconds ? std::chrono::seconds(std::max(1u, *seconds) - 1)
                                      : std::chrono::milliseconds::max());
    } else {
        close();
    }
    exchange->end({});
}

// `properly`: the peer has said that it sends no more.
void HttpClientConnection::lost(bool properly) {
    const auto self = shared_from_this();
    if (phase_ == Phase::securing) return cannot_secure();
    if (phase_ != Phase::running) return close();
    if (!reader_->begun()) {
        if (!reused_ || !exchange_->may_be_sent_again())
            return fail("closed", "the connection was closed before an answer came");
        const auto exchange = release_exchange();
        close();
        return core_->start_again(exchange);
    }
    if (properly && reader_->end() == HttpResponseReader::Got::whole) return answer_is_whole(true);
    fail("cut", "its answer was cut off");
}

}  // namespace callgate::net
