#include "ledger/audit/verify.h"

#include <gtest/gtest.h>

#include "ledger/audit/audit_testing.h"

namespace callgate::ledger {
namespace {

/// A log with all that a log can have, and a witness of every checkpoint.
struct FullLog : TestLog {
    FullLog() {
        open();
        for (int i = 0; i < 30; ++i) {
            AuditFacts facts = usual_facts();
            facts.detail = "detail";
            const PayloadView payloads[] = {{"arguments", "{}"}};
            add(facts, payloads);
            if (i % 10 == 9) witness();
        }
        rotate();
        add(usual_facts());
        witness();
        add(usual_facts());
        witness();
    }
    void witness() { witnessed.push_back(checkpoint()); }

    VerifyOptions options() const {
        VerifyOptions out;
        out.pinned.push_back(keys.front().verifying_key());
        out.witnessed = witnessed;
        return out;
    }
    VerifyReport verify() { return verify(options()); }
    /// Both ways, which must agree.
    VerifyReport verify(const VerifyOptions& with) {
        const VerifyReport direct = verify_audit(stored, with).value();
        ExportVerifier verifier(with);
        EXPECT_TRUE(export_jsonl(stored, [&](std::string_view text) -> Result<void> {
            verifier.feed(text.substr(0, text.size() / 2));
            verifier.feed(text.substr(text.size() / 2));
            return {};
        }));
        const VerifyReport by_export = verifier.finish();
        EXPECT_EQ(direct.verdict(), by_export.verdict());
        EXPECT_EQ(direct.fault.has_value(), by_export.fault.has_value());
        if (direct.fault && by_export.fault) {
            EXPECT_EQ(direct.fault->kind, by_export.fault->kind);
            EXPECT_EQ(direct.fault->sequence, by_export.fault->sequence);
        }
        return direct;
    }
    /// Recomputes all hashes, as somebody without the key can.
    void rehash() {
        base::Sha256 hasher;
        Sha256Digest last = empty_head("test-chain").hash;
        for (AuditRow& row : stored.all_rows()) last = row.hash = next_hash(hasher, last, row.bytes);
    }
    void edit(std::uint64_t sequence, std::string_view old, std::string_view fresh) {
        std::string& bytes = stored.all_rows()[sequence - 1].bytes;
        const std::size_t at = bytes.find(old);
        ASSERT_NE(at, std::string::npos) << old;
        bytes.replace(at, old.size(), fresh);
    }

