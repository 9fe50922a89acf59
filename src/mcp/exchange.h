// One request of a client, and its way back.
//
// Threads: the server's home thread, except where a member says otherwise.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <callgate/json.h>
#include <callgate/mcp.h>

#include "mcp/codec.h"
#include "mcp/message.h"

namespace callgate::mcp {

class Session;
class Conversation;

/// How clients come. One that drains takes none that listen any more.
struct Transport {
    bool drains = false;
};

/// Where what belongs to one request goes: messages, in order, and then its one answer.
class Outlet {
public:
    virtual ~Outlet() = default;
    /// A notification, or a request to the client, before the answer.
    virtual void message(std::string text) = 0;
    /// Once. The status is for transports that have one, and have not begun to answer.
    virtual void respond(std::string text, int status) = 0;
    /// Called once, on the home thread, if the client goes before it has the answer.
    virtual void on_gone(std::function<void()> function) = 0;
    /// It is of the legacy era: of this session, which it begins, or which was there.
    virtual void belongs_to(const std::shared_ptr<Session>& /*session*/, bool /*begins*/) {}
    /// The client is to fetch the answer later, where it can.
    virtual void close_stream() {}
    /// There will be no answer: the client has called the request off.
    virtual void drop() = 0;
    /// What came was no request: it has arrived.
    virtual void acknowledge() = 0;
    /// Whether messages before the answer reach the client.
    virtual bool carries_messages() const { return true; }
    /// Null: one that ends with its one client.
    virtual const Transport* transport() const { return nullptr; }
};

/// The headers of an HTTP request, as far as they say what its message says.
class RequestHeaders {
public:
    virtual ~RequestHeaders() = default;
    virtual std::optional<std::string> find(std::string_view name) const = 0;
};

/// What tools may see of a request for as long as they like: constant, and never null.
using SharedObject = std::shared_ptr<const Object>;
inline SharedObject no_members() {
    static const auto none = std::make_shared<const Object>();
    return none;
}

/// A request's id, as those under way are known by.
inline std::string request_key(const Value& id) {
    return json::write(id);
}

struct Exchange {
    const Codec* codec = nullptr;
    Value id;
    std::string method;
    Object params;                     ///< without `_meta`
    std::shared_ptr<Session> session;  ///< null: a request of the stateless era that came over HTTP
    std::shared_ptr<Outlet> outlet;
    std::shared_ptr<const RequestHeaders> headers;  ///< null: there are none (standard input)
    SharedObject meta = no_members();               ///< params._meta
    SharedObject capabilities = no_members();       ///< what this client can do
    SharedObject client_info = no_members();
    Value progress_token;
    std::optional<LogLevel> log_level;         ///< of this request: the stateless era
    std::weak_ptr<Conversation> conversation;  ///< once a call serves it
    bool listens = false;                      ///< answered only when it ends
    bool counted = false;                      ///< among those under way
    bool ended = false;                        ///< answered, or called off

    bool modern() const noexcept { return codec->modern(); }
};

}  // namespace callgate::mcp
