// tools/list and tools/call: each call is a call of the runtime.
#include <utility>

#include <fmt/format.h>

#include <callgate/definitions.h>

#include "base/encoding.h"
#include "base/sha256.h"
#include "mcp/actions.h"
#include "mcp/caller.h"
#include "mcp/envelope.h"
#include "mcp/members.h"
#include "mcp/server_core.h"
#include "tool/tool_entry.h"

namespace callgate::mcp {
namespace {

const NameRules& shown_names() {
    static const NameRules rules = name_rules(DefinitionForm::mcp);
    return rules;
}

// The 32 digits of a W3C traceparent; "" where it is none.
std::string trace_of(const Object& meta) {
    const Value* parent = meta.if_contains("traceparent");
    if (parent == nullptr || !parent->is_string()) return {};
    const std::string_view text = parent->get_string();
    if (text.size() < 55 || text[2] != '-' || text[35] != '-') return {};
    const std::string_view trace = text.substr(3, 32);
    for (const char c : trace) {
        if (base::hex_value(c) < 0 || (c >= 'A' && c <= 'F')) return {};
    }
    return std::string(trace);
}

enum class TaskSupport : std::uint8_t { none, optional, required };

TaskSupport task_support_of(const ToolDefinition& definition) {
    const Value* execution = definition.extra.if_contains("execution");
    const Object* members = execution == nullptr ? nullptr : execution->if_object();
    const Value* support = members == nullptr ? nullptr : members->if_contains("taskSupport");
    if (support == nullptr) return TaskSupport::none;
    if (*support == "required") return TaskSupport::required;
    return *support == "optional" ? TaskSupport::optional : TaskSupport::none;
}

// Whether what views::mcp() shows of it has a member `_meta`.
bool has_meta(const Outcome& outcome) {
    return (outcome.ok() || outcome.state() != State::unknown) &&
           outcome.data().result.extra.contains("_meta");
}

constexpr std::string_view kKeyHeader = "Idempotency-Key";

std::optional<std::string> key_of(const Exchange& exchange) {
    if (auto key = string_member(*exchange.meta, envelope::kIdempotencyKey); !key.empty())
        return std::string(key);
    return exchange.headers == nullptr ? std::nullopt : exchange.headers->find(kKeyHeader);
}

}  // namespace

void ServerCore::list_tools(const std::shared_ptr<Exchange>& exchange) {
    const RegistrySnapshot snapshot = runtime_.tools().snapshot(shown_names());
    const auto visible = snapshot.visible_to(options_.context);
    if (!visible) {
        fail(exchange, {codes::kInternal, visible.error().message});
        return;
    }
    const auto from = page_of(exchange, visible->size());
    if (!from) return;
    const std::size_t next = std::min(*from + options_.limits.page_size, visible->size());
    Array items;
    for (std::size_t i = *from; i < next; ++i) {
        const ListedTool& listed = (*visible)[i];
        items.push_back(exchange->codec->tool(listed));
        if (listed.actions.empty()) continue;
        Value& schema = items.back().get_object()["inputSchema"];
        schema = with_action(schema, granted_actions(listed));
    }
    respond_page(exchange, "tools", std::move(items), next, visible->size());
}

// Those whose scopes were granted.
std::vector<std::string> ServerCore::granted_actions(const ListedTool& listed) const {
    std::vector<std::string> granted;
    const auto entry = runtime_.tools().understand(listed.definition->name);
    for (const std::string& action : listed.actions) {
        if (entry == nullptr || entry->missing_scope(options_.context.scopes, action) == nullptr)
            granted.push_back(action);
    }
    return granted;
}

std::string ServerCore::digest_of(const Exchange& exchange) const {
    // Line by line: what is written has no line ends, and nothing of the arguments is copied before.
    std::string about =
        json::canonical(Array{exchange.method, options_.context.tenant, options_.context.principal});
    for (const std::string_view member : {"name", "uri", "arguments"}) {
        const Value* value = exchange.params.if_contains(member);
        about += '\n';
        if (value != nullptr) about += json::canonical(*value);
    }
    const auto digest = base::sha256(about);
    return base::hex_encode({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

bool ServerCore::goes_on(const std::shared_ptr<Exchange>& exchange, const std::string& digest) {
    const Value* text = exchange->params.if_contains("requestState");
    if (text == nullptr || !exchange->modern()) return false;
    const auto refuse_state = [&](std::string_view why) {
        fail(exchange, {codes::kInvalidParams, fmt::format("The requestState cannot be used: {}", why)});
        return true;
    };
    if (!text->is_string()) return refuse_state("it is no string.");
    const auto state = states_.open(text->get_string());
    if (!state) return refuse_state(state.error().message);
    if (state->digest != digest) return refuse_state("this request asks for something else.");
    const auto conversation = kept_.find(state->call_id, std::chrono::steady_clock::now());
    if (conversation == nullptr) return refuse_state("the call it belongs to has ended.");
    if (conversation->round() != state->round || !conversation->waits_for_client())
        return refuse_state("its questions have been answered.");
    const Value* answers = exchange->params.if_contains("inputResponses");
    if (answers != nullptr && !answers->is_object()) return refuse_state("inputResponses is no object.");
    conversation->go_on(exchange, answers == nullptr ? Object{} : answers->get_object());
    return true;
}

Context ServerCore::context_for(const std::shared_ptr<Exchange>& exchange,
                                const std::shared_ptr<Conversation>& conversation) {
    Context context = options_.context;
    context.cancel_grace = options_.cancel_grace;
    context.extension = std::make_shared<CallerOf>(*exchange, shared_from_this(), conversation);
    if (exchange->session) context.session_id = exchange->session->id();
    context.external_id = json::write(exchange->id);
    if (const std::string trace = trace_of(*exchange->meta); !trace.empty()) context.trace_id = trace;
    context.idempotency_key = key_of(*exchange).value_or(std::string());
    const InputAbilities can = conversation->abilities();
    const bool may_ask = can.form || can.url || can.sampling || can.roots;
    if (may_ask) context.input = conversation;
    context.progress_token = exchange->progress_token;
    // A later request, with the answers, may want progress where this one does not.
    if (!exchange->progress_token.is_null() || (exchange->modern() && may_ask)) {
        context.on_progress = [self = shared_from_this(),
                               to = std::weak_ptr(conversation)](const Progress& progress) {
            self->at_home([to, progress] {
                if (const auto about = to.lock()) about->progress(progress);
            });
        };
    }
    return context;
}

// A key that is none would be a call that is not protected, though its client believes that it is.
bool ServerCore::refuses_key(const std::shared_ptr<Exchange>& exchange) {
    const Value* given = exchange->meta->if_contains(envelope::kIdempotencyKey);
    const auto header = exchange->headers == nullptr ? std::nullopt : exchange->headers->find(kKeyHeader);
    std::string_view why;
    if (given != nullptr && (!given->is_string() || given->get_string().empty()))
        why = "is a string that is not empty";
    else if (header && header->empty())
        why = "is not empty";
    else if (given != nullptr && header && given->get_string() != *header)
        why = "is the same in the message and in the header";
    if (why.empty()) return false;
    fail(exchange, {codes::kInvalidParams, fmt::format("An idempotency key {}.", why)});
    return true;
}

void ServerCore::begin_call(const std::shared_ptr<Exchange>& exchange, std::string digest,
                            CallRequest request, std::shared_ptr<const ToolEntry> direct, AsTask as_task,
                            Conversation::Finish finish) {
    const auto conversation =
        std::make_shared<Conversation>(shared_from_this(), exchange, std::move(digest), std::move(finish));
    exchange->conversation = conversation;
    if (const Value* offered = exchange->params.if_contains("inputResponses");
        offered != nullptr && offered->is_object() && exchange->modern())
        conversation->offer(offered->get_object());
    Completion completion([conversation](Outcome outcome) { conversation->done(std::move(outcome)); },
                          run_at_home_);
    Context context = context_for(exchange, conversation);
    if (as_task != AsTask::no) {
        // Its outcome is to be found by its id when it has ended, so it has a key.
        if (context.idempotency_key.empty()) context.idempotency_key = tasks_.new_key();
        conversation->may_be_task(as_task == AsTask::at_once);
        completion.recorded = [conversation](std::string_view id) {
            conversation->on_record(std::string(id));
        };
    }
    if (as_task != AsTask::no || options_.approve_by_client) conversation->remember(context);
    conversation->began(direct
                            ? runtime_.start_direct(std::move(direct), std::move(request), std::move(context),
                                                    std::move(completion))
                            : runtime_.start(std::move(request), std::move(context), std::move(completion)));
}

std::optional<std::string> ServerCore::param_header_fault(const Exchange& exchange, const ToolEntry& tool,
                                                          std::uint64_t revision) {
    if (exchange.headers == nullptr) return std::nullopt;
    const auto& headers = param_headers_.of(revision, tool.name(), tool.definition().input_schema);
    if (headers.empty()) return std::nullopt;
    static const Object none;
    const Object* arguments = object_member(exchange.params, "arguments");
    return header_fault(headers, *exchange.headers, arguments == nullptr ? none : *arguments);
}

bool ServerCore::refuses_answers(const std::shared_ptr<Exchange>& exchange) {
    const Value* answers = exchange->params.if_contains("inputResponses");
    if (answers == nullptr || answers->is_object() || !exchange->modern()) return false;
    fail(exchange,
         {codes::kInvalidParams, "inputResponses is an object: the answers by their questions' names."});
    return true;
}

void ServerCore::call_tool(const std::shared_ptr<Exchange>& exchange) {
    const Value* name = exchange->params.if_contains("name");
    Value* arguments = exchange->params.if_contains("arguments");
    if (name == nullptr || !name->is_string() || (arguments != nullptr && !arguments->is_object())) {
        fail(exchange, {codes::kInvalidParams, "tools/call has a name, and arguments that are an object."});
        return;
    }
    if (refuses_answers(exchange) || refuses_key(exchange)) return;
    const std::string tool(name->get_string());
    // Before the tool is looked up: what is kept of an older tool then belongs to an older revision.
    const std::uint64_t revision = runtime_.tools().revision();
    const auto entry = runtime_.tools().understand(tool);
    TaskSupport support = TaskSupport::none;
    if (entry && exchange->modern()) {
        support = task_support_of(entry->definition());
        if (const auto fault = param_header_fault(*exchange, *entry, revision)) {
            fail(exchange, {codes::kHeaderMismatch, *fault});
            return;
        }
    }
    const bool knows_tasks = tasks_.known_to(*exchange);
    if (support == TaskSupport::required && exchange->modern() && !knows_tasks) {
        fail(exchange, {codes::kMissingCapability, fmt::format("The tool \"{}\" runs as a task only.", tool),
                        Object{{"requiredCapabilities", envelope::needs_tasks()}}});
        return;
    }
    const bool may_ask =
        exchange->modern() && (exchange->params.contains("requestState") || !exchange->capabilities->empty());
    std::string digest = may_ask ? digest_of(*exchange) : std::string();
    if (goes_on(exchange, digest)) return;
    CallRequest request(tool);
    if (arguments != nullptr) {
        if (entry)
            request.action =
                take_action(arguments->get_object(), entry->definition().input_schema, entry->actions());
        request.arguments = Args(std::move(*arguments));
    }
    const bool effectful = !entry || entry->effect(request.action) != EffectClass::read;
    AsTask as_task = AsTask::no;
    if (knows_tasks && support != TaskSupport::none)
        as_task = AsTask::at_once;
    else if (knows_tasks && effectful)
        as_task = AsTask::if_asked;
    begin_call(exchange, std::move(digest), std::move(request), nullptr, as_task,
               [self = shared_from_this()](const std::shared_ptr<Exchange>& to, const Outcome& outcome) {
                   self->finish_tool(to, outcome);
               });
}

std::optional<Fault> protocol_fault_of(const Outcome& outcome) {
    const Error* error = outcome.error();
    if (error == nullptr) return std::nullopt;
    const Value* reason = error->details.if_contains("reason");
    const Value* code = error->details.if_contains("rpc_code");
    if (reason == nullptr || *reason != "protocol_error" || code == nullptr || !code->is_int64())
        return std::nullopt;
    const Value* data = error->details.if_contains("rpc_data");
    return Fault(static_cast<int>(code->get_int64()), error->message, data == nullptr ? Value() : *data);
}

void ServerCore::finish_tool(const std::shared_ptr<Exchange>& exchange, const Outcome& outcome) {
    const Error* error = outcome.error();
    if (error != nullptr) {
        const bool bad_arguments =
            outcome.state() == State::invalid && !exchange->codec->argument_faults_are_results();
        if (outcome.state() == State::not_found || bad_arguments) {
            fail(exchange, {codes::kInvalidParams, error->message, error->details});
            return;
        }
        if (const auto fault = protocol_fault_of(outcome)) {
            fail(exchange, *fault);
            return;
        }
    }
    respond(exchange, exchange->codec->call_result(outcome), has_meta(outcome) ? Meta::own : Meta::servers);
}

}  // namespace callgate::mcp
