// Batches: how they are written, their order and budget, and calls with a key or a context of their own.
#include <callgate/callgate.h>

#include <atomic>
#include <barrier>

#include <gtest/gtest.h>

#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

/// Answers with what it was called with: "action text".
Tool mirror(std::string name) {
    return schema_tool(ToolDefinition(std::move(name), "", Object{{"type", "object"}}),
                       [](const Object& arguments, CallContext& context) -> ToolReturn {
                           return ToolResult(Value(context.action() + " " + json::write(arguments)));
                       })
        .open_arguments()
        .run_inline();
}

std::vector<std::string> texts_of(const std::vector<Outcome>& outcomes) {
    std::vector<std::string> texts;
    for (const Outcome& outcome : outcomes) texts.push_back(outcome.tool() + " " + outcome.text());
    return texts;
}

using Texts = std::vector<std::string>;

Context keyed(std::string key, std::string principal = "ada") {
    Context context;
    context.idempotency_key = std::move(key);
    context.principal = std::move(principal);
    return context;
}

TEST_WITH_EITHER_LEDGER(Batch, IsWrittenAsAListOfCalls) {
    TestRuntime node;
    node->tools().add_or_throw(mirror("a")).add_or_throw(mirror("b"));
    const std::string name = "a";
    EXPECT_EQ(texts_of(node->call_batch({{"a", {{"n", 1}}}})), (Texts{R"(a call {"n":1})"}));
    EXPECT_EQ(texts_of(node->call_batch({{"a", {{"n", 1}}}, {"a", {{"n", 2}}}})),
              (Texts{R"(a call {"n":1})", R"(a call {"n":2})"}));
    EXPECT_EQ(texts_of(node->call_batch({{"a", {{"n", 1}, {"m", 2}}}, {"b", {{"n", {1, 2}}, {"m", 2}}}})),
              (Texts{R"(a call {"n":1,"m":2})", R"(b call {"n":[1,2],"m":2})"}));
    EXPECT_EQ(node->call_batch({{"a", {{"n", 1}}}, {"a", {{"n", 2}}}, {"b", {{"n", 3}}}}).size(), 3u);
    EXPECT_TRUE(node->call_batch({}).empty());
}

TEST_WITH_EITHER_LEDGER(Batch, IsNeverTakenForAPairOrARange) {
    TestRuntime node;
    node->tools().add_or_throw(mirror("a")).add_or_throw(mirror("b"));
    const std::string name = "a";
    EXPECT_EQ(texts_of(node->call_batch({{"a"}})), (Texts{"a call {}"})) << "one call without arguments";
    EXPECT_EQ(texts_of(node->call_batch({{"a"}, {"b"}})), (Texts{"a call {}", "b call {}"}));
    EXPECT_EQ(texts_of(node->call_batch({"a", "b"})), (Texts{"a call {}", "b call {}"}));
    EXPECT_EQ(texts_of(node->call_batch({name, name})), (Texts{"a call {}", "a call {}"}));
    EXPECT_EQ(texts_of(node->call_batch({{name}, {name, {}}})), (Texts{"a call {}", "a call {}"}));
    EXPECT_EQ(texts_of(node->call_batch({{"a", R"({"n":1})"}})), (Texts{R"(a call {"n":1})"}))
        << "a name and JSON text";
    EXPECT_EQ(texts_of(node->call_batch({{"a", R"({"n":1})"}, {"b", R"({"n":2})"}})),
              (Texts{R"(a call {"n":1})", R"(b call {"n":2})"}));
    EXPECT_EQ(texts_of(node->call_batch({{"a", {{"n", "m"}}}})), (Texts{R"(a call {"n":"m"})"}))
        << "a member, no two texts";
    EXPECT_EQ(texts_of(node->call_batch({{"a", {{"n", 1}}, "undo"}, {"b", {}, "undo"}})),
              (Texts{R"(a undo {"n":1})", "b undo {}"}))
        << "with an action";
}

TEST_WITH_EITHER_LEDGER(Batch, ACallMayBringItsOwnKey) {
    TestRuntime node;
    node->tools().add_or_throw(mirror("a"));
    const std::vector<CallRequest> calls{
        {"a", {{"n", 1}}}, CallRequest("a", {{"n", 2}}).with_key("own"), {"a", {{"n", 3}}}};
    EXPECT_EQ(node->call_batch(calls, keyed("k")).size(), 3u);
    EXPECT_EQ(node->call("a", {{"n", 2}}, keyed("own")).state(), State::replayed) << "as it is";
    const auto again =
        node->call_batch({{"a", {{"n", 1}}}, {"a", {{"n", 9}}}, {"a", {{"n", 3}}}}, keyed("k"));
    EXPECT_EQ(again[0].state(), State::replayed);
    EXPECT_EQ(again[1].state(), State::succeeded) << "k#1 was nobody's";
    EXPECT_EQ(again[2].state(), State::replayed) << "the others keep the numbers of their places";
    const auto reserved = node->call_batch({CallRequest("a").with_key("own#1")}, keyed("k"));
    EXPECT_EQ(reserved[0].error()->code, ErrorCode::invalid_arguments);
}

TEST_WITH_EITHER_LEDGER(Batch, OfOneWithItsOwnKeyIsNotThatOfTheContext) {
    TestRuntime node;
    node->tools().add_or_throw(mirror("a"));
    EXPECT_TRUE(node->call("a", {}, keyed("k")).ok());
    const auto outcomes = node->call_batch({CallRequest("a").with_key("own")}, keyed("k"));
    EXPECT_EQ(outcomes[0].state(), State::succeeded);
    EXPECT_EQ(node->call("a", {}, keyed("own")).state(), State::replayed);
}

