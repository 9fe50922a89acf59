// Tasks that need an approval: they wait for it, with their server or without.
#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

#include "mcp/mcp_testing.h"
#include "mcp/server_parts.h"
#include "os/scratch_dir.h"

namespace callgate::mcp {
namespace {

const Object kAble{{"elicitation", Object{}},
                   {"extensions", Object{{"io.modelcontextprotocol/tasks", Object{}}}}};

class TaskApprovals : public testing::Test {
protected:
    void add_pay(Runtime& to) {
        Tool pay = tool("pay", "",
                        [this] {
                            ++ran;
                            return std::string("paid");
                        })
                       .risk(Risk::medium)
                       .effect(EffectClass::unsafe);
        pay.definition.extra["execution"] = Object{{"taskSupport", "optional"}};
        to.tools().add_or_throw(std::move(pay));
    }
    static ServerOptions asking(bool the_client = false) {
        ServerOptions options;
        options.context.autonomy = Autonomy::a1;
        options.approve_by_client = the_client;
        return options;
    }
    Value request(LineClient& by, std::string_view method, Object params) {
        return by.request(++last_id, method, modern(std::move(params), kAble)).at("result");
    }
    Value begin(LineClient& by) {
        const Value created = request(by, "tools/call", {{"name", "pay"}, {"arguments", Object{}}});
        EXPECT_EQ(created.at("resultType"), "task");
        return created.at("taskId");
    }
    Value get(LineClient& by, const Value& id) { return request(by, "tasks/get", {{"taskId", id}}); }
    Value end_of(LineClient& by, const Value& id) {
        for (;;) {
            Value task = get(by, id);
            const std::string_view status = task.at("status").as_string();
            if (status != "working" && status != "input_required") return task;
        }
    }
    static std::string open_approval(Runtime& runtime) {
        const auto open = runtime.approvals().list().value();
        EXPECT_EQ(open.size(), 1u);
        return open.empty() ? std::string() : open.front().id;
    }

