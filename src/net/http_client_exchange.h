// A request and its answer under way, and its handlers.
//
// Threads: belongs to the client's thread, except for what HttpExchange says of itself.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <sys/uio.h>
#include <boost/intrusive/set.hpp>

#include "net/http_client.h"
#include "net/http_url.h"

namespace callgate::net {

class HttpClientConnection;
class HttpClientCore;

/// What has a time at which something happens, if nothing else does before (HttpClientCore::set_deadline).
class HttpTimed
    : public boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
public:
    virtual void deadline_passed() = 0;
    std::chrono::steady_clock::time_point at;

protected:
    ~HttpTimed() = default;
};

class HttpClientExchange final : public HttpExchange,
                                 public HttpTimed,
                                 public std::enable_shared_from_this<HttpClientExchange> {
public:
    using Waiting = std::list<std::shared_ptr<HttpClientExchange>>;

    HttpClientExchange(std::shared_ptr<HttpClientCore> core, HttpClientRequest request,
                       HttpHandlers handlers);

    void cancel() override;
    void pause() override;
    void resume() override;

    /// What cannot be sent; nothing of such a request is used.
    const Result<void>& judged() const noexcept { return judged_; }
    const HttpUrl& url() const noexcept { return url_; }
    const std::string& unix_path() const noexcept { return unix_path_; }
    /// Requests with the same one may have the same connection, one after the other.
    const std::string& origin() const noexcept { return origin_; }
    const HttpClientLimits& limits() const noexcept { return limits_; }
    bool to_head() const noexcept { return to_head_; }
    bool paused() const noexcept { return paused_; }
    bool ended() const noexcept { return ended_; }

    std::span<const iovec> unwritten(std::span<iovec, 2> room) const noexcept;
    void written(std::size_t bytes) noexcept;
    bool all_written() const noexcept { return written_ == head_.size() + body_.size(); }
    /// Once at most, and only if the peer cannot act on it twice.
    bool may_be_sent_again() const noexcept { return !again_ && (!sent_ || idempotent_); }
    void send_again() noexcept;

    /// It has to end by its deadline; and to be sent by the other time, which is for ever if it is 0.
    void watch_time(std::chrono::milliseconds wait_time);
    void deadline_passed() override;

    /// "The request to https://… failed: <text>.", with these and whether it was sent.
    Error failure(ErrorCode code, std::string_view reason, std::string_view text) const;
    Error out_of_time(std::string_view phase, std::string_view text) const;

    void take_head(HttpResponseHead head);
    void take_piece(std::string_view piece);
    /// Calls on_end, unless there are no handlers any more.
    void end(Result<void> result);
    /// From here on nothing is called, except by end().
    void has_ended() noexcept;
    void drop_handlers();

    // Where it is; the core's and the connection's.
    HttpClientConnection* connection = nullptr;
    std::uint64_t number = 0;  ///< in the order in which they came
    bool waits = false;
    Waiting::iterator place;  ///< while it waits

private:
    Result<void> judge(const HttpClientRequest& request);
    Result<void> write_head(const HttpClientRequest& request);

    const std::shared_ptr<HttpClientCore> core_;
    const HttpClientLimits limits_;
    const std::chrono::steady_clock::time_point deadline_;
    std::chrono::steady_clock::time_point wait_until_;
    HttpHandlers handlers_;
    HttpUrl url_;
    std::string unix_path_;
    std::string origin_;
    std::string head_;
    std::string body_;
    std::size_t written_ = 0;
    bool idempotent_ = false;
    bool to_head_ = false;
    bool sent_ = false;   // something has left, also on an earlier connection
    bool again_ = false;  // on its second connection
    bool paused_ = false;
    bool ended_ = false;
    const Result<void> judged_;  // fills in what stands above
};

}  // namespace callgate::net
