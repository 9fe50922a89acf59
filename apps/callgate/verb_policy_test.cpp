#include "verb_policy.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <callgate/json.h>

#include "os/scratch_dir.h"
#include "policy_call.h"
#include "program.h"
#include "program_testing.h"

namespace callgate::cli {
namespace {

using ::testing::HasSubstr;
using testing::Ran;

Value value_of(std::string_view text) {
    return json::parse(text).value();
}

TEST(PolicyCall, ACallMayBringWhoAsksAndWhen) {
    const auto call = policy_call_from_json(value_of(
        R"({"tool": "notes", "action": "read", "arguments": {"name": "a"}, "principal": "p", "tenant": "t",
            "autonomy": "A3", "scopes": ["b", "a"], "time": "2026-05-14T22:30:00+02:00"})"));
    ASSERT_TRUE(call);
    EXPECT_EQ(call->request.tool, "notes");
    EXPECT_EQ(call->request.action, "read");
    EXPECT_EQ(call->caller.principal, "p");
    EXPECT_EQ(call->caller.tenant, "t");
    EXPECT_EQ(call->caller.autonomy, Autonomy::a3);
    EXPECT_EQ(call->caller.scopes, (ScopeSet{"a", "b"}));
    EXPECT_EQ(call->at->time_since_epoch(), std::chrono::seconds(1'778'790'600));
    const auto zulu = policy_call_from_json(value_of(R"({"tool": "add", "time": "2026-05-14T20:30:00Z"})"));
    ASSERT_TRUE(zulu);
    EXPECT_EQ(zulu->at, call->at);
}

TEST(PolicyCall, WhatIsWrongIsNamed) {
    struct Case {
        std::string_view text;
        std::string_view reason;
        std::string_view says;
    };
    for (const Case& one : std::vector<Case>{
             {"[]", "not_a_call", "object"},
             {"{}", "missing_member", "'tool'"},
             {R"({"tool": 7})", "wrong_type", "/tool"},
             {R"({"tool": "add", "argument": {}})", "unknown_member", "did you mean 'arguments'"},
             {R"({"tool": "add", "zzz": {}})", "unknown_member", "the members are tool,"},
             {R"({"tool": "add", "autonomy": "A9"})", "unknown_word", "A0, A1"},
             {R"({"tool": "add", "scopes": "notes"})", "wrong_type", "/scopes"},
             {R"({"tool": "add", "scopes": [1]})", "wrong_type", "/scopes"},
             {R"({"tool": "add", "time": "noon"})", "bad_time", "2026-05-14T22:30:00Z"},
             {R"({"tool": "add", "time": "2026-02-30T00:00:00Z"})", "bad_time", "2026-02-30"},
             {R"({"tool": "add", "time": "2026-05-14T22:30:00Z and more"})", "bad_time", "and more"}}) {
        const auto call = policy_call_from_json(value_of(one.text));
        ASSERT_FALSE(call) << one.text;
        EXPECT_EQ(call.error().details.at("reason"), Value(one.reason)) << one.text;
        EXPECT_THAT(call.error().message, HasSubstr(one.says));
    }
}

class VerbPolicy : public ::testing::Test {
protected:
    std::string file(const std::string& name, std::string_view content) {
        std::ofstream(dir_.file(name), std::ios::binary) << content;
        return dir_.file(name);
    }

    static Ran run(std::vector<std::string> arguments) {
        std::ostringstream out;
        std::ostringstream err;
        const Console console{out, err, {}, {}};
        arguments.insert(arguments.begin(), "policy");
        const int exit_code = run_program(arguments, console);
        return {exit_code, out.str(), err.str()};
    }

    os::ScratchDir dir_;
};

constexpr std::string_view kNight = R"({"rules": [
    {"id": "night", "decision": "raise_risk", "when": {"from": "22:00", "until": "06:00"}},
    {"id": "house", "decision": "deny", "tools": ["send_mail"], "reason": "mail leaves the house",
     "arguments": {"properties": {"to": {"items": {"not": {"pattern": "@example[.]org$"}}}}}},
    {"id": "rest", "decision": "allow", "tools": ["*"]}]})";

TEST_F(VerbPolicy, TestSaysWhatWouldBeDecidedAndTheExitCodeToo) {
    struct Case {
        std::string_view call;
        int exit_code;
        std::string_view says;
    };
    const std::string policy = file("policy.json", kNight);
    for (const Case& one : std::vector<Case>{
             {R"({"tool": "add", "arguments": {"a": 1, "b": 2}})", 0, "would run"},
             {R"({"tool": "send_mail", "arguments": {"to": ["x@evil.test"], "subject": "s"}})", 3,
              "mail leaves the house"},
             {R"({"tool": "add", "arguments": {"a": 1, "b": 2}, "autonomy": "A0"})", 3, "would be previewed"},
             {R"({"tool": "ad"})", 3, "Did you mean: add?"},
             {R"({"tool": "add", "arguments": {"a": 1}})", 3, "Missing required parameter: b"},
             {R"({"tool": "notes", "action": "read", "arguments": {"name": "todo"}})", 3, "'notes'"}}) {
        const Ran ran = run({"test", "--policy", policy, file("call.json", one.call)});
        EXPECT_EQ(ran.exit_code, one.exit_code) << one.call << ran.out << ran.err;
        EXPECT_THAT(ran.out, HasSubstr(one.says));
        EXPECT_EQ(ran.err, "");
    }
    const Ran mail = run({"test", file("mail.json", R"({"tool": "send_mail", "arguments":
                                                        {"to": ["a@example.org"], "subject": "s"}})")});
    EXPECT_EQ(mail.exit_code, 4);
    EXPECT_THAT(mail.out, HasSubstr("would need the approval of a person"));
}

TEST_F(VerbPolicy, TestIsAskedForAPointInTime) {
    const std::string policy = file("policy.json", kNight);
    const auto risk_at = [&](const std::string& time) {
        const Ran ran =
            run({"test", "--json", "--policy", policy,
                 file("call.json",
                      R"({"tool": "add", "arguments": {"a": "1", "b": 2}, "time": ")" + time + "\"}")});
        EXPECT_EQ(ran.answer().at("arguments"), (Value{{"a", 1}, {"b", 2}})) << "as the tool would get them";
        EXPECT_EQ(ran.answer().at("decision").at("rule"), "rest");
        return ran.answer().at("decision").at("risk");
    };
    EXPECT_EQ(risk_at("2026-05-14T12:00:00Z"), "low");
    EXPECT_EQ(risk_at("2026-05-14T23:00:00Z"), "medium");
    EXPECT_EQ(risk_at("2026-05-14T23:00:00+02:00"), "low");
}

TEST_F(VerbPolicy, TestNamesTheStages) {
    const Ran ran =
        run({"test", "--json", file("call.json", R"({"tool": "add", "arguments": {"a": 1, "b": 2}})")});
    std::vector<std::string> stages;
    const Value answer = ran.answer();
    for (const Value& stage : answer.at("stages").as_array())
        stages.emplace_back(stage.at("stage").as_string());
    EXPECT_THAT(stages, ::testing::ElementsAre("resolve", "authorize", "validate", "classify", "gate"));
}

TEST_F(VerbPolicy, LintFindsWhatCanNeverDecide) {
    const Ran clean =
        run({"lint", file("clean.json", R"({"rules": [{"decision": "allow", "tools": ["*"]}]})")});
    EXPECT_EQ(clean.exit_code, 0) << clean.out;
    EXPECT_THAT(clean.out, HasSubstr("nothing to remark"));

    const std::string bad = file("bad.json", R"({"rules": [
        {"id": "typo", "decision": "deny", "tools": ["send_mial"]},
        {"id": "all", "decision": "allow"},
        {"id": "late", "decision": "deny", "tools": ["add"]}]})");
    const Ran found = run({"lint", bad});
    EXPECT_EQ(found.exit_code, 1);
    EXPECT_THAT(found.out, HasSubstr("Did you mean 'send_mail'?"));
    const Value answer = run({"lint", "--json", bad}).answer();
    EXPECT_EQ(answer.at("findings").as_array().size(), 2u);
    EXPECT_EQ(answer.at("findings").as_array()[1].at("what"), "shadowed");
    EXPECT_EQ(answer.at("findings").as_array()[1].at("subject"), "late");
    EXPECT_EQ(run({"lint", file("empty.json", "{}")}).exit_code, 1) << "no rule covers any tool";
}