    std::vector<std::string> witnessed;
};

std::string fault_of(const VerifyReport& report) {
    return report.fault
               ? std::string(to_string(report.fault->kind)) + " " + std::to_string(report.fault->sequence)
               : "none";
}

TEST(VerifyAudit, FindsNothingWrongWithAnUntouchedLog) {
    FullLog log;
    const VerifyReport report = log.verify();
    EXPECT_EQ(fault_of(report), "none");
    EXPECT_EQ(report.verdict(), AuditVerdict::intact);
    EXPECT_EQ(report.events, 34u);
    EXPECT_EQ(report.checkpoints, 5u);
    EXPECT_EQ(report.signed_events, 34u);
    EXPECT_EQ(report.witnessed_events, 34u);
    EXPECT_EQ(report.payloads, 60u);
    EXPECT_EQ(report.erased_payloads, 0u);
    EXPECT_TRUE(report.pinned);
    EXPECT_EQ(report.key, log.keys.back().verifying_key().vkey());
    EXPECT_NE(report.summary().find("34 events are intact"), std::string::npos);
    EXPECT_EQ(report.summary().find("not signed yet"), std::string::npos);
    log.add(usual_facts());
    EXPECT_EQ(log.verify().unsigned_events(), 1u);
    EXPECT_NE(log.verify().summary().find("1 events after the last checkpoint are not signed yet"),
              std::string::npos);
    EXPECT_EQ(report.to_json().at("verdict"), "intact");
}

TEST(VerifyAudit, RaisesNoAlarmWhileTheLogGrows) {
    /// Another event and its checkpoint come with every question.
    class Growing final : public AuditReader {
    public:
        explicit Growing(FullLog& log) : log_(log) {}
        const std::string& chain_id() const override { return log_.stored.chain_id(); }
        Result<std::uint64_t> size() override { return grown().size(); }
        Result<std::vector<AuditRow>> rows(std::uint64_t from, std::uint64_t to) override {
            return grown().rows(from, to);
        }
        Result<std::vector<Sha256Digest>> hashes(std::uint64_t from, std::uint64_t to) override {
            return grown().hashes(from, to);
        }
        Result<std::vector<TreeNode>> nodes(int level, std::uint64_t from, std::uint64_t to) override {
            return grown().nodes(level, from, to);
        }
        Result<std::vector<PayloadRow>> payloads(std::uint64_t from, std::uint64_t to) override {
            return grown().payloads(from, to);
        }
        Result<std::vector<std::string>> checkpoints(std::uint64_t& place, std::size_t limit) override {
            return grown().checkpoints(place, limit);
        }
        Result<std::optional<std::string>> latest_checkpoint() override {
            return grown().latest_checkpoint();
        }

    private:
        MemoryAudit& grown() {
            log_.add(usual_facts());
            log_.checkpoint();
            return log_.stored;
        }
        FullLog& log_;
    };
    FullLog log;
    Growing growing(log);
    const auto report = verify_audit(growing, log.options());
    ASSERT_TRUE(report);
    EXPECT_EQ(fault_of(*report), "none");
    EXPECT_GT(report->events, 34u);
}

TEST(VerifyAudit, AcceptsAnEmptyLog) {
    MemoryAudit empty("c");
    EXPECT_EQ(verify_audit(empty, {})->verdict(), AuditVerdict::unwitnessed);
}

TEST(VerifyAudit, SaysWhatCannotBeFoundWithoutAWitness) {
    FullLog log;
    VerifyOptions options = log.options();
    options.witnessed.clear();
    const VerifyReport report = log.verify(options);
    EXPECT_EQ(report.verdict(), AuditVerdict::unwitnessed);
    EXPECT_NE(report.summary().find("Without a witness"), std::string::npos);
}

TEST(VerifyAudit, BelievesTheLogsOwnKeyOnlyAloud) {
    FullLog log;
    VerifyOptions options = log.options();
    options.pinned.clear();
    const VerifyReport report = log.verify(options);
    EXPECT_EQ(report.verdict(), AuditVerdict::intact);
    EXPECT_FALSE(report.pinned);
    EXPECT_NE(report.summary().find("not pinned"), std::string::npos);
}

TEST(VerifyAudit, FindsChangedBytes) {
    FullLog log;
    log.edit(7, "mail/send", "mail/sent");
    const VerifyReport report = log.verify();
    EXPECT_EQ(fault_of(report), "hash 7");
    EXPECT_EQ(report.verdict(), AuditVerdict::broken);
    EXPECT_EQ(report.events, 6u);
    EXPECT_NE(report.summary().find("BROKEN at 7 (hash)"), std::string::npos);
    EXPECT_EQ(report.to_json().at("fault").as_object().at("kind"), "hash");
    log.edit(3, "\"v\":1", "\"v\":9");
    EXPECT_EQ(fault_of(log.verify()), "malformed 3");
}

TEST(VerifyAudit, FindsHashesThatWereMadeAnew) {
    FullLog log;
    log.edit(7, "mail/send", "mail/sent");
    log.rehash();
    const VerifyReport report = log.verify();
    EXPECT_EQ(fault_of(report), "root 11");
    EXPECT_NE(report.fault->sentence.find("events 1 to 11"), std::string::npos);
}

TEST(VerifyAudit, FindsWhatWasTakenOutPutInOrMoved) {
    const auto with = [](auto change) {
        FullLog log;
        change(log.stored.all_rows());
        return fault_of(verify_audit(log.stored, log.options()).value());
    };
    using Rows = std::vector<AuditRow>;
    EXPECT_EQ(with([](Rows& rows) { rows.erase(rows.begin() + 4); }), "sequence 5");
    EXPECT_EQ(with([](Rows& rows) { std::swap(rows[4].bytes, rows[5].bytes); }), "sequence 5");
    EXPECT_EQ(with([](Rows& rows) { rows.insert(rows.begin() + 4, rows[4]); }), "sequence 6");
    EXPECT_EQ(with([](Rows& rows) { rows.resize(33); }), "checkpoint_size 33");
    EXPECT_EQ(with([](Rows& rows) { rows[4].sequence = 6, rows[5].sequence = 7; }), "sequence 5");
    EXPECT_EQ(with([](Rows& rows) { rows[8].hash[3] ^= 4; }), "hash 9");
}

TEST(VerifyAudit, FindsEventsOfAnotherLog) {
    FullLog log;
    log.edit(2, "\"chain\":\"test-chain\"", "\"chain\":\"other\"");
    EXPECT_EQ(fault_of(log.verify()), "chain 2");
    VerifyOptions options = log.options();
    options.chain_id = "expected";
    EXPECT_EQ(fault_of(verify_audit(log.stored, options).value()), "chain 1");
}

TEST(VerifyAudit, FindsPayloadsThatAreNotTheRecordedOnes) {
    FullLog log;
    auto& payloads = log.stored.all_payloads();
    payloads[6].payload.bytes = "other";
    EXPECT_EQ(fault_of(log.verify()), "payload 5");
    payloads[6].payload.bytes = "{}";
    EXPECT_EQ(fault_of(log.verify()), "none");
    payloads[6].payload.salt[0] ^= 1;
    EXPECT_EQ(fault_of(log.verify()), "payload 5");
    payloads[6].payload.salt[0] ^= 1;
    payloads[6].payload.field = "another";
    EXPECT_EQ(fault_of(log.verify()), "payload 5");
}

TEST(VerifyAudit, CountsErasedPayloadsAndGoesOn) {
    FullLog log;
    auto& payloads = log.stored.all_payloads();
    payloads.erase(payloads.begin() + 3, payloads.begin() + 8);
    const VerifyReport report = log.verify();
    EXPECT_EQ(report.verdict(), AuditVerdict::intact);
    EXPECT_EQ(report.payloads, 55u);
    EXPECT_EQ(report.erased_payloads, 5u);
    EXPECT_NE(report.summary().find("5 payloads were erased"), std::string::npos);
}

TEST(VerifyAudit, FindsCheckpointsThatAreForgedMovedOrForeign) {
    base::SeededRng rng(9);
    const SigningKey stranger = SigningKey::generate(audit_origin("test-chain"), rng);
    const auto with = [](auto change) {
        FullLog log;
        change(log, log.stored.all_checkpoints());
        return fault_of(verify_audit(log.stored, log.options()).value());
    };
    using Notes = std::vector<std::string>;
    const auto resigned = [](const std::string& note, const SigningKey& key) {
        return sign_checkpoint(parse_checkpoint(note)->checkpoint, std::span(&key, 1));
    };
    EXPECT_EQ(with([&](FullLog&, Notes& notes) { notes[1] = resigned(notes[1], stranger); }), "signature 21");
    EXPECT_EQ(with([](FullLog&, Notes& notes) { notes[1] = "nonsense"; }), "checkpoint 11");
    EXPECT_EQ(with([](FullLog&, Notes& notes) { std::swap(notes[0], notes[1]); }), "checkpoint_size 21");
    EXPECT_EQ(with([&](FullLog& log, Notes& notes) {
                  Checkpoint other = parse_checkpoint(notes[0])->checkpoint;
                  other.origin = "callgate/audit/other";
                  notes[0] = sign_checkpoint(other, std::span(&log.keys[0], 1));
              }),
              "checkpoint 11");
    // The checkpoint that hands over needs both keys.
    for (const std::size_t key : {0u, 1u})
        EXPECT_EQ(with([&](FullLog& log, Notes& notes) { notes[3] = resigned(notes[3], log.keys[key]); }),
                  "signature 33");
    // And the old one alone is of no use afterwards.
    EXPECT_EQ(with([&](FullLog& log, Notes& notes) { notes[4] = resigned(notes[4], log.keys[0]); }),
              "signature 34");
}

TEST(VerifyAudit, HoldsTheLogAgainstThePinnedKeys) {
    FullLog log;
    VerifyOptions options = log.options();
    options.pinned = {log.keys[1].verifying_key()};
    EXPECT_EQ(fault_of(log.verify(options)), "none") << "the newest key stands behind all before it";
    base::SeededRng rng(9);
    options.pinned = {SigningKey::generate(audit_origin("test-chain"), rng).verifying_key()};
    EXPECT_EQ(fault_of(log.verify(options)), "key 11");
    log.stored.all_checkpoints().clear();
    EXPECT_EQ(fault_of(log.verify()), "key 34") << "nothing is signed at all";
}

TEST(VerifyAudit, WantsTheLastCheckpointFromAPinnedKey) {
    // Pinned is the newer key; somebody went on from before the rotation with the old, stolen one.
    FullLog log;
    VerifyOptions options;
    options.pinned = {log.keys[1].verifying_key()};
    auto& rows = log.stored.all_rows();
    rows.resize(31);
    log.stored.all_checkpoints().resize(3);
    EXPECT_EQ(fault_of(log.verify(options)), "key 11");
}

TEST(VerifyAudit, HoldsKeysToTheRulesOfRotation) {
    const auto rotated = [](std::string key, std::string old_key,
                            std::string_view type = "audit.key_rotated") {
        TestLog log;
        log.open();
        log.add(usual_facts(type), {}, {key, old_key});
        return fault_of(verify_audit(log.stored, {}).value());
    };
    TestLog other;
    const std::string first = other.keys[0].verifying_key().vkey();
    const std::string fresh =
        SigningKey::generate(audit_origin("test-chain"), other.rng).verifying_key().vkey();
    const std::string foreign = SigningKey::generate(audit_origin("x"), other.rng).verifying_key().vkey();
    EXPECT_EQ(rotated(fresh, first), "none");
    EXPECT_EQ(rotated(fresh, fresh), "key 2");
    EXPECT_EQ(rotated(fresh, ""), "key 2");
    EXPECT_EQ(rotated("no key", first), "key 2");
    EXPECT_EQ(rotated("", first), "key 2");
    EXPECT_EQ(rotated(foreign, first), "key 2");
    EXPECT_EQ(rotated(fresh, first, "audit.opened"), "key 2");
    EXPECT_EQ(rotated(fresh, "", "audit.opened"), "key 2") << "a new run does not change the key";
    EXPECT_EQ(rotated(first, first, "audit.opened"), "key 2");
    EXPECT_EQ(rotated("", "", "audit.opened"), "key 2");
    EXPECT_EQ(rotated(first, "", "audit.opened"), "none") << "a new run names the key in force";
    EXPECT_EQ(rotated(fresh, first, "tool_call.succeeded"), "key 2");
    TestLog twice;
    twice.open();
    twice.rotate();
    twice.rotate();
    EXPECT_EQ(fault_of(verify_audit(twice.stored, {}).value()), "key 3");
    TestLog late;
    late.add(usual_facts());
    late.add(usual_facts("audit.key_rotated"), {}, {first, {}});
    late.checkpoint();
    EXPECT_EQ(fault_of(verify_audit(late.stored, {}).value()), "none") << "a log may get its first key later";
    TestLog unnamed(2);
    unnamed.checkpoint();
    EXPECT_EQ(fault_of(verify_audit(unnamed.stored, {}).value()), "signature 2");
}

TEST(VerifyAudit, FindsACutEndByTheWitness) {
    FullLog log;
    log.stored.all_rows().resize(21);
    log.stored.all_checkpoints().resize(2);
    std::erase_if(log.stored.all_payloads(), [](const PayloadRow& row) { return row.sequence > 21; });
    VerifyOptions alone = log.options();
    alone.witnessed.clear();
    EXPECT_EQ(log.verify(alone).verdict(), AuditVerdict::unwitnessed);
    const VerifyReport report = log.verify();
    EXPECT_EQ(fault_of(report), "witness_size 21");
    EXPECT_NE(report.fault->sentence.find("34 events"), std::string::npos);
}

TEST(VerifyAudit, FindsAnotherHistoryByTheWitness) {
    FullLog truth;
    FullLog log;
    log.witnessed = truth.witnessed;
    EXPECT_EQ(fault_of(log.verify()), "none") << "the same seed makes the same log";
    TestLog other;
    other.open();
    for (int i = 0; i < 40; ++i) other.add(usual_facts("tool_call.failed"));
    other.checkpoint();
    EXPECT_EQ(verify_audit(other.stored, {})->verdict(), AuditVerdict::unwitnessed);
    EXPECT_EQ(fault_of(verify_audit(other.stored, truth.options()).value()), "witness_root 11");
}

TEST(VerifyAudit, TakesNotesOfOtherLogsForNone) {
    FullLog log;
    base::SeededRng rng(4);
    const SigningKey key = SigningKey::generate("callgate/audit/other", rng);
    VerifyOptions options = log.options();
    options.witnessed = {sign_checkpoint({"callgate/audit/other", 5, base::sha256("x")}, std::span(&key, 1))};
    EXPECT_EQ(log.verify(options).verdict(), AuditVerdict::unwitnessed);
    options.witnessed = {"nonsense"};
    EXPECT_EQ(fault_of(log.verify(options)), "witness 0");
}

TEST(VerifyAudit, TellsOfClocksThatWentBackWithoutAlarm) {
    TestLog log;
    AuditFacts facts = usual_facts();
    log.add(facts);
    facts.at -= std::chrono::hours(24);
    log.add(facts);
    log.add(facts);
    facts.at += std::chrono::hours(48);
    log.add(facts);
    facts.at -= std::chrono::seconds(59);  // a caller whose event was made before the last one's
    log.add(facts);
    facts.at -= std::chrono::seconds(2);
    log.add(facts);
    const auto report = verify_audit(log.stored, {});
    EXPECT_EQ(report->clock_steps_back, 2u);
    EXPECT_FALSE(report->fault);
    EXPECT_EQ(report->boots, 1u);
}

TEST(VerifyAudit, NamesCallsThatHaveNoEnd) {
    TestLog log;
    log.add(usual_facts("tool_call.attempted", 1));
    log.add(usual_facts("tool_call.attempted", 2));
    log.add(usual_facts("tool_call.attempted", 3));
    log.add(usual_facts("tool_call.attempted", 4));
    log.add(usual_facts("tool_call.attempted", 1));  // again
    AuditFacts taken_over = usual_facts("tool_call.taken_over", 4);
    taken_over.stage = "recovery";
    log.add(taken_over);  // goes on
    log.add(usual_facts("tool_call.unknown", 2));
    log.add(usual_facts("audit.gap", 3));
    const auto report = verify_audit(log.stored, {});
    EXPECT_EQ(report->open_calls, 2u);
    ASSERT_EQ(report->first_open_calls.size(), 2u);
    EXPECT_EQ(report->first_open_calls[0].sequence, 4u);
    EXPECT_EQ(report->first_open_calls[1].sequence, 5u);
    EXPECT_EQ(report->first_open_calls[1].call_id, "01020304-0506-0708-090a-0b0c0d0e0f01");
    EXPECT_FALSE(report->fault);
}

TEST(VerifyExport, FindsLinesThatAreNone) {
    FullLog log;
    std::string text;
    ASSERT_TRUE(export_jsonl(log.stored, [&](std::string_view line) -> Result<void> {
        text += line;
        return {};
    }));
    const auto fault = [&](const std::string& changed, std::size_t max_line = 1 << 20) {
        ExportVerifier verifier(log.options(), max_line);
        for (std::size_t at = 0; at < changed.size(); at += 1'000)
            verifier.feed(std::string_view(changed).substr(at, 1'000));
        return fault_of(verifier.finish());
    };
    EXPECT_EQ(fault(text), "none");
    EXPECT_EQ(fault(""), "malformed 1");
    EXPECT_EQ(fault(text.substr(text.find('\n') + 1)), "malformed 1");
    EXPECT_EQ(fault(text.substr(0, text.size() - 1)), "malformed 35");
    EXPECT_EQ(fault(text + "\n"), "malformed 35");
    EXPECT_EQ(fault(text, 300), "malformed 1");
    std::string spaced = text;
    spaced.insert(spaced.find("{\"checkpoint\"") + 1, " ");
    EXPECT_EQ(fault(spaced), "malformed 12");
    spaced = text;
    spaced.insert(spaced.find("{\"checkpoint\"") + 14, " ");
    EXPECT_EQ(fault(spaced), "malformed 12");
}

}  // namespace
}  // namespace callgate::ledger
