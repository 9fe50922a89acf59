// Clients of the stateless era that listen for changes (`subscriptions/listen`): each by an open request,
// which is answered only when it ends.
//
// Threads: the server's home thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/exchange.h"

namespace callgate::mcp {

class Listeners {
public:
    struct Filter {
        bool tools = false;
        bool prompts = false;
        bool resources = false;
        std::set<std::string, std::less<>> uris;
        std::set<std::string, std::less<>> tasks;
    };
    /// It is notified from now on, until it is removed.
    void add(std::shared_ptr<Exchange> exchange, Filter filter);
    void remove(const std::shared_ptr<Exchange>& exchange) { all_.erase(exchange); }
    std::size_t size() const noexcept { return all_.size(); }
    /// Those by that transport; all, where it is null.
    std::vector<std::shared_ptr<Exchange>> exchanges(const Transport* by = nullptr) const;

    void lists_changed(std::string_view method);
    void resource_updated(const std::string& uri);
    void task_changed(const std::string& id, const Object& task);

private:
    static void notify(const Exchange& exchange, std::string_view method, Object params);
    std::map<std::shared_ptr<Exchange>, Filter> all_;
};

}  // namespace callgate::mcp
