// For tests of the audit: events as a call makes them, and logs of any length.
#pragma once

#include <string>

#include "base/rng.h"
#include "ledger/audit/checkpoint.h"
#include "ledger/audit/reader.h"

namespace callgate::ledger {

/// What a usual event says.
inline AuditFacts usual_facts(std::string_view type = "tool_call.succeeded", std::uint8_t call = 1) {
    AuditFacts facts;
    facts.at = std::chrono::system_clock::time_point(std::chrono::seconds(1'790'000'000));
    facts.type = type;
    facts.outcome = "success";
    facts.stage = "settle";
    facts.attempt = 1;
    facts.latency = std::chrono::nanoseconds(1'234'567);
    facts.call_id = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, call};
    facts.tenant = "acme";
    facts.principal = "agent-7";
    facts.tool = "mail/send";
    facts.action = "call";
    return facts;
}

/// A log of `events` events that the chain itself made, with its nodes. Without open(), nothing in it is
/// signed.
struct TestLog {
    base::SeededRng rng{1};
    AuditChain chain{"test-chain", "boot-1", empty_head("test-chain"), rng};
    MemoryAudit stored{"test-chain"};

    explicit TestLog(std::uint64_t events = 0) {
        for (std::uint64_t i = 0; i < events; ++i) add(usual_facts());
    }
    struct Appended : ChainedEvent {
        std::vector<StoredPayload> payloads;
    };
    /// To the chain, not to what is stored.
    Appended append(const AuditFacts& facts, std::span<const PayloadView> payloads = {},
                    const KeyNames& named = {}) {
        DraftedEvent drafted = chain.draft(facts, payloads, named);
        const std::chrono::microseconds mono(chain.head().size());
        return {chain.append(drafted.text, facts.at, mono), std::move(drafted.payloads)};
    }
    const AuditRow& add(const AuditFacts& facts, std::span<const PayloadView> payloads = {},
                        const KeyNames& named = {}) {
        const Appended event = append(facts, payloads, named);
        stored.add(event, event.payloads);
        stored.add(chain.take_nodes());
        return stored.all_rows().back();
    }

    /// The event that names the key.
    void open() {
        const std::string vkey = keys.back().verifying_key().vkey();
        add(usual_facts("audit.opened"), {}, {vkey, {}});
    }
    /// Changes the key; the next checkpoint is signed by both.
    void rotate() {
        const std::string old_key = keys.back().verifying_key().vkey();
        keys.push_back(SigningKey::generate(audit_origin("test-chain"), rng));
        handing_over = true;
        const std::string key = keys.back().verifying_key().vkey();
        add(usual_facts("audit.key_rotated"), {}, {key, old_key});
    }
    std::string checkpoint() {
        const Checkpoint now{audit_origin("test-chain"), chain.head().size(), chain.root()};
        const std::size_t first = keys.size() - (std::exchange(handing_over, false) ? 2 : 1);
        stored.add_checkpoint(sign_checkpoint(now, std::span(keys).subspan(first)));
        return stored.all_checkpoints().back();
    }

    std::vector<SigningKey> keys{SigningKey::generate(audit_origin("test-chain"), rng)};
    bool handing_over = false;
};

}  // namespace callgate::ledger
