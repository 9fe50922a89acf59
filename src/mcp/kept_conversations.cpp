#include "mcp/kept_conversations.h"

#include <iterator>
#include <utility>

namespace callgate::mcp {

void KeptConversations::keep(std::shared_ptr<Conversation> conversation, Time now) {
    forget(conversation->call_id());
    sweep(now);
    while (!by_time_.empty() && by_time_.size() >= most_) drop_oldest();
    std::string call_id = conversation->call_id();
    by_time_.push_back({std::move(conversation), now});
    by_call_.insert_or_assign(std::move(call_id), std::prev(by_time_.end()));
}

void KeptConversations::forget(std::string_view call_id) {
    const auto it = by_call_.find(call_id);
    if (it == by_call_.end()) return;
    by_time_.erase(it->second);
    by_call_.erase(it);
}

std::shared_ptr<Conversation> KeptConversations::find(std::string_view call_id, Time now) {
    sweep(now);
    const auto it = by_call_.find(call_id);
    return it == by_call_.end() ? nullptr : it->second->conversation;
}

std::vector<std::shared_ptr<Conversation>> KeptConversations::take_all() {
    by_call_.clear();
    std::vector<std::shared_ptr<Conversation>> all;
    for (Kept& one : std::exchange(by_time_, {})) {
        all.push_back(std::move(one.conversation));
    }
    return all;
}

// A client that never comes back leaves nothing behind: its state is not good any more.
void KeptConversations::sweep(Time now) {
    while (!by_time_.empty() && now - by_time_.front().since > longest_) drop_oldest();
}

void KeptConversations::drop_oldest() {
    const auto conversation = by_time_.front().conversation;
    by_call_.erase(by_call_.find(conversation->call_id()));
    by_time_.pop_front();
    // While a request of it is under way its client has come back.
    if (conversation->waits_for_client()) conversation->abandon();
}

}  // namespace callgate::mcp
