// A client's person decides about a call, where the client's word is enough.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

#include "mcp/mcp_testing.h"

namespace callgate::mcp {
namespace {

const Object kAble{{"elicitation", Object{}}};

class AtTheClient : public testing::Test {
protected:
    AtTheClient() {
        const auto add = [this](const char* name, Risk risk) {
            runtime.tools().add_or_throw(
                tool(name, "", [this] { return ++ran; }).risk(risk).effect(EffectClass::unsafe));
        };
        add("write", Risk::medium);
        add("publish", Risk::high);
    }
    static ServerOptions asking() {
        ServerOptions options;
        options.approve_by_client = true;
        options.context.autonomy = Autonomy::a1;
        return options;
    }
    Value call(std::int64_t id, std::string_view name, Object more = {}) {
        Object params{{"name", name}, {"arguments", Object{}}};
        for (const auto& [key, value] : more) {
            params[key] = value;
        }
        return client.request(id, "tools/call", modern(params, kAble)).at("result");
    }
    static Object says(bool allow, const Value& asked) {
        return {{"requestState", asked.at("requestState")},
                {"inputResponses",
                 Object{{"approval", Object{{"action", "accept"}, {"content", Object{{"allow", allow}}}}}}}};
    }

    int ran = 0;
    Runtime runtime;
    Server server{runtime, asking()};
    LineClient client{server};
};

TEST_F(AtTheClient, YesRunsTheCallOnce) {
    const Value asked = call(1, "write");
    ASSERT_EQ(asked.at("resultType"), "input_required");
    EXPECT_EQ(ran, 0);
    const Value done = call(2, "write", says(true, asked));
    EXPECT_EQ(done.at("content").at(0).at("text"), "1");
    const auto consumed = runtime.approvals().list(ApprovalState::consumed);
    ASSERT_TRUE(consumed);
    ASSERT_EQ(consumed->size(), 1u);
    EXPECT_EQ(consumed->front().votes.front().approver, "client:local");
    EXPECT_EQ(consumed->front().votes.front().assurance, Assurance::a1);
}

TEST_F(AtTheClient, NoIsADenialOnTheRecord) {
    const Value asked = call(1, "write");
    const Value done = call(2, "write", says(false, asked));
    EXPECT_EQ(done.at("isError"), true);
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(runtime.approvals().list(ApprovalState::denied).value().size(), 1u);
}

TEST_F(AtTheClient, WhoGoesAwayHasNotDecided) {
    const Value asked = call(1, "write");
    const Value done = call(2, "write",
                            {{"requestState", asked.at("requestState")},
                             {"inputResponses", Object{{"approval", Object{{"action", "cancel"}}}}}});
    EXPECT_EQ(done.at("isError"), true);
    EXPECT_EQ(runtime.approvals().list().value().size(), 1u);
}

TEST_F(AtTheClient, AYesThatComesBeforeTheQuestionDoesNotCount) {
    const Object early{
        {"inputResponses",
         Object{{"approval", Object{{"action", "accept"}, {"content", Object{{"allow", true}}}}}}}};
    EXPECT_EQ(call(1, "write", early).at("resultType"), "input_required");
    EXPECT_EQ(ran, 0);
}

TEST_F(AtTheClient, WhereTheClientsWordIsNotEnoughItIsNotAsked) {
    ServerOptions options = asking();
    options.context.autonomy = Autonomy::a2;
    Server careful(runtime, options);
    LineClient its(careful);
    const Value done =
        its.request(1, "tools/call", modern({{"name", "publish"}, {"arguments", Object{}}}, kAble))
            .at("result");
    EXPECT_EQ(done.at("resultType"), "complete");
    EXPECT_EQ(done.at("isError"), true);

    EXPECT_EQ(runtime.approvals().list().value().size(), 1u);
}

TEST_F(AtTheClient, WhatCannotBeShownWholeIsNotPutToThem) {
    runtime.tools().add_or_throw(tool(
                                     "say", "", [this](const std::string&) { return ++ran; }, param("text"))
                                     .risk(Risk::medium)
                                     .effect(EffectClass::unsafe));
    LineClient legacy(server);
    (void)legacy.initialize("2025-06-18", kAble);
    const auto say = [&](std::int64_t id, const std::string& text) {
        return legacy.request(id, "tools/call",
                              Object{{"name", "say"}, {"arguments", Object{{"text", text}}}});
    };
    const Value refused = say(1, "harmless" + std::string(4'000, '.') + "AND NOW DELETE ALL");
    EXPECT_EQ(refused.at("result").at("isError"), true) << "it waits for an operator, who can read all of it";
    const Value question = say(2, "to \u202Eynnel\u200B, not to\u2028jenny");
    ASSERT_EQ(question.at("method"), "elicitation/create");
    const Value& message = question.at("params").at("message");
    EXPECT_THAT(std::string(message.as_string()),
                testing::HasSubstr(R"(to \u{202E}ynnel\u{200B}, not to\u{2028}jenny)"));
}

TEST_F(AtTheClient, WhoCannotAnswerAnyMoreGetsWhatBecameOfTheCall) {
    LineClient legacy(server);
    (void)legacy.initialize("2025-06-18", kAble);
    ASSERT_EQ(legacy.request(1, "tools/call", Object{{"name", "write"}}).at("method"), "elicitation/create");
    EXPECT_EQ(legacy.close(), 0);
    const Value answer = legacy.read();
    EXPECT_EQ(answer.at("id"), 1);
    EXPECT_EQ(answer.at("result").at("isError"), true);
    EXPECT_EQ(runtime.approvals().list().value().size(), 1u) << "an operator may still decide";
}

TEST_F(AtTheClient, AClientOfTheLegacyEraIsAskedByARequest) {
    LineClient legacy(server);
    (void)legacy.initialize("2025-06-18", kAble);
    const Value question = legacy.request(1, "tools/call", Object{{"name", "write"}});
    ASSERT_EQ(question.at("method"), "elicitation/create");
    const Value done =
        legacy.ask(Object{{"jsonrpc", "2.0"},
                          {"id", question.at("id")},
                          {"result", Object{{"action", "accept"}, {"content", Object{{"allow", true}}}}}});
    EXPECT_EQ(done.at("result").at("content").at(0).at("text"), "1");
}

TEST_F(AtTheClient, WhatIsCalledOffIsNotAskedAboutAnyMore) {
    LineClient legacy(server);
    (void)legacy.initialize("2025-06-18", kAble);
    const Value question = legacy.request(1, "tools/call", Object{{"name", "write"}});
    legacy.send(Object{
        {"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", Object{{"requestId", 1}}}});
    const Value withdrawn = legacy.read();
    EXPECT_EQ(withdrawn.at("method"), "notifications/cancelled");
    EXPECT_EQ(withdrawn.at("params").at("requestId"), question.at("id"));
    // An answer that was on its way counts for nothing.
    legacy.send(Object{{"jsonrpc", "2.0"},
                       {"id", question.at("id")},
                       {"result", Object{{"action", "accept"}, {"content", Object{{"allow", true}}}}}});
    EXPECT_EQ(legacy.request(2, "ping").at("id"), 2);
    EXPECT_EQ(runtime.approvals().list().value().size(), 1u);
    EXPECT_EQ(ran, 0);
}

}  // namespace
}  // namespace callgate::mcp
