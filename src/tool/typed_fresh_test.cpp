// What stood in a value before it is read, and what stands where nothing is.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <callgate/json.h>
#include <callgate/runtime.h>
#include <callgate/schema.h>
#include <callgate/typed.h>

namespace callgate {
namespace {

struct Transfer {
    std::map<std::string, int> cents{{"fee", 100}};
    std::vector<std::string> to{"escrow"};
    std::set<std::string> labels{"new"};
};
BOOST_DESCRIBE_STRUCT(Transfer, (), (cents, to, labels))

struct Limits {
    int most = 5;
    std::optional<int> least{1};
};
BOOST_DESCRIBE_STRUCT(Limits, (), (most, least))

struct Job {
    Limits limits{10, 7};
};
BOOST_DESCRIBE_STRUCT(Job, (), (limits))

struct Holes {
    std::vector<std::optional<int>> list;
    std::map<std::string, std::optional<std::string>> map;
    std::pair<int, std::optional<bool>> pair;
    std::variant<std::optional<int>, std::string> variant;
};
BOOST_DESCRIBE_STRUCT(Holes, (), (list, map, pair, variant))

enum class Size { small, large };
BOOST_DESCRIBE_ENUM(Size, small, large)

Value parsed(std::string_view text) {
    auto value = json::parse(text);
    EXPECT_TRUE(value) << text;
    return value ? *value : Value();
}

template <class T>
T fresh_from(std::string_view text) {
    T out{};
    typed::Fault fault;
    EXPECT_TRUE(typed::read(parsed(text), out, fault)) << fault.message();
    return out;
}

template <class T>
std::string schema_text() {
    return json::write(typed::schema_of<T>());
}

TEST(TypedFresh, AToolGetsTheArgumentsThatWereApprovedAndNothingOfItsInitialisers) {
    Runtime runtime;
    runtime.tools().add_or_throw(
        tool("transfer", "", [](const Transfer& t) { return json::write(typed::to_value(t)); })
            .risk(Risk::high)
            .effect(EffectClass::unsafe));
    Context agent;
    agent.principal = "agent";
    const std::string sent = R"({"cents":{"ann":5000,"fee":1},"to":["ann"],"labels":["new"]})";
    const Outcome asked = runtime.call("transfer", sent, agent);
    ASSERT_EQ(asked.state(), State::needs_approval);
    ASSERT_TRUE(runtime.approvals().approve(asked.approval_id(), "olga"));
    EXPECT_EQ(runtime.resume(asked.call_id(), agent).text(), sent);
}

TEST(TypedFresh, AnOutcomeIsReadOverInitialisersToo) {
    Runtime runtime;
    runtime.tools().add_or_throw(tool("give", "", [] {
                                     return parsed(R"({"cents":{"fee":1},"to":[],"labels":["new"]})");
                                 }).read_only());
    const auto read = runtime.call("give").as<Transfer>();
    ASSERT_TRUE(read);
    EXPECT_EQ(read->cents.at("fee"), 1);
    EXPECT_TRUE(read->to.empty());
}

TEST(TypedFresh, AStructThatIsGivenStartsFromItsOwnInitialisersNotFromItsHolders) {
    const Job job = fresh_from<Job>(R"({"limits":{"most":2}})");
    EXPECT_EQ(job.limits.most, 2);
    EXPECT_EQ(job.limits.least, 1);
    EXPECT_EQ(schema_text<Job>(),
              R"({"type":"object","properties":{"limits":{"type":"object","properties":{"most":)"
              R"({"type":"integer","minimum":-2147483648,"maximum":2147483647},"least":)"
              R"({"type":["integer","null"],"minimum":-2147483648,"maximum":2147483647,"default":1}},)"
              R"("required":["most"],"additionalProperties":false}},"required":["limits"],)"
              R"("additionalProperties":false})");
}

TEST(TypedFresh, AToolRunsWithTheDefaultThatItsSchemaShows) {
    Runtime runtime;
    runtime.tools().add_or_throw(
        tool("job", "", [](const Job& job) { return job.limits.least; }).read_only());
    EXPECT_EQ(runtime.call("job", R"({"limits":{"most":2}})").content(), Value(1));
    EXPECT_EQ(runtime.call("job", R"({"limits":{"most":2,"least":3}})").content(), Value(3));
    EXPECT_EQ(runtime.call("job", R"({"limits":{"most":2,"least":null}})").content(), Value(nullptr));
}

TEST(TypedFresh, AnEmptyOptionalSurvivesTheWayToJsonAndBackWhereItsInitialiserHasAValue) {
    const Value json = typed::to_value(Limits{3, std::nullopt});
    EXPECT_EQ(json::write(json), R"({"most":3,"least":null})");
    EXPECT_EQ(fresh_from<Limits>(json::write(json)).least, std::nullopt);
}

TEST(TypedFresh, WhereSomethingHasToStandAnEmptyOptionalIsNull) {
    EXPECT_EQ(schema_text<std::vector<std::optional<bool>>>(),
              R"({"type":"array","items":{"type":["boolean","null"]}})");
    EXPECT_EQ(schema_text<std::vector<std::optional<Size>>>(),
              R"({"type":"array","items":{"type":["string","null"],"enum":["small","large",null]}})");
    EXPECT_EQ((schema_text<std::vector<std::optional<std::variant<bool, std::string>>>>()),
              R"({"type":"array","items":{"anyOf":[{"type":"boolean"},{"type":"string"},{"type":"null"}]}})");
    EXPECT_EQ(schema_text<std::vector<std::optional<Value>>>(), R"({"type":"array","items":{}})");
    const std::string text = R"({"list":[1,null],"map":{"a":null,"b":"x"},"pair":[1,null],"variant":null})";
    EXPECT_EQ(json::write(typed::to_value(fresh_from<Holes>(text))), text);
}

TEST(TypedFresh, AToolsOwnAnswerFitsTheSchemaThatItsTypeGave) {
    Runtime runtime;
    runtime.tools().add_or_throw(
        tool("holes", "", [] {
            return Holes{{1, std::nullopt}, {{"a", std::nullopt}}, {1, std::nullopt}, std::optional<int>()};
        }).read_only());
    const Outcome out = runtime.call("holes");
    EXPECT_TRUE(out.ok()) << (out.error() ? out.error()->message : "");
    runtime.tools().add_or_throw(
        tool("echo", "", [](std::vector<std::optional<int>> p) { return p; }, param("p")).read_only());
    EXPECT_EQ(runtime.call("echo", R"({"p":[1,null]})").text(), "[1,null]");
}

TEST(TypedFresh, NothingAndNoItemsAreParametersToo) {
    Runtime runtime;
    runtime.tools().add_or_throw(tool(
                                     "t", "",
                                     [](int a, std::monostate, CallContext&, std::tuple<>) { return a; },
                                     param("a"), param("nothing"), param("none"))
                                     .read_only());
    EXPECT_EQ(runtime.call("t", R"({"a":1,"nothing":null,"none":[]})").content(), Value(1));
    EXPECT_EQ(runtime.call("t", R"({"a":1,"nothing":2,"none":[]})").state(), State::invalid);
    EXPECT_EQ(runtime.call("t", R"({"a":1,"nothing":null,"none":[1]})").state(), State::invalid);
}

}  // namespace
}  // namespace callgate
