// Every moment of a call that waits for its client, in both eras.
#include <future>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

#include "mcp/mcp_testing.h"

namespace callgate::mcp {
namespace {

const Object kCanElicit{{"elicitation", Object{}}};

Value name_form() {
    return Object{{"type", "object"},
                  {"properties", Object{{"name", Object{{"type", "string"}}}}},
                  {"required", Array{"name"}}};
}

Object accepted(std::string_view name) {
    return {{"action", "accept"}, {"content", Object{{"name", name}}}};
}

/// What the tool got for its questions, in order; "" of an answer that was accepted, else why there was none.
class Heard {
public:
    std::string next() { return ends_.at(read_++).get_future().get(); }
    void add(std::string what) { ends_.at(written_++).set_value(std::move(what)); }

private:
    std::array<std::promise<std::string>, 8> ends_;
    std::size_t read_ = 0;
    std::size_t written_ = 0;
};

std::string reason_of(const Error& error) {
    const Value* reason = error.details.if_contains("reason");
    return reason == nullptr ? std::string(to_string(error.code)) : std::string(reason->as_string());
}

Tool asks(const std::shared_ptr<Heard>& heard) {
    return schema_tool(ToolDefinition("who", "Asks for a name", Object{{"type", "object"}}),
                       [heard](const Object& arguments, CallContext& context) -> ToolReturn {
                           const auto answer =
                               context.ask(InputRequest::form("Who?", name_form()).named("name"));
                           heard->add(!answer ? reason_of(answer.error()) : std::string());
                           if (!answer) return tl::unexpected(ToolFailure(answer.error()));
                           if (!answer->accepted()) return ToolResult(Value("nobody"));
                           return ToolResult(Value(json::write(arguments) + json::write(answer->content)));
                       })
        .read_only()
        .open_arguments();
}

class Moments : public testing::Test {
protected:
    explicit Moments(RuntimeOptions options = {}) : runtime(std::move(options)) {
        runtime.tools().add_or_throw(asks(heard));
    }
    Value call(LineClient& by, std::int64_t id, Object more = {}) {
        Object params{{"name", "who"}, {"arguments", Object{{"n", 1}}}};
        for (const auto& [key, value] : more) {
            params[key] = value;
        }
        return by.request(id, "tools/call", modern(params, kCanElicit));
    }
    static int code_of(const Value& answer) { return answer.at("error").at("code").to_number<int>(); }

