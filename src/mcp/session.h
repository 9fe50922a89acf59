// A client that stays: a session of the legacy era, or whoever is at the other end of standard input.
//
// Threads: the server's home thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <callgate/input.h>
#include <callgate/json.h>
#include <callgate/mcp.h>

#include "mcp/codec.h"
#include "mcp/event_stream.h"
#include "mcp/exchange.h"

namespace callgate::mcp {

/// A question that was put to a client of the legacy era as a request of ours.
struct OpenRequest {
    std::shared_ptr<PendingInput> question;
    std::shared_ptr<Outlet> outlet;  ///< it went out by this
};

class Session {
public:
    Session(std::string id, const ServerLimits& limits)
        : id_(std::move(id)), log_(std::make_shared<EventLog>(limits.kept_events, limits.kept_event_bytes)) {}

    const std::string& id() const noexcept { return id_; }
    /// Requests are under way, or its client listens.
    bool in_use() const noexcept {
        return !requests.empty() || (side_stream != nullptr && side_stream->attached());
    }

    const Codec* codec = nullptr;  ///< null: nobody has said `initialize` yet
    SharedObject client_info = no_members();
    SharedObject capabilities = no_members();
    bool initialized = false;  ///< the client said that it has got our answer
    LogLevel log_level = LogLevel::info;
    std::set<std::string, std::less<>> subscriptions;
    std::map<std::string, std::shared_ptr<Exchange>, std::less<>> requests;  ///< under way, by id as JSON
    std::map<std::int64_t, OpenRequest> questions;                           ///< put to the client, by our id
    std::int64_t next_question = 1;
    /// For what belongs to no request; null: the client does not listen.
    std::shared_ptr<Outlet> side;
    std::shared_ptr<EventStream> side_stream;  ///< over HTTP
    bool answers = true;                       ///< its client can still answer questions
    bool ended = false;

    /// A stream over HTTP; the oldest that have ended go when there are many.
    std::shared_ptr<EventStream> new_stream();
    std::shared_ptr<EventStream> find_stream(std::uint64_t number) const;

private:
    friend class Sessions;
    static constexpr std::size_t kMaxStreams = 64;
    const std::string id_;
    const std::shared_ptr<EventLog> log_;
    std::chrono::steady_clock::time_point last_used_{};
    std::uint64_t last_stream_ = 0;
    std::map<std::uint64_t, std::shared_ptr<EventStream>> streams_;
};

}  // namespace callgate::mcp
