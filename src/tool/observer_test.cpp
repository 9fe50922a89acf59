#include <callgate/observer.h>

#include <vector>

#include <gtest/gtest.h>

namespace callgate {
namespace {

using namespace std::chrono_literals;

constexpr CallId kId{0x01, 0x93, 0x2a, 0, 0, 0, 0x70, 1, 0x80, 2, 3, 4, 5, 6, 7, 8};

TEST(AuditEvent, TheCallIdStandsInForAMissingTrace) {
    AuditEvent event;
    event.call_id = kId;
    EXPECT_EQ(event.trace(), "01932a00-0000-7001-8002-030405060708");
    event.trace_id = "trace-1";
    EXPECT_EQ(event.trace(), "trace-1");
}

TEST(AuditEvent, TheSummaryIsOneLineForPeople) {
    AuditEvent event;
    event.type = "tool_call.failed";
    event.tool = "mail";
    event.action = "send";
    event.error_code = "tool.timeout";
    EXPECT_EQ(event.summary(), "tool_call.failed mail/send: tool.timeout");
    event.detail = "No answer within 30 s.";
    EXPECT_EQ(event.summary(), "tool_call.failed mail/send: tool.timeout, No answer within 30 s.");
    event.action = "call";
    event.error_code = {};
    EXPECT_EQ(event.summary(), "tool_call.failed mail: No answer within 30 s.");
}

TEST(AuditEvent, AsJsonHasWhatIsKnownAndNothingElse) {
    AuditEvent event;
    event.sequence = 7;
    event.at = std::chrono::sys_days{std::chrono::January / 2 / 2026} + 3h;
    event.type = "tool_call.succeeded";
    event.outcome = "success";
    event.stage = "settle";
    event.tool = "add";
    event.action = "call";
    event.principal = "local";
    event.call_id = kId;
    event.attempt = 1;
    event.latency = 1500us;
    EXPECT_EQ(
        json::write(event.to_json()),
        R"({"sequence":7,"timestamp":"2026-01-02T03:00:00.000000Z",)"
        R"("trace_id":"01932a00-0000-7001-8002-030405060708",)"
        R"("type":"tool_call.succeeded","outcome":"success",)"
        R"("summary":"tool_call.succeeded add","stage":"settle",)"
        R"("call_id":"01932a00-0000-7001-8002-030405060708",)"
        R"("tool_name":"add","action":"call","principal":"local","risk_level":"low","autonomy_level":"A2",)"
        R"("has_key":false,"attempt":1,"latency_ms":1.5})");
}

TEST(AuditEvent, AsJsonHasEveryMemberThatWasSet) {
    AuditEvent event;
    event.parent_call_id = kId;
    event.trace_id = event.approval_id = event.tenant = event.run_id = event.task_id = event.step_id =
        event.connector_id = event.request_hash = event.detail = "x";
    event.error_code = "tool.error";
    const Object json = event.to_json();
    for (const auto* name : {"parent_call_id", "approval_id", "tenant", "run_id", "task_id", "step_id",
                             "connector_id", "request_hash", "error_code", "detail"}) {
        EXPECT_TRUE(json.contains(name)) << name;
    }
}

TEST(Observer, LevelsAndEventsHaveTheirNames) {
    EXPECT_EQ(to_string(LogLevel::debug), "DEBUG");
    EXPECT_EQ(to_string(LogLevel::info), "INFO");
    EXPECT_EQ(to_string(LogLevel::warning), "WARNING");
    EXPECT_EQ(to_string(LogLevel::error), "ERROR");
    EXPECT_EQ(to_string(TelemetryEvent::Name::start), "start");
    EXPECT_EQ(to_string(TelemetryEvent::Name::stop), "stop");
    EXPECT_EQ(to_string(TelemetryEvent::Name::exception), "exception");
    EXPECT_EQ(to_string(TelemetryEvent::Name::retry), "retry");
    EXPECT_EQ(to_string(TelemetryEvent::Name::progress), "progress");
}

TEST(AuditEvent, ACopyOwnsItsTextsAndOutlivesWhatItWasMadeFrom) {
    std::vector<AuditEvent> kept;
    {
        std::string tool = "a tool whose name is on the heap, since it is long";
        std::string detail = "gone soon";
        AuditEvent event;
        event.tool = tool;
        event.detail = detail;
        kept.push_back(event);
        kept.push_back(std::move(event));  // borrowed texts are copied by a move, too
        tool.assign(tool.size(), '?');
        detail.assign(detail.size(), '?');
    }
    kept.reserve(kept.capacity() + 1);
    for (const AuditEvent& event : kept) {
        EXPECT_EQ(event.tool, "a tool whose name is on the heap, since it is long");
        EXPECT_EQ(event.detail, "gone soon");
    }
    AuditEvent assigned;
    assigned = kept.front();
    kept.clear();
    EXPECT_EQ(assigned.detail, "gone soon");
}

}  // namespace
}  // namespace callgate
