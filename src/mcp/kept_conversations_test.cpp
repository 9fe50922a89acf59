// Conversations that wait for their clients to come back, by a clock of the test's own.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

#include "mcp/kept_conversations.h"
#include "mcp/server_core.h"
#include "net/loop.h"

namespace callgate::mcp {
namespace {

using std::chrono::minutes;

class KeptTest : public testing::Test {
protected:
    ~KeptTest() override { core->close(); }
    std::shared_ptr<Conversation> conversation(std::string id) {
        auto exchange = std::make_shared<Exchange>();
        exchange->codec = &codec_2026_07_28();
        auto made = std::make_shared<Conversation>(core, exchange, "", nullptr);
        made->began(std::move(id));
        return made;
    }
    static KeptConversations::Time at(int minute) { return KeptConversations::Time(minutes(minute)); }

    Runtime runtime;
    net::Loop loop;
    std::shared_ptr<ServerCore> core = std::make_shared<ServerCore>(runtime, loop, ServerOptions());
    KeptConversations kept{minutes(15), 3};
};

TEST_F(KeptTest, OneIsFoundUntilItsTimeIsOver) {
    kept.keep(conversation("a"), at(0));
    EXPECT_NE(kept.find("a", at(15)), nullptr);
    EXPECT_EQ(kept.find("b", at(15)), nullptr);
    EXPECT_EQ(kept.find("a", at(16)), nullptr);
    EXPECT_EQ(kept.size(), 0u);
}

TEST_F(KeptTest, LookingForOneDropsAllThatAreTooOld) {
    kept.keep(conversation("a"), at(0));
    kept.keep(conversation("b"), at(10));
    EXPECT_NE(kept.find("b", at(20)), nullptr);
    EXPECT_EQ(kept.size(), 1u);
}

TEST_F(KeptTest, WhatIsKeptAgainHasItsTimeAgain) {
    const auto one = conversation("a");
    kept.keep(one, at(0));
    kept.keep(conversation("b"), at(5));
    kept.keep(one, at(10));
    EXPECT_EQ(kept.size(), 2u);
    EXPECT_EQ(kept.find("a", at(22)), one);
    EXPECT_EQ(kept.find("b", at(22)), nullptr);
}

TEST_F(KeptTest, TheOldestMakesRoom) {
    for (int i = 0; i < 4; ++i) {
        kept.keep(conversation(std::to_string(i)), at(i));
    }
    EXPECT_EQ(kept.size(), 3u);
    EXPECT_EQ(kept.find("0", at(4)), nullptr);
    EXPECT_NE(kept.find("1", at(4)), nullptr);
}

TEST_F(KeptTest, WhatIsForgottenOrTakenIsNotFound) {
    kept.keep(conversation("a"), at(0));
    kept.keep(conversation("b"), at(0));
    kept.forget("a");
    kept.forget("a");
    EXPECT_EQ(kept.take_all().size(), 1u);
    EXPECT_EQ(kept.find("b", at(0)), nullptr);
}

}  // namespace
}  // namespace callgate::mcp
