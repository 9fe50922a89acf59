#include "mcp/ended_tasks.h"

#include <iterator>

#include "json/size.h"

namespace callgate::mcp {
namespace {

constexpr std::size_t kAtLeast = 512;

std::size_t size_of(const Outcome& outcome, std::size_t enough) {
    std::size_t bytes = kAtLeast + json::text_size_up_to(outcome.arguments(), enough) +
                        json::text_size_up_to(outcome.content(), enough) + outcome.raw().size();
    if (outcome.structured()) bytes += json::text_size_up_to(*outcome.structured(), enough);
    if (const Error* error = outcome.error())
        bytes += error->message.size() + json::text_size_up_to(Value(error->details), enough);
    return bytes;
}

}  // namespace

void EndedTasks::keep(const std::string& call_id, const Outcome& outcome) {
    if (const auto it = by_call_.find(call_id); it != by_call_.end()) drop(it->second);
    if (outcome.ok() || outcome.state() == State::unknown) return;
    const std::size_t bytes = size_of(outcome, most_bytes_);
    all_.push_back({call_id, outcome, bytes});
    by_call_.insert_or_assign(call_id, std::prev(all_.end()));
    bytes_ += bytes;
    while (all_.size() > most_ || bytes_ > most_bytes_) drop(all_.begin());
}

const Outcome* EndedTasks::find(std::string_view call_id) const {
    const auto it = by_call_.find(call_id);
    return it == by_call_.end() ? nullptr : &it->second->outcome;
}

void EndedTasks::drop(std::list<Ended>::iterator one) {
    bytes_ -= one->bytes;
    by_call_.erase(by_call_.find(one->call_id));
    all_.erase(one);
}

}  // namespace callgate::mcp
