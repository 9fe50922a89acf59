// The server behind both eras and all transports: what a message means, and what is done about it.
//
// Everything in here belongs to one thread, the home thread, the first of the server's loop: no locks, and
// each request is looked at, begun and answered in one turn. Transports hand messages in there (take()); the
// runtime reports there. Tools, readers and getters run where the runtime runs them.
//
// Threads: the home thread, except where a member says otherwise.
#pragma once

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
#include "mcp/sessions.h"
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
    bool in_batch = false;
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
    /// Streams by this transport that only wait for changes end, and it takes no more: nothing is under way
    /// on them. Returns when they have. Not on the home thread.
    void end_listening(Transport& by);
    /// For a client that listens, until it is released. Null: as many listen as may.
    std::shared_ptr<void> place_to_listen();

    /// One message. What cannot be one is answered with the fault.
    void take(Message message, const Arrival& arrival);
    void refuse(const BadMessage& bad, const Arrival& arrival);

    /// Over HTTP, by its id; it is in use now.
    std::shared_ptr<Session> find_session(std::string_view id);
    std::shared_ptr<Session> new_session_over_lines() { return sessions_.new_session_over_lines(); }
    /// Its client will say no more: its questions have no answers.
    void answers_no_more(Session& session);
    /// Its requests are called off.
    void end_session(const std::shared_ptr<Session>& session);

    /// Whether a result has a member `_meta` of its own. One that stands first is seen without being named.
    enum class Meta : std::uint8_t { servers, own };
    // Answers. Each exchange is answered once; later ones are dropped.
    /// `result` is JSON text of an object.
    void respond(const std::shared_ptr<Exchange>& exchange, std::string_view result,
                 Meta meta = Meta::servers);
    void fail(const std::shared_ptr<Exchange>& exchange, const Fault& fault, int status = 0);

    /// Nothing is kept any more.
    bool closed() const noexcept { return closed_; }
    /// Until its client comes back with the answers, or its time is over.
    void keep(const std::shared_ptr<Conversation>& conversation);
    void forget(const Conversation& conversation);

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
    /// What is no object is no answer to any question. True: the request is dealt with.
    bool refuses_answers(const std::shared_ptr<Exchange>& exchange);
    std::vector<std::string> granted_actions(const ListedTool& listed) const;
    std::string digest_of(const Exchange& exchange) const;
    bool refuses_key(const std::shared_ptr<Exchange>& exchange);
    /// Begins a call for a request.
    void begin_call(const std::shared_ptr<Exchange>& exchange, std::string digest, CallRequest request,
                    std::shared_ptr<const ToolEntry> direct, AsTask as_task, Conversation::Finish finish);
    Context context_for(const std::shared_ptr<Exchange>& exchange,
                        const std::shared_ptr<Conversation>& conversation);
    /// Where headers repeat arguments of this tool, and do not say what these say. Without headers: nothing.
    /// `revision` is one of the registry's, not later than when the tool was found.
    std::optional<std::string> param_header_fault(const Exchange& exchange, const ToolEntry& tool,
                                                  std::uint64_t revision);
    void finish_tool(const std::shared_ptr<Exchange>& exchange, const Outcome& outcome);
    void finish_read(const std::shared_ptr<Exchange>& exchange, const Outcome& outcome);
    void finish_prompt(const std::shared_ptr<Exchange>& exchange, const Outcome& outcome);
    void finish_completion(const std::shared_ptr<Exchange>& exchange, const Outcome& outcome);
    std::optional<std::size_t> page_of(const std::shared_ptr<Exchange>& exchange, std::size_t size);
    void respond_page(const std::shared_ptr<Exchange>& exchange, std::string_view member, Array items,
                      std::size_t next, std::size_t size);
    void add_cache(const Exchange& exchange, Object& result) const;
    void call_off(const std::shared_ptr<Exchange>& exchange);
    /// Over HTTP. Null: as many as there may be are in use.
    std::shared_ptr<Session> new_session();
    void end_listener(const std::shared_ptr<Exchange>& exchange);

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

    Sessions sessions_;
    KeptConversations kept_;
    Listeners listeners_;
    ParamHeaders param_headers_;
    Tasks tasks_;
    const std::shared_ptr<std::size_t> listening_ = std::make_shared<std::size_t>(0);  // GET streams
    std::size_t requests_now_ = 0;
    bool closed_ = false;
};

}  // namespace callgate::mcp
