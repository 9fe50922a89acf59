// Tools, resources and prompts for MCP clients, over standard input and output or Streamable HTTP.
//
//     cg::Runtime runtime;
//     runtime.tools().add_or_throw(
//         cg::tool("add", "Add two numbers", [](double a, double b) { return a + b; }, cg::param("a"),
//                  cg::param("b")).risk(cg::Risk::low).read_only());
//     return cg::mcp::serve(runtime);  // whoever started this program is its client
//
// Every tool call of a client is a call of the Runtime: looked up, in scope, validated, decided by the
// policy, recorded. So are the reading of a resource and the getting of a prompt: rules and scopes see them
// as the tools `resources.read` {"uri"} and `prompts.get` {"name", "arguments"}.
//
// Both eras of the protocol are served on one endpoint: the stateless one of 2026-07-28, and sessions by
// `initialize` for 2024-11-05, 2025-03-26, 2025-06-18 and 2025-11-25. A client's first message says which one
// it speaks. What a tool asks its caller (CallContext::ask) becomes a request to the client, or an answer of
// `input_required`, as its era has it. A tool whose definition says so in `extra` ({"execution":
// {"taskSupport": "optional" or "required"}}) is a task for clients that know those (2026-07-28): they get an
// id once the call is on the record, and ask for what became of it, after a restart of a durable runtime,
// too.
//
// Belongs to the library callgate::mcp.
//
// Threads: a Server may be used from any thread. What a host gives it (readers, getters, completers) is
// called on threads that exist for such code, perhaps many at once: it may block.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <callgate/context.h>
#include <callgate/error.h>
#include <callgate/json.h>
#include <callgate/result.h>
#include <callgate/runtime.h>
#include <callgate/tool.h>

namespace callgate::mcp {

enum class LogLevel : std::uint8_t { debug, info, notice, warning, error, critical, alert, emergency };
std::string_view to_string(LogLevel level) noexcept;
std::optional<LogLevel> log_level_from_string(std::string_view text) noexcept;

/// The client that made a call, for the call's tool: `cg::mcp::caller(context)`. What it says is of the
/// request that the call began with.
class Caller : public ContextExtension {
public:
    virtual std::string_view revision() const noexcept = 0;   ///< "2026-07-28", …
    virtual const Object& client_info() const noexcept = 0;   ///< what it says of itself: not to be trusted
    virtual const Object& capabilities() const noexcept = 0;  ///< what it says it can do
    virtual const Object& meta() const noexcept = 0;          ///< the request's `_meta`, as it came
    /// Tells the client, if it wants to hear of this level. Any thread; dropped once the call has ended.
    virtual void log(LogLevel level, Value data, std::string_view logger = {}) const = 0;
    /// Ends the stream that the answer would come on, where the client can fetch it later (2025-11-25 over
    /// HTTP); otherwise nothing.
    virtual void close_stream() const = 0;
    /// From here on the call is a task, where the client knows those: it gets the task's id now, and the
    /// answer when it asks for it. Otherwise nothing.
    virtual void go_on_as_task() const = 0;
};
/// Null where the call did not come over MCP.
const Caller* caller(const CallContext& context) noexcept;

/// A failure that is the protocol's rather than the tool's: the request, or the task, ends with this JSON-RPC
/// error instead of a result that its client's model would see.
ToolFailure protocol_error(int code, std::string_view message, Value data = {});
/// A tool that cannot do without what this client cannot do says so: the request ends with MCP's error for it
/// (2026-07-28: -32021).
ToolFailure missing_capability(std::string_view message, Object required);

using Variables = std::map<std::string, std::string, std::less<>>;

/// What stands behind a URI.
struct ResourceContents {
    std::string uri;  ///< "": the one that was asked for
    std::string mime_type;
    std::string text;
    std::optional<std::string> bytes;  ///< instead of text
    Object extra;                      ///< `_meta`, …

