// What a server asks its client in the middle of a request: in both eras, answered, declined, withdrawn; and
// servers that ask without end, or nonsense.
#include <string>

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "mcp/client_questions_testing.h"

namespace callgate::mcp {
namespace {

/// Against a server of ours, in both eras.
class ClientIsAsked : public testing::TestWithParam<EraOver> {
protected:
    ClientIsAsked() {
        const auto asks = [this](std::string_view name, InputRequest question) {
            runtime.tools().add_or_throw(
                schema_tool(
                    ToolDefinition(std::string(name), "", Object{{"type", "object"}}),
                    [question = std::move(question)](const Object&, CallContext& context) -> ToolReturn {
                        const auto answer = context.ask(InputRequest(question));
                        if (!answer) return tl::unexpected(ToolFailure(answer.error()));
                        if (!answer->accepted()) return ToolResult(Value("no"));
                        return ToolResult(Value(json::write(answer->content)));
                    })
                    .read_only()
                    .risk(Risk::low));
        };
        asks("form", InputRequest::form("Who?", kNameForm).named("user"));
        asks("url", InputRequest::open_url("Sign in", "https://example.com/in"));
        asks("sampling", InputRequest::sampling(Object{{"messages", Array{}}, {"maxTokens", 5}}));
        asks("roots", InputRequest::roots());
    }
    static ClientOptions options() {
        ClientOptions options;
        options.era = GetParam().era;
        options.abilities = AnsweringQuestions::all_abilities();
        return options;
    }
    std::string text_of(const ClientAnswer& answer) {
        EXPECT_TRUE(answer) << (answer ? "" : answer.error().error.message);
        return answer ? std::string(answer->value.at("content").at(0).at("text").as_string()) : "";
    }

