// The published schema against the reader: what the schema refuses is never usable, what the reader and the
// policy itself refuse the schema refuses too, except what no schema can say, which is listed.
#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <callgate/policy.h>
#include <callgate/schema.h>

#include "json/test_value.h"
#include "policy/compiled.h"
#include "tool/words.h"

namespace callgate::policy {
namespace {

bool usable(const Value& document) {
    const auto config = policy_from_json(document);
    return config && Compiled::make(*config, 1).has_value();
}

bool fits(const Value& document) {
    static const schema::Schema compiled = schema::Schema::compile(policy_schema()).value();
    schema::Scratch scratch;
    return compiled.check(document, scratch) == schema::Verdict::valid;
}

std::string rule(std::string_view members) {
    return R"({"rules": [{)" + std::string(members) + "}]}";
}

std::string window(std::string_view members) {
    return R"({"quiet_hours": [{)" + std::string(members) + "}]}";
}

std::string times(std::string_view item, int count) {
    std::string list;
    for (int i = 0; i < count; ++i) list += (i == 0 ? "" : ", ") + std::string(item);
    return list;
}

TEST(PolicySchema, AcceptsWhatIsUsable) {
    for (const std::string& text : {
             std::string("{}"),
             rule(R"("decision": "allow")"),
             rule(R"("id": "", "decision": "preview", "reason": "", "tools": ["*"], "actions": ["?"],
                     "principals": ["a"], "tenants": ["b"], "risk_at_least": "low", "risk_at_most": "critical",
                     "effects": ["read", "keyed", "verify", "tx", "unsafe"], "arguments": true)"),
             rule(R"("decision": "confirm", "approvals": 16)"),
             rule(R"("decision": "deny", "approvals": 1)"),
             rule(R"("decision": "raise_risk", "raise_to": "high", "arguments": {"required": ["a"]})"),
             rule(R"("decision": "deny", "when": {"from": "22:00", "until": "07:30", "zone": "Europe/Berlin",
                     "weekdays": [1, 7, 7]})"),
             rule(R"("decision": "deny", "tools": [)" + times(R"("a")", 256) + "]"),
             std::string(R"({"rules": []})"),
             std::string(R"({"limits": {"per_tool": {"concurrent": 1000000, "queue": true, "calls": 1000000,
                 "window_ms": 86400000, "per_run": 18446744073709551615}, "per_principal": {}, "per_run": {},
                 "loop_repeats": 4294967295}})"),
             std::string(R"({"limits": {"per_tool": {"calls": 0, "window_ms": 0}}})"),
             std::string(R"({"limits": {"per_tool": {"window_ms": 31536000000}}})"),
             window(R"("from": "00:00", "until": "24:00")"),
             std::string(R"({"secret_scopes": [], "destructive_actions": []})"),
             std::string(R"({"blast_radius_above": 18446744073709551615, "antiflap_ms": 86400000,
                 "notifications_per_hour": 100000, "approval_ttl_ms": 86400000})"),
             std::string(R"({"antiflap_ms": 0, "notifications_per_hour": 0, "approval_ttl_ms": 1})"),
             std::string(
                 R"({"matrix": {"A0": {"low": "deny"}, "A2": {"medium": "allow", "critical": "confirm"}}})"),
         }) {
        const Value document = json::parse(text).value();
        EXPECT_TRUE(usable(document)) << text;
        EXPECT_TRUE(fits(document)) << text;
    }
}

TEST(PolicySchema, KnowsEveryEffectClass) {
    for (const std::string_view word : kEffectWords) {
        const std::string text = rule(R"("decision": "deny", "effects": [")" + std::string(word) + R"("])");
        const Value document = json::parse(text).value();
        EXPECT_TRUE(usable(document)) << text;
        EXPECT_TRUE(fits(document)) << text;
    }
}

