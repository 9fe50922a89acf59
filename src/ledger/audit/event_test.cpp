#include "ledger/audit/event.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <callgate/json.h>

#include "ledger/audit/audit_testing.h"

namespace callgate::ledger {
namespace {

std::string bytes_of(const AuditFacts& facts, const KeyNames& keys = {},
                     std::span<const Commit> commits = {}) {
    return draft_event("node-1", "boot-1", facts, keys, commits)
        .at({7, facts.at, std::chrono::microseconds(55)});
}

TEST(AuditEventBytes, SayWhatHappenedInOneCanonicalLine) {
    EXPECT_EQ(
        bytes_of(usual_facts()),
        R"({"action":"call","attempt":1,"autonomy":"A2","boot":"boot-1",)"
        R"("call":"01020304-0506-0708-090a-0b0c0d0e0f01","chain":"node-1","latency_ns":1234567,"mono":55,)"
        R"("outcome":"success","principal":"agent-7","risk":"low","seq":7,"stage":"settle",)"
        R"("tenant":"acme","time":1790000000000000,"tool":"mail/send","type":"tool_call.succeeded","v":1})");
}

TEST(AuditEventBytes, LeaveOutWhatHasNoValue) {
    AuditFacts facts;
    facts.type = "audit.opened";
    EXPECT_EQ(bytes_of(facts), R"({"autonomy":"A2","boot":"boot-1","chain":"node-1","mono":55,"risk":"low",)"
                               R"("seq":7,"time":0,"type":"audit.opened","v":1})");
}

TEST(AuditEventBytes, AreTheCanonicalFormOfThemselves) {
    AuditFacts facts = usual_facts();
    facts.has_key = true;
    facts.parent_call_id = facts.call_id;
    for (const EventText& member : event_texts())
        facts.*member.text = "x \"\\\b\t\n\f\r\x01\x7f \u00e9\U0001F600";
    const Commit commits[] = {{"arguments", base::sha256("a")}, {"detail", base::sha256("d")}};
    const std::string bytes = bytes_of(facts, {"key", "old"}, commits);
    const auto value = json::parse(bytes);
    ASSERT_TRUE(value) << value.error().message;
    EXPECT_EQ(json::canonical(*value), bytes);
    for (const EventText& member : event_texts())
        EXPECT_EQ(value->as_object().at(member.name).as_string(), facts.*member.text);
    EXPECT_EQ(value->as_object().at("commits").as_object().at("detail").as_string(), base::sha256_hex("d"));
    EXPECT_EQ(value->as_object().at("key").as_string(), "key");
    EXPECT_EQ(value->as_object().at("old_key").as_string(), "old");
    EXPECT_EQ(value->as_object().at("has_key"), Value(1));
}

RC_GTEST_PROP(AuditEventBytes, StayCanonicalWhateverTheTexts, (std::string one, std::string two)) {
    AuditFacts facts = usual_facts();
    facts.principal = one;
    facts.tool = two;
    const std::string bytes = bytes_of(facts);
    const auto value = json::parse(bytes);
    RC_ASSERT(value.has_value());
    RC_ASSERT(json::canonical(*value) == bytes);
}

TEST(AuditEventBytes, SpellBytesThatAreNotUtf8InHexadecimal) {
    AuditFacts facts = usual_facts();
    facts.tool = "mail\xff";
    EXPECT_NE(bytes_of(facts).find(R"("tool_hex":"6d61696cff")"), std::string::npos);
    AuditFacts spelled = usual_facts();
    spelled.tool = "6d61696cff";
    EXPECT_NE(bytes_of(facts), bytes_of(spelled));
}

TEST(AuditEventBytes, DifferWhereverTheFactsDo) {
    const std::string usual = bytes_of(usual_facts());
    for (const EventText& member : event_texts()) {
        AuditFacts facts = usual_facts();
        facts.*member.text = "something else";
        EXPECT_NE(bytes_of(facts), usual) << member.name;
    }
    const auto changed = [&](auto change) {
        AuditFacts facts = usual_facts();
        change(facts);
        return bytes_of(facts) != usual;
    };
    EXPECT_TRUE(changed([](AuditFacts& f) { f.at += std::chrono::microseconds(1); }));
    EXPECT_TRUE(changed([](AuditFacts& f) { f.risk = Risk::critical; }));
    EXPECT_TRUE(changed([](AuditFacts& f) { f.autonomy = Autonomy::a4; }));
    EXPECT_TRUE(changed([](AuditFacts& f) { f.has_key = true; }));
    EXPECT_TRUE(changed([](AuditFacts& f) { f.attempt = 2; }));
    EXPECT_TRUE(changed([](AuditFacts& f) { f.latency += std::chrono::nanoseconds(1); }));
    EXPECT_TRUE(changed([](AuditFacts& f) { f.call_id[15] = 9; }));
    EXPECT_TRUE(changed([](AuditFacts& f) { f.parent_call_id[0] = 1; }));
    EXPECT_FALSE(changed([](AuditFacts& f) { f.detail = "personal"; }));
}

TEST(AuditEventBytes, KeepIntegersBelowTwoToThe53) {
    AuditFacts facts = usual_facts();
    facts.latency = std::chrono::nanoseconds::max();
    EXPECT_NE(bytes_of(facts).find(R"("latency_ns":9007199254740991,)"), std::string::npos);
    facts.at = std::chrono::system_clock::time_point(std::chrono::seconds(-5));
    EXPECT_NE(bytes_of(facts).find(R"("time":0,)"), std::string::npos);
}

TEST(AuditCommit, DependsOnSaltAndPayload) {
    base::Sha256 hasher;
    Salt salt{};
    const auto commit = commit_to(hasher, salt, "secret");
    EXPECT_EQ(commit, base::sha256(std::string("callgate-commit-v1") + std::string(16, '\0') + "secret"));
    EXPECT_NE(commit_to(hasher, salt, "secreT"), commit);
    salt[3] = 1;
    EXPECT_NE(commit_to(hasher, salt, "secret"), commit);
}

TEST(AuditPayloadField, IsAShortLowerCaseName) {
    for (const char* good : {"a", "detail", "arguments_2"}) EXPECT_TRUE(is_payload_field(good)) << good;
    for (const char* bad : {"", "A", "2a", "_a", "a-b", "a b", "\"", "an_overlong_name_of_thirty_three_x"})
        EXPECT_FALSE(is_payload_field(bad)) << bad;
}

}  // namespace
}  // namespace callgate::ledger