    Runtime runtime;
    Server server{runtime};
    LinkToServer link{server, GetParam().over};
    ClientOnLoop client{options(), link.open(client)};
};

INSTANTIATE_TEST_SUITE_P(Eras, ClientIsAsked, kErasAndTransports, name_of_era);

TEST_P(ClientIsAsked, ByEveryKindOfQuestion) {
    ASSERT_TRUE(client.connect());
    const auto person = accepting(Object{{"name", "Ada"}});
    const ClientAnswer answer = client.ask(call_with(person, "form"));
    EXPECT_EQ(text_of(answer), R"({"name":"Ada"})");
    EXPECT_EQ(answer->rounds, GetParam().era == EraChoice::modern ? 2u : 1u);
    ASSERT_EQ(person->asked.size(), 1u);
    EXPECT_EQ(person->asked[0].message, "Who?");
    EXPECT_EQ(person->asked[0].content, Value(kNameForm));
    const auto browser = accepting(nullptr);
    EXPECT_EQ(text_of(client.ask(call_with(browser, "url"))), "null");
    EXPECT_EQ(browser->asked.at(0).url, "https://example.com/in");
    const Object said{
        {"role", "assistant"}, {"model", "m"}, {"content", Object{{"type", "text"}, {"text", "x"}}}};
    const auto model = accepting(said);
    EXPECT_EQ(text_of(client.ask(call_with(model, "sampling"))), json::write(said));
    EXPECT_EQ(model->asked.at(0).content.at("maxTokens"), 5);
    const auto folders = accepting(Array{Object{{"uri", "file:///tmp"}}});
    EXPECT_EQ(text_of(client.ask(call_with(folders, "roots"))), R"({"roots":[{"uri":"file:///tmp"}]})");
}

TEST_P(ClientIsAsked, AndMaySayNo) {
    ASSERT_TRUE(client.connect());
    const auto no =
        answering([](const InputRequest&) -> Result<InputAnswer> { return InputAnswer::decline(); });
    EXPECT_EQ(text_of(client.ask(call_with(no, "form"))), "no");
}

TEST_P(ClientIsAsked, ThroughWhoeverServesTheWholeClient) {
    ClientOptions whole = options();
    const auto person = accepting(Object{{"name", "Ada"}});
    whole.questions = person;
    ClientOnLoop other(whole, link.open(other));
    ASSERT_TRUE(other.connect());
    EXPECT_EQ(text_of(other.ask(call_with(nullptr, "form"))), R"({"name":"Ada"})");
}

TEST_P(ClientIsAsked, WhileTheTimeOfItsRequestStandsStill) {
    ASSERT_TRUE(client.connect());
    const auto person = accepting(nullptr);
    person->keep = true;
    std::promise<void> asked;
    person->on_kept = [&] { asked.set_value(); };
    ClientRequest request = call_with(person, "form");
    request.timeout = std::chrono::milliseconds(500);
    Waited<ClientAnswer> answer;
    client.start(std::move(request), answer.take());
    asked.get_future().wait();
    // Longer than the request has.
    boost::asio::steady_timer timer(client.thread()->context());
    std::promise<void> passed;
    client.at_home([&] {
        timer.expires_after(std::chrono::milliseconds(700));
        timer.async_wait([&](const boost::system::error_code&) { passed.set_value(); });
    });
    passed.get_future().wait();
    client.at_home([&] { person->kept.at(0)(InputAnswer::accept(Object{{"name", "Ada"}})); });
    EXPECT_EQ(text_of(answer.get()), R"({"name":"Ada"})");
}

// The stateless era, word by word.

class ModernQuestions : public testing::Test {
protected:
    Value begin(ScriptedPeer& peer, std::shared_ptr<ClientQuestions> questions) {
        answer = {};
        client->start(call_with(std::move(questions)), answer.take());
        return peer.read_request("tools/call");
    }
    static Value asking(Object questions, Value state = {}) {
        Object result{{"resultType", "input_required"}};
        if (!questions.empty()) result["inputRequests"] = std::move(questions);
        if (!state.is_null()) result["requestState"] = std::move(state);
        return result;
    }
    static Object form(std::string_view key = "a") {
        return {{key, Object{{"method", "elicitation/create"},
                             {"params", Object{{"message", "?"}, {"requestedSchema", kNameForm}}}}}};
    }
    std::string reason() {
        const ClientAnswer ended = answer.get();
        EXPECT_FALSE(ended);
        if (ended) return {};
        EXPECT_EQ(ended.error().applied, Applied::maybe);
        return std::string(ended.error().error.details.at("reason").as_string());
    }

    ScriptedClient client;
    Waited<ClientAnswer> answer;
};

TEST_F(ModernQuestions, AreAnsweredTogetherWithTheStateToTheByte) {
    const auto peer = client.connect_modern();
    const auto person = accepting(Object{{"name", "Ada"}});
    const Value first = begin(*peer, person);
    Object questions = form("one");
    questions["two"] = Object{{"method", "roots/list"}};
    const std::string state = "\u00fc \"quoted\" \\ \n\t\x7f \U0001F600 =?base64?AA==?=";
    peer->result(first, asking(questions, Value(state)));
    const Value second = peer->read_request("tools/call");
    EXPECT_NE(second.at("id"), first.at("id"));
    EXPECT_EQ(second.at("params").at("name"), "t");
    EXPECT_EQ(second.at("params").at("arguments"), Value(Object{}));
    EXPECT_EQ(second.at("params").at("requestState"), Value(state));
    EXPECT_EQ(second.at("params").at("inputResponses"),
              (Value(Object{{"one", Object{{"action", "accept"}, {"content", Object{{"name", "Ada"}}}}},
                            {"two", Object{{"name", "Ada"}}}})));
    ASSERT_EQ(person->asked.size(), 2u);
    EXPECT_EQ(person->asked[0].name, "one");
    EXPECT_TRUE(person->asked[0].more_follow);
    EXPECT_FALSE(person->asked[1].more_follow);
    // The next round has its own, and nothing of this one.
    peer->result(second, asking(form("three")));
    const Value third = peer->read_request("tools/call");
    EXPECT_FALSE(third.at("params").as_object().contains("requestState"));
    EXPECT_EQ(third.at("params").at("inputResponses").as_object().size(), 1u);
    peer->result(third, Object{{"resultType", "complete"}, {"content", Array{}}});
    const ClientAnswer ended = answer.get();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->rounds, 3u);
    // And another request nothing of any.
    const Value other = begin(*peer, person);
    EXPECT_FALSE(other.at("params").as_object().contains("requestState"));
    EXPECT_FALSE(other.at("params").as_object().contains("inputResponses"));
}

TEST_F(ModernQuestions, MayBeNoneButAState) {
    const auto peer = client.connect_modern();
    peer->result(begin(*peer, nullptr), asking({}, "s"));
    const Value second = peer->read_request("tools/call");
    EXPECT_EQ(second.at("params").at("requestState"), "s");
    EXPECT_FALSE(second.at("params").as_object().contains("inputResponses"));
    peer->result(second, Object{{"content", Array{}}});  // without a type it is complete
    EXPECT_TRUE(answer.get());
}

TEST_F(ModernQuestions, GetTheDefaultsOfTheirForm) {
    const auto peer = client.connect_modern();
    const Value request = begin(*peer, accepting(Object{{"given", 1}}));
    Object properties{{"given", Object{{"type", "integer"}, {"default", 7}}},
                      {"left_out", Object{{"type", "string"}, {"default", "x"}}},
                      {"none", Object{{"type", "string"}}}};
    peer->result(
        request,
        asking({{"a", Object{{"method", "elicitation/create"},
                             {"params", Object{{"message", "?"},
                                               {"requestedSchema", Object{{"type", "object"},
                                                                          {"properties", properties}}}}}}}}));
    EXPECT_EQ(peer->read_request("tools/call").at("params").at("inputResponses").at("a").at("content"),
              (Value(Object{{"given", 1}, {"left_out", "x"}})));
}

TEST_F(ModernQuestions, ThatNobodyCanAnswerEndTheRequest) {
    const auto peer = client.connect_modern();
    peer->result(begin(*peer, nullptr), asking(form()));
    EXPECT_EQ(reason(), "cannot_ask");
    InputAbilities only_roots;
    only_roots.roots = true;
    peer->result(begin(*peer, std::make_shared<AnsweringQuestions>(nullptr, only_roots)), asking(form()));
    EXPECT_EQ(reason(), "cannot_ask");
    // Whoever was asked has gone without a word.
    const auto person = accepting(nullptr);
    person->keep = true;
    std::promise<void> asked;
    person->on_kept = [&] { asked.set_value(); };
    peer->result(begin(*peer, person), asking(form()));
    asked.get_future().wait();
    client->at_home([&] { person->kept.clear(); });
    EXPECT_EQ(reason(), "cannot_ask");
    const auto no =
        answering([](const InputRequest&) -> Result<InputAnswer> { return InputAnswer::decline(); });
    peer->result(begin(*peer, no), asking({{"a", Object{{"method", "sampling/createMessage"}}}}));
    EXPECT_EQ(reason(), "declined");
}

TEST_F(ModernQuestions, ThatAreNoneOrTooManyEndTheRequest) {
    const auto peer = client.connect_modern();
    const auto person = accepting(Object{});
    for (const std::string_view bad :
         {R"({"a":7})", R"({"a":{}})", R"({"a":{"method":"tools/call","params":{}}})",
          R"({"a":{"method":"elicitation/create","params":{"message":"?"}}})",
          R"({"a":{"method":"elicitation/create","params":{"mode":"x","message":"?","requestedSchema":{}}}})",
          R"({"a":{"method":"elicitation/create","params":{"mode":"url","message":"?"}}})"}) {
        peer->result(begin(*peer, person), asking(parsed(bad).as_object()));
        EXPECT_EQ(reason(), "not_a_question") << bad;
    }
    Object many;
    for (int i = 0; i < 17; ++i) many[fmt::format("q{}", i)] = form().begin()->value();
    peer->result(begin(*peer, person), asking(many));
    EXPECT_EQ(reason(), "too_many_questions");
    peer->result(begin(*peer, person), asking(form(), Value(std::string(300u << 10, 'x'))));
    EXPECT_EQ(reason(), "state_too_large");
    EXPECT_TRUE(person->asked.empty());
}

TEST_F(ModernQuestions, AreNotPutForEver) {
    const auto peer = client.connect_modern();
    Value request = begin(*peer, accepting(Object{{"name", "Ada"}}));
    for (int round = 1; round < 32; ++round) {
        peer->result(request, asking(form()));
        request = peer->read_request("tools/call");
    }
    peer->result(request, asking(form()));
    EXPECT_EQ(reason(), "too_many_rounds");
}

TEST_F(ModernQuestions, AreOfThreeMethodsOnly) {
    const auto peer = client.connect_modern();
    Waited<ClientAnswer> of_list;
    client->start(ClientRequest("completion/complete", {}), of_list.take());
    peer->result(peer->read_request("completion/complete"), asking(form(), "s"));
    EXPECT_EQ(of_list.get().error().error.details.at("reason"), "unknown_result_type");
}

TEST_F(ModernQuestions, LeaveNothingNotAppliedAfterwards) {
    const auto peer = client.connect_modern();
    peer->result(begin(*peer, accepting(Object{{"name", "Ada"}})), asking(form(), "s"));
    peer->error(peer->read_request("tools/call"), -32602, "bad state");
    const ClientAnswer ended = answer.get();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().applied, Applied::answered);
}

TEST_F(ModernQuestions, CanBeCalledOffAndLost) {
    auto peer = client.connect_modern();
    const auto person = accepting(nullptr);
    person->keep = true;
    const auto ask = [&] {
        std::promise<void> asked;
        person->on_kept = [&] { asked.set_value(); };
        answer = {};
        const auto ticket = client->start(call_with(person), answer.take());
        peer->result(peer->read_request("tools/call"), asking(form(), "s"));
        asked.get_future().wait();
        return ticket;
    };
    client->cancel(ask());
    EXPECT_EQ(reason(), "called_off");
    client->at_home([&] { person->kept.at(0)(InputAnswer::accept(Object{})); });  // too late
    ask();
    peer->close();
    EXPECT_EQ(reason(), "closed");
}

}  // namespace
}  // namespace callgate::mcp