TEST(PolicySchema, RefusesWhatIsNot) {
    for (const std::string& text : {
             std::string("[]"),
             std::string(R"({"rule": []})"),
             std::string(R"({"rules": {}})"),
             std::string(R"({"rules": [7]})"),
             rule(R"("id": "x")"),
             rule(R"("decision": "maybe")"),
             rule(R"("decision": "deny", "tool": ["a"])"),
             rule(R"("decision": "deny", "tools": "a")"),
             rule(R"("decision": "deny", "tools": [])"),
             rule(R"("decision": "deny", "tools": [7])"),
             rule(R"("decision": "deny", "tools": [""])"),
             rule(R"("decision": "deny", "tools": [")" + std::string(257, 'a') + R"("])"),
             rule(R"("decision": "deny", "tools": [)" + times(R"("a")", 257) + "]"),
             rule(R"("decision": "deny", "id": ")" + std::string(129, 'a') + '"'),
             rule(R"("decision": "deny", "reason": ")" + std::string(2001, 'a') + '"'),
             rule(R"("decision": "deny", "effects": [])"),
             rule(R"("decision": "deny", "effects": ["write"])"),
             rule(R"("decision": "deny", "risk_at_least": "huge")"),
             rule(R"("decision": "deny", "arguments": "x")"),
             rule(R"("decision": "deny", "approvals": 2)"),
             rule(R"("decision": "confirm", "approvals": 0)"),
             rule(R"("decision": "confirm", "approvals": 17)"),
             rule(R"("decision": "confirm", "raise_to": "high")"),
             rule(R"("decision": "deny", "when": {"from": "22:00"})"),
             window(R"("from": "22:00", "till": "23:00")"),
             window(R"("from": "24:00", "until": "07:00")"),
             window(R"("from": "7:00", "until": "08:00")"),
             window(R"("from": "07:60", "until": "08:00")"),
             window(R"("from": "07:00", "until": "24:01")"),
             window(R"("from": "07:00\n", "until": "08:00")"),
             window(R"("from": "07:00", "until": "08:00", "weekdays": [])"),
             window(R"("from": "07:00", "until": "08:00", "weekdays": [0])"),
             window(R"("from": "07:00", "until": "08:00", "weekdays": [8])"),
             window(R"("from": "07:00", "until": "08:00", "zone": 1)"),
             std::string(R"({"quiet_hours": [)") + times(R"({"from": "07:00", "until": "08:00"})", 65) + "]}",
             std::string(R"({"limits": {"per_user": {}}})"),
             std::string(R"({"limits": {"per_tool": {"window": 1}}})"),
             std::string(R"({"limits": {"per_tool": {"queue": 1}}})"),
             std::string(R"({"limits": {"per_tool": {"calls": 1000001}}})"),
             std::string(R"({"limits": {"per_tool": {"concurrent": 1000001}}})"),
             std::string(R"({"limits": {"per_tool": {"calls": 1, "window_ms": 0}}})"),
             std::string(R"({"limits": {"per_tool": {"calls": 1, "window_ms": 86400001}}})"),
             std::string(R"({"limits": {"per_tool": {"window_ms": 31536000001}}})"),
             std::string(R"({"limits": {"loop_repeats": 4294967296}})"),
             std::string(R"({"secret_scopes": [""]})"),
             std::string(R"({"destructive_actions": [""]})"),
             std::string(R"({"antiflap_ms": -1})"),
             std::string(R"({"antiflap_ms": 1.5})"),
             std::string(R"({"antiflap_ms": 86400001})"),
             std::string(R"({"blast_radius_above": "3"})"),
             std::string(R"({"notifications_per_hour": 100001})"),
             std::string(R"({"approval_ttl_ms": 0})"),
             std::string(R"({"approval_ttl_ms": 86400001})"),
             std::string(R"({"matrix": {"A5": {}}})"),
             std::string(R"({"matrix": {"A2": {"huge": "allow"}}})"),
             std::string(R"({"matrix": {"A2": {"low": "raise_risk"}}})"),
             std::string(R"({"matrix": {"A0": {"low": "allow"}}})"),
         }) {
        const Value document = json::parse(text).value();
        EXPECT_FALSE(usable(document)) << text;
        EXPECT_FALSE(fits(document)) << text;
    }
}