    std::atomic<int> ran{0};
    std::int64_t last_id = 0;
};

TEST_F(TaskApprovals, OneWorksUntilSomebodyHasDecided) {
    Runtime runtime;
    add_pay(runtime);
    Server server(runtime, asking());
    LineClient client(server);
    const Value id = begin(client);
    EXPECT_EQ(get(client, id).at("status"), "working");
    ASSERT_TRUE(runtime.approvals().approve(open_approval(runtime), "grace"));
    const Value task = end_of(client, id);
    EXPECT_EQ(task.at("status"), "completed");
    EXPECT_EQ(task.at("result").at("content").at(0).at("text"), "paid");
}

TEST_F(TaskApprovals, ADenialIsWhatItEndsWith) {
    Runtime runtime;
    add_pay(runtime);
    Server server(runtime, asking());
    LineClient client(server);
    const Value id = begin(client);
    ASSERT_TRUE(runtime.approvals().deny(open_approval(runtime), "grace"));
    const Value task = end_of(client, id);
    EXPECT_EQ(task.at("status"), "completed");
    EXPECT_EQ(task.at("result").at("isError"), true);
    EXPECT_NE(json::write(task.at("result")).find("refused"), std::string::npos);
    EXPECT_EQ(ran, 0);
}

TEST_F(TaskApprovals, CancellingEndsItAtOnceAndTakesTheRequestBack) {
    Runtime runtime;
    add_pay(runtime);
    Server server(runtime, asking());
    LineClient client(server);
    const Value id = begin(client);
    const std::string approval = open_approval(runtime);
    (void)request(client, "tasks/cancel", {{"taskId", id}});
    EXPECT_EQ(get(client, id).at("status"), "cancelled");
    EXPECT_EQ(runtime.approvals().wait(approval).value().state, ApprovalState::revoked);
    EXPECT_EQ(get(client, id).at("status"), "cancelled");
    EXPECT_EQ(ran, 0);
}

TEST_F(TaskApprovals, TheEndOfItsServerLeavesTheRequestOpenAndNothingElse) {
    Runtime runtime;
    add_pay(runtime);
    auto server = std::make_unique<Server>(runtime, asking(true));
    const std::weak_ptr<ServerCore> left = server->parts().core;
    {
        LineClient client(*server);
        (void)begin(client);
    }
    server.reset();
    while (!left.expired())
        std::this_thread::yield();  // who waited for the decision is notified on its thread
    EXPECT_FALSE(open_approval(runtime).empty());
    EXPECT_EQ(ran, 0);
}

TEST_F(TaskApprovals, WhereTheClientsWordIsEnoughItIsAskedByTheTask) {
    Runtime runtime;
    add_pay(runtime);
    Server server(runtime, asking(true));
    LineClient client(server);
    const Value id = begin(client);
    const Value task = get(client, id);
    ASSERT_EQ(task.at("status"), "input_required");
    EXPECT_EQ(task.at("inputRequests").at("approval").at("method"), "elicitation/create");
    const Object yes{{"approval", Object{{"action", "accept"}, {"content", Object{{"allow", true}}}}}};
    (void)request(client, "tasks/update", {{"taskId", id}, {"inputResponses", yes}});
    EXPECT_EQ(end_of(client, id).at("result").at("content").at(0).at("text"), "paid");
    EXPECT_EQ(ran, 1);
    const auto consumed = runtime.approvals().list(ApprovalState::consumed).value();
    ASSERT_EQ(consumed.size(), 1u);
    EXPECT_EQ(consumed.front().votes.front().approver, "client:local");
}

TEST_F(TaskApprovals, WhoHasNotDecidedLeavesItToOthers) {
    Runtime runtime;
    add_pay(runtime);
    Server server(runtime, asking(true));
    LineClient client(server);
    const Value id = begin(client);
    (void)request(client, "tasks/update",
                  {{"taskId", id}, {"inputResponses", Object{{"approval", Object{{"action", "cancel"}}}}}});
    EXPECT_EQ(get(client, id).at("status"), "working");
    ASSERT_TRUE(runtime.approvals().approve(open_approval(runtime), "grace"));
    EXPECT_EQ(end_of(client, id).at("result").at("content").at(0).at("text"), "paid");
    EXPECT_EQ(ran, 1);
}

TEST_F(TaskApprovals, AnOperatorMayDecideWhileTheClientIsAsked) {
    Runtime runtime;
    add_pay(runtime);
    Server server(runtime, asking(true));
    LineClient client(server);
    const Value id = begin(client);
    ASSERT_EQ(get(client, id).at("status"), "input_required");
    ASSERT_TRUE(runtime.approvals().approve(open_approval(runtime), "grace"));
    EXPECT_EQ(end_of(client, id).at("result").at("content").at(0).at("text"), "paid");
    EXPECT_EQ(ran, 1);
}

class AfterARestart : public TaskApprovals {
protected:
    AfterARestart() {
        options.ledger_dir = directory.path() + "/ledger";
        Runtime runtime(options);
        add_pay(runtime);
        Server server(runtime, asking());
        LineClient client(server);
        id = begin(client);
    }
    const os::ScratchDir directory;
    RuntimeOptions options;
    Value id;
};

TEST_F(AfterARestart, OneGoesOnOnceItIsApproved) {
    Runtime runtime(options);
    add_pay(runtime);
    Server server(runtime, asking());
    LineClient client(server);
    EXPECT_EQ(get(client, id).at("status"), "working");
    EXPECT_EQ(ran, 0);
    ASSERT_TRUE(runtime.approvals().approve(open_approval(runtime), "grace"));
    LineClient another(server);
    EXPECT_EQ(get(another, id).at("status"), "working");
    const Value task = end_of(client, id);
    EXPECT_EQ(task.at("status"), "completed");
    EXPECT_EQ(task.at("result").at("content").at(0).at("text"), "paid");
    EXPECT_EQ(end_of(another, id).at("status"), "completed");
    EXPECT_EQ(ran, 1);
}

TEST_F(AfterARestart, OneThatWaitsCanBeCancelled) {
    Runtime runtime(options);
    add_pay(runtime);
    Server server(runtime, asking());
    LineClient client(server);
    const std::string approval = open_approval(runtime);
    (void)request(client, "tasks/cancel", {{"taskId", id}});
    EXPECT_EQ(get(client, id).at("status"), "cancelled");
    EXPECT_EQ(runtime.approvals().get(approval).value().state, ApprovalState::revoked);
    (void)request(client, "tasks/cancel", {{"taskId", id}});
    EXPECT_EQ(ran, 0);
}

}  // namespace
}  // namespace callgate::mcp
