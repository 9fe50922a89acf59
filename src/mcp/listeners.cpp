#include "mcp/listeners.h"

#include <utility>

#include "mcp/envelope.h"
#include "mcp/message.h"

namespace callgate::mcp {

void Listeners::add(std::shared_ptr<Exchange> exchange, Filter filter) {
    exchange->listens = true;
    all_.emplace(std::move(exchange), std::move(filter));
}

std::vector<std::shared_ptr<Exchange>> Listeners::exchanges(const Transport* by) const {
    std::vector<std::shared_ptr<Exchange>> some;
    for (const auto& [exchange, filter] : all_) {
        if (by == nullptr || exchange->outlet->transport() == by) some.push_back(exchange);
    }
    return some;
}

void Listeners::notify(const Exchange& exchange, std::string_view method, Object params) {
    params["_meta"] = Object{{envelope::kSubscriptionId, exchange.id}};
    exchange.outlet->message(notification_text(method, params));
}

void Listeners::lists_changed(std::string_view method) {
    for (const auto& [exchange, filter] : all_) {
        if ((filter.tools && method == "notifications/tools/list_changed") ||
            (filter.prompts && method == "notifications/prompts/list_changed") ||
            (filter.resources && method == "notifications/resources/list_changed"))
            notify(*exchange, method, {});
    }
}

void Listeners::resource_updated(const std::string& uri) {
    for (const auto& [exchange, filter] : all_) {
        if (filter.uris.contains(uri)) notify(*exchange, "notifications/resources/updated", {{"uri", uri}});
    }
}

void Listeners::task_changed(const std::string& id, const Object& task) {
    for (const auto& [exchange, filter] : all_) {
        if (filter.tasks.contains(id)) notify(*exchange, "notifications/tasks", task);
    }
}

}  // namespace callgate::mcp
