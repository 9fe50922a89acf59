// What the audit costs: an event on its caller's thread and on the writer's, a proof in a log of ten million
// events, verification.
#include <benchmark/benchmark.h>

#include "ledger/audit/audit_testing.h"
#include "ledger/audit/proof.h"
#include "ledger/audit/verify.h"

namespace callgate::ledger {
namespace {

AuditFacts benched_facts() {
    AuditFacts facts = usual_facts();
    facts.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
    facts.run_id = "run-20261115-0001";
    return facts;
}

AuditChain benched_chain(base::Rng& rng) {
    return AuditChain("node-1", "0192f0c1-7b1e-7000-8000-0123456789ab", empty_head("node-1"), rng);
}

void draft_event_with_two_payloads(benchmark::State& state) {
    base::SystemRng rng;
    const AuditChain chain = benched_chain(rng);
    AuditFacts facts = benched_facts();
    facts.detail = "The mail was accepted for delivery.";
    const std::string arguments(300, 'a');
    const PayloadView payloads[] = {{"arguments", arguments}};
    for (auto _ : state) benchmark::DoNotOptimize(chain.draft(facts, payloads));
}
void draft_event(benchmark::State& state) {
    base::SystemRng rng;
    const AuditChain chain = benched_chain(rng);
    for (auto _ : state) benchmark::DoNotOptimize(chain.draft(benched_facts()));
}
void append_drafted_event(benchmark::State& state) {
    base::SystemRng rng;
    AuditChain chain = benched_chain(rng);
    const DraftedEvent event = chain.draft(benched_facts());
    for (auto _ : state) {
        benchmark::DoNotOptimize(chain.append(event.text, benched_facts().at, std::chrono::microseconds(5)));
        benchmark::DoNotOptimize(chain.take_nodes());
    }
}
BENCHMARK(draft_event);
BENCHMARK(draft_event_with_two_payloads);
BENCHMARK(append_drafted_event);

/// A log whose events are never looked at: their hashes follow from their numbers.
class HugeLog final : public AuditReader {
public:
    explicit HugeLog(std::uint64_t size) : size_(size), nodes_("huge") {
        Frontier tree;
        for (std::uint64_t i = 1; i <= size; ++i)
            tree.push_leaf(hasher_, leaf_hash(hasher_, hash_of(i)), [&](const TreeNode& node) {
                if (node.level % kTileLevels == 0) nodes_.add(std::vector{node});
            });
        root = tree.root(hasher_);
    }

    const std::string& chain_id() const override { return nodes_.chain_id(); }
    Result<std::uint64_t> size() override { return size_; }
    Result<std::vector<AuditRow>> rows(std::uint64_t, std::uint64_t) override {
        return std::vector<AuditRow>();
    }
    Result<std::vector<Sha256Digest>> hashes(std::uint64_t from, std::uint64_t to) override {
        std::vector<Sha256Digest> out;
        for (; from < to; ++from) out.push_back(hash_of(from));
        return out;
    }
    Result<std::vector<TreeNode>> nodes(int level, std::uint64_t from, std::uint64_t to) override {
        return nodes_.nodes(level, from, to);
    }
    Result<std::vector<PayloadRow>> payloads(std::uint64_t, std::uint64_t) override {
        return std::vector<PayloadRow>();
    }
    Result<std::vector<std::string>> checkpoints(std::uint64_t&, std::size_t) override {
        return std::vector<std::string>();
    }
    Result<std::optional<std::string>> latest_checkpoint() override { return std::nullopt; }

    Sha256Digest hash_of(std::uint64_t number) {
        return hasher_.update({reinterpret_cast<const char*>(&number), sizeof number}).finish();
    }
    Sha256Digest root{};

private:
    std::uint64_t size_;
    MemoryAudit nodes_;
    base::Sha256 hasher_;
};

void inclusion_proof_of_ten_million(benchmark::State& state) {
    constexpr std::uint64_t kSize = 10'000'000;
    HugeLog log(kSize);
    std::uint64_t sequence = 1;
    std::size_t bytes = 0;
    for (auto _ : state) {
        sequence = sequence * 48'271 % kSize + 1;
        const auto path = inclusion_proof(log, sequence, kSize);
        bytes = path->size() * sizeof(Sha256Digest);
        if (!verify_inclusion(log.hash_of(sequence), sequence, kSize, *path, log.root))
            state.SkipWithError("the proof does not hold");
    }
    state.counters["proof_bytes"] = static_cast<double>(bytes);
}
BENCHMARK(inclusion_proof_of_ten_million)->Unit(benchmark::kMicrosecond);

void verify_stored_log(benchmark::State& state) {
    TestLog log;
    log.open();
    for (int i = 0; i < 20'000; ++i) {
        log.add(usual_facts());
        if (i % 1'000 == 0) log.checkpoint();
    }
    for (auto _ : state) benchmark::DoNotOptimize(verify_audit(log.stored, {}));
    state.SetItemsProcessed(state.iterations() * 20'001);
}
BENCHMARK(verify_stored_log)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace callgate::ledger
