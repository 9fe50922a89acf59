// A key after its tool has been described in other words: still the same request, so that a program that
// comes back as its next version does not do twice what the one before may have done.
#include <callgate/callgate.h>

#include <gtest/gtest.h>

#include "base/sha256.h"
#include "ledger/digest.h"
#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

Object schema_with(std::optional<Object> new_parameter) {
    Object properties{{"to", Object{{"type", "string"}}}};
    if (new_parameter) properties["unit"] = std::move(*new_parameter);
    return {{"type", "object"}, {"properties", std::move(properties)}};
}

/// The same tool in two versions of a program, on one ledger; the test answers for both.
struct TwoVersions {
    TestRuntime first;
    TestRuntime second{{}, first.ledger, first.clock};
    std::shared_ptr<DeferredBody> body = std::make_shared<DeferredBody>();

    explicit TwoVersions(EffectClass effect) {
        Tool before(ToolDefinition("pay", "Pays", schema_with(std::nullopt)), body);
        Tool after(
            ToolDefinition("pay", "Pays.", schema_with(Object{{"type", "string"}, {"default", "EUR"}})),
            body);
        EXPECT_TRUE(first->tools().add(before.effect(effect)));
        EXPECT_TRUE(second->tools().add(after.effect(effect)));
    }
    Ended pay(TestRuntime& node, Object arguments = {{"to", "ann"}}) const {
        Ended ended = node.start(CallRequest("pay", std::move(arguments)), with_key("k"));
        calm();
        return ended;
    }
    void first_dies() {
        first.ledger->owner_gone(first->core()->owner);
        calm();
    }
    void calm() const {
        first.calm();
        second.calm();
    }
};

TEST_WITH_EITHER_LEDGER(RedefinedTool, AnswersFromTheRecord) {
    TwoVersions of(EffectClass::unsafe);
    const Ended paid = of.pay(of.first);
    of.body->take()->finish(ToolResult(Value("paid")));
    of.calm();
    ASSERT_TRUE((*paid)->ok());
    for (int i = 0; i < 2; ++i) {
        const Ended again = of.pay(of.second);
        EXPECT_EQ((*again)->state(), State::replayed);
        EXPECT_EQ((*again)->text(), "paid");
    }
    EXPECT_EQ(of.body->waiting(), 0u);
}

TEST_WITH_EITHER_LEDGER(RedefinedTool, DoesNotRepeatWhatMayHaveHappened) {
    TwoVersions of(EffectClass::unsafe);
    const Ended lost = of.pay(of.first);
    const auto entered = of.body->take();
    of.first_dies();
    const Ended again = of.pay(of.second);
    EXPECT_EQ((*again)->state(), State::unknown);
    EXPECT_FALSE((*again)->safe_new_key());
    EXPECT_EQ(of.body->waiting(), 0u);
    entered->finish(ToolResult(Value("late")));
}

TEST_WITH_EITHER_LEDGER(RedefinedTool, GoesOnWithWhatMayBeSentAgain) {
    TwoVersions of(EffectClass::keyed);
    const Ended lost = of.pay(of.first);
    const auto entered = of.body->take();
    of.first_dies();
    const Ended heir = of.pay(of.second);
    const auto again = of.body->take();
    ASSERT_TRUE(again);
    EXPECT_EQ(again->context().call_id(), entered->context().call_id());
    again->finish(ToolResult(Value("paid")));
    of.calm();
    EXPECT_TRUE((*heir)->ok());
    const Ended asked_again = of.pay(of.second);
    EXPECT_EQ((*asked_again)->state(), State::replayed);
    const Ended in_full = of.pay(of.second, {{"to", "ann"}, {"unit", "EUR"}});
    EXPECT_EQ((*in_full)->state(), State::replayed) << "not key_reused with a safe new key: this is what ran";
    entered->finish(ToolResult(Value("late")));
}

TEST_WITH_EITHER_LEDGER(RedefinedTool, ShowsNothingOfAnotherRequest) {
    TwoVersions of(EffectClass::unsafe);
    const Ended paid = of.pay(of.first);
    of.body->take()->finish(ToolResult(Value("paid")));
    of.calm();
    const Ended same_version = of.pay(of.first, {{"to", "bob"}});
    EXPECT_EQ((*same_version)->error()->code, ErrorCode::key_reused);
    EXPECT_TRUE((*same_version)->safe_new_key());
    const Ended other_version = of.pay(of.second, {{"to", "bob"}});
    EXPECT_EQ((*other_version)->error()->code, ErrorCode::key_reused);
    EXPECT_FALSE((*other_version)->safe_new_key()) << "what was sent then may read otherwise now";
}

/// What an earlier version of Callgate has on record of `pay`, made by a node that dies then.
void leave_earlier_record(TwoVersions& of, EffectClass effect) {
    const Value arguments = Object{{"to", "ann"}};
    ledger::ClaimRequest claim;
    claim.row.key = {"", Context().principal, "pay", "k"};
    claim.row.call_id = CallId{1};
    claim.row.definition_hash = base::sha256("as it was then");
    claim.row.fingerprint = ledger::earlier_fingerprint(
        ledger::RequestIdentity("pay", claim.row.definition_hash, "call", arguments));
    claim.row.owner = of.first->core()->owner;
    claim.row.effect = effect;
    claim.row.action = "call";
    ledger::ClaimReply reply;
    struct Nobody final : ledger::Waiter {
        void wake() override {}
    } nobody;
    of.first.ledger->claim(std::move(claim), reply, nobody);
    of.first_dies();
}

TEST_WITH_EITHER_LEDGER(RedefinedTool, KnowsTheFingerprintsOfEarlierVersions) {
    TwoVersions of(EffectClass::unsafe);
    leave_earlier_record(of, EffectClass::unsafe);
    const Ended again = of.pay(of.second);
    EXPECT_EQ((*again)->state(), State::unknown);
    EXPECT_EQ(of.body->waiting(), 0u);
}

TEST_WITH_EITHER_LEDGER(RedefinedTool, KnowsWhatItTookOverFromAnEarlierVersion) {
    TwoVersions of(EffectClass::keyed);
    leave_earlier_record(of, EffectClass::keyed);
    const Ended heir = of.pay(of.second);
    const Ended meanwhile = of.pay(of.second);
    const auto running = of.body->take();
    ASSERT_TRUE(running);
    EXPECT_EQ(of.body->waiting(), 0u);
    running->finish(ToolResult(Value("paid")));
    of.calm();
    EXPECT_TRUE((*heir)->ok());
    EXPECT_EQ((*meanwhile)->state(), State::replayed);
    const Ended later = of.pay(of.second);
    EXPECT_EQ((*later)->state(), State::replayed);
    const Ended in_full = of.pay(of.second, {{"to", "ann"}, {"unit", "EUR"}});
    EXPECT_EQ((*in_full)->state(), State::replayed) << "what ran has its defaults, and that is recorded";
}

}  // namespace
}  // namespace callgate::pipeline
