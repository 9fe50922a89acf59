// A runtime with a durable ledger, as operators meet it: through control.sock, while it runs.
#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <callgate/runtime.h>
#include <callgate/typed.h>

#include "ledger/control/client.h"
#include "os/scratch_dir.h"

namespace callgate {
namespace {

using ledger::ControlClient;
using ::testing::Contains;

class Listener final : public Observer {
public:
    void on_audit(const AuditEvent& event) override {
        const std::lock_guard lock(mutex_);
        types_.emplace_back(event.type);
        heard_.notify_all();
    }
    void wait_for(std::string_view type) {
        std::unique_lock lock(mutex_);
        heard_.wait(lock, [&] { return std::ranges::find(types_, type) != types_.end(); });
    }
    std::vector<std::string> types() {
        const std::lock_guard lock(mutex_);
        return types_;
    }

private:
    std::mutex mutex_;
    std::condition_variable heard_;
    std::vector<std::string> types_;
};

struct Served {
    os::ScratchDir dir;
    std::shared_ptr<Listener> listener = std::make_shared<Listener>();
    int sent = 0;
    std::unique_ptr<Runtime> runtime;

    explicit Served(bool control_socket = true) {
        RuntimeOptions options;
        options.ledger_dir = dir.file("ledger");
        options.operator_uids = {::geteuid()};
        options.control_socket = control_socket;
        options.observers = {listener};
        runtime = Runtime::open(std::move(options)).value();
        Tool mail = tool(
            "send_mail", "Send a mail", [this](std::string to) { return ++sent, "sent to " + to; },
            param("to"));
        mail.contract.risk = Risk::high;
        EXPECT_TRUE(runtime->tools().add(std::move(mail)));
    }
    std::string directory() const { return dir.file("ledger"); }
};

TEST(RuntimeOperators, AnApprovalGivenOverTheSocketLetsTheCallRun) {
    Served served;
    const Outcome asked = served.runtime->call("send_mail", {{"to", "ada"}});
    ASSERT_EQ(asked.state(), State::needs_approval);

    ControlClient operators = ControlClient::connect(served.directory()).value();
    const Value shown =
        operators.ask({{"verb", "approvals.show"}, {"id", asked.approval_id()}}).value().at("approval");
    EXPECT_EQ(shown.at("arguments"), (Value{{"to", "ada"}}));
    const auto voted = operators.ask({{"verb", "approvals.vote"},
                                      {"id", asked.approval_id()},
                                      {"approve", true},
                                      {"digest", shown.at("digest")}});
    ASSERT_TRUE(voted) << voted.error().message;
    EXPECT_EQ(served.sent, 0) << "approving only records";
    served.listener->wait_for("approval.vote");  // notified on a thread of its own: a slow one delays nobody

    EXPECT_TRUE(served.runtime->resume(asked.call_id()).ok());
    EXPECT_EQ(served.sent, 1);
    const auto used = operators.ask({{"verb", "approvals.show"}, {"id", asked.approval_id()}});
    EXPECT_EQ(used->at("approval").at("state"), "consumed");
}

TEST(RuntimeOperators, AVoteOverTheSocketEndsTheWaitForIt) {
    Served served;
    const Outcome asked = served.runtime->call("send_mail", {{"to", "ada"}});
    auto decided =
        std::async(std::launch::async, [&] { return served.runtime->approvals().wait(asked.approval_id()); });
    ControlClient operators = ControlClient::connect(served.directory()).value();
    const auto voted = operators.ask(
        {{"verb", "approvals.vote"}, {"id", asked.approval_id()}, {"approve", false}, {"reason", "no"}});
    ASSERT_TRUE(voted) << voted.error().message;
    const auto seen = decided.get();
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->state, ApprovalState::denied);
}

TEST(RuntimeOperators, ARuntimeThatEndsTakesItsSocketAway) {
    Served served;
    EXPECT_TRUE(std::filesystem::exists(served.directory() + "/control.sock"));
    served.runtime.reset();
    EXPECT_FALSE(std::filesystem::exists(served.directory() + "/control.sock"));
}

TEST(RuntimeOperators, AHostMayServeThemItself) {
    const Served served(false);
    EXPECT_FALSE(ControlClient::connect(served.directory()));
}

TEST(RuntimeOperators, ASecondOwnerIsRefused) {
    const Served served;
    RuntimeOptions options;
    options.ledger_dir = served.directory();
    const auto second = Runtime::open(options);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().details.at("reason"), "ledger_owned");
    options.ledger_dir = served.directory() + "/ledger.lock/below";
    EXPECT_THROW(Runtime{options}, std::runtime_error);
}

}  // namespace
}  // namespace callgate
