// What a client may read, and under which text; and what it gets where there is nothing to be read.
#include <gtest/gtest.h>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

#include "mcp/mcp_testing.h"
#include "mcp/uri.h"

namespace callgate::mcp {
namespace {

ResourceRead says(std::string text) {
    return std::vector{ResourceContents::of_text(std::move(text))};
}

RuntimeOptions small_results() {
    RuntimeOptions options;
    options.max_result_bytes = 20'000;
    return options;
}

class Resources : public testing::Test {
protected:
    Resources() {
        ResourceTemplate any("docs://{name}", "any",
                             [](const Variables& given, CallContext&) -> ResourceRead {
                                 const std::string& name = given.at("name");
                                 if (name == "gone") return fail(ErrorCode::not_found, "It is gone.");
                                 if (name == "big") return says(std::string(100'000, 'x'));
                                 if (name == "needy")
                                     throw missing_capability("It asks.", Object{{"roots", Object{}}});
                                 if (name == "own")
                                     throw protocol_error(-32050, "Its own error.", Object{{"why", "so"}});
                                 return says("template " + name);
                             });
        EXPECT_TRUE(server.add(any));
        Resource secret("docs://secret", "secret",
                        [](CallContext&) -> ResourceRead { return says("the secret"); });
        secret.contract.scopes.add("secrets");
        EXPECT_TRUE(server.add(secret));
        Prompt prompt("draft", "A draft", [](const Variables& given, CallContext&) -> PromptText {
            if (given.contains("needy")) throw missing_capability("It asks.", Object{{"roots", Object{}}});
            return std::vector{
                PromptMessage(Block::of_text(std::string(given.contains("big") ? 100'000 : 10, 'x')))};
        });
        prompt.complete["big"] = [](std::string_view, const Variables&) {
            return std::vector<std::string>(100, std::string(1'000, 'x'));
        };
        EXPECT_TRUE(server.add(prompt));
    }
    Value read(std::string_view uri) {
        return client.request(++id_, "resources/read", modern({{"uri", uri}}));
    }
    Value read_of_old(std::string_view uri) {
        return client.request(++id_, "resources/read", Object{{"uri", uri}});
    }

    Runtime runtime{small_results()};
    Server server{runtime};
    LineClient client{server};
    std::int64_t id_ = 100;
};

std::int64_t code_of(const Value& answer) {
    const Value* error = answer.as_object().if_contains("error");
    return error == nullptr ? 0 : error->at("code").as_int64();
}

TEST_F(Resources, AreReadByTheirUri) {
    EXPECT_EQ(read("docs://plan").at("result").at("contents").at(0).at("text"), "template plan");
    EXPECT_NE(code_of(read("docs://secret")), 0) << "its scope is not granted";
}

TEST_F(Resources, AnotherWayToWriteAUriIsNoWayAroundItsContract) {
    for (const char* uri : {"docs://%73ecret", "docs://secre%74", "docs://pl%61n", "docs://a%3fb"}) {
        const Value answer = read(uri);
        EXPECT_EQ(code_of(answer), -32602) << uri;
        EXPECT_EQ(answer.at("error").at("data").at("uri"), uri);
    }
    EXPECT_EQ(read("docs://a%3Fb").at("result").at("contents").at(0).at("text"), "template a?b");
    EXPECT_EQ(code_of(read("docs://..%2F..%2Fetc")), -32602);
}

TEST_F(Resources, AreRefusedWhereNoClientCouldAskForThem) {
    const auto reader = [](CallContext&) -> ResourceRead { return says(""); };
    EXPECT_FALSE(server.add(Resource("docs://%73ecret", "s", reader)));
    EXPECT_FALSE(server.add(Resource("docs://a%2fb", "s", reader)));
    EXPECT_FALSE(server.add(Resource("docs://" + std::string(kMaxUriBytes, 'a'), "s", reader)));
    EXPECT_TRUE(server.add(Resource("docs://a%2Fb", "s", reader)));
}

TEST_F(Resources, AUriThatIsTooLongIsNotLookedFor) {
    EXPECT_EQ(code_of(read("docs://" + std::string(kMaxUriBytes - 7, 'a'))), 0);
    const Value answer = read("docs://" + std::string(1'000'000, 'a'));
    EXPECT_EQ(code_of(answer), -32602);
    EXPECT_LT(json::write(answer).size(), 1'000u) << "nor said again";
}

TEST_F(Resources, WhatIsNotThereHasTheErrorOfItsRevision) {
    for (const char* uri : {"docs://gone", "other://x"}) {
        const Value answer = read(uri);
        EXPECT_EQ(code_of(answer), -32602) << uri;
        EXPECT_EQ(answer.at("error").at("data").at("uri"), uri);
    }
    (void)client.initialize();
    for (const char* uri : {"docs://gone", "other://x"}) {
        const Value answer = read_of_old(uri);
        EXPECT_EQ(code_of(answer), -32002) << uri;
        EXPECT_EQ(answer.at("error").at("data").at("uri"), uri);
    }
}

TEST_F(Resources, WhatAClientIsNotToKnowOfLooksLikeWhatIsNotThere) {
    Resource hidden("private://a", "a", [](CallContext&) -> ResourceRead { return says("hidden"); });
    hidden.contract.scopes.add("private");
    hidden.contract.hidden_without_scopes = true;
    ASSERT_TRUE(server.add(hidden));
    EXPECT_EQ(
        json::write(read("private://a").at("error")),
        R"({"code":-32602,"message":"There is no resource \"private://a\".","data":{"uri":"private://a"}})");
    EXPECT_EQ(read("docs://gone").at("error").at("message"), "It is gone.") << "its reader's own words";
}

TEST_F(Resources, AReaderAndAGetterMaySayErrorsOfTheProtocol) {
    const Value needy = read("docs://needy").at("error");
    EXPECT_EQ(json::write(needy),
              R"({"code":-32021,"message":"It asks.","data":{"requiredCapabilities":{"roots":{}}}})");
    EXPECT_EQ(json::write(read("docs://own").at("error")),
              R"({"code":-32050,"message":"Its own error.","data":{"why":"so"}})");
    const Value prompt = client.request(1, "prompts/get",
                                        modern({{"name", "draft"}, {"arguments", Object{{"needy", "yes"}}}}));
    EXPECT_EQ(code_of(prompt), -32021);
}

TEST_F(Resources, WhatIsLargerThanAResultMayBeIsAnErrorAndNoResult) {
    EXPECT_EQ(code_of(read("docs://big")), -32603);
    EXPECT_EQ(code_of(client.request(1, "prompts/get",
                                     modern({{"name", "draft"}, {"arguments", Object{{"big", "1"}}}}))),
              -32603);
    EXPECT_EQ(code_of(client.request(2, "completion/complete",
                                     modern({{"ref", Object{{"type", "ref/prompt"}, {"name", "draft"}}},
                                             {"argument", Object{{"name", "big"}, {"value", ""}}}}))),
              -32603);
}

TEST_F(Resources, AnswersToQuestionsAreAnObject) {
    for (const Value& wrong : {Value(nullptr), Value(1), Value(Array{})}) {
        EXPECT_EQ(code_of(client.request(1, "resources/read",
                                         modern({{"uri", "docs://plan"}, {"inputResponses", wrong}}))),
                  -32602);
        EXPECT_EQ(
            code_of(client.request(2, "prompts/get", modern({{"name", "draft"}, {"inputResponses", wrong}}))),
            -32602);
        EXPECT_EQ(
            code_of(client.request(3, "tools/call", modern({{"name", "x"}, {"inputResponses", wrong}}))),
            -32602);
    }
    EXPECT_EQ(code_of(client.request(4, "resources/read",
                                     modern({{"uri", "docs://plan"}, {"inputResponses", Object{}}}))),
              0);
}

}  // namespace
}  // namespace callgate::mcp
