// An approval is evidence for one exact call: whatever is changed afterwards, by one byte, is refused.
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/ids.h"
#include "base/rng.h"
#include "ledger/digest.h"
#include "ledger/sqlite/database.h"
#include "ledger/sqlite/durable_testing.h"

namespace callgate::ledger::testing {
namespace {

/// Everything that decides the effect of a call.
struct Action {
    std::string tool_id = "mail/send";
    base::Sha256Digest definition = base::sha256("definition");
    std::string action = "call";
    std::string to = "ada@example.org";
    std::string body = "The meeting is at noon.";
    std::int64_t amount = 1'200;
    std::string tenant = "acme";
    std::string requester = "agent";
    CallId id = call_id(77);
    std::string server = "mail-server-1";
    std::string secret = "smtp/password";
    std::string target = "account:4711";
    EffectClass effect = EffectClass::unsafe;
    std::string decision = "confirm";
    std::string rule = "rule-7";
    Risk risk = Risk::high;
    std::string key = "order-1";

    std::string digest() const {
        const Value arguments = Object{{"to", to}, {"body", body}, {"amount", amount}};
        ActionIdentity identity(RequestIdentity(tool_id, definition, action, arguments), tenant, requester,
                                id);
        identity.server_identity = server;
        identity.secret_refs = {secret};
        identity.resolved_targets = {target};
        identity.effect = effect;
        identity.decision = decision;
        identity.rule_id = rule;
        identity.risk = risk;
        identity.idempotency_key = key;
        return action_digest(identity);
    }
};

/// One byte of it becomes another: changed, added or removed.
void change(std::string& text, base::Rng& rng) {
    const std::size_t at = text.empty() ? 0 : rng.below(text.size());
    switch (text.empty() ? 1 : rng.below(3)) {
        case 0: text[at] = static_cast<char>(text[at] ^ static_cast<char>(1 + rng.below(127))); break;
        case 1: text.insert(at, 1, static_cast<char>('a' + rng.below(26))); break;
        default: text.erase(at, 1); break;
    }
}
template <std::size_t N>
void change(std::array<std::uint8_t, N>& bytes, base::Rng& rng) {
    bytes[rng.below(N)] ^= static_cast<std::uint8_t>(1 + rng.below(255));
}

using Change = std::function<void(Action&, base::Rng&)>;

const std::vector<std::pair<std::string, Change>>& changes() {
    static const std::vector<std::pair<std::string, Change>> all{
        {"tool", [](Action& a, base::Rng& rng) { change(a.tool_id, rng); }},
        {"definition", [](Action& a, base::Rng& rng) { change(a.definition, rng); }},
        {"action", [](Action& a, base::Rng& rng) { change(a.action, rng); }},
        {"arguments /to", [](Action& a, base::Rng& rng) { change(a.to, rng); }},
        {"arguments /body", [](Action& a, base::Rng& rng) { change(a.body, rng); }},
        {"arguments /amount",
         [](Action& a, base::Rng& rng) { a.amount ^= std::int64_t{1} << rng.below(40); }},
        {"tenant", [](Action& a, base::Rng& rng) { change(a.tenant, rng); }},
        {"requester", [](Action& a, base::Rng& rng) { change(a.requester, rng); }},
        {"call id", [](Action& a, base::Rng& rng) { change(a.id, rng); }},
        {"server", [](Action& a, base::Rng& rng) { change(a.server, rng); }},
        {"secret", [](Action& a, base::Rng& rng) { change(a.secret, rng); }},
        {"target", [](Action& a, base::Rng& rng) { change(a.target, rng); }},
        {"effect class",
         [](Action& a, base::Rng& rng) { a.effect = static_cast<EffectClass>(rng.below(4)); }},
        {"decision", [](Action& a, base::Rng& rng) { change(a.decision, rng); }},
        {"rule", [](Action& a, base::Rng& rng) { change(a.rule, rng); }},
        {"risk", [](Action& a, base::Rng& rng) { a.risk = rng.below(2) == 0 ? Risk::low : Risk::critical; }},
        {"key", [](Action& a, base::Rng& rng) { change(a.key, rng); }},
    };
    return all;
}

OpenApprovalReply ask_for(DurableLedger& durable, const Action& action) {
    OpenApprovalRequest asked;
    asked.approval.id = "ap";
    asked.approval.call_id = base::Uuid{action.id}.to_string();
    asked.approval.tenant = action.tenant;
    asked.approval.requester = action.requester;
    asked.approval.tool = action.tool_id;
    asked.approval.arguments = Object{{"to", action.to}, {"body", action.body}};
    asked.approval.digest = action.digest();
    asked.fingerprint = print_of("request");
    asked.events.push_back(event("gate.required", action.id));
    OpenApprovalReply reply;
    durable.turn.wait_for(durable.ledger->open_approval(std::move(asked), reply, durable.turn));
    return reply;
}

ClaimReply use_for(DurableLedger& durable, const Action& action, std::uint64_t call) {
    ClaimRequest asked = durable.request(call, "");
    asked.row.key = {action.tenant, action.requester, action.tool_id, ""};
    asked.approval = ApprovalUse{"ap", action.digest()};
    return durable.claim(std::move(asked));
}

TEST(ApprovalBinding, TwoThousandChangesByOneByteAreAllRefusedAndTheCallItselfIsNot) {
    constexpr std::uint64_t kTrials = 2'000;
    const std::uint64_t seed = base::SystemRng().next_u64();
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::SeededRng rng(seed);
    DurableLedger durable;
    ASSERT_FALSE(durable.open(false));
    const Action agreed;
    ask_for(durable, agreed);
    ASSERT_TRUE(durable.vote("ap"));
    std::map<std::string, int> tried;
    for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
        const auto& [name, make] = changes()[trial % changes().size()];
        Action changed = agreed;
        make(changed, rng);
        const ClaimReply reply = use_for(durable, changed, 1'000 + trial);
        ASSERT_NE(reply.approval, ApprovalVerdict::ok) << name;
        ASSERT_FALSE(durable.state_of(1'000 + trial)) << name << " left a claim";
        ++tried[name];
    }
    EXPECT_EQ(tried.size(), changes().size());
    EXPECT_EQ(use_for(durable, agreed, 1).approval, ApprovalVerdict::ok);
    EXPECT_EQ(use_for(durable, agreed, 2).approval, ApprovalVerdict::consumed);
    EXPECT_EQ(faults_of(*durable.ledger), "");
}

// Somebody with the file, but without its key.
TEST(ApprovalBinding, AnApprovalThatWasChangedInTheFileIsOfNoUse) {
    constexpr int kTrials = 200;
    const std::uint64_t seed = base::SystemRng().next_u64();
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::SeededRng rng(seed);
    constexpr std::array<std::string_view, 5> kColumns{"body", "digest", "tenant", "requester", "id"};
    DurableLedger durable;
    ASSERT_FALSE(durable.open(false));
    const Action agreed;
    ask_for(durable, agreed);
    ASSERT_TRUE(durable.vote("ap"));
    for (int trial = 0; trial < kTrials; ++trial) {
        const std::string_view column = kColumns[static_cast<std::size_t>(trial) % kColumns.size()];
        durable.close();
        std::string before;
        const auto exchange = [&](const std::string& value) {
            auto database = Database::open(durable.directory + "/ledger.db", Access::read_write);
            ASSERT_TRUE(database);
            auto set = database->prepare("UPDATE approvals SET " + std::string(column) + " = ?1");
            ASSERT_TRUE(set);
            column == "body" ? set->bind_blob(1, value) : set->bind(1, value);
            ASSERT_TRUE(set->run());
        };
        {
            auto database = Database::open(durable.directory + "/ledger.db", Access::read_write);
            ASSERT_TRUE(database);
            auto get = database->prepare("SELECT " + std::string(column) + " FROM approvals");
            ASSERT_TRUE(get && *get->step());
            before = column == "body" ? get->blob(0) : get->text(0);
        }
        std::string after = before;
        change(after, rng);
        exchange(after);
        ASSERT_FALSE(durable.open(false));
        const ClaimReply reply = use_for(durable, agreed, 1'000 + static_cast<std::uint64_t>(trial));
        ASSERT_TRUE(reply.error || reply.approval != ApprovalVerdict::ok) << column;
        durable.close();
        exchange(before);
    }
    ASSERT_FALSE(durable.open(false));
    EXPECT_EQ(use_for(durable, agreed, 1).approval, ApprovalVerdict::ok);
}

}  // namespace
}  // namespace callgate::ledger::testing
