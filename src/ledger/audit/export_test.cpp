#include "ledger/audit/export.h"

#include <gtest/gtest.h>

#include <callgate/json.h>

#include "ledger/audit/audit_testing.h"

namespace callgate::ledger {
namespace {

std::string exported(AuditReader& reader) {
    std::string out;
    const auto done = export_jsonl(reader, [&](std::string_view text) -> Result<void> {
        out += text;
        return {};
    });
    EXPECT_TRUE(done);
    return out;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    return lines;
}

TEST(AuditExport, HasALineForEverythingInTheOrderItHappened) {
    TestLog log;
    log.open();
    log.checkpoint();
    log.add(usual_facts());
    log.add(usual_facts());
    log.checkpoint();
    log.add(usual_facts());
    const auto lines = lines_of(exported(log.stored));
    ASSERT_EQ(lines.size(), 7u);
    EXPECT_EQ(lines[0], R"({"callgate_audit":1,"chain":"test-chain"})");
    ASSERT_TRUE(read_header_line(lines[0]));
    EXPECT_EQ(read_header_line(lines[0])->chain_id, "test-chain");
    EXPECT_EQ(read_checkpoint_line(lines[2]), log.stored.all_checkpoints()[0]);
    EXPECT_EQ(read_checkpoint_line(lines[5]), log.stored.all_checkpoints()[1]);
    ExportedEvent event;
    ASSERT_FALSE(read_event_line(lines[6], event));
    EXPECT_EQ(event.view.sequence(), 4u);
    EXPECT_EQ(event.bytes, log.stored.all_rows()[3].bytes);
    EXPECT_EQ(event.hash, log.stored.all_rows()[3].hash);
}

TEST(AuditExport, ConsistsOfCanonicalJson) {
    TestLog log;
    log.open();
    AuditFacts facts = usual_facts();
    facts.detail = "caf\u00e9 \"x\"\n\x02";
    const PayloadView payloads[] = {{"result", "\xff\x00"}, {"arguments", "{}"}};
    log.add(facts, payloads);
    log.checkpoint();
    for (const std::string& line : lines_of(exported(log.stored))) {
        const auto value = json::parse(line);
        ASSERT_TRUE(value) << line;
        EXPECT_EQ(json::canonical(*value), line);
    }
}

TEST(AuditExport, CarriesPayloadsOfAnyBytes) {
    TestLog log;
    AuditFacts facts = usual_facts();
    facts.detail = "detail";
    const PayloadView payloads[] = {{"result", {"\xff\x00\x01", 3}}, {"arguments", {"a\x00z", 3}}};
    log.add(facts, payloads);
    ExportedEvent event;
    ASSERT_FALSE(read_event_line(lines_of(exported(log.stored))[1], event));
    ASSERT_EQ(event.payloads.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(event.payloads[i], log.stored.all_payloads()[i].payload);
}

TEST(AuditExport, ReadsNothingButItsOwnLines) {
    TestLog log;
    AuditFacts facts = usual_facts();
    facts.detail = "detail";
    const PayloadView payloads[] = {{"result", "\xff"}};
    log.add(facts, payloads);
    const std::string line = lines_of(exported(log.stored))[1];
    ExportedEvent event;
    for (std::size_t size = 0; size < line.size(); ++size)
        EXPECT_TRUE(read_event_line(line.substr(0, size), event)) << size;
    const auto refused = [&](std::string_view old, std::string_view fresh) {
        std::string changed = line;
        const std::size_t at = changed.rfind(old);
        EXPECT_NE(at, std::string::npos) << old;
        return read_event_line(changed.replace(at, old.size(), fresh), event).has_value();
    };
    EXPECT_TRUE(refused("}}}", "}}} "));
    EXPECT_TRUE(refused("\"hash\"", "\"Hash\""));
    EXPECT_TRUE(refused("\"payloads\":{", "\"payloads\":{ "));
    EXPECT_TRUE(refused("\"hex\":\"ff\"", "\"hex\":\"FF\""));
    EXPECT_TRUE(refused("\"hex\":\"ff\"", "\"hex\":\"66\""));
    EXPECT_TRUE(refused("\"hex\":\"ff\"", "\"hex\":\"\""));
    EXPECT_TRUE(refused("\"text\":\"detail\"", "\"text\":\"\""));
    EXPECT_TRUE(refused("\"text\":\"detail\"", "\"text\":1"));
    EXPECT_TRUE(refused("\"result\":{", "\"detail\":{"));
    EXPECT_TRUE(refused("\"result\":{", "\"Result\":{"));
    EXPECT_FALSE(refused("\"text\":\"detail\"", "\"text\":\"other\"")) << "it is a line, if a wrong one";
    EXPECT_FALSE(read_header_line(R"({"callgate_audit":2,"chain":"a"})"));
    EXPECT_FALSE(read_header_line(R"({"callgate_audit":1,"chain":""})"));
    EXPECT_FALSE(read_checkpoint_line(R"({"checkpoint":"a" })"));
    EXPECT_FALSE(read_checkpoint_line(R"({"checkpoint":1})"));
}

TEST(AuditExport, StopsWhenItCannotBeWritten) {
    TestLog log(5);
    int lines = 0;
    const auto full = [&](std::string_view) -> Result<void> {
        if (++lines == 3) return fail(ErrorCode::internal, "full");
        return {};
    };
    EXPECT_EQ(export_jsonl(log.stored, full).error().message, "full");
    EXPECT_EQ(lines, 3);
}

TEST(WalkAudit, TellsOfAPartWithTheCheckpointsInIt) {
    TestLog log;
    log.open();
    for (int i = 0; i < 3'000; ++i) {
        log.add(usual_facts());
        if (i % 500 == 0) log.checkpoint();
    }
    struct Counts final : AuditVisitor {
        bool event(const AuditRow& row, std::span<const StoredPayload>) override {
            last = row.sequence;
            return ++events != limit;
        }
        bool checkpoint(std::string_view) override {
            ++checkpoints;
            return true;
        }
        std::uint64_t last = 0, events = 0, checkpoints = 0, limit = 0;
    } part, all, few;
    ASSERT_TRUE(walk_audit(log.stored, 1'000, 2'100, part));
    EXPECT_EQ(part.events, 1'100u);
    EXPECT_EQ(part.last, 2'099u);
    EXPECT_EQ(part.checkpoints, 3u);  // of 1002, 1502 and 2002 events
    ASSERT_TRUE(walk_audit(log.stored, 0, kMaxAuditInteger, all));
    EXPECT_EQ(all.events, 3'001u);
    EXPECT_EQ(all.checkpoints, 6u);
    few.limit = 7;
    ASSERT_TRUE(walk_audit(log.stored, 1, kMaxAuditInteger, few));
    EXPECT_EQ(few.last, 7u);
}

TEST(WalkAudit, FindsWhatIsFarApart) {
    TestLog log(3);
    log.stored.add(AuditRow{kMaxAuditInteger - 1, "far", {}});
    struct Last final : AuditVisitor {
        bool event(const AuditRow& row, std::span<const StoredPayload>) override {
            last = row.bytes;
            return true;
        }
        bool checkpoint(std::string_view) override { return true; }
        std::string last;
    } visitor;
    ASSERT_TRUE(walk_audit(log.stored, 1, kMaxAuditInteger, visitor));
    EXPECT_EQ(visitor.last, "far");
}

TEST(CefExport, HasOneEscapedLineForEachEvent) {
    TestLog log;
    AuditFacts facts = usual_facts("tool_call.unknown");
    facts.tool = "a|b\\c";
    facts.principal = "x=y\\z\nq";
    facts.detail = "line\r\nbreak\x01";
    facts.trace_id = "t\xff";
    const AuditRow& row = log.add(facts);
    std::vector<StoredPayload> payloads;
    for (const PayloadRow& one : log.stored.all_payloads()) payloads.push_back(one.payload);
    EXPECT_EQ(
        cef_line(row, payloads),
        "CEF:0|Callgate|callgate|1|tool_call.unknown|tool_call.unknown a\\|b\\\\c|8|rt=1790000000000 "
        "externalId=1 act=call outcome=success suser=x\\=y\\\\z\\nq destinationServiceName=a|b\\\\c "
        "msg=line\\r\\nbreak  cs1Label=callId cs1=01020304-0506-0708-090a-0b0c0d0e0f01 cs2Label=chain "
        "cs2=test-chain cs3Label=hash cs3=" +
            base::to_hex(log.chain.head().hash) +
            " cs5Label=tenant cs5=acme cs6Label=trace cs6=hex:74ff flexString1Label=risk flexString1=low "
            "flexString2Label=stage flexString2=settle\n");
}

TEST(CefExport, SaysWhenARecordIsNoEvent) {
    EXPECT_EQ(cef_line({7, "{", {}}, {}),
              "CEF:0|Callgate|callgate|1|audit.unreadable|This record is no audit event|10|externalId=7 "
              "msg=a member's name was expected, at byte 1\n");
}

}  // namespace
}  // namespace callgate::ledger