TEST_F(VerbPolicy, UnusableFilesAreExitCodeTwo) {
    const std::string good = file("good.json", R"({"tool": "add"})");
    struct Case {
        std::vector<std::string> arguments;
        std::string says;
    };
    for (const Case& one : std::vector<Case>{
             {{"lint", dir_.file("none.json")}, "none.json"},
             {{"lint", file("broken.json", "{\"rules\": [}")}, "^"},
             {{"lint", file("unknown.json", R"({"rulez": []})")}, "did you mean 'rules'?"},
             {{"lint", file("zone.json", R"({"quiet_hours": [{"from": "1", "until": "2"}]})")}, "22:00"},
             {{"lint", file("list.json", "[]")}, "list.json"},
             {{"test", good, "--policy", file("unknown.json", R"({"rulez": []})")}, "did you mean 'rules'?"},
             {{"test", file("list.json", "[]")}, "A call is an object"},
             {{"test", "-", "--policy", "-"}, "not both"}}) {
        const Ran ran = run(one.arguments);
        EXPECT_EQ(ran.exit_code, 2) << one.says;
        EXPECT_EQ(ran.out, "");
        EXPECT_THAT(ran.err, HasSubstr(one.says));
        auto with_json = one.arguments;
        with_json.emplace_back("--json");
        const Ran json = run(with_json);
        EXPECT_EQ(json.exit_code, 2);
        EXPECT_EQ(json.err, "");
        EXPECT_FALSE(json.answer().at("error").at("message").as_string().empty());
    }
}

