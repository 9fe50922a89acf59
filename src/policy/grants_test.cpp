#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/memory.h"
#include "policy/policy_testing.h"

namespace callgate::policy {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Grant grant_for(std::string tool) {
    Grant grant;
    grant.tool = std::move(tool);
    grant.expires_at = kNoon + 1h;
    grant.granted_by = "operator";
    return grant;
}

template <class Change>
bool covered(const Change& change) {
    Grant grant = grant_for("mail.*");
    change(grant);
    Grants grants;
    EXPECT_TRUE(grants.add(grant, kNoon));
    Call call(entry("mail.send"), Object{{"to", "ann@example.org"}});
    call.action = "send";
    call.caller.principal = "agent";
    return grants.covers(call.question()).has_value();
}

TEST(Grants, CoverCallsLikeTheOneTheyDescribe) {
    EXPECT_TRUE(covered([](Grant&) {}));
    EXPECT_FALSE(covered([](Grant& g) { g.tool = "files.*"; }));
    EXPECT_TRUE(covered([](Grant& g) { g.action = "s*"; }));
    EXPECT_FALSE(covered([](Grant& g) { g.action = "draft"; }));
    EXPECT_TRUE(covered([](Grant& g) { g.principal = "agent"; }));
    EXPECT_FALSE(covered([](Grant& g) { g.principal = "age*"; }));
    EXPECT_FALSE(covered([](Grant& g) { g.tenant = "acme"; }));
    const auto to = [](const char* who) {
        return Object{{"properties", Object{{"to", Object{{"const", who}}}}}};
    };
    EXPECT_TRUE(covered([&](Grant& g) { g.arguments = to("ann@example.org"); }));
    EXPECT_FALSE(covered([&](Grant& g) { g.arguments = to("bob@example.org"); }));
}

TEST(Grants, NeverCoverTheCallsOfWhoGaveThem) {
    EXPECT_FALSE(covered([](Grant& g) { g.granted_by = "agent"; }));
    Grants grants;
    Grant grant = grant_for("mail");
    grant.principal = grant.granted_by = "agent";
    const auto added = grants.add(grant, kNoon);
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, ErrorCode::denied);
    EXPECT_EQ(reason_of(added.error()), "self_approval");
}

TEST(Grants, AreUsedUp) {
    Grants grants;
    Grant grant = grant_for("mail");
    grant.uses = 2;
    const std::string id = grants.add(grant, kNoon).value();
    const Call call(entry("mail"));
    EXPECT_EQ(grants.covers(call.question()), id);
    EXPECT_TRUE(grants.use(id, kNoon));
    EXPECT_EQ(grants.list(kNoon).at(0).uses, 1u);
    EXPECT_TRUE(grants.use(id, kNoon));
    EXPECT_FALSE(grants.use(id, kNoon));
    EXPECT_FALSE(grants.covers(call.question()));
}

TEST(Grants, Expire) {
    Grants grants;
    const std::string id = grants.add(grant_for("mail"), kNoon).value();
    Call call(entry("mail"));
    call.now = kNoon + 1h - 1us;
    EXPECT_TRUE(grants.covers(call.question()));
    call.now = kNoon + 1h;
    EXPECT_FALSE(grants.covers(call.question()));
    EXPECT_FALSE(grants.use(id, kNoon + 1h));
    EXPECT_TRUE(grants.list(kNoon + 1h).empty());
}

TEST(Grants, CanBeTakenBack) {
    Grants grants;
    const std::string first = grants.add(grant_for("mail"), kNoon).value();
    const std::string second = grants.add(grant_for("mail"), kNoon).value();
    EXPECT_NE(first, second);
    EXPECT_TRUE(grants.revoke(first));
    EXPECT_FALSE(grants.revoke(first));
    EXPECT_FALSE(grants.use(first, kNoon));
    EXPECT_EQ(grants.covers(Call(entry("mail")).question()), second);
}

TEST(Grants, RefuseWhatWouldBeARule) {
    Grants grants;
    const auto refusal = [&](const auto& change) {
        Grant grant = grant_for("mail");
        change(grant);
        const auto added = grants.add(grant, kNoon);
        return added ? "accepted" : added.error().message;
    };
    EXPECT_THAT(refusal([](Grant& g) { g.tool = ""; }), HasSubstr("tool is empty"));
    EXPECT_THAT(refusal([](Grant& g) { g.action = ""; }), HasSubstr("action is empty"));
    EXPECT_THAT(refusal([](Grant& g) { g.uses = 0; }), HasSubstr("1 to 10000 calls, not 0"));
    EXPECT_THAT(refusal([](Grant& g) { g.uses = 10'001; }), HasSubstr("not 10001"));
    EXPECT_THAT(refusal([](Grant& g) { g.expires_at = kNoon; }), HasSubstr("already passed"));
    EXPECT_THAT(refusal([](Grant& g) { g.expires_at = kNoon + 24h * 8; }), HasSubstr("at most 7 days"));
    EXPECT_THAT(refusal([](Grant& g) { g.arguments = Object{{"type", 7}}; }), HasSubstr("argument schema"));
    EXPECT_THAT(refusal([](Grant& g) { g.reason = std::string(5'000, 'x'); }), HasSubstr("longer than"));
}

TEST(Grants, AreBoundedInNumber) {
    Grants grants;
    for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(grants.add(grant_for("mail"), kNoon));
    EXPECT_EQ(reason_of(grants.add(grant_for("mail"), kNoon).error()), "too_many");
    Grant later = grant_for("mail");
    later.expires_at = kNoon + 3h;
    EXPECT_TRUE(grants.add(later, kNoon + 2h));  // the others have expired
}

}  // namespace
}  // namespace callgate::policy
