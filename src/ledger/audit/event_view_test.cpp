#include "ledger/audit/event_view.h"

#include <functional>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <callgate/json.h>

#include "ledger/audit/audit_testing.h"
#include "ledger/audit/read_event.h"

namespace callgate::ledger {
namespace {

AuditFacts full_facts() {
    AuditFacts facts = usual_facts();
    facts.error_code = "tool.timeout";
    facts.risk = Risk::high;
    facts.autonomy = Autonomy::a3;
    facts.has_key = true;
    facts.parent_call_id = {9};
    facts.trace_id = "trace";
    facts.approval_id = "approval";
    facts.run_id = "run";
    facts.task_id = "task";
    facts.step_id = "st\"ep\n\x01";
    facts.connector_id = "con\xff";
    facts.request_hash = "abc";
    return facts;
}

std::string full_event() {
    const Commit commits[] = {{"arguments", base::sha256("a")}, {"detail", base::sha256("d")}};
    return draft_event("node-1", "boot-1", full_facts(), {"k", "o"}, commits)
        .at({7, full_facts().at, std::chrono::microseconds(55)});
}

std::string fault_of(std::string_view bytes) {
    EventView view;
    const auto fault = scan_event(bytes, view);
    return fault ? fault->what : "";
}

TEST(EventScanner, ReadsEveryMember) {
    const std::string bytes = full_event();
    EventView view;
    ASSERT_EQ(fault_of(bytes), "");
    ASSERT_FALSE(scan_event(bytes, view));
    for (std::size_t i = 0; i < kMemberCount; ++i) EXPECT_TRUE(view.has(static_cast<Member>(i))) << i;
    EXPECT_EQ(view.sequence(), 7u);
    EXPECT_EQ(view.number(Member::mono), 55u);
    EXPECT_EQ(view.text(Member::step), "st\"ep\n\x01");
    EXPECT_EQ(view.text(Member::connector), "con\xff");
    EXPECT_EQ(view.text(Member::key), "k");
    EXPECT_EQ(view.text(Member::old_key), "o");
    EXPECT_EQ(view.id(Member::call), full_facts().call_id);
    EXPECT_EQ(view.id(Member::parent), CallId{9});
    ASSERT_EQ(view.commits().size(), 2u);
    EXPECT_EQ(view.commits()[1].field, "detail");
    EXPECT_EQ(view.commits()[1].hex, base::sha256_hex("d"));
}

TEST(EventScanner, SaysWhereAnEventEnds) {
    const std::string bytes = full_event();
    EventView view;
    std::size_t end = 0;
    ASSERT_FALSE(scan_event(bytes + ",\"hash\"", view, end));
    EXPECT_EQ(end, bytes.size());
    EXPECT_EQ(fault_of(bytes + " "), "nothing may follow the event");
}

TEST(EventScanner, AcceptsOneSpellingOnly) {
    const std::string bytes = full_event();
    const auto with = [&](std::string_view old, std::string_view fresh) {
        std::string changed = bytes;
        const std::size_t at = changed.find(old);
        EXPECT_NE(at, std::string::npos) << old;
        changed.replace(at, old.size(), fresh);
        return fault_of(changed);
    };
    EXPECT_NE(with("{\"action", "{ \"action"), "");
    EXPECT_NE(with("\"seq\":7", "\"seq\":07"), "");
    EXPECT_NE(with("\"seq\":7", "\"seq\":7.0"), "");
    EXPECT_NE(with("\"seq\":7", "\"seq\":-7"), "");
    EXPECT_NE(with("\"seq\":7", "\"seq\":0"), "");
    EXPECT_NE(with("\"seq\":7", "\"seq\":9007199254740992"), "");
    EXPECT_NE(with("\"seq\":7", "\"seq\":99999999999999999999"), "");
    EXPECT_EQ(with("\"seq\":7", "\"seq\":9007199254740991"), "");
    EXPECT_NE(with("\"has_key\":1", "\"has_key\":2"), "");
    EXPECT_NE(with("\"has_key\":1,", "\"has_key\":1,\"has_key\":1,"), "");
    EXPECT_NE(with("\"run\":\"run\"", "\"run\":\"\""), "");
    EXPECT_NE(with("\"run\":\"run\"", "\"run\":\"\\u0072un\""), "");
    EXPECT_NE(with("\"run\":\"run\"", "\"run\":\"\\/\""), "");
    EXPECT_NE(with("\"run\":\"run\"", "\"run\":\"r\x01n\""), "");
    EXPECT_NE(with("\"run\":\"run\"", "\"run\":\"r\xff\""), "");
    EXPECT_NE(with("\"run\":\"run\"", "\"run_hex\":\"72\""), "");
    EXPECT_NE(with("\"run\":\"run\"", "\"run_hex\":\"FF\""), "");
    EXPECT_NE(with("\"run\":\"run\"", "\"run_hex\":\"f\""), "");
    EXPECT_NE(with("\"run\":\"run\"", "\"run_hex\":\"\""), "");
    EXPECT_EQ(with("\"run\":\"run\"", "\"run_hex\":\"ff\""), "");
    EXPECT_NE(with("\"run\":\"run\"", "\"run\":1"), "");
    EXPECT_NE(with("\"chain\":\"node-1\"", "\"chain_hex\":\"ff\""), "") << "what must be there is UTF-8";
    EXPECT_NE(with("\"run\":\"run\"", "\"rum\":\"run\""), "");
    EXPECT_NE(with("\\u0001", "\\u0009"), "") << "a tab has a letter";
    EXPECT_NE(with("\\u0001", "\\u001F"), "") << "upper case";
    EXPECT_EQ(with("\\u0001", "\\u001f"), "");
    EXPECT_NE(with("\"v\":1", "\"v\":2"), "");
    EXPECT_NE(with(",\"v\":1", ""), "");
    EXPECT_NE(with("\"arguments\"", "\"zarguments\""), "") << "fields out of order";
    EXPECT_NE(with("\"arguments\"", "\"detail\""), "");
    EXPECT_NE(with("\"arguments\"", "\"Arguments\""), "");
    EXPECT_NE(with(base::sha256_hex("a"), base::sha256_hex("a").substr(1)), "");
    EXPECT_NE(with("\"parent\":\"09", "\"parent\":\"00"), "");
    EXPECT_NE(with("\"parent\":\"09000000-", "\"parent\":\"0900000-"), "");
}

TEST(EventScanner, RefusesEveryShorterText) {
    const std::string bytes = full_event();
    for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_NE(fault_of(bytes.substr(0, size)), "");
}

TEST(EventScanner, HoldsTextsToTheirLimit) {
    AuditFacts facts = usual_facts();
    const std::string fits(kMaxAuditText, '\x01');  // six bytes each
    facts.run_id = fits;
    const std::string bytes = draft_event("c", "b", facts, {}, {}).at({1, facts.at, {}});
    EXPECT_EQ(fault_of(bytes), "");
    std::string longer = bytes;
    longer.insert(longer.find("\\u0001"), "x");
    EXPECT_EQ(fault_of(longer), "a text is too long");
}

RC_GTEST_PROP(EventScanner, ReadsWhatTheWriterWrote,
              (std::string principal, std::string tool, std::uint32_t attempt)) {
    AuditFacts facts = usual_facts();
    facts.principal = principal;
    facts.tool = tool;
    facts.attempt = attempt;
    const std::string bytes = draft_event("c", "b", facts, {}, {}).at({1, facts.at, {}});
    EventView view;
    RC_ASSERT(!scan_event(bytes, view));
    RC_ASSERT(view.text(Member::principal) == principal);
    RC_ASSERT(view.text(Member::tool) == tool);
    RC_ASSERT(view.number(Member::attempt) == attempt);
}

TEST(ReadEvent, GivesBackTheFacts) {
    TestLog log;
    AuditFacts facts = full_facts();
    const std::string text(kMaxAuditText + 1, 'p');
    facts.principal = text;
    facts.detail = "what a person may have erased";
    const auto stored = log.append(facts);
    const auto event = read_event(stored.bytes, stored.payloads);
    ASSERT_TRUE(event) << event.error().message;
    EXPECT_EQ(event->sequence, 1u);
    facts.sequence = 1;
    EXPECT_EQ(event->to_json(), facts.to_json());
    EXPECT_EQ(event->detail, facts.detail);

    const auto erased = read_event(stored.bytes, {});
    ASSERT_TRUE(erased);
    EXPECT_EQ(erased->detail, "");
    EXPECT_EQ(erased->principal, "");
    EXPECT_EQ(erased->tool, facts.tool);
}

TEST(ReadEvent, TakesWordsItDoesNotKnowForOther) {
    TestLog log;
    for (const char* type : {"tool_call.tomorrow", "ledger.tomorrow", "tomorrow", "Session.opened"})
        EXPECT_EQ(read_event(log.append(usual_facts(type)).bytes, {})->type, "other") << type;
}

TEST(ReadEvent, KeepsTheTypesOfHosts) {
    TestLog log;
    EXPECT_EQ(read_event(log.append(usual_facts("session.opened")).bytes, {})->type, "session.opened");
}

TEST(ReadEvent, SaysWhereBytesAreNoEvent) {
    const auto event = read_event("{\"action\":7}", {});
    ASSERT_FALSE(event);
    EXPECT_EQ(event.error().code, ErrorCode::audit_failure);
    EXPECT_EQ(event.error().details.at("byte"), 10);
}

}  // namespace
}  // namespace callgate::ledger