TEST_F(VerbPolicy, EveryFaultOfAPolicyIsListed) {
    const std::string path = file("faults.json", R"({"rulez": [], "antiflap_ms": -1,
        "rules": [{"decision": "maybe"}, {"decision": "deny", "approvals": 3}]})");
    const Ran ran = run({"lint", path});
    EXPECT_EQ(ran.exit_code, 2);
    for (const char* where : {"/rulez", "/antiflap_ms", "/rules/0/decision", "/rules/1/approvals"})
        EXPECT_THAT(ran.err, HasSubstr(where));
    const Value answer = run({"lint", path, "--json"}).answer();
    EXPECT_EQ(answer.at("error").at("details").at("violations").as_array().size(), 4U);
}

TEST_F(VerbPolicy, LintListsEveryFaultWhereverItIsFound) {
    struct Case {
        std::string text;
        std::vector<std::string> places;
    };
    for (
        const Case& one : std::vector<Case>{
            {R"({"rules": [{"decision": "deny", "approvals": 2}, {"decision": "allow", "raise_to": "high"}]})",
             {"/rules/0/approvals", "/rules/1/raise_to"}},
            {R"({"rules": [
                  {"decision": "deny", "when": {"from": "10:00", "until": "10:00"}},
                  {"decision": "deny", "when": {"from": "10:00", "until": "12:00", "zone": "Mars/Base"}},
                  {"decision": "deny", "approvals": 2, "arguments": {"pattern": "("},
                   "when": {"from": "10:00", "until": "12:00", "zone": "Mars/Base"}}],
                 "quiet_hours": [{"from": "22:00", "until": "06:00"}, {"from": "01:00", "until": "01:00"}]})",
             {"/rules/2/approvals", "/rules/0/when", "/rules/1/when", "/rules/2/arguments", "/rules/2/when",
              "/quiet_hours/1"}},
            {R"({"rules": [{"id": "a", "decision": "deny"}, {"id": "a", "decision": "allow"},
                            {"decision": "deny", "when": {"from": "10:00", "until": "10:00"}}]})",
             {"/rules/1/id", "/rules/2/when"}}}) {
        const Value answer = run({"lint", file("faults.json", one.text), "--json"}).answer();
        std::vector<std::string> places;
        for (const Value& fault : answer.at("error").at("details").at("violations").as_array())
            places.emplace_back(fault.at("path").as_string());
        EXPECT_THAT(places, ::testing::UnorderedElementsAreArray(one.places)) << json::write(answer);
        const Ran ran = run({"lint", file("faults.json", one.text)});
        EXPECT_EQ(ran.exit_code, 2);
        for (const std::string& place : one.places) EXPECT_THAT(ran.err, HasSubstr(place));
    }
}

}  // namespace
}  // namespace callgate::cli
