// What a definition's annotations say about risk and effect, as a contract to be reviewed.
#include <array>
#include <utility>

#include <fmt/format.h>

#include <callgate/definitions.h>

#include "json/size.h"

namespace callgate {

namespace {

class HintReader {
public:
    explicit HintReader(const ToolDefinition& definition) : annotations_(definition.annotations) {}

    /// What is said; nothing if it is not.
    std::optional<bool> operator[](std::string_view name) {
        const Value* const value = annotations_.if_contains(name);
        if (value == nullptr) return std::nullopt;
        if (value->is_bool()) return value->get_bool();
        reasons.push_back(fmt::format("{} is {}, not true or false: it is not used.", name,
                                      json::kind_with_article(*value)));
        return std::nullopt;
    }

    std::vector<std::string> reasons;

private:
    const Object& annotations_;
};

void propose_read(ContractProposal& proposal, std::optional<bool> open_world) {
    proposal.contract.effect = EffectClass::read;
    proposal.contract.risk = Risk::low;
    proposal.reasons.emplace_back("readOnlyHint is true: effect read, risk low.");
    if (open_world == true)
        proposal.reasons.emplace_back(
            "openWorldHint is true: what it is asked leaves this machine, and what it answers may hold "
            "instructions. Raise the risk where that matters.");
}

void propose_write(ContractProposal& proposal, std::optional<bool> destructive,
                   std::optional<bool> open_world) {
    const bool mild = destructive == false && open_world == false;
    proposal.contract.risk = mild ? Risk::medium : Risk::high;
    if (mild) {
        proposal.reasons.emplace_back(
            "destructiveHint and openWorldHint are false: it only adds, and only here: risk medium.");
    } else if (destructive != false) {
        proposal.reasons.push_back(fmt::format("destructiveHint is {}: risk high.",
                                               destructive ? "true" : "absent, which stands for true"));
    } else {
        proposal.reasons.push_back(
            fmt::format("destructiveHint is false, but openWorldHint is {}: what leaves this machine cannot "
                        "be called back: risk high.",
                        open_world ? "true" : "absent, which stands for true"));
    }
}

void propose_effect(ContractProposal& proposal, std::optional<bool> idempotent) {
    if (idempotent == true) {
        proposal.contract.effect = EffectClass::keyed;
        proposal.reasons.emplace_back(
            "idempotentHint is true: effect keyed, so a call may be sent again with the same arguments.");
        return;
    }
    proposal.contract.effect = EffectClass::unsafe;
    proposal.reasons.push_back(fmt::format("idempotentHint is {}: effect unsafe, a call is never sent twice.",
                                           idempotent ? "false" : "absent, which stands for false"));
}

}  // namespace

ContractProposal propose_contract(const ToolDefinition& definition) {
    HintReader hints(definition);
    const auto read_only = hints["readOnlyHint"];
    const auto destructive = hints["destructiveHint"];
    const auto idempotent = hints["idempotentHint"];
    const auto open_world = hints["openWorldHint"];
    ContractProposal proposal;
    proposal.reasons = std::move(hints.reasons);
    proposal.contract.provider = ProviderType::mcp;
    if (read_only == true && destructive != true) {
        propose_read(proposal, open_world);
        return proposal;
    }
    if (read_only == true)
        proposal.reasons.emplace_back(
            "readOnlyHint and destructiveHint are both true, which cannot be: readOnlyHint is not used.");
    propose_write(proposal, destructive, open_world);
    propose_effect(proposal, idempotent);
    return proposal;
}

}  // namespace callgate
