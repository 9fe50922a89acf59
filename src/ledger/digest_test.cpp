#include "ledger/digest.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/rng.h"
#include "tool/words.h"

namespace callgate::ledger {
namespace {

/// Everything that goes into either digest, owned.
struct Inputs {
    std::string tool = "mail/send";
    base::Sha256Digest definition = base::sha256("definition");
    std::string action = "call";
    std::string argument_name = "recipient";
    std::string argument = "ann@example.org";
    std::string target = "ann@example.org";
    std::string tenant = "acme";
    std::string requester = "agent-7";
    CallId call_id{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    std::string server = "mail";
    std::string connector = "mail-eu";
    std::string config = "mail/eu.toml";
    std::string version = "sha256:4711";
    std::string secret_ref = "mail/token";
    std::string resolved = "mx.example.org 192.0.2.1";
    std::string decision = "confirm";
    std::string rule = "rule-3";
    std::string key = "order-4711";
    EffectClass effect = EffectClass::unsafe;
    Risk risk = Risk::high;

    Value arguments() const { return Object{{argument_name, argument}, {"count", 3}}; }

    base::Sha256Digest fingerprint() const {
        const Value args = arguments();
        return ledger::fingerprint({tool, definition, action, args, target});
    }
    std::string digest() const {
        const Value args = arguments();
        ActionIdentity identity({tool, definition, action, args}, tenant, requester, call_id);
        identity.server_identity = server;
        identity.connector = connector;
        identity.config_ref = config;
        identity.version = version;
        identity.secret_refs = {secret_ref};
        identity.resolved_targets = {resolved};
        identity.effect = effect;
        identity.decision = decision;
        identity.rule_id = rule;
        identity.risk = risk;
        identity.idempotency_key = key;
        return action_digest(identity);
    }
};

/// The bytes of each input, in one list for each digest.
std::vector<std::pair<std::uint8_t*, std::size_t>> bytes_of(Inputs& in, bool of_fingerprint) {
    const auto text = [](std::string& s) {
        return std::pair(reinterpret_cast<std::uint8_t*>(s.data()), s.size());
    };
    std::vector<std::pair<std::uint8_t*, std::size_t>> all = {text(in.tool), text(in.action),
                                                              text(in.argument_name), text(in.argument)};
    if (of_fingerprint) {
        all.push_back(text(in.target));
        return all;
    }
    all.emplace_back(in.definition.data(), in.definition.size());
    for (std::string* s : {&in.tenant, &in.requester, &in.server, &in.connector, &in.config, &in.version,
                           &in.secret_ref, &in.resolved, &in.decision, &in.rule, &in.key}) {
        all.push_back(text(*s));
    }
    all.emplace_back(in.call_id.data(), in.call_id.size());
    return all;
}

TEST(Digest, AnyChangeOfOneByteGivesAnotherFingerprint) {
    base::SeededRng rng(1);
    const auto original = Inputs().fingerprint();
    for (int i = 0; i < 2'000; ++i) {
        Inputs in;
        const auto all = bytes_of(in, true);
        const auto [bytes, size] = all[rng.below(all.size())];
        const auto where = rng.below(size);
        bytes[where] = static_cast<std::uint8_t>(bytes[where] ^ (1 + rng.below(255)));
        ASSERT_NE(in.fingerprint(), original) << "mutation " << i;
    }
}

TEST(Digest, AnyChangeOfOneByteGivesAnotherActionDigest) {
    base::SeededRng rng(2);
    const auto original = Inputs().digest();
    for (int i = 0; i < 2'000; ++i) {
        Inputs in;
        const auto all = bytes_of(in, false);
        const auto [bytes, size] = all[rng.below(all.size())];
        const auto where = rng.below(size);
        bytes[where] = static_cast<std::uint8_t>(bytes[where] ^ (1 + rng.below(255)));
        ASSERT_NE(in.digest(), original) << "mutation " << i;
    }
}

TEST(Digest, EveryByteValueAtOnePlaceIsToldApartUtf8OrNot) {
    std::set<base::Sha256Digest> seen;
    for (int byte = 0; byte < 256; ++byte) {
        Inputs in;
        in.argument[3] = static_cast<char>(byte);
        seen.insert(in.fingerprint());
    }
    for (int byte = 128; byte < 256; ++byte) {
        Inputs in;
        in.argument_name[3] = static_cast<char>(byte);
        seen.insert(in.fingerprint());
    }
    EXPECT_EQ(seen.size(), 256u + 128u);
}

TEST(Digest, EffectClassAndRiskAreBound) {
    std::set<std::string> seen;
    for (const EffectClass effect : kEffectClasses) {
        for (const auto risk : {Risk::low, Risk::medium, Risk::high, Risk::critical}) {
            Inputs in;
            in.effect = effect;
            in.risk = risk;
            seen.insert(in.digest());
        }
    }
    EXPECT_EQ(seen.size(), 4 * kEffectClasses.size());
}

TEST(Digest, WhatMovesFromOneInputToTheNextIsSeen) {
    Inputs in;
    in.tool = "mail/sendcall";
    in.action = "";
    EXPECT_NE(in.fingerprint(), Inputs().fingerprint());
    Inputs moved;
    moved.tenant = "acmeagent-7";
    moved.requester = "";
    EXPECT_NE(moved.digest(), Inputs().digest());
    const Value args = Object{};
    ActionIdentity two({"t", {}, "call", args}, "", "", {});
    ActionIdentity one = two;
    two.resolved_targets = {"a", "b"};
    one.resolved_targets = {"ab"};
    EXPECT_NE(action_digest(one), action_digest(two));
    one.resolved_targets = {};
    one.secret_refs = {"a", "b"};
    EXPECT_NE(action_digest(one), action_digest(two));
}

TEST(Digest, OrderOfMembersAndSpellingOfNumbersDoNotCount) {
    const Value one = Object{{"a", 1}, {"b", Object{{"c", 2}, {"d", 3.0}}}};
    const Value other = Object{{"b", Object{{"d", 3}, {"c", 2u}}}, {"a", 1.0}};
    EXPECT_EQ(fingerprint({"t", {}, "call", one}), fingerprint({"t", {}, "call", other}));
    const Value more = Object{{"b", Object{{"d", 3}, {"c", 2u}}}, {"a", 1.5}};
    EXPECT_NE(fingerprint({"t", {}, "call", one}), fingerprint({"t", {}, "call", more}));
}

// The formats are public: whoever computes them from the description must get the same.
TEST(Digest, TheFingerprintIsTheHashOfTagAndCanonicalText) {
    const Value args = Object{{"b", 2}, {"a", "x"}};
    const std::string text =
        R"(callgate-call-v1{"action":"call","args":{"a":"x","b":2},"target":"x","tool_id":"t","v":2})";
    for (const char* definition : {"d", "in other words"})
        EXPECT_EQ(fingerprint({"t", base::sha256(definition), "call", args, "x"}), base::sha256(text));
    const std::string earlier =
        R"(callgate-call-v1{"action":"call","args":{"a":"x","b":2},"target":"x","tool_def_hash":")" +
        base::to_hex(base::sha256("d")) + R"(","tool_id":"t","v":1})";
    EXPECT_EQ(earlier_fingerprint({"t", base::sha256("d"), "call", args, "x"}), base::sha256(earlier));
}

