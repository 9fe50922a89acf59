// The server behind both eras and all transports: what a message means, and what is done about it.
//
// Everything in here belongs to one thread, the home thread, the first of the server's loop: no locks, and
// each request is looked at, begun and answered in one turn. Transports hand messages in there (take()); the
// runtime reports there. Tools, readers and getters run where the runtime runs them.
//
// Threads: the home thread, except where a member says otherwise.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/mcp.h>
#include <callgate/runtime.h>

#include "mcp/catalogue.h"
#include "mcp/codec.h"
#include "mcp/conversation.h"
#include "mcp/exchange.h"
#include "mcp/home.h"
#include "mcp/kept_conversations.h"
#include "mcp/listeners.h"
#include "mcp/message.h"
#include "mcp/param_headers.h"
#include "mcp/request_state.h"
#include "mcp/session.h"
#include "mcp/tasks.h"
#include "net/loop.h"

namespace callgate::mcp {

/// How a message came.
struct Arrival {
    std::shared_ptr<Outlet> outlet;
    std::shared_ptr<Session> session;  ///< null: it names none
    std::shared_ptr<const RequestHeaders> headers;
    bool http = false;
    bool names_session = false;  ///< with no `session`: it has ended
};

/// Whether a call may go on without the request it began with.
enum class AsTask : std::uint8_t { no, if_asked, at_once };

/// The error of the protocol that a tool has ended with (mcp::protocol_error); nothing: it has not.
std::optional<Fault> protocol_fault_of(const Outcome& outcome);

class ServerCore : public std::enable_shared_from_this<ServerCore> {
public:
    ServerCore(Runtime& runtime, net::Loop& loop, ServerOptions options);
    ~ServerCore();

    // Any thread.
    void at_home(std::function<void()> work) { home_->post(std::move(work)); }
    const Executor& home() const noexcept { return run_at_home_; }
    net::Loop& loop() noexcept { return loop_; }
    Runtime& runtime() noexcept { return runtime_; }
    const ServerOptions& options() const noexcept { return options_; }
    Catalogue& catalogue() noexcept { return *catalogue_; }
    const RequestStates& states() const noexcept { return states_; }
    Tasks& tasks() noexcept { return tasks_; }
    /// A task is another thing now: clients that listen are notified.
    void task_changed(const Conversation& conversation);
    /// Listens to the registry. Once, before messages come.
    void begin();
    /// Ends everything: no request is answered any more. Returns when that is done; not on the home thread.
    void close();
    void lists_changed(std::string_view method);  ///< "notifications/tools/list_changed", …
    void resource_updated(std::string uri);
    /// Streams that only wait for changes end: nothing is under way on them. Returns when they have.
    void end_listening();

    /// One message. What cannot be one is answered with the fault.
    void take(Message message, const Arrival& arrival);
    void refuse(const BadMessage& bad, const Arrival& arrival);

    // Sessions of the legacy era over HTTP.
    std::shared_ptr<Session> find_session(std::string_view id);
    std::shared_ptr<Session> new_session();
    void end_session(const std::shared_ptr<Session>& session);
    /// The client has closed its side of standard input: all of its requests are called off.
    void end_client(const std::shared_ptr<Session>& session);

    // Answers. Each exchange is answered once; later ones are dropped.
    void respond(const std::shared_ptr<Exchange>& exchange, std::string_view result);
    void fail(const std::shared_ptr<Exchange>& exchange, const Fault& fault, int status = 0);

    /// Nothing is kept any more.
    bool closed() const noexcept { return closed_; }
    /// Until its client comes back with the answers, or its time is over.
    void keep(const std::shared_ptr<Conversation>& conversation);
    void forget(const Conversation& conversation);

    std::size_t requests_now() const noexcept { return requests_now_; }

private:
    using Handler = void (ServerCore::*)(const std::shared_ptr<Exchange>&);
    struct Method {
        Handler handler = nullptr;
        bool legacy = true;
        bool modern = true;
    };
    static const std::map<std::string_view, Method>& methods();