    ResourceContents() = default;
    static ResourceContents of_text(std::string text, std::string mime_type = "text/plain");
    static ResourceContents of_bytes(std::string bytes, std::string mime_type);
};
using ResourceRead = Result<std::vector<ResourceContents>>;

struct Resource {
    std::string uri;
    std::string name;
    std::string title;
    std::string description;
    std::string mime_type;
    Object extra;       ///< `annotations`, `size`, `icons`, `_meta`
    Contract contract;  ///< who may read it; the effect is `read` unless it says another
    std::function<ResourceRead(CallContext&)> read;

    Resource() = default;
    Resource(std::string where, std::string called, std::function<ResourceRead(CallContext&)> reader)
        : uri(std::move(where)), name(std::move(called)), read(std::move(reader)) {}
};

/// Up to 100 values that begin with, or have to do with, what is there of one; `others` has the arguments
/// given so far.
using Completer = std::function<std::vector<std::string>(std::string_view value, const Variables& others)>;

/// Resources by pattern: RFC 6570 with simple expressions, {name}, each a part between slashes, and {+name},
/// which may have slashes in it.
///
/// A {name}, decoded, has no slash, backslash or NUL in it and is neither "." nor "..". A {+name} has only
/// the slashes that stand in the URI as they are, and no NUL; "." and ".." in it are for the reader to judge.
/// Rules see the URI as the client wrote it: with "-", ".", "_", "~", letters and digits never encoded and
/// capitals in what is, but with reserved characters (":", "?", "&", …) as they are or encoded.
struct ResourceTemplate {
    std::string uri_template;
    std::string name;
    std::string title;
    std::string description;
    std::string mime_type;
    Object extra;
    Contract contract;
    /// Also gets "uri", the whole of it.
    std::function<ResourceRead(const Variables&, CallContext&)> read;
    std::map<std::string, Completer, std::less<>> complete;

    ResourceTemplate() = default;
    ResourceTemplate(std::string pattern, std::string called,
                     std::function<ResourceRead(const Variables&, CallContext&)> reader)
        : uri_template(std::move(pattern)), name(std::move(called)), read(std::move(reader)) {}
};

struct PromptArgument {
    std::string name;
    std::string description;
    bool required = false;
    std::string title;

    PromptArgument(std::string called, std::string text, bool needed = false)
        : name(std::move(called)), description(std::move(text)), required(needed) {}
};

struct PromptMessage {
    enum class Role : std::uint8_t { user, assistant };
    Role role = Role::user;
    Block content;

    explicit PromptMessage(Block what, Role who = Role::user) : role(who), content(std::move(what)) {}
};
using PromptText = Result<std::vector<PromptMessage>>;

struct Prompt {
    std::string name;
    std::string title;
    std::string description;
    std::vector<PromptArgument> arguments;
    Object extra;
    Contract contract;
    std::function<PromptText(const Variables&, CallContext&)> get;
    std::map<std::string, Completer, std::less<>> complete;

    Prompt() = default;
    Prompt(std::string called, std::string text,
           std::function<PromptText(const Variables&, CallContext&)> make)
        : name(std::move(called)), description(std::move(text)), get(std::move(make)) {}
};

struct ServerLimits {
    std::size_t page_size = 1'000;  ///< of lists
    /// Under way, of all clients; those that listen are not counted. As many more calls may wait for clients
    /// that have a question (2026-07-28).
    std::size_t max_requests = 10'000;
    std::size_t max_requests_per_client = 1'000;  ///< of one session, or one standard input
    std::size_t max_batch = 100;                  ///< messages that come together (2025-03-26)
    /// Under way. Past it a call that would be a task is answered when it ends, whatever its client knows.
    std::size_t max_tasks = 10'000;
    /// Over HTTP, of the legacy era. The one that was used the longest ago goes; where all are in use
    /// (requests under way, a client that listens), no further one begins.
    std::size_t max_sessions = 10'000;
    std::chrono::milliseconds session_idle{3'600'000};
    std::size_t max_subscriptions = 1'000;  ///< URIs of one client
    std::size_t max_listeners = 10'000;     ///< open `subscriptions/listen` and GET streams
    std::size_t kept_events = 256;          ///< of one session, for streams that are resumed
    std::size_t kept_event_bytes = 4u << 20;
    json::ParseLimits message;  ///< of one message

