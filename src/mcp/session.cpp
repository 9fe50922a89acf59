#include "mcp/session.h"

namespace callgate::mcp {

std::shared_ptr<EventStream> Session::new_stream() {
    for (auto it = streams_.begin(); streams_.size() >= kMaxStreams && it != streams_.end();) {
        it = it->second->finished() ? streams_.erase(it) : std::next(it);
    }
    auto stream = std::make_shared<EventStream>(++last_stream_, log_);
    streams_.emplace(stream->number(), stream);
    return stream;
}

std::shared_ptr<EventStream> Session::find_stream(std::uint64_t number) const {
    const auto it = streams_.find(number);
    return it == streams_.end() ? nullptr : it->second;
}

}  // namespace callgate::mcp
