// Events of the host's own on the chain of the audit.
#include <future>

#include <gtest/gtest.h>

#include "os/scratch_dir.h"
#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

HostEvent opened() {
    HostEvent event(must(EventType::registered("session.opened")));
    event.principal = "ada";
    event.tenant = "acme";
    event.trace_id = "t-1";
    event.detail = std::string(1'200, 'd');
    return event;
}

TEST(EventTypes, AreRegisteredByNameAndNoneIsTheLibrarysOwn) {
    const EventType one = must(EventType::registered("gateway.server.added"));
    EXPECT_EQ(one.name().data(), must(EventType::registered("gateway.server.added")).name().data());
    for (const char* wrong :
         {"", "session", "Session.opened", "session.", ".opened", "session..opened", "a.b.c.d.e",
          "tool_call.succeeded", "gate.allowed", "ledger.opened", "session.opened\n", "1a.b"}) {
        const auto refused = EventType::registered(wrong);
        ASSERT_FALSE(refused) << wrong;
        EXPECT_EQ(refused.error().code, ErrorCode::config_error);
    }
    EXPECT_FALSE(EventType::registered("a." + std::string(63, 'b')));
}

TEST_WITH_EITHER_LEDGER(HostEvents, StandOnTheRecordWithThoseOfCallsAndReachObservers) {
    TestRuntime node;
    node->tools().add_or_throw(tool("look", "", [] { return 1; }).read_only().run_inline());
    ASSERT_TRUE(node->record(opened()));
    EXPECT_TRUE(node->call("look").ok());
    HostEvent closed(must(EventType::registered("session.closed")));
    closed.result = HostEvent::Result::failure;
    std::promise<Result<std::uint64_t>> told;
    node->start_record(closed, [&](Result<std::uint64_t> number) { told.set_value(std::move(number)); });
    EXPECT_TRUE(told.get_future().get());
    node.calm();
    const std::vector<AuditEvent> events = must(node->audit());
    ASSERT_EQ(events.size(), 3u);
    EXPECT_EQ(events[0].type, "session.opened");
    EXPECT_EQ(events[0].stage, "host");
    EXPECT_EQ(events[0].outcome, "info");
    EXPECT_EQ(events[0].principal, "ada");
    EXPECT_EQ(events[0].tenant, "acme");
    EXPECT_EQ(events[0].trace_id, "t-1");
    EXPECT_EQ(events[0].detail.size(), 1'000u);
    EXPECT_EQ(events[2].type, "session.closed");
    EXPECT_EQ(events[2].outcome, "failure");
    EXPECT_EQ(events[2].principal, "local");
    EXPECT_EQ(node.recorder->audit_types(),
              (std::vector<std::string>{"session.opened", "tool_call.succeeded", "session.closed"}));
}

TEST(HostEvents, AreReadAgainAfterARestart) {
    const os::ScratchDir dir;
    RuntimeOptions options;
    options.ledger_dir = dir.file("ledger");
    options.ledger_mark_dir = dir.file("marks");
    {
        const auto runtime = must(Runtime::open(options));
        ASSERT_TRUE(runtime->record(opened()));
    }
    const auto runtime = must(Runtime::open(options));
    bool found = false;
    for (const AuditEvent& event : must(runtime->audit())) found = found || event.type == "session.opened";
    EXPECT_TRUE(found);
}

TEST(HostEvents, WhatCannotBeRecordedIsSaid) {
    TestRuntime node({}, nullptr, nullptr, Answers::soon);
    node.later->refuse_records(Error(ErrorCode::ledger_unavailable, "full"));
    const auto refused = node->record(opened());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::ledger_unavailable);
}

}  // namespace
}  // namespace callgate::pipeline
