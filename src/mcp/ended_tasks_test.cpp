// The ends of tasks that are kept in memory.
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <callgate/json.h>
#include <callgate/outcome.h>

#include "mcp/ended_tasks.h"

namespace callgate::mcp {
namespace {

Outcome ended(State state, std::size_t argument_bytes = 0) {
    OutcomeData data;
    data.state = state;
    data.succeeded = state == State::succeeded;
    if (!data.succeeded) data.error = Error(ErrorCode::cancelled, "It was called off.");
    data.arguments = std::make_shared<const Value>(Object{{"text", std::string(argument_bytes, 'x')}});
    return Outcome(std::move(data));
}

TEST(EndedTasks, KeepsWhatTheRecordMayNotHave) {
    EndedTasks all;
    all.keep("cancelled", ended(State::cancelled));
    all.keep("done", ended(State::succeeded));
    all.keep("unknown", ended(State::unknown));  // a person may resolve it: the record is asked
    ASSERT_NE(all.find("cancelled"), nullptr);
    EXPECT_EQ(all.find("cancelled")->state(), State::cancelled);
    EXPECT_EQ(all.find("done"), nullptr);
    EXPECT_EQ(all.find("unknown"), nullptr);
}

TEST(EndedTasks, WhatEndedFirstMakesRoomWhateverItsId) {
    EndedTasks all(2);
    for (const char* id : {"c", "a", "b"}) {
        all.keep(id, ended(State::cancelled));
    }
    EXPECT_EQ(all.find("c"), nullptr);
    EXPECT_NE(all.find("a"), nullptr);
    EXPECT_NE(all.find("b"), nullptr);
}

TEST(EndedTasks, HoldsNoMoreBytesThanItMay) {
    EndedTasks all(100, 10'000);
    for (const char* id : {"a", "b", "c"}) {
        all.keep(id, ended(State::cancelled, 4'000));
    }
    EXPECT_EQ(all.find("a"), nullptr);
    EXPECT_NE(all.find("c"), nullptr);
    all.keep("large", ended(State::cancelled, 20'000));
    EXPECT_EQ(all.size(), 0u);
}

TEST(EndedTasks, OneThatEndsAgainIsThereOnce) {
    EndedTasks all;
    all.keep("a", ended(State::cancelled));
    all.keep("a", ended(State::failed));
    EXPECT_EQ(all.size(), 1u);
    EXPECT_EQ(all.find("a")->state(), State::failed);
}

}  // namespace
}  // namespace callgate::mcp
