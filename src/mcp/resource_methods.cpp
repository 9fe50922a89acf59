// Resources, prompts and completion.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error_table.h"
#include "mcp/completion.h"
#include "mcp/members.h"
#include "mcp/server_core.h"

namespace callgate::mcp {
namespace {

// What is wrong with a URI that is to be looked for.
std::optional<Fault> uri_fault(std::string_view uri, std::string_view method) {
    if (uri.empty()) return Fault(codes::kInvalidParams, fmt::format("{} has a uri.", method));
    if (uri_fits(uri)) return std::nullopt;
    return Fault(codes::kInvalidParams, fmt::format("A URI has at most {} bytes.", kMaxUriBytes));
}

// There is nothing by this URI; or it has another text, and only that one is served.
Fault no_resource(const Codec& codec, std::string_view uri) {
    Object data{{"uri", uri}};
    if (is_normal_uri(uri))
        return {codec.resource_not_found(), fmt::format("There is no resource \"{}\".", uri),
                std::move(data)};
    return {codes::kInvalidParams,
            fmt::format("The URI \"{}\" encodes what stands for itself: it is written \"{}\".", uri,
                        normal_uri(uri)),
            std::move(data)};
}

// A request that was refused, or whose reader failed, as an error of the protocol.
Fault fault_of(const Outcome& outcome) {
    const Error* error = outcome.error();
    if (error == nullptr) return {codes::kInternal, "There is no result."};
    if (auto fault = protocol_fault_of(outcome)) return std::move(*fault);
    Object data = error->details;
    data["code"] = to_string(error->code);
    return {base::error_row(error->code).json_rpc, error->message, std::move(data)};
}

// The result of a method, if it is one: what is larger than a result may be has been replaced by its outline.
Value* result_in(Value& content, std::string_view member) {
    Object* result = content.if_object();
    return result == nullptr ? nullptr : result->if_contains(member);
}

Fault too_large(std::string_view what) {
    return {codes::kInternal, fmt::format("{} is larger than a result may be.", what)};
}

}  // namespace

void ServerCore::list_resources(const std::shared_ptr<Exchange>& exchange) {
    const auto all = catalogue_->resources();
    const auto from = page_of(exchange, all.size());
    if (!from) return;
    const std::size_t next = std::min(*from + options_.limits.page_size, all.size());
    Array items;
    for (std::size_t i = *from; i < next; ++i) {
        items.push_back(exchange->codec->resource(all[i]->resource));
    }
    respond_page(exchange, "resources", std::move(items), next, all.size());
}

void ServerCore::list_templates(const std::shared_ptr<Exchange>& exchange) {
    const auto all = catalogue_->templates();
    const auto from = page_of(exchange, all.size());
    if (!from) return;
    const std::size_t next = std::min(*from + options_.limits.page_size, all.size());
    Array items;
    for (std::size_t i = *from; i < next; ++i) {
        items.push_back(exchange->codec->resource_template(all[i]->pattern));
    }
    respond_page(exchange, "resourceTemplates", std::move(items), next, all.size());
}

void ServerCore::list_prompts(const std::shared_ptr<Exchange>& exchange) {
    const auto all = catalogue_->prompts();
    const auto from = page_of(exchange, all.size());
    if (!from) return;
    const std::size_t next = std::min(*from + options_.limits.page_size, all.size());
    Array items;
    for (std::size_t i = *from; i < next; ++i) {
        items.push_back(exchange->codec->prompt(all[i]->prompt));
    }
    respond_page(exchange, "prompts", std::move(items), next, all.size());
}

void ServerCore::read_resource(const std::shared_ptr<Exchange>& exchange) {
    const std::string uri(string_member(exchange->params, "uri"));
    if (const auto fault = uri_fault(uri, "resources/read")) {
        fail(exchange, *fault);
        return;
    }
    if (refuses_answers(exchange)) return;
    std::string digest = exchange->modern() ? digest_of(*exchange) : std::string();
    if (goes_on(exchange, digest)) return;
    std::shared_ptr<const ToolEntry> reader;
    if (const auto resource = catalogue_->resource(uri)) {
        reader = resource->reader;
    } else if (const auto pattern = catalogue_->template_for(uri)) {
        reader = pattern->reader;
    } else {
        fail(exchange, no_resource(*exchange->codec, uri));
        return;
    }
    begin_call(exchange, std::move(digest), CallRequest("resources.read", Args(Object{{"uri", uri}})),
               std::move(reader), AsTask::no,
               [self = shared_from_this()](const std::shared_ptr<Exchange>& to, const Outcome& outcome) {
                   self->finish_read(to, outcome);
               });
}

void ServerCore::finish_read(const std::shared_ptr<Exchange>& exchange, const Outcome& outcome) {
    if (!outcome.ok()) {
        const std::string_view uri = string_member(exchange->params, "uri");
        // Whoever lacks its scopes is not to know that it is there.
        if (outcome.state() == State::not_found) {
            fail(exchange, no_resource(*exchange->codec, uri));
            return;
        }
        Fault fault = fault_of(outcome);
        const Error* error = outcome.error();
        if (error != nullptr && error->code == ErrorCode::not_found && fault.data.is_object()) {
            fault.code = exchange->codec->resource_not_found();
            fault.data.get_object()["uri"] = uri;
        }
        fail(exchange, fault);
        return;
    }
    Value result = outcome.content();
    if (const Value* contents = result_in(result, "contents"); contents == nullptr || !contents->is_array()) {
        fail(exchange, too_large("The resource"));
        return;
    }
    add_cache(*exchange, result.get_object());
    respond(exchange, json::write(result));
}

void ServerCore::get_prompt(const std::shared_ptr<Exchange>& exchange) {
    const std::string name(string_member(exchange->params, "name"));
    const Value* arguments = exchange->params.if_contains("arguments");
    const auto prompt = catalogue_->prompt(name);
    if (prompt == nullptr) {
        fail(exchange, {codes::kInvalidParams, fmt::format("There is no prompt \"{}\".", name)});
        return;
    }
    if (arguments != nullptr && !arguments->is_object()) {
        fail(exchange, {codes::kInvalidParams, "The arguments of a prompt are an object."});
        return;
    }
    const Object given = arguments == nullptr ? Object{} : arguments->get_object();
    for (const auto& [key, value] : given) {
        if (!value.is_string()) {
            fail(exchange, {codes::kInvalidParams, fmt::format("The argument \"{}\" of a prompt is a string.",
                                                               std::string_view(key))});
            return;
        }
    }
    for (const PromptArgument& one : prompt->prompt.arguments) {
        if (one.required && !given.contains(one.name)) {
            fail(exchange, {codes::kInvalidParams,
                            fmt::format("The prompt \"{}\" needs the argument \"{}\".", name, one.name)});
            return;
        }
    }
    if (refuses_answers(exchange)) return;
    std::string digest = exchange->modern() ? digest_of(*exchange) : std::string();
    if (goes_on(exchange, digest)) return;
    begin_call(exchange, std::move(digest),
               CallRequest("prompts.get", Args(Object{{"name", name}, {"arguments", given}})), prompt->getter,
               AsTask::no,
               [self = shared_from_this()](const std::shared_ptr<Exchange>& to, const Outcome& outcome) {
                   self->finish_prompt(to, outcome);
               });
}

void ServerCore::finish_prompt(const std::shared_ptr<Exchange>& exchange, const Outcome& outcome) {
    if (!outcome.ok()) {
        fail(exchange, fault_of(outcome));
        return;
    }
    Value result = outcome.content();
    Value* messages = result_in(result, "messages");
    if (messages == nullptr || !messages->is_array()) {
        fail(exchange, too_large("The prompt"));
        return;
    }
    for (Value& message : messages->get_array()) {
        if (!message.is_object()) continue;
        Value& content = message.get_object()["content"];
        content = exchange->codec->content(std::move(content));
    }
    respond(exchange, json::write(result));
}

void ServerCore::subscribe(const std::shared_ptr<Exchange>& exchange) {
    const std::string uri(string_member(exchange->params, "uri"));
    auto& all = exchange->session->subscriptions;
    if (uri.empty() || (all.size() >= options_.limits.max_subscriptions && !all.contains(uri))) {
        fail(exchange,
             {codes::kInvalidParams, uri.empty() ? "resources/subscribe has a uri."
                                                 : "There are as many subscriptions as there may be."});
        return;
    }
    if (catalogue_->resource(uri) == nullptr && catalogue_->template_for(uri) == nullptr) {
        fail(exchange, {exchange->codec->resource_not_found(),
                        fmt::format("There is no resource \"{}\".", uri), Object{{"uri", uri}}});
        return;
    }
    all.insert(uri);
    respond(exchange, "{}");
}

void ServerCore::unsubscribe(const std::shared_ptr<Exchange>& exchange) {
    exchange->session->subscriptions.erase(std::string(string_member(exchange->params, "uri")));
    respond(exchange, "{}");
}

// What completes is a host's function, which may block: it runs as a call does.
void ServerCore::complete(const std::shared_ptr<Exchange>& exchange) {
    const Value* ref = exchange->params.if_contains("ref");
    const Value* argument = exchange->params.if_contains("argument");
    if (ref == nullptr || !ref->is_object() || argument == nullptr || !argument->is_object()) {
        fail(exchange, {codes::kInvalidParams, "completion/complete has a ref and an argument."});
        return;
    }
    if (!can_complete(*catalogue_, ref->get_object())) {
        fail(exchange, {codes::kInvalidParams, "There is nothing by that ref to complete."});
        return;
    }
    Object arguments{{"ref", *ref}, {"argument", *argument}};
    if (const Value* context = exchange->params.if_contains("context")) arguments["context"] = *context;
    begin_call(exchange, {}, CallRequest("completion.complete", Args(std::move(arguments))), completer_,
               AsTask::no,
               [self = shared_from_this()](const std::shared_ptr<Exchange>& to, const Outcome& outcome) {
                   self->finish_completion(to, outcome);
               });
}

void ServerCore::finish_completion(const std::shared_ptr<Exchange>& exchange, const Outcome& outcome) {
    if (!outcome.ok()) {
        fail(exchange, fault_of(outcome));
        return;
    }
    Value result = outcome.content();
    if (result_in(result, "completion") == nullptr)
        fail(exchange, too_large("The completion"));
    else
        respond(exchange, json::write(result));
}

}  // namespace callgate::mcp
