#include "ledger/packed_event.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace callgate::ledger {
namespace {

AuditFacts facts_with(std::string_view text) {
    AuditFacts facts;
    facts.sequence = 7;
    facts.at = std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000));
    facts.type = "tool_call.failed";
    facts.outcome = "failure";
    facts.stage = "settle";
    facts.error_code = "tool.timeout";
    facts.risk = Risk::high;
    facts.autonomy = Autonomy::a3;
    facts.has_key = true;
    facts.attempt = 3;
    facts.latency = std::chrono::milliseconds(12);
    facts.call_id[0] = 1;
    facts.parent_call_id[15] = 2;
    for (const auto member : kAuditTexts) facts.*member = text;
    return facts;
}

TEST(PackedEvent, KeepsEverythingAnEventSays) {
    const AuditFacts facts = facts_with("x");
    PackedEvent packed;
    packed.pack(facts);
    EXPECT_EQ(packed.unpack().to_json(), facts.to_json());
    EXPECT_EQ(packed.trace_id(), "x");
    EXPECT_EQ(packed.call_id(), facts.call_id);
}

RC_GTEST_PROP(PackedEvent, KeepsTextsOfAnyLengthInASlotThatWasUsedBefore, (std::vector<std::string> texts)) {
    PackedEvent packed;
    for (const std::string& text : texts) {
        AuditFacts facts = facts_with("some");
        facts.detail = text;
        facts.tool = std::string_view(text).substr(0, text.size() / 2);
        packed.pack(facts);
        const AuditEvent out = packed.unpack();
        RC_ASSERT(out.detail == facts.detail);
        RC_ASSERT(out.tool == facts.tool);
        RC_ASSERT(out.to_json() == facts.to_json());
    }
}

TEST(PackedEvent, HoldsTextsThatDoNotFitInside) {
    const std::string longer(10'000, 'y');
    PackedEvent packed;
    packed.pack(facts_with(longer));
    EXPECT_EQ(packed.unpack().detail, longer);
    packed.pack(facts_with(""));
    EXPECT_EQ(packed.unpack().detail, "");
    EXPECT_EQ(packed.trace_id(), "");
}

}  // namespace
}  // namespace callgate::ledger