    // Which era, and whether the envelope is whole.
    void take_request(Message message, const Arrival& arrival);
    void take_modern(Message message, const Arrival& arrival);
    void take_legacy(Message message, const Arrival& arrival);
    void take_notification(const Message& message, const Arrival& arrival);
    void take_response(Message message, const Arrival& arrival);
    void refuse_without_session(const Value& id, const Arrival& arrival);
    bool admit(const std::shared_ptr<Exchange>& exchange);
    void run(const std::shared_ptr<Exchange>& exchange, const Method& method);
    void finished(const std::shared_ptr<Exchange>& exchange);

    void initialize(const std::shared_ptr<Exchange>& exchange);
    void ping(const std::shared_ptr<Exchange>& exchange);
    void set_level(const std::shared_ptr<Exchange>& exchange);
    void discover(const std::shared_ptr<Exchange>& exchange);
    void listen(const std::shared_ptr<Exchange>& exchange);
    void list_tools(const std::shared_ptr<Exchange>& exchange);
    void call_tool(const std::shared_ptr<Exchange>& exchange);
    void list_resources(const std::shared_ptr<Exchange>& exchange);
    void list_templates(const std::shared_ptr<Exchange>& exchange);
    void read_resource(const std::shared_ptr<Exchange>& exchange);
    void subscribe(const std::shared_ptr<Exchange>& exchange);
    void unsubscribe(const std::shared_ptr<Exchange>& exchange);
    void list_prompts(const std::shared_ptr<Exchange>& exchange);
    void get_prompt(const std::shared_ptr<Exchange>& exchange);
    void complete(const std::shared_ptr<Exchange>& exchange);
    void get_task(const std::shared_ptr<Exchange>& exchange);
    void update_task(const std::shared_ptr<Exchange>& exchange);
    void cancel_task(const std::shared_ptr<Exchange>& exchange);
    void take_back(const std::shared_ptr<Exchange>& exchange, const std::string& approval_id);
    void resume_task(const std::string& call_id);
    /// The call that the request's task is; nothing: the request has been refused.
    std::optional<std::string> task_of(const std::shared_ptr<Exchange>& exchange);

    /// Takes up the call that the request's state names, if it brings one. True: the request is dealt with.
    bool goes_on(const std::shared_ptr<Exchange>& exchange, const std::string& digest);
    std::string digest_of(const Exchange& exchange) const;
    /// Begins a call for a request.
    void begin_call(const std::shared_ptr<Exchange>& exchange, std::string digest, CallRequest request,
                    std::shared_ptr<const ToolEntry> direct, AsTask as_task, Conversation::Finish finish);
    Context context_for(const std::shared_ptr<Exchange>& exchange,
                        const std::shared_ptr<Conversation>& conversation);
    /// Where headers repeat arguments of this tool, and do not say what these say. Without headers: nothing.
    std::optional<std::string> param_header_fault(const Exchange& exchange, const ToolEntry& tool);
    void finish_tool(const std::shared_ptr<Exchange>& exchange, const Outcome& outcome);
    void finish_read(const std::shared_ptr<Exchange>& exchange, const Outcome& outcome);
    void finish_prompt(const std::shared_ptr<Exchange>& exchange, const Outcome& outcome);
    std::optional<std::size_t> page_of(const std::shared_ptr<Exchange>& exchange, std::size_t size);
    void respond_page(const std::shared_ptr<Exchange>& exchange, std::string_view member, Array items,
                      std::size_t next, std::size_t size);
    void add_cache(const Exchange& exchange, Object& result) const;
    void call_off(const std::shared_ptr<Exchange>& exchange);

    Runtime& runtime_;
    net::Loop& loop_;
    const ServerOptions options_;
    const std::shared_ptr<Home> home_;
    const Executor run_at_home_;
    const RequestStates states_;
    const std::shared_ptr<Catalogue> catalogue_ = std::make_shared<Catalogue>();
    const std::shared_ptr<const ToolEntry> completer_;
    std::string modern_info_;  // what each result of the stateless era says of the server, as a member
    std::shared_ptr<void> watches_registry_;

    std::map<std::string, std::shared_ptr<Session>, std::less<>> sessions_;
    KeptConversations kept_;
    Listeners listeners_;
    ParamHeaders param_headers_;
    Tasks tasks_;
    std::size_t requests_now_ = 0;
    bool closed_ = false;
};

}  // namespace callgate::mcp