    std::shared_ptr<Heard> heard = std::make_shared<Heard>();
    Runtime runtime;
    Server server{runtime};
    LineClient client{server};
};

// --- 2026-07-28 ---

TEST_F(Moments, AStateIsGoodForTheSameRequestOnly) {
    const Value state = call(client, 1).at("result").at("requestState");
    const Object answers{{"name", accepted("Ada")}};
    const Object changed{
        {"arguments", Object{{"n", 2}}}, {"requestState", state}, {"inputResponses", answers}};
    EXPECT_EQ(code_of(call(client, 2, changed)), -32602);
    std::string tampered(state.as_string());
    tampered[tampered.size() / 2] = tampered[tampered.size() / 2] == 'A' ? 'B' : 'A';
    EXPECT_EQ(code_of(call(client, 3, {{"requestState", tampered}, {"inputResponses", answers}})), -32602);
    EXPECT_EQ(code_of(call(client, 4, {{"requestState", "x"}, {"inputResponses", answers}})), -32602);
    EXPECT_EQ(code_of(call(client, 5, {{"requestState", 7}, {"inputResponses", answers}})), -32602);
    // None of this has touched the call.
    const Value done = call(client, 6, {{"requestState", state}, {"inputResponses", answers}});
    EXPECT_EQ(done.at("result").at("content").at(0).at("text"), R"({"n":1}{"name":"Ada"})");
    EXPECT_EQ(code_of(call(client, 7, {{"requestState", state}, {"inputResponses", answers}})), -32602);
}

TEST_F(Moments, AnotherServersStateIsNone) {
    Server other(runtime);
    LineClient its(other);
    const Value state = call(its, 1).at("result").at("requestState");
    EXPECT_EQ(code_of(call(client, 1, {{"requestState", state}, {"inputResponses", Object{}}})), -32602);
}

TEST_F(Moments, AnAnswerThatDoesNotFitIsAskedForAgain) {
    const Value first = call(client, 1).at("result");
    const Object wrong{{"name", Object{{"action", "accept"}, {"content", Object{{"name", 5}}}}}};
    const Value again =
        call(client, 2, {{"requestState", first.at("requestState")}, {"inputResponses", wrong}}).at("result");
    ASSERT_EQ(again.at("resultType"), "input_required");
    EXPECT_NE(again.at("requestState"), first.at("requestState"));
    const Object right{{"name", accepted("Ada")}, {"other", 1}};
    const Value done =
        call(client, 3, {{"requestState", again.at("requestState")}, {"inputResponses", right}});
    EXPECT_EQ(done.at("result").at("resultType"), "complete");
}

TEST_F(Moments, AnAnswerThatComesBeforeItsQuestionIsTaken) {
    const Value done = call(client, 1, {{"inputResponses", Object{{"name", accepted("Ada")}}}});
    EXPECT_EQ(done.at("result").at("content").at(0).at("text"), R"({"n":1}{"name":"Ada"})");
}

TEST_F(Moments, AClientThatCannotBeAskedIsNotAsked) {
    const Value done = client.request(
        1, "tools/call", modern({{"name", "who"}, {"arguments", Object{}}}, {{"sampling", Object{}}}));
    EXPECT_EQ(done.at("result").at("isError"), true);
    EXPECT_EQ(heard->next(), "cannot_ask");
}

TEST_F(Moments, DecliningIsAnAnswer) {
    const Value state = call(client, 1).at("result").at("requestState");
    const Object no{{"name", Object{{"action", "decline"}}}};
    const Value done = call(client, 2, {{"requestState", state}, {"inputResponses", no}});
    EXPECT_EQ(done.at("result").at("content").at(0).at("text"), "nobody");
}

class ShortQuestions : public Moments {
protected:
    static RuntimeOptions impatient() {
        RuntimeOptions options;
        options.max_input_time = std::chrono::milliseconds(20);
        return options;
    }
    ShortQuestions() : Moments(impatient()) {}
};

TEST_F(ShortQuestions, WhoComesBackTooLateGetsWhatBecameOfTheCall) {
    const Value state = call(client, 1).at("result").at("requestState");
    EXPECT_EQ(heard->next(), "unanswered");
    const Value late =
        call(client, 2, {{"requestState", state}, {"inputResponses", Object{{"name", accepted("Ada")}}}});
    EXPECT_EQ(late.at("result").at("isError"), true);
}

TEST(TheEndOfAServer, WithdrawsQuestions) {
    const auto heard = std::make_shared<Heard>();
    Runtime runtime;
    runtime.tools().add_or_throw(asks(heard));
    auto server = std::make_unique<Server>(runtime);
    {
        LineClient client(*server);
        const Value asked =
            client.request(1, "tools/call", modern({{"name", "who"}, {"arguments", Object{}}}, kCanElicit));
        ASSERT_EQ(asked.at("result").at("resultType"), "input_required");
    }
    server.reset();
    // Its call is called off and its client has gone: the tool learns one or the other.
    EXPECT_THAT(heard->next(), testing::AnyOf("call_ended", "caller_gone"));
}

TEST_F(Moments, WhatAClientCanBeAskedIsWhatItsLatestRequestSays) {
    const Value state = call(client, 1).at("result").at("requestState");
    const Object params{{"name", "who"}, {"arguments", Object{{"n", 1}}}, {"requestState", state}};
    const Value done = client.request(2, "tools/call", modern(params, {{"sampling", Object{}}})).at("result");
    EXPECT_EQ(done.at("isError"), true);
    EXPECT_EQ(heard->next(), "cannot_ask");
}

TEST_F(Moments, ARequestThatBringsTheAnswersMayWantProgress) {
    runtime.tools().add_or_throw(schema_tool(ToolDefinition("steps", "", Object{{"type", "object"}}),
                                             [](const Object&, CallContext& context) -> ToolReturn {
                                                 const auto answer = context.ask(
                                                     InputRequest::form("Who?", name_form()).named("name"));
                                                 if (!answer)
                                                     return tl::unexpected(ToolFailure(answer.error()));
                                                 context.progress("going", 1, 2);
                                                 return ToolResult(Value("gone"));
                                             })
                                     .read_only());
    const Object params{{"name", "steps"}, {"arguments", Object{}}};
    const Value asked = client.request(1, "tools/call", modern(params, kCanElicit)).at("result");
    Object again = params;
    again["requestState"] = asked.at("requestState");
    again["inputResponses"] = Object{{"name", accepted("Ada")}};
    again["_meta"] = Object{{"progressToken", "mine"}};
    const Value progress = client.request(2, "tools/call", modern(again, kCanElicit));
    EXPECT_EQ(progress.at("method"), "notifications/progress");
    EXPECT_EQ(progress.at("params").at("progressToken"), "mine");
    EXPECT_EQ(client.read().at("result").at("content").at(0).at("text"), "gone");
}

// The second question cannot be asked for (its form is no schema), so it never comes.
TEST(QuestionsThatAreTogether, ArePutWhereTheNextOneNeverComes) {
    Runtime runtime;
    runtime.tools().add_or_throw(
        schema_tool(ToolDefinition("two", "", Object{{"type", "object"}}),
                    [](const Object&, CallContext& context) -> ToolReturn {
                        std::promise<std::string> got;
                        context.ask(InputRequest::form("Who?", name_form()).named("name").with_more(),
                                    [&](const Result<InputAnswer>& answer) {
                                        got.set_value(answer ? json::write(answer->content) : "");
                                    });
                        const auto second =
                            context.ask(InputRequest::form("And?", Object{{"type", "nonsense"}}));
                        return ToolResult(Value(got.get_future().get() + (second ? "+" : "")));
                    })
            .read_only());
    ServerOptions options;
    options.question_gap = std::chrono::milliseconds(0);
    Server server(runtime, options);
    LineClient client(server);
    const Object params{{"name", "two"}, {"arguments", Object{}}};
    const Value asked = client.request(1, "tools/call", modern(params, kCanElicit)).at("result");
    ASSERT_EQ(asked.at("resultType"), "input_required");
    Object again = params;
    again["requestState"] = asked.at("requestState");
    again["inputResponses"] = Object{{"name", accepted("Ada")}};
    const Value done = client.request(2, "tools/call", modern(again, kCanElicit)).at("result");
    EXPECT_EQ(done.at("content").at(0).at("text"), R"({"name":"Ada"})");
}

// --- the legacy era ---

class LegacyMoments : public Moments {
protected:
    LegacyMoments() { (void)client.initialize("2025-11-25", kCanElicit); }
    /// The question that the call brings.
    Value begin(std::int64_t id) {
        client.send(Object{{"jsonrpc", "2.0"},
                           {"id", id},
                           {"method", "tools/call"},
                           {"params", Object{{"name", "who"}, {"arguments", Object{}}}}});
        return client.read();
    }
    static Object answer_to(const Value& question, Value result) {
        return {{"jsonrpc", "2.0"}, {"id", question.at("id")}, {"result", std::move(result)}};
    }
};

TEST_F(LegacyMoments, CallingTheRequestOffWithdrawsTheQuestion) {
    const Value question = begin(1);
    client.send(Object{{"jsonrpc", "2.0"},
                       {"method", "notifications/cancelled"},
                       {"params", Object{{"requestId", 1}, {"reason", "enough"}}}});
    const Value withdrawn = client.read();
    EXPECT_EQ(withdrawn.at("method"), "notifications/cancelled");
    EXPECT_EQ(withdrawn.at("params").at("requestId"), question.at("id"));
    EXPECT_EQ(heard->next(), "call_ended");
    // There is no answer to it: the next thing that comes is the next answer.
    EXPECT_EQ(client.request(2, "ping").at("id"), 2);
}

TEST_F(LegacyMoments, OnlyTheFirstAnswerCounts) {
    const Value question = begin(1);
    client.send(answer_to(question, accepted("Ada")));
    client.send(answer_to(question, accepted("Eve")));
    const Value done = client.read();
    EXPECT_EQ(done.at("result").at("content").at(0).at("text"), R"({}{"name":"Ada"})");
    EXPECT_EQ(client.request(2, "ping").at("id"), 2);
}

TEST_F(LegacyMoments, AnswersToWhatNobodyAskedAreIgnored) {
    const Value question = begin(1);
    client.send(Object{{"jsonrpc", "2.0"}, {"id", 77}, {"result", accepted("Eve")}});
    client.send(Object{{"jsonrpc", "2.0"}, {"id", "text"}, {"result", accepted("Eve")}});
    client.send(answer_to(question, accepted("Ada")));
    EXPECT_EQ(client.read().at("result").at("content").at(0).at("text"), R"({}{"name":"Ada"})");
}

TEST_F(LegacyMoments, NobodyAnswersForSomebodyElse) {
    const Value question = begin(1);
    LineClient other(server);
    (void)other.initialize("2025-11-25", kCanElicit);
    other.send(answer_to(question, accepted("Eve")));
    EXPECT_EQ(other.request(1, "ping").at("id"), 1);
    client.send(answer_to(question, accepted("Ada")));
    EXPECT_EQ(client.read().at("result").at("content").at(0).at("text"), R"({}{"name":"Ada"})");
}

TEST_F(LegacyMoments, AClientThatRefusesToAnswerSaysSo) {
    const Value question = begin(1);
    client.send(Object{{"jsonrpc", "2.0"},
                       {"id", question.at("id")},
                       {"error", Object{{"code", -32603}, {"message", "no window"}}}});
    const Value done = client.read();
    EXPECT_EQ(done.at("result").at("isError"), true);
    EXPECT_EQ(heard->next(), "caller_refused");
}

TEST_F(LegacyMoments, AnAnswerThatDoesNotFitEndsTheQuestion) {
    const Value question = begin(1);
    client.send(answer_to(question, Object{{"action", "accept"}, {"content", Object{{"name", 5}}}}));
    EXPECT_EQ(client.read().at("result").at("isError"), true);
    EXPECT_EQ(heard->next(), "answer_does_not_fit");
}

TEST_F(LegacyMoments, AClientThatGoesIsNotWaitedFor) {
    (void)begin(1);
    EXPECT_EQ(client.close(), 0);
    EXPECT_EQ(heard->next(), "caller_gone");
}

}  // namespace
}  // namespace callgate::mcp
