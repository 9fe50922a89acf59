// The ends of tasks that the record may have nothing of: what ends without an effect leaves nothing there.
//
// Bounded by number and by bytes; those that ended first go first. An outcome that the record has, or that a
// person may still resolve, is not kept here.
//
// Threads: the server's home thread.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <string>
#include <string_view>

#include <callgate/outcome.h>

namespace callgate::mcp {

class EndedTasks {
public:
    explicit EndedTasks(std::size_t most = 10'000, std::size_t most_bytes = 64u << 20)
        : most_(most), most_bytes_(most_bytes) {}

    void keep(const std::string& call_id, const Outcome& outcome);
    /// Null: none is kept.
    const Outcome* find(std::string_view call_id) const;
    std::size_t size() const noexcept { return all_.size(); }

private:
    struct Ended {
        std::string call_id;
        Outcome outcome;
        std::size_t bytes = 0;
    };
    void drop(std::list<Ended>::iterator one);

    const std::size_t most_;
    const std::size_t most_bytes_;
    std::size_t bytes_ = 0;
    std::list<Ended> all_;  // the first to end first
    std::map<std::string, std::list<Ended>::iterator, std::less<>> by_call_;
};

}  // namespace callgate::mcp
