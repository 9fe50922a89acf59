// What a client is given, and what it gives back.
//
// Threads: values; a ClientWatcher and a ClientQuestions are called on the client's thread, and may neither
// block nor throw.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include <callgate/error.h>
#include <callgate/input.h>
#include <callgate/json.h>
#include <callgate/mcp.h>
#include <callgate/result.h>

#include "mcp/client_transport.h"

namespace callgate::base {
class Clock;
}

namespace callgate::mcp {

enum class EraChoice : std::uint8_t { automatic, modern, legacy };
enum class ClientState : std::uint8_t { disconnected, connecting, connected, error };
std::string_view to_string(ClientState state) noexcept;
enum class ListKind : std::uint8_t { tools, prompts, resources, resource_templates };
inline constexpr std::size_t kListKinds = 4;
std::string_view to_string(ListKind kind) noexcept;  ///< "tools", …

/// Who answers what a server asks.
class ClientQuestions {
public:
    virtual ~ClientQuestions() = default;
    virtual InputAbilities abilities() const = 0;
    /// `answered` may be called on any thread, once; dropped without a call, it is as if nobody could be
    /// asked.
    virtual void ask(InputRequest request, std::function<void(Result<InputAnswer>)> answered) = 0;
};

/// Is notified of what happens outside requests.
class ClientWatcher {
public:
    virtual ~ClientWatcher() = default;
    virtual void state_changed(ClientState /*state*/, const Error* /*why*/) {}
    /// What was listed may have changed: at most once in ClientOptions::notice_gap for each kind.
    virtual void list_changed(ListKind /*kind*/) {}
    virtual void resource_updated(std::string_view /*uri*/) {}
    virtual void log(const Object& /*params*/) {}
    /// Once for each kind of fault in the life of a connection.
    virtual void server_fault(ServerFault /*fault*/, std::string_view /*what*/) {}
};

struct ClientLimits {
    json::ParseLimits message;                 ///< of what a server sends; its bytes also of what is sent
    std::size_t max_requests = 1'000;          ///< under way
    std::size_t max_progress = 10'000;         ///< of one request; what comes after is dropped
    std::size_t max_pages = 1'000;             ///< of one list
    std::size_t max_items = 10'000;            ///< of one list
    std::size_t max_list_bytes = 64u << 20;    ///< of all its pages
    std::uint32_t max_rounds = 32;             ///< of one request that asks
    std::size_t max_questions = 16;            ///< of one round; and open at once, of the legacy era
    std::size_t max_state_bytes = 256u << 10;  ///< of `requestState`

    ClientLimits() {}
};

struct ClientOptions {
    std::string name = "callgate";
    std::string version = "0.1.0";
    Object info_extra;  ///< `title`, `icons`, …
    EraChoice era = EraChoice::automatic;
    /// What `initialize` says that this client can be asked, for whatever calls will bring with them.
    InputAbilities abilities;
    /// Who answers where a request brings nobody. Null: nobody.
    std::shared_ptr<ClientQuestions> questions;
    std::chrono::milliseconds timeout{60'000};          ///< of requests that bring none
    std::chrono::milliseconds connect_timeout{30'000};  ///< of `initialize`, and of the probe over HTTP
    std::chrono::milliseconds probe_timeout{5'000};     ///< over lines, where an old server may never answer
    std::chrono::milliseconds keep_alive{30'000};       ///< silence before a ping; 0: none
    std::chrono::milliseconds cache_time{300'000};      ///< at most so long a list holds
    std::chrono::milliseconds notice_gap{1'000};
    std::chrono::milliseconds listen_again{1'000};  ///< doubled with each loss, up to 30 times it
    std::shared_ptr<ClientWatcher> watcher;         ///< null: nobody
    const base::Clock* clock = nullptr;             ///< for what lists hold; null: the system's
    ClientLimits limits;

    ClientOptions() {}
};

/// What a server has said of itself. Not to be trusted.
struct ServerFacts {
    const Codec* codec = nullptr;
    Object capabilities;
    Object info;
    std::string instructions;
};

struct ClientProgress {
    double progress = 0;
    std::optional<double> total;
    std::string message;
    const Object& params;  ///< as it came
};

struct ClientRequest {
    std::string method;
    Object params;  ///< `_meta` may have names of others; the protocol's own are ours
    /// Nothing: ClientOptions::timeout. max(): no limit. It stands still while a question is open.
    std::optional<std::chrono::milliseconds> timeout;
    std::function<void(const ClientProgress&)> progress;
    std::shared_ptr<ClientQuestions> questions;  ///< null: those of the options
    std::optional<LogLevel> log_level;           ///< of the stateless era: what the server may log for it

    ClientRequest() = default;
    ClientRequest(std::string what, Object with) : method(std::move(what)), params(std::move(with)) {}
};

struct ClientResult {
    Value value;           ///< an object
    std::string received;  ///< its bytes as they came
    std::uint32_t rounds = 1;
};

/// Why there is no result.
struct ClientFailure {
    Error error;
    Applied applied = Applied::maybe;
    int code = 0;    ///< of JSON-RPC; 0: it was no answer of the server
    Value data;      ///< that the server gave with it
    int status = 0;  ///< of HTTP; 0: none
};
using ClientAnswer = tl::expected<ClientResult, ClientFailure>;
using ClientDone = std::function<void(ClientAnswer)>;

}  // namespace callgate::mcp