TEST(Digest, TheActionDigestIsTheHashOfTagAndCanonicalText) {
    const Inputs in;
    const std::string text =
        R"(callgate-approval-v2{"action":"call","args":{"count":3,"recipient":"ann@example.org"},)"
        R"("call_id":"01020304-0506-0708-090a-0b0c0d0e0f10","config_ref":"mail/eu.toml","connector":"mail-eu",)"
        R"("decision":"confirm","effect_class":"unsafe",)"
        R"("idem_key":"order-4711","requester":"agent-7","resolved_targets":["mx.example.org 192.0.2.1"],"risk":"high",)"
        R"("rule_id":"rule-3","secret_refs":["mail/token"],"server_identity":"mail","tenant":"acme","tool_def_hash":")" +
        base::to_hex(in.definition) + R"(","tool_id":"mail/send","version":"sha256:4711"})";
    EXPECT_EQ(in.digest(), base::sha256_hex(text));
}

RC_GTEST_PROP(Digest, DifferentTextsNeverShareAFingerprint,
              (const std::string& one, const std::string& other)) {
    const Value a = Object{{"x", one}};
    const Value b = Object{{"x", other}};
    RC_ASSERT((fingerprint({"t", {}, "call", a}) == fingerprint({"t", {}, "call", b})) == (one == other));
}

}  // namespace
}  // namespace callgate::ledger
