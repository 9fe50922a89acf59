#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <callgate/registry.h>

#include "policy/policy_testing.h"

namespace callgate::policy {
namespace {

using namespace std::chrono_literals;
using Do = Rule::Do;
using What = PolicyFinding::What;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class LintTest : public testing::Test {
protected:
    LintTest() {
        Tool send(
            ToolDefinition("mail.send", "Send.",
                           json::parse(R"({"type":"object","properties":{"to":{"type":"string"}}})").value()),
            std::make_shared<NoBody>(std::vector<std::string>{}));
        send.risk(Risk::low);
        EXPECT_TRUE(tools_.add(std::move(send)));
        EXPECT_TRUE(tools_.add(plain_tool("mail.read", contract_of(Risk::low, EffectClass::read))));
        EXPECT_TRUE(tools_.add(plain_tool("disk", contract_of(Risk::low), {"list", "wipe"})));
    }

    // "kind subject" of each finding; the last message is kept.
    std::vector<std::string> lint(std::vector<Rule> rules) {
        Policy policy;
        PolicyConfig config;
        config.rules = std::move(rules);
        const auto set = policy.set(config);
        EXPECT_TRUE(set) << set.error().message;
        std::vector<std::string> found;
        for (const PolicyFinding& finding : policy.lint(tools_)) {
            const char* const kinds[] = {"never", "shadowed", "uncovered", "unknown", "undeclared"};
            found.push_back(std::string(kinds[static_cast<int>(finding.what)]) + ' ' + finding.subject);
            message_ = finding.message;
        }
        return found;
    }

    // The finding about one rule in front of a rule for everything.
    template <class Change>
    std::string about(const Change& change, Do decision = Do::deny) {
        Rule rule("rule", decision);
        change(rule);
        const auto found = lint({rule, Rule("rest", Do::confirm)});
        return found.empty() ? "" : found[0];
    }

    // Whether the second of two rules is reported as never reached.
    template <class First, class Second>
    bool shadowed(const First& first, const Second& second, Do decision = Do::deny) {
        Rule a("first", decision);
        first(a);
        Rule b("second", Do::allow);
        second(b);
        const auto found = lint({a, b});
        return std::ranges::count(found, "shadowed second") == 1;
    }

    Registry tools_;
    std::string message_;
};

TEST_F(LintTest, FindsNothingWrongWithAGoodPolicy) {
    Rule read("read", Do::allow);
    read.effects = {EffectClass::read};
    Rule wipe("wipe", Do::deny);
    wipe.tools = {"disk"};
    wipe.actions = {"wipe"};
    EXPECT_THAT(lint({read, wipe, Rule("rest", Do::confirm)}), IsEmpty());
}

TEST_F(LintTest, ListsToolsThatNoRuleDecidesAbout) {
    EXPECT_THAT(lint({}), ElementsAre("uncovered disk", "uncovered mail.read", "uncovered mail.send"));
    Rule mail("mail", Do::allow);
    mail.tools = {"mail.*"};
    EXPECT_THAT(lint({mail, Rule("careful", Do::raise_risk)}), ElementsAre("uncovered disk"));
}

TEST_F(LintTest, ListsNativeToolsWhoseRiskAndEffectNobodyDeclared) {
    EXPECT_TRUE(tools_.add(plain_tool("quiet")));
    Contract far;
    far.provider = ProviderType::mcp;
    EXPECT_TRUE(tools_.add(plain_tool("far", far)));
    EXPECT_THAT(lint({Rule("rest", Do::confirm)}), ElementsAre("undeclared quiet"));
    EXPECT_THAT(message_, HasSubstr("risk() or effect()"));
}

TEST_F(LintTest, FindsNamesThatNoToolHas) {
    EXPECT_EQ(about([](Rule& r) { r.tools = {"mail.sned", "disk"}; }), "unknown rule");
    EXPECT_THAT(message_, HasSubstr("Did you mean 'mail.send'?"));
    EXPECT_EQ(about([](Rule& r) { r.tools = {"calendar.*"}; }), "unknown rule");
}

TEST_F(LintTest, FindsRulesThatCanNeverMatch) {
    EXPECT_EQ(about([](Rule& r) {
                  r.risk_at_least = Risk::high;
                  r.risk_at_most = Risk::low;
              }),
              "never rule");
    EXPECT_THAT(message_, HasSubstr("at least high and at most low"));
    EXPECT_EQ(about([](Rule& r) { r.arguments = false; }), "never rule");
    EXPECT_EQ(about([](Rule& r) { r.arguments = Object{{"type", "string"}}; }), "never rule");
    EXPECT_EQ(about([](Rule& r) {
                  r.tools = {"mail.send"};
                  r.arguments = Object{{"required", Array{"recipient"}}};
              }),
              "never rule");
    EXPECT_THAT(message_, HasSubstr("'recipient'"));
    EXPECT_EQ(about([](Rule& r) {
                  r.tools = {"disk"};
                  r.actions = {"format"};
              }),
              "never rule");
    EXPECT_EQ(about([](Rule& r) {
                  r.tools = {"mail.read"};
                  r.effects = {EffectClass::unsafe};
              }),
              "never rule");
    EXPECT_EQ(about(
                  [](Rule& r) {
                      r.raise_to = Risk::medium;
                      r.risk_at_least = Risk::medium;
                  },
                  Do::raise_risk),
              "never rule");
}

TEST_F(LintTest, SaysNothingAboutRulesThatMayMatch) {
    EXPECT_EQ(about([](Rule& r) {
                  r.tools = {"mail.*"};
                  r.arguments = Object{{"required", Array{"recipient"}}};
              }),
              "");
    EXPECT_EQ(about([](Rule& r) { r.actions = {"format"}; }), "");
    EXPECT_EQ(about([](Rule& r) { r.effects = {EffectClass::read}; }), "");
    EXPECT_EQ(about([](Rule& r) { r.raise_to = Risk::high; }, Do::raise_risk), "");
}

TEST_F(LintTest, FindsRulesThatAnEarlierOneHides) {
    const auto all = [](Rule&) {};
    EXPECT_TRUE(shadowed(all, all));
    EXPECT_THAT(message_, HasSubstr("Rule 'first' comes first"));
    EXPECT_TRUE(shadowed(all, [](Rule& r) {
        r.tools = {"disk"};
        r.risk_at_least = Risk::high;
        r.when = TimeWindow(1h, 2h, "UTC");
    }));
    EXPECT_TRUE(shadowed([](Rule& r) { r.tools = {"mail.*"}; }, [](Rule& r) { r.tools = {"mail.send"}; }));
    EXPECT_TRUE(shadowed([](Rule& r) { r.tools = {"*"}; }, all));
    EXPECT_TRUE(shadowed([](Rule& r) { r.arguments = true; }, all));
    EXPECT_TRUE(shadowed([](Rule& r) { r.risk_at_least = Risk::low; }, all));
    EXPECT_TRUE(shadowed([](Rule& r) { r.when = TimeWindow(1h, 2h, "UTC"); },
                         [](Rule& r) { r.when = TimeWindow(1h, 2h, "UTC"); }));
    const auto same = [](Rule& r) { r.arguments = Object{{"required", Array{"to"}}}; };
    EXPECT_TRUE(shadowed(same, same));
}

TEST_F(LintTest, DoesNotAccuseARuleThatCanStillBeReached) {
    const auto all = [](Rule&) {};
    EXPECT_FALSE(shadowed([](Rule& r) { r.tools = {"mail.*"}; }, all));
    EXPECT_FALSE(shadowed([](Rule& r) { r.tools = {"mail.send"}; }, [](Rule& r) { r.tools = {"mail.*"}; }));
    EXPECT_FALSE(
        shadowed([](Rule& r) { r.principals = {"ann"}; }, [](Rule& r) { r.principals = {"ann", "bob"}; }));
    EXPECT_FALSE(shadowed([](Rule& r) { r.tenants = {"?*"}; }, all));
    EXPECT_FALSE(shadowed([](Rule& r) { r.risk_at_most = Risk::high; }, all));
    EXPECT_FALSE(shadowed([](Rule& r) { r.effects = {EffectClass::read}; }, all));
    EXPECT_FALSE(shadowed([](Rule& r) { r.when = TimeWindow(1h, 2h, "UTC"); }, all));
    EXPECT_FALSE(shadowed([](Rule& r) { r.arguments = Object{{"required", Array{"to"}}}; }, all));
    // An allowing rule whose schema cannot be judged lets the call go on to the next.
    const auto same = [](Rule& r) { r.arguments = Object{{"required", Array{"to"}}}; };
    EXPECT_FALSE(shadowed(same, same, Do::allow));
    EXPECT_FALSE(shadowed(all, all, Do::raise_risk));
}

}  // namespace
}  // namespace callgate::policy
