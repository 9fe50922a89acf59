// A runtime that is destroyed from inside the code that it calls: the destructor returns, and no end is
// reported twice.
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include <callgate/callgate.h>

#include <gtest/gtest.h>

#include "base/must.h"

namespace callgate::pipeline {
namespace {

/// A host whose code destroys the runtime where the test says so.
class Host {
public:
    Host() {
        RuntimeOptions options;
        options.log_calls = false;
        options.shutdown_grace = std::chrono::milliseconds(100);
        runtime_ = must(Runtime::open(std::move(options)));
        runtime().tools().add_or_throw(tool("pooled", "", [this](CallContext& context) {
                                           context.progress("here");
                                           if (destroys_in_tool) destroy();
                                           return 1;
                                       }).risk(Risk::low));
        runtime().tools().add_or_throw(tool("inline", "",
                                            [this] {
                                                if (destroys_in_tool) destroy();
                                                return 1;
                                            })
                                           .risk(Risk::low)
                                           .run_inline());
        runtime().tools().add_or_throw(tool("gated", "", [] { return 1; }).risk(Risk::high));
    }
    ~Host() {
        outside_.set_value();
        gone_.get_future().wait();
        if (expects_end_) ends_->wait(0);  // it may come when the runtime has gone
        EXPECT_LE(*ends_, 1);
    }
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    Runtime& runtime() const { return *runtime_; }
    // Nobody else may be in one of its functions then.
    void destroy() {
        if (begun_.exchange(true)) return;
        if (std::this_thread::get_id() != starter_) left_.wait();
        runtime_.reset();
        gone_.set_value();
    }
    Completion completion() {
        expects_end_ = true;
        return Completion([ends = ends_](const Outcome&) {
            ++*ends;
            ends->notify_all();
        });
    }
    std::string asked() const { return runtime().call("gated").approval_id(); }

    std::atomic<bool> destroys_in_tool{false};
    std::shared_ptr<void> listens;

private:
    const std::thread::id starter_ = std::this_thread::get_id();
    std::promise<void> outside_;
    std::shared_future<void> left_ = outside_.get_future().share();
    std::promise<void> gone_;
    std::atomic<bool> begun_{false};
    bool expects_end_ = false;
    const std::shared_ptr<std::atomic<int>> ends_ = std::make_shared<std::atomic<int>>(0);
    std::unique_ptr<Runtime> runtime_;
};

struct Place {
    const char* name;
    std::function<void(Host&)> begin;
};

const Place kPlaces[] = {
    {"done",
     [](Host& host) { host.runtime().start({"pooled"}, {}, [&host](const Outcome&) { host.destroy(); }); }},
    {"recorded",
     [](Host& host) {
         Completion completion = host.completion();
         completion.recorded = [&host](std::string_view) { host.destroy(); };
         host.runtime().start({"pooled"}, {}, completion);
     }},
    {"progress",
     [](Host& host) {
         Context context;
         context.on_progress = [&host](const Progress&) { host.destroy(); };
         host.runtime().start({"pooled"}, context, host.completion());
     }},
    {"a pooled tool",
     [](Host& host) {
         host.destroys_in_tool = true;
         host.runtime().start({"pooled"}, {}, host.completion());
     }},
    {"an inline tool",
     [](Host& host) {
         host.destroys_in_tool = true;
         host.runtime().start({"inline"}, {}, host.completion());
     }},
    {"the end of a batch",
     [](Host& host) {
         host.runtime().start_batch({{"pooled"}, {"inline"}}, {},
                                    [&host](const std::vector<Outcome>&) { host.destroy(); });
     }},
    {"a look at an outcome",
     [](Host& host) {
         host.runtime().start_outcome("x", {}, [&host](const Result<CallStatus>&) { host.destroy(); });
     }},
    {"a record",
     [](Host& host) {
         host.runtime().start_record(HostEvent(must(EventType::registered("host.test"))),
                                     [&host](const Result<std::uint64_t>&) { host.destroy(); });
     }},
    {"a change of an approval",
     [](Host& host) {
         host.listens =
             host.runtime().approvals().on_change([&host](const ApprovalChange&) { host.destroy(); }).value();
         host.runtime().start({"gated"}, {}, host.completion());
     }},
    {"a decision",
     [](Host& host) {
         const std::string id = host.asked();
         host.runtime().approvals().when_decided(id, [&host](const Result<Approval>&) { host.destroy(); });
         must(host.runtime().approvals().deny(id, "bob"));
     }},
    {"a vote",
     [](Host& host) {
         const std::string id = host.asked();
         host.runtime().approvals().start_approve(id, "bob",
                                                  [&host](const Result<Approval>&) { host.destroy(); });
     }},
};

TEST(DestroyedInside, ReturnsWhereverItIs) {
    for (const Place& place : kPlaces) {
        SCOPED_TRACE(place.name);
        Host host;
        place.begin(host);
    }
}

}  // namespace
}  // namespace callgate::pipeline
