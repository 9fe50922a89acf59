// Conversations whose clients have their questions and are to come back with the answers.
//
// Each is kept for a time; there are at most so many, and the oldest goes first. Of one that goes the
// questions are not answered any more, and a client that comes back with its state is refused.
//
// Threads: the server's home thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/conversation.h"

namespace callgate::mcp {

class KeptConversations {
public:
    using Time = std::chrono::steady_clock::time_point;

    KeptConversations(std::chrono::milliseconds longest, std::size_t most) : longest_(longest), most_(most) {}

    void keep(std::shared_ptr<Conversation> conversation, Time now);
    void forget(std::string_view call_id);
    /// Null: none is kept, or not any more.
    std::shared_ptr<Conversation> find(std::string_view call_id, Time now);
    std::vector<std::shared_ptr<Conversation>> take_all();
    std::size_t size() const noexcept { return by_time_.size(); }

private:
    struct Kept {
        std::shared_ptr<Conversation> conversation;
        Time since;
    };
    void sweep(Time now);
    void drop_oldest();

    const std::chrono::milliseconds longest_;
    const std::size_t most_;
    std::list<Kept> by_time_;  // the oldest first
    std::map<std::string, std::list<Kept>::iterator, std::less<>> by_call_;
};

}  // namespace callgate::mcp