TEST(PolicySchema, LeavesToThePolicyWhatNoSchemaCanSay) {
    for (const std::string& text : {
             std::string(R"({"rules": [{"id": "a", "decision": "deny"}, {"id": "a", "decision": "deny"}]})"),
             rule(R"("decision": "deny", "arguments": {"type": "no such type"})"),
             window(R"("from": "07:00", "until": "07:00")"),
             window(R"("from": "07:00", "until": "08:00", "zone": "Europe/Atlantis")"),
             std::string(R"({"antiflap_ms": 1.0})"),
             // Lengths are bytes for the policy and characters for the schema.
             rule(R"("decision": "deny", "tools": [")" + times("ä", 1) + std::string(255, 'a') + R"("])"),
         }) {
        const Value document = json::parse(text).value();
        EXPECT_FALSE(usable(document)) << text;
        EXPECT_TRUE(fits(document)) << text;
    }
}

rc::Gen<Value> some_number() {
    return rc::gen::element<Value>(0, 1, 2, 7, 8, 16, 17, 60'000, 86'400'000, 86'400'001, 31'536'000'001LL,
                                   -1, 1.5);
}

rc::Gen<Value> some_text() {
    return rc::gen::element<Value>("", "a", "*", "22:00", "24:00", "24:01", "low", "critical", "allow",
                                   "confirm", "deny", "raise_risk", "read", "unsafe", "UTC", true, 3,
                                   nullptr);
}

rc::Gen<Value> some_texts() {
    return rc::gen::map(
        rc::gen::resize(3, rc::gen::container<std::vector<Value>>(some_text())),
        [](const std::vector<Value>& list) { return Value(Array(list.begin(), list.end())); });
}

RC_GTEST_PROP(PolicySchemaProperty, RefusesNothingThatIsUsable, ()) {
    const auto maybe = [](Object& object, const char* name, const rc::Gen<Value>& gen) {
        if (*rc::gen::inRange(0, 12) == 0) object[name] = *gen;
    };
    const auto a_window = [&] {
        Object made{{"from", "07:00"}, {"until", "08:00"}};
        maybe(made, "from", some_text());
        maybe(made, "until", some_text());
        if (*rc::gen::inRange(0, 3) == 0) made["weekdays"] = Array{*some_number()};
        return made;
    };
    Object made{{"decision", "confirm"}};
    maybe(made, "decision", some_text());
    for (const char* name : {"id", "risk_at_least", "raise_to", "reason"}) maybe(made, name, some_text());
    for (const char* name : {"tools", "effects"}) maybe(made, name, some_texts());
    maybe(made, "approvals", some_number());
    if (*rc::gen::inRange(0, 4) == 0) made["when"] = a_window();
    Object use;
    for (const char* name : {"concurrent", "calls", "window_ms", "per_run"}) maybe(use, name, some_number());
    Object cells;
    maybe(cells, "low", some_text());
    Object document;
    if (*rc::gen::inRange(0, 2) == 0) document["rules"] = Array{made};
    if (*rc::gen::inRange(0, 2) == 0) document["limits"] = Object{{"per_tool", use}};
    if (*rc::gen::inRange(0, 3) == 0) document["quiet_hours"] = Array{a_window()};
    if (*rc::gen::inRange(0, 3) == 0)
        document["matrix"] = Object{{*rc::gen::element<std::string>("A0", "A2", "A5"), cells}};
    for (const char* name : {"antiflap_ms", "approval_ttl_ms", "notifications_per_hour"})
        maybe(document, name, some_number());
    maybe(document, "secret_scopes", some_texts());
    if (usable(document)) RC_ASSERT(fits(document));
    RC_CLASSIFY(usable(document), "usable");
}

}  // namespace
}  // namespace callgate::policy