    ServerLimits() {}
};

struct ServerOptions {
    std::string name = "callgate";
    std::string title;
    std::string version = "0.1.0";
    std::string instructions;  ///< for the client's model
    Object info_extra;         ///< `icons`, `websiteUrl`, `description`
    /// What a client's calls bring along: its principal, scopes, autonomy. Signals, channel, ids and progress
    /// are the server's.
    Context context;
    /// A client that goes calls its requests off; so long its tools may still say what they did.
    std::chrono::milliseconds cancel_grace{2'000};
    /// Where a call needs an approval and the client can be asked, its person is: their word counts as
    /// `client:PRINCIPAL` at A1, where that is enough (PolicyConfig).
    bool approve_by_client = false;
    /// A tool has said that more questions follow, and none does: so long the client waits for the first.
    std::chrono::milliseconds question_gap{1'000};
    /// What tasks' answers are said to be kept for: not longer than RuntimeOptions::key_ttl.
    std::chrono::milliseconds task_time{24 * 3'600'000};
    /// How long a client may take over a list or a read that it was given (2026-07-28: ttlMs).
    std::chrono::milliseconds cache_time{0};
    ServerLimits limits;

    ServerOptions() {}
};

class Server {
public:
    explicit Server(Runtime& runtime, ServerOptions options = {});
    /// Ends all sessions; calls under way are called off. The runtime must still be there.
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // What has the same URI, pattern or name as one that is there takes its place. config_error {reason:
    // bad_uri | bad_template | bad_name | no_body}. Clients that listen are notified. A URI has at most 8,192
    // bytes, and encodes no letter, digit, "-", ".", "_" or "~", and nothing with small hex digits: a client
    // that asks for it otherwise is refused.
    Result<void> add(Resource resource);
    Result<void> add(ResourceTemplate pattern);
    Result<void> add(Prompt prompt);
    bool remove_resource(std::string_view uri);
    bool remove_template(std::string_view uri_template);
    bool remove_prompt(std::string_view name);
    /// Clients that have subscribed to it are notified.
    void resource_updated(std::string_view uri);

    struct Parts;
    Parts& parts() noexcept { return *parts_; }

private:
    std::unique_ptr<Parts> parts_;
};

/// Serves whoever holds the other ends of this process's standard input and output, until they close them;
/// returns the exit code: 0, or 1 where they could not be read or written (said on standard error).
int serve_stdio(Server& server);
/// The same for two descriptors, which stay the caller's; until `stop`, too.
int serve_stdio(Server& server, int in, int out, const std::stop_token& stop = {});
/// One line for a program that is a server: its tools, for whoever started it.
int serve(Runtime& runtime, ServerOptions options = {});

struct HttpOptions {
    std::string address = "127.0.0.1";  ///< of this machine; not a name
    std::uint16_t port = 0;             ///< 0: one that is free
    std::string unix_path;              ///< a Unix socket instead; "": none
    std::string path = "/mcp";
    std::string certificate_file;  ///< with `key_file`: TLS. PEM, the whole chain
    std::string key_file;
    /// What Host and Origin may say. Empty: on a loopback address, the names of this machine; elsewhere any
    /// host and no origin.
    std::vector<std::string> hosts;
    std::vector<std::string> origins;
    std::size_t threads = 1;
    std::size_t max_connections = 10'000;

    HttpOptions() {}
};

/// A server that listens. Several may share one Server, which must be there for as long as they are.
class HttpEndpoint {
public:
    /// config_error {reason: bad_address | address_in_use | bad_certificate | …}.
    static Result<std::unique_ptr<HttpEndpoint>> open(Server& server, HttpOptions options = {});
    /// Closes at once.
    ~HttpEndpoint();
    HttpEndpoint(const HttpEndpoint&) = delete;
    HttpEndpoint& operator=(const HttpEndpoint&) = delete;

    std::string url() const;  ///< "http://127.0.0.1:4711/mcp"
    std::uint16_t port() const noexcept;
    /// Takes no more connections, ends streams that only wait for changes, and waits until the requests under
    /// way are answered, or so long; how many connections are left.
    std::size_t drain(std::chrono::milliseconds at_most);

private:
    class Impl;
    explicit HttpEndpoint(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace callgate::mcp