TEST_WITH_EITHER_LEDGER(Batch, ACallMayBringItsOwnContext) {
    TestRuntime node;
    node->tools().add_or_throw(tool("who", "", [](CallContext& context) {
                                   return context.caller().principal + " " + context.caller().idempotency_key;
                               }).run_inline());
    const auto outcomes = node->call_batch({"who", CallRequest("who").with_context(keyed("", "bob")),
                                            CallRequest("who").with_context(keyed("x", "eve")),
                                            CallRequest("who").with_context(keyed("x", "eve")).with_key("y")},
                                           keyed("k"));
    EXPECT_EQ(texts_of(outcomes), (Texts{"who ada k#0", "who bob ", "who eve x", "who eve y"}))
        << "it takes the place of the batch's as a whole";
    EXPECT_EQ(node->call(CallRequest("who").with_context(keyed("", "bob")), keyed("k")).text(), "bob ")
        << "as for a single call";
    EXPECT_EQ(node->call(CallRequest("who").with_key("z"), keyed("k")).text(), "ada z");
}

TEST(Batch, ALimitOfATenantCountsTheCallsOfThatTenant) {
    TestRuntime node;
    node->tools("acme").add_or_throw(mirror("a").limits([] {
        UseLimits limits;
        limits.calls = 1;
        return limits;
    }()));
    Context acme;
    acme.tenant = "acme";
    const auto outcomes =
        node->call_batch({CallRequest("a").with_context(acme), CallRequest("a").with_context(acme)});
    EXPECT_EQ(outcomes[0].state(), State::limited) << "whole or not at all, whoever it is for";
    EXPECT_EQ(outcomes[1].state(), State::limited);
    EXPECT_TRUE(node->call_batch({CallRequest("a").with_context(acme)})[0].ok());
}

// Arguments as text.

TEST(TextArguments, AreNotCopiedByACallAndAlwaysByWhatOutlivesIt) {
    TestRuntime node;
    auto [slow, body] = deferred("slow");
    node->tools().add_or_throw(slow.open_arguments());
    Ended ended;
    {
        std::string text = R"({"n": "a text that is too long to be kept in place"})";
        Context keyed_context;
        ended = node.start("slow", std::string_view(text));
        text.assign(text.size(), '?');
    }
    EXPECT_EQ(body->take()->arguments().at("n"), "a text that is too long to be kept in place");
}

TEST_WITH_EITHER_LEDGER(TextArguments, MayBeGivenInAnyForm) {
    TestRuntime node;
    node->tools().add_or_throw(mirror("a"));
    const std::string text = R"({"n":1})";
    const std::string_view view = text;
    const boost::json::string json(text);
    const Context context;
    for (const Outcome& outcome :
         {node->call("a", R"({"n":1})"), node->call("a", text.c_str()), node->call("a", text),
          node->call("a", view), node->call("a", json), node->call("a", std::string(text)),
          node->call("a", text, context), node->call("a", Args(text)), node->call("a", Value(text))}) {
        EXPECT_EQ(outcome.text(), R"(call {"n":1})");
    }
    EXPECT_EQ(node->call("a", nullptr).text(), "call {}");
    EXPECT_EQ(node->call("a", {}).text(), "call {}");
}

TEST_WITH_EITHER_LEDGER(Runtime, ABatchKeepsOrderAndOneFailureLeavesTheOthersAlone) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(
        tool(
            "add", "Add two numbers", [](int a, int b) { return a + b; }, param("a"), param("b"))
            .read_only()
            .run_inline()));
    std::barrier all(3);
    ASSERT_TRUE(node->tools().add(tool(
        "together", "",
        [&](int n) {
            all.arrive_and_wait();  // only ends if all three run at once
            return n;
        },
        param("n"))));
    const auto outcomes = node->call_batch(
        {CallRequest("together", {{"n", 1}}), CallRequest("together", {{"n", 2}}), CallRequest("nobody"),
         CallRequest("together", {{"n", 3}}), CallRequest("add", {{"a", 1}, {"b", 1}})});
    ASSERT_EQ(outcomes.size(), 5u);
    EXPECT_EQ(outcomes[0].text(), "1");
    EXPECT_EQ(outcomes[1].text(), "2");
    EXPECT_EQ(outcomes[2].state(), State::not_found);
    EXPECT_EQ(outcomes[3].text(), "3");
    EXPECT_EQ(outcomes[4].text(), "2");
}

TEST_WITH_EITHER_LEDGER(Runtime, ABatchRunsWholeOrNotAtAllUnderABudget) {
    TestRuntime node;
    std::atomic<int> runs = 0;
    UseLimits limits;
    limits.per_run = 3;
    ASSERT_TRUE(
        node->tools().add(tool("costly", "", [&] { return runs.fetch_add(1); }).limits(limits).run_inline()));
    Context context;
    context.run_id = "run";
    const std::vector<CallRequest> four(4, CallRequest("costly"));
    for (const auto& outcome : node->call_batch(four, context)) {
        EXPECT_EQ(outcome.error()->code, ErrorCode::budget_exceeded);
    }
    EXPECT_EQ(runs, 0);
    for (const auto& outcome : node->call_batch({four[0], four[1], four[2]}, context))
        EXPECT_TRUE(outcome.ok());
    EXPECT_EQ(runs, 3);
}

}  // namespace
}  // namespace callgate::pipeline
