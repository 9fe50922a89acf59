#include "ledger/audit/chain.h"

#include <set>
#include <stdexcept>

#include <gtest/gtest.h>

#include <callgate/json.h>

#include "ledger/audit/audit_testing.h"

namespace callgate::ledger {
namespace {

const std::string kLinkByte("\x01");

std::string text_of(const Sha256Digest& digest) {
    return std::string(view_of(digest));
}

TEST(AuditChain, LinksEachEventToTheOneBefore) {
    TestLog log(3);
    Sha256Digest last = base::sha256("callgate-audit-v1test-chain");
    std::uint64_t sequence = 0;
    for (const AuditRow& row : log.stored.all_rows()) {
        EXPECT_EQ(row.sequence, ++sequence);
        EXPECT_EQ(row.hash, base::sha256(kLinkByte + text_of(last) + row.bytes));
        last = row.hash;
    }
    EXPECT_EQ(log.chain.head().hash, last);
    EXPECT_EQ(log.chain.head().size(), 3u);
}

TEST(AuditChain, NumbersEventsWithoutGapsWhateverTheFactsSay) {
    TestLog log;
    AuditFacts facts = usual_facts();
    facts.sequence = 99;
    EXPECT_EQ(log.add(facts).sequence, 1u);
    EXPECT_EQ(log.add(facts).sequence, 2u);
    EXPECT_NE(log.stored.all_rows()[1].bytes.find(R"("seq":2,)"), std::string::npos);
}

TEST(AuditChain, KeepsPersonalTextOutOfTheEventAndCommitsToIt) {
    TestLog log;
    AuditFacts facts = usual_facts();
    facts.detail = "Ann's account is locked";
    const PayloadView payloads[] = {{"result", "r"}, {"arguments", R"({"to":"ann"})"}, {"empty", ""}};
    const auto event = log.append(facts, payloads);
    ASSERT_EQ(event.payloads.size(), 3u);
    EXPECT_EQ(event.payloads[0].field, "arguments");
    EXPECT_EQ(event.payloads[1].field, "detail");
    EXPECT_EQ(event.payloads[2].field, "result");
    EXPECT_EQ(event.bytes.find("Ann"), std::string::npos);
    base::Sha256 hasher;
    const Value value = *json::parse(event.bytes);
    const Object& commits = value.as_object().at("commits").as_object();
    EXPECT_EQ(commits.size(), 3u);
    for (const StoredPayload& payload : event.payloads)
        EXPECT_EQ(commits.at(payload.field).as_string(),
                  base::to_hex(commit_to(hasher, payload.salt, payload.bytes)));
}

TEST(AuditChain, NeverUsesASaltTwice) {
    TestLog log;
    AuditFacts facts = usual_facts();
    facts.detail = "the same";
    std::set<Salt> salts;
    for (int i = 0; i < 500; ++i) salts.insert(log.append(facts).payloads.at(0).salt);
    EXPECT_EQ(salts.size(), 500u);
}

TEST(AuditChain, PutsAnOverlongTextAmongThePayloads) {
    TestLog log;
    const std::string text(kMaxAuditText + 1, 'x');
    AuditFacts facts = usual_facts();
    facts.principal = text;
    const auto event = log.append(facts);
    ASSERT_EQ(event.payloads.size(), 1u);
    EXPECT_EQ(event.payloads[0].field, "principal");
    EXPECT_EQ(event.payloads[0].bytes, text);
    EXPECT_LT(event.bytes.size(), 1'000u);
    EXPECT_NE(event.bytes.find(R"("commits":{"principal":")"), std::string::npos);
}

TEST(AuditChain, GivesEveryEventAType) {
    TestLog log;
    const std::string overlong(300, 't');
    for (const std::string_view type :
         {std::string_view(), std::string_view(overlong), std::string_view("\xff")})
        EXPECT_NE(log.add(usual_facts(type)).bytes.find(R"("type":"unnamed")"), std::string::npos);
}

TEST(AuditChain, RefusesPayloadsThatCouldNotBeToldApart) {
    TestLog log;
    const auto append = [&](std::vector<PayloadView> payloads) {
        AuditFacts facts = usual_facts();
        facts.detail = "d";
        return log.append(facts, payloads);
    };
    EXPECT_THROW(append({{"Bad name", "x"}}), std::invalid_argument);
    EXPECT_THROW(append({{"a", "x"}, {"a", "y"}}), std::invalid_argument);
    EXPECT_THROW(append({{"detail", "x"}}), std::invalid_argument);
    EXPECT_EQ(log.chain.head(), empty_head("test-chain"));
}

TEST(AuditChain, RefusesIdsThatItCouldNotSign) {
    base::SeededRng rng(1);
    EXPECT_THROW(AuditChain("", "b", empty_head(""), rng), std::invalid_argument);
    EXPECT_THROW(AuditChain("two\nlines", "b", empty_head("two\nlines"), rng), std::invalid_argument);
    EXPECT_THROW(AuditChain("a", std::string(65, 'b'), empty_head("a"), rng), std::invalid_argument);
}

TEST(AuditChain, GoesBackToAnEarlierHead) {
    TestLog log(250);
    const ChainHead before = log.chain.head();
    for (int i = 0; i < 10; ++i) log.append(usual_facts("tool_call.failed"));
    EXPECT_NE(log.chain.head(), before);
    log.chain.rewind(before);
    EXPECT_EQ(log.chain.head(), before);
    EXPECT_TRUE(log.chain.take_nodes().empty()) << "the 256th event was taken back, and its node with it";

    TestLog straight(250);
    for (int i = 0; i < 10; ++i) {
        log.add(usual_facts());
        straight.add(usual_facts());
    }
    EXPECT_EQ(log.chain.head(), straight.chain.head());
    EXPECT_EQ(log.stored.nodes(8, 0, 9)->size(), 1u);
    EXPECT_THROW(log.chain.rewind(TestLog(261).chain.head()), std::invalid_argument);
}

TEST(AuditChain, KeepsNodesThatARewindDoesNotTouch) {
    TestLog log(255);
    log.append(usual_facts());
    const ChainHead head = log.chain.head();
    log.append(usual_facts());
    log.chain.rewind(head);
    EXPECT_EQ(log.chain.take_nodes().size(), 1u);
}

}  // namespace
}  // namespace callgate::ledger
