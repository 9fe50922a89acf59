#include "mcp/listeners.h"

#include <utility>

#include "mcp/envelope.h"
#include "mcp/message.h"

namespace callgate::mcp {

void Listeners::add(std::shared_ptr<Exchange> exchange, Filter filter) {
    all_.push_back({std::move(exchange), std::move(filter)});
}

void Listeners::remove(const std::shared_ptr<Exchange>& exchange) {
    all_.remove_if([&](const Listener& one) { return one.exchange == exchange; });
}

std::list<std::shared_ptr<Exchange>> Listeners::exchanges() const {
    std::list<std::shared_ptr<Exchange>> all;
    for (const Listener& one : all_) {
        all.push_back(one.exchange);
    }
    return all;
}

void Listeners::notify(const Listener& listener, std::string_view method, Object params) {
    params["_meta"] = Object{{envelope::kSubscriptionId, listener.exchange->id}};
    listener.exchange->outlet->message(notification_text(method, params));
}

void Listeners::lists_changed(std::string_view method) {
    for (const Listener& one : all_) {
        if ((one.filter.tools && method == "notifications/tools/list_changed") ||
            (one.filter.prompts && method == "notifications/prompts/list_changed") ||
            (one.filter.resources && method == "notifications/resources/list_changed"))
            notify(one, method, {});
    }
}

void Listeners::resource_updated(const std::string& uri) {
    for (const Listener& one : all_) {
        if (one.filter.uris.contains(uri)) notify(one, "notifications/resources/updated", {{"uri", uri}});
    }
}

void Listeners::task_changed(const std::string& id, const Object& task) {
    for (const Listener& one : all_) {
        if (one.filter.tasks.contains(id)) notify(one, "notifications/tasks", task);
    }
}

}  // namespace callgate::mcp
