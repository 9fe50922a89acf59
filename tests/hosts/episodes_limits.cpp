// Episodes about limits: what is limited is never exceeded.
#include <thread>

#include <fmt/format.h>

#include "episodes.h"

namespace callgate::hosts {

using namespace std::chrono_literals;

namespace {

// Begins calls and waits for their ends.
class Several {
public:
    explicit Several(Episode& episode) : episode_(episode) {}
    ~Several() { wait(); }
    void start(const std::string& tool, const Args& args, const Context& context) {
        ++*open_;
        episode_.runtime.start(CallRequest(tool, args), context,
                               [open = open_, limited = limited_](const Outcome& outcome) {
                                   if (outcome.state() == State::limited) ++*limited;
                                   --*open;
                                   open->notify_all();
                               });
    }
    int limited() const { return *limited_; }
    void wait() {
        for (int open = *open_; open > 0; open = *open_) open_->wait(open);
    }

private:
    Episode& episode_;
    std::shared_ptr<std::atomic<int>> open_ = std::make_shared<std::atomic<int>>(0);
    std::shared_ptr<std::atomic<int>> limited_ = std::make_shared<std::atomic<int>>(0);
};

}  // namespace

void Episode::concurrent() {
    const auto crowd = std::make_shared<Crowd>();
    UseLimits limits;
    limits.concurrent = 2;
    if (!add(slow_tool(host, name("two"), crowd, 2).limits(limits))) return;
    {
        Several several(*this);
        for (int i = 0; i < 5; ++i) several.start(name("two"), {{"n", i}}, context());
    }
    if (crowd->most > 2)
        broken("limit_concurrent",
               fmt::format("{} calls of a tool ran at once; the limit is 2", crowd->most.load()));
}

// Who may queue for a place is not refused, and nobody gets it twice.
void Episode::places_in_turn() {
    const auto crowd = std::make_shared<Crowd>();
    UseLimits limits;
    limits.concurrent = 1;
    limits.queue = true;
    if (!add(slow_tool(host, name("queue"), crowd, 1).limits(limits))) return;
    Several several(*this);
    for (int i = 0; i < 3; ++i) several.start(name("queue"), {{"n", i}}, context());
    several.wait();
    if (crowd->most > 1 || several.limited() > 0)
        broken("places", fmt::format("{} at once where one may, and {} refused that may wait",
                                     crowd->most.load(), several.limited()));
}

void Episode::rate() {
    const auto crowd = std::make_shared<Crowd>();
    UseLimits limits;
    limits.calls = 3;
    limits.window = 24h;
    if (!add(counting_tool(name("thrice"), crowd).limits(limits))) return;
    for (int i = 0; i < 6; ++i) runtime.call(name("thrice"), {{"n", i}}, context());
    if (crowd->entered > 3)
        broken("limit_rate", fmt::format("a tool with 3 calls a day ran {} times", crowd->entered.load()));
}

void Episode::resource() {
    const auto crowd = std::make_shared<Crowd>();
    if (!add(slow_tool(host, name("turns"), crowd, 1).resource_key("/item"))) return;
    {
        Several several(*this);
        for (int i = 0; i < 3; ++i) several.start(name("turns"), {{"item", "x"}, {"n", i}}, context());
    }
    if (crowd->most > 1)
        broken("resource", fmt::format("{} calls had the same resource at once", crowd->most.load()));
}

void Episode::scopes() {
    const auto crowd = std::make_shared<Crowd>();
    if (!add(counting_tool(name("vault"), crowd).scopes({"vault"}))) return;
    const Outcome outcome = runtime.call(name("vault"), {}, context());
    if (crowd->entered > 0 || outcome.ok()) broken("scopes", "a tool ran without the scope it needs");
}

}  // namespace callgate::hosts
