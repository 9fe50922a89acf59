// A rule's predicate is a C++ function that is asked last, by name and version; one that throws closes the
// gate.
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <callgate/registry.h>

#include "policy/policy_testing.h"
#include "policy/rule_identity.h"

namespace callgate::policy {
namespace {

using Do = Rule::Do;
using testing::HasSubstr;

bool always(const CallView&) {
    return true;
}
bool never(const CallView&) {
    return false;
}
bool throws(const CallView&) {
    throw std::runtime_error("a secret");
}

Rule with(Predicate::Function function, Do what = Do::confirm, std::string version = "1") {
    Rule rule("mine", what);
    rule.when_true("odd", std::move(version), std::move(function));
    return rule;
}

std::shared_ptr<const Compiled> policy_of(std::vector<Rule> rules) {
    PolicyConfig config;
    config.rules = std::move(rules);
    return compiled(std::move(config));
}

Call low_call() {
    Call call(entry("t", contract_of(Risk::low)), Object{{"amount", 700}});
    call.caller = caller_at(Autonomy::a2);
    return call;
}

// By a rule that is all there is; without it the matrix allows the call.
Gate gate_by(Rule rule) {
    const auto policy = policy_of({std::move(rule)});
    return decide(*policy, low_call().question(), Risk::low).gate;
}

TEST(Predicate, DecidesWhetherARuleMatchesWhateverTheRuleDecides) {
    EXPECT_EQ(gate_by(with(always, Do::confirm)), Gate::confirm);
    EXPECT_EQ(gate_by(with(never, Do::confirm)), Gate::allow);
    EXPECT_EQ(gate_by(with(always, Do::deny)), Gate::deny);
    EXPECT_EQ(gate_by(with(never, Do::deny)), Gate::allow);
    EXPECT_EQ(gate_by(with(always, Do::preview)), Gate::preview);
    EXPECT_EQ(gate_by(with(never, Do::preview)), Gate::allow);

    Call medium = low_call();
    medium.tool = entry("t", contract_of(Risk::medium));
    const auto lets = policy_of({with(always, Do::allow)});
    EXPECT_EQ(decide(*lets, medium.question(), Risk::medium).gate, Gate::allow);
    const auto does_not = policy_of({with(never, Do::allow)});
    EXPECT_EQ(decide(*does_not, medium.question(), Risk::medium).gate, Gate::confirm);

    const auto raises = policy_of({with(always, Do::raise_risk)});
    EXPECT_EQ(classify(*raises, low_call().question()).risk, Risk::medium);
    const auto raises_nothing = policy_of({with(never, Do::raise_risk)});
    EXPECT_EQ(classify(*raises_nothing, low_call().question()).risk, Risk::low);
}

TEST(Predicate, SeesTheCallAsItWillRun) {
    Call call = low_call();
    call.action = "send";
    call.caller.tenant = "acme";
    call.caller.principal = "agent";
    call.caller.trace_id = "trace";
    call.caller.run_id = "run";
    call.caller.task_id = "task";
    call.caller.step_id = "step";
    call.caller.scopes = ScopeSet{"mail"};
    int asked = 0;
    const auto look = [&](const CallView& seen) {
        ++asked;
        EXPECT_EQ(seen.tool, "t");
        EXPECT_EQ(seen.action, "send");
        EXPECT_EQ(seen.arguments, Value(Object{{"amount", 700}}));
        EXPECT_EQ(seen.risk, Risk::high);
        EXPECT_EQ(seen.effect, EffectClass::unsafe);
        EXPECT_EQ(seen.tenant, "acme");
        EXPECT_EQ(seen.principal, "agent");
        EXPECT_EQ(seen.trace_id, "trace");
        EXPECT_EQ(seen.run_id, "run");
        EXPECT_EQ(seen.task_id, "task");
        EXPECT_EQ(seen.step_id, "step");
        EXPECT_TRUE(seen.scopes.contains("mail"));
        EXPECT_EQ(seen.autonomy, Autonomy::a2);
        EXPECT_EQ(seen.at, kNoon);
        return true;
    };
    EXPECT_EQ(decide(*policy_of({with(look)}), call.question(), Risk::high).gate, Gate::confirm);
    EXPECT_EQ(asked, 1);
}

TEST(Predicate, IsAskedOnlyWhenEverythingElseMatches) {
    int asked = 0;
    const auto count = [&](const CallView&) { return ++asked > 0; };
    const auto other = [&](auto change) {
        Rule rule = with(count);
        change(rule);
        return gate_by(std::move(rule));
    };
    EXPECT_EQ(other([](Rule& rule) { rule.tools = {"other"}; }), Gate::allow);
    EXPECT_EQ(other([](Rule& rule) { rule.principals = {"other"}; }), Gate::allow);
    EXPECT_EQ(other([](Rule& rule) { rule.risk_at_least = Risk::high; }), Gate::allow);
    EXPECT_EQ(other([](Rule& rule) { rule.arguments = Object{{"required", Array{"cents"}}}; }), Gate::allow);
    EXPECT_EQ(asked, 0);
    EXPECT_EQ(other([](Rule& rule) { rule.arguments = Object{{"required", Array{"amount"}}}; }),
              Gate::confirm);
    EXPECT_EQ(asked, 1);
}

TEST(Predicate, ThatThrowsMatchesWhereItsRuleRestrictsAndNotWhereItAllows) {
    EXPECT_EQ(gate_by(with(throws, Do::deny)), Gate::deny);
    EXPECT_EQ(gate_by(with(throws, Do::confirm)), Gate::confirm);
    EXPECT_EQ(gate_by(with(throws, Do::preview)), Gate::preview);
    const auto raises = policy_of({with(throws, Do::raise_risk)});
    EXPECT_EQ(classify(*raises, low_call().question()).risk, Risk::medium);
    const auto lets = policy_of({with(throws, Do::allow)});
    EXPECT_EQ(decide(*lets, low_call().question(), Risk::medium).gate, Gate::confirm);
}

TEST(Predicate, IsGivenToARuleInOneExpressionThatKeepsItsValue) {
    const auto copies = std::make_shared<int>(0);
    struct Counted {
        std::shared_ptr<int> count;
        explicit Counted(std::shared_ptr<int> copies_made) : count(std::move(copies_made)) {}
        Counted(const Counted& other) : count(other.count) { ++*count; }
        Counted(Counted&&) = default;
        bool operator()(const CallView&) const { return true; }
    };
    auto&& rule = Rule("mine", Do::deny).when_true("odd", "1", Counted(copies));
    static_assert(!std::is_lvalue_reference_v<decltype(rule)>, "or it would refer to what is gone");
    EXPECT_EQ(*copies, 0);
    EXPECT_EQ(gate_by(std::move(rule)), Gate::deny);
}

TEST(Predicate, IsNamedInTheDecisionAndItsReason) {
    Policy policy;
    PolicyConfig config;
    Rule raise("big", Do::raise_risk);
    raise.when_true("over limit", "7", always);
    Rule lets("lets", Do::allow);
    lets.when_true("trusted", "2", throws);
    Rule not_asked("no", Do::deny);
    not_asked.when_true("no", "1", never);
    config.rules = {raise, lets, not_asked, with(always)};
    ASSERT_TRUE(policy.set(config));

    const PolicyDecision decision = explain(policy, low_call().question());
    EXPECT_EQ(decision.gate, Gate::confirm);
    EXPECT_EQ(decision.rule_id, "mine");
    ASSERT_EQ(decision.predicates.size(), 3u);
    EXPECT_EQ(decision.predicates[0].rule_id, "big");
    EXPECT_EQ(decision.predicates[0].name, "over limit");
    EXPECT_EQ(decision.predicates[0].version, "7");
    EXPECT_TRUE(decision.predicates[0].matched);
    EXPECT_FALSE(decision.predicates[0].failed);
    EXPECT_EQ(decision.predicates[1].name, "trusted");
    EXPECT_TRUE(decision.predicates[1].failed);
    EXPECT_FALSE(decision.predicates[1].matched);
    EXPECT_EQ(decision.predicates[2].name, "odd");
    EXPECT_EQ(
        decision.reason,
        "Rule 'mine' (predicate 'odd', version '1') asks for a person's approval. Rule 'big' (predicate "
        "'over limit', version '7') matched. Rule 'lets' (predicate 'trusted', version '2') failed, "
        "which counts as not matching.");
    const Value json = to_json(decision);
    EXPECT_EQ(json.at("predicates").as_array().size(), 3u);
    EXPECT_EQ(json.at("predicates").as_array()[1].at("failed"), Value(true));
    EXPECT_THAT(json::write(json), testing::Not(HasSubstr("a secret")));
}

TEST(Predicate, NamesNoMoreInAReasonThanOneCanRead) {
    std::vector<Rule> rules;
    for (int i = 0; i < 500; ++i) {
        Rule rule("r" + std::to_string(i), Do::raise_risk);
        rule.when_true("p", "1", always);
        rules.push_back(std::move(rule));
    }
    const auto policy = policy_of(std::move(rules));
    PredicateLog log;
    const Call call = low_call();
    Question question = call.question();
    question.log = &log;
    (void)classify(*policy, question);
    EXPECT_EQ(log.size(), 500u);
    const std::string record = predicate_record(log);
    EXPECT_LT(record.size(), 1'000u);
    EXPECT_THAT(record, HasSubstr("492 more"));
}

TEST(Predicate, NameAndVersionArePartOfWhatARuleIsKnownBy) {
    const auto identity = [](Rule rule) { return policy_of({std::move(rule)})->deciding()[0].identity; };
    EXPECT_EQ(identity(with(always)), identity(with(never))) << "a function has no content to compare";
    EXPECT_NE(identity(with(always)), identity(with(always, Do::confirm, "2")));
    EXPECT_EQ(identity(Rule("mine", Do::confirm)), "mine") << "as it always was";

    Rule nameless = with(always);
    nameless.id.clear();
    Rule newer = with(always, Do::confirm, "2");
    newer.id.clear();
    Rule plain("", Do::confirm);
    EXPECT_NE(name_by_content(nameless), name_by_content(newer));
    EXPECT_NE(name_by_content(nameless), name_by_content(plain));
    EXPECT_EQ(name_by_content(plain), "rule-27def8636acd775d") << "approvals on the disk name it";
}

TEST(Predicate, NeedsAFunctionAndANameAndVersionThatARecordCanHold) {
    const auto fault = [](std::string name, std::string version, Predicate::Function function) {
        PolicyConfig config;
        Rule rule("mine", Do::deny);
        rule.when_true(std::move(name), std::move(version), std::move(function));
        config.rules.push_back(std::move(rule));
        const auto made = Compiled::make(std::move(config), 1);
        return made ? std::string() : made.error().message;
    };
    EXPECT_EQ(fault("n", "1", always), "");
    EXPECT_THAT(fault("n", "1", nullptr), HasSubstr("Rule 'mine': its predicate 'n' has no function."));
    EXPECT_THAT(fault("", "1", always), HasSubstr("needs a name"));
    EXPECT_THAT(fault("n", "", always), HasSubstr("a version of 1 to 64"));
    EXPECT_THAT(fault("n\n", "1", always), HasSubstr("printable"));
    EXPECT_THAT(fault(std::string(129, 'n'), "1", always), HasSubstr("1 to 128"));
    EXPECT_THAT(fault("n", std::string(65, '1'), always), HasSubstr("1 to 64"));
}

TEST(Predicate, CannotComeFromAPolicyThatIsData) {
    const auto read =
        policy_from_json(Object{{"rules", Array{Object{{"decision", "deny"}, {"predicate", "odd"}}}}});
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message, HasSubstr("predicate"));
}

TEST(Predicate, MayMatchAnythingAsFarAsTheLinterKnows) {
    Registry tools;
    ASSERT_TRUE(tools.add(plain_tool("t", contract_of(Risk::low))));
    const auto findings = [&](std::vector<Rule> rules) {
        Policy policy;
        PolicyConfig config;
        config.rules = std::move(rules);
        EXPECT_TRUE(policy.set(config));
        std::vector<std::string> messages;
        for (const PolicyFinding& one : policy.lint(tools)) messages.push_back(one.message);
        return messages;
    };
    const auto second = [](Rule rule) {
        rule.id = "second";
        return rule;
    };
    EXPECT_TRUE(findings({with(always, Do::deny), Rule("rest", Do::confirm)}).empty());
    EXPECT_TRUE(findings({with(always, Do::deny), second(with(always, Do::allow, "2"))}).empty());
    EXPECT_TRUE(findings({with(always, Do::allow), second(with(always, Do::deny))}).empty())
        << "an allowing rule whose predicate fails passes the call on";
    EXPECT_EQ(findings({with(always, Do::deny), second(with(always, Do::allow))}).size(), 1u);
    EXPECT_EQ(findings({Rule("all", Do::deny), with(always)}).size(), 1u);
}

}  // namespace
}  // namespace callgate::policy
