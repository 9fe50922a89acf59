#include "ledger/audit/proof.h"

#include <gtest/gtest.h>

#include "ledger/audit/audit_testing.h"
#include "ledger/audit/event_proof.h"

namespace callgate::ledger {
namespace {

/// The roots of all sizes, as the chain knew them.
struct GrownLog : TestLog {
    explicit GrownLog(std::uint64_t events) {
        roots.push_back(chain.root());
        for (std::uint64_t i = 0; i < events; ++i) {
            add(usual_facts());
            roots.push_back(chain.root());
        }
    }
    std::vector<Sha256Digest> roots;
};

TEST(AuditProof, ShowsThatAnEventIsInTheLog) {
    GrownLog log(600);
    for (const std::uint64_t size : {1u, 2u, 3u, 5u, 255u, 256u, 257u, 300u, 512u, 600u}) {
        for (std::uint64_t sequence = 1; sequence <= size; sequence += 1 + size / 40) {
            const auto path = inclusion_proof(log.stored, sequence, size);
            ASSERT_TRUE(path) << path.error().message;
            const Sha256Digest& hash = log.stored.all_rows()[sequence - 1].hash;
            EXPECT_TRUE(verify_inclusion(hash, sequence, size, *path, log.roots[size]))
                << sequence << " of " << size;
            // Only the truth passes.
            EXPECT_FALSE(verify_inclusion(log.roots[1], sequence, size, *path, log.roots[size]));
            EXPECT_FALSE(verify_inclusion(hash, sequence, size, *path, log.roots[size - 1]));
            EXPECT_FALSE(verify_inclusion(hash, sequence == 1 ? size + 1 : sequence - 1, size, *path,
                                          log.roots[size]));
            if (!path->empty()) {
                ProofPath changed = *path;
                changed[changed.size() / 2][7] ^= 1;
                EXPECT_FALSE(verify_inclusion(hash, sequence, size, changed, log.roots[size]));
                changed = *path;
                changed.pop_back();
                EXPECT_FALSE(verify_inclusion(hash, sequence, size, changed, log.roots[size]));
            }
            ProofPath longer = *path;
            longer.push_back(log.roots[1]);
            EXPECT_FALSE(verify_inclusion(hash, sequence, size, longer, log.roots[size]));
        }
    }
}

TEST(AuditProof, ShowsThatALogIsTheBeginningOfAnother) {
    GrownLog log(520);
    for (const std::uint64_t to : {0u, 1u, 2u, 7u, 8u, 255u, 256u, 257u, 400u, 512u, 520u}) {
        for (std::uint64_t from = 0; from <= to; from += 1 + to / 60) {
            const auto path = consistency_proof(log.stored, from, to);
            ASSERT_TRUE(path) << path.error().message;
            EXPECT_TRUE(verify_consistency(from, log.roots[from], to, log.roots[to], *path))
                << from << " to " << to;
            Sha256Digest other = log.roots[from];
            other[0] ^= 1;
            EXPECT_FALSE(verify_consistency(from, other, to, log.roots[to], *path));
            other = log.roots[to];
            other[0] ^= 1;
            if (from != 0) {
                EXPECT_FALSE(verify_consistency(from, log.roots[from], to, other, *path));
            }
            ProofPath longer = *path;
            longer.push_back(log.roots[1]);
            EXPECT_FALSE(verify_consistency(from, log.roots[from], to, log.roots[to], longer));
        }
    }
    EXPECT_FALSE(verify_consistency(3, log.roots[3], 2, log.roots[2], {}));
    EXPECT_FALSE(verify_consistency(3, log.roots[3], 5, log.roots[5], {}));
}

TEST(AuditProof, FindsTheRootOfEverySize) {
    GrownLog log(513);
    for (std::uint64_t size = 0; size <= 513; size += 19)
        EXPECT_EQ(root_at(log.stored, size).value(), log.roots[size]);
}

TEST(AuditProof, ReadsNoMoreThanATileOfEachLevel) {
    TestLog log(65'536 + 2'000);
    const auto size = log.chain.head().size();
    const auto path = inclusion_proof(log.stored, 30'000, size);
    ASSERT_TRUE(path);
    EXPECT_TRUE(verify_inclusion(log.stored.all_rows()[29'999].hash, 30'000, size, *path, log.chain.root()));
    // Events of other tiles, except the last one, are not needed.
    auto& rows = log.stored.all_rows();
    rows.erase(rows.begin() + 40'000, rows.begin() + 65'536);
    rows.erase(rows.begin(), rows.begin() + 29'000);
    EXPECT_EQ(inclusion_proof(log.stored, 30'000, size).value(), *path);
    rows.erase(rows.begin() + 900, rows.begin() + 1'001);
    EXPECT_EQ(inclusion_proof(log.stored, 30'000, size).error().details.at("reason"), "row_missing");
    log.stored.all_nodes().erase({8, 17});
    EXPECT_EQ(consistency_proof(log.stored, 5'000, size).error().details.at("reason"), "node_missing");
}

TEST(AuditProof, RefusesWhatTheLogDoesNotHave) {
    TestLog log(10);
    for (const auto& [sequence, size] : {std::pair(0u, 5u), {6u, 5u}, {5u, 11u}}) {
        const auto path = inclusion_proof(log.stored, sequence, size);
        ASSERT_FALSE(path);
        EXPECT_EQ(path.error().code, ErrorCode::invalid_arguments);
    }
    EXPECT_FALSE(consistency_proof(log.stored, 11, 11));
    EXPECT_FALSE(consistency_proof(log.stored, 3, 2));
}

struct ProvenLog : TestLog {
    ProvenLog() {
        open();
        for (int i = 0; i < 40; ++i) add(usual_facts());
        checkpoint();
        add(usual_facts());
        key.push_back(keys[0].verifying_key());
    }
    std::vector<VerifyingKey> key;
};

TEST(EventProof, ConvincesSomebodyWithoutTheLog) {
    ProvenLog log;
    for (const std::uint64_t sequence : {1u, 2u, 17u, 41u}) {
        const auto proof = prove_event(log.stored, sequence);
        ASSERT_TRUE(proof) << proof.error().message;
        const auto bytes = check_event_proof(*proof, log.key);
        ASSERT_TRUE(bytes) << bytes.error().message;
        EXPECT_EQ(*bytes, log.stored.all_rows()[sequence - 1].bytes);
    }
    EXPECT_FALSE(prove_event(log.stored, 42)) << "no checkpoint covers it yet";
    TestLog bare(3);
    EXPECT_EQ(prove_event(bare.stored, 1).error().details.at("reason"), "no_checkpoint");
}

TEST(EventProof, FailsWhenAnyOfItIsChanged) {
    ProvenLog log;
    const Object proof = prove_event(log.stored, 17).value();
    const auto holds = [&](std::string_view name, Value value) {
        Object changed = proof;
        changed[name] = std::move(value);
        const auto bytes = check_event_proof(changed, log.key);
        if (!bytes) {
            EXPECT_EQ(bytes.error().details.at("reason"), "bad_proof");
        }
        return bytes.has_value();
    };
    const Object other = prove_event(log.stored, 18).value();
    EXPECT_FALSE(holds("event", other.at("event")));
    EXPECT_FALSE(holds("event", "{}"));
    EXPECT_FALSE(holds("previous_hash", other.at("previous_hash")));
    EXPECT_FALSE(holds("previous_hash", "12"));
    EXPECT_FALSE(holds("path", other.at("path")));
    EXPECT_FALSE(holds("path", Array{"zz"}));
    EXPECT_FALSE(holds("path", nullptr));
    EXPECT_FALSE(holds("checkpoint", "no note"));
    EXPECT_FALSE(holds("callgate_audit_proof", 2));
    EXPECT_TRUE(holds("hash", "for the reader's convenience"));
    const std::vector<VerifyingKey> foreign{
        SigningKey::generate(audit_origin("test-chain"), log.rng).verifying_key()};
    EXPECT_FALSE(check_event_proof(proof, foreign));
    EXPECT_FALSE(check_event_proof(proof, {}));
}

}  // namespace
}  // namespace callgate::ledger
