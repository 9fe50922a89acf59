// What a call is, as one number: the fingerprint tells whether two calls are the same request, the action
// digest binds an approval to everything that decides the effect.
//
// Both are SHA-256 over a tag and a canonical text of the exact, normalised request, secrets by name. Equal
// requests always give equal digests, different ones never do: key order and spelling of numbers do not
// count, and bytes that are not UTF-8 are told apart.
//
// Threads: all functions may be called from any thread. The structs hold views; what they point to must
// outlive the call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <callgate/json.h>
#include <callgate/outcome.h>
#include <callgate/tool.h>

#include "base/sha256.h"
#include "ledger/call_row.h"

namespace callgate::ledger {

/// One request. `target` is what the contract's target argument names, "" where there is none.
struct RequestIdentity {
    std::string_view tool_id;
    base::Sha256Digest definition_hash;
    std::string_view action;
    const Value& arguments;
    std::string_view target;

    RequestIdentity(std::string_view tool, const base::Sha256Digest& definition, std::string_view what,
                    const Value& args, std::string_view whom = {})
        : tool_id(tool), definition_hash(definition), action(what), arguments(args), target(whom) {}
};

/// Without the definition: a call that is sent again after its tool was described in other words is the same
/// request.
base::Sha256Digest fingerprint(const RequestIdentity& request);
/// As earlier versions recorded it: with the definition.
base::Sha256Digest earlier_fingerprint(const RequestIdentity& request);

/// One decision that a person is asked for.
struct ActionIdentity {
    RequestIdentity request;  ///< its target is not used: resolved_targets say more
    std::string_view tenant;
    std::string_view requester;
    CallId call_id;  ///< of the call that asked
    std::string_view server_identity;
    std::string_view connector;                 ///< whose secrets it uses
    std::string_view config_ref;                ///< of the provider's configuration
    std::string_view version;                   ///< of the body: Tool::version()
    std::vector<std::string> secret_refs;       ///< names, in the contract's order
    std::vector<std::string> resolved_targets;  ///< what the arguments mean: real paths, hosts, accounts
    EffectClass effect = EffectClass::unsafe;
    std::string_view decision;  ///< e.g. "confirm"
    std::string_view rule_id;   ///< "" is the matrix
    Risk risk = Risk::low;
    std::string_view idempotency_key;
    bool handed_in = false;  ///< its tool is in no registry: call_direct

    ActionIdentity(RequestIdentity what, std::string_view of_tenant, std::string_view asked_by,
                   const CallId& id)
        : request(what), tenant(of_tenant), requester(asked_by), call_id(id) {}
};

/// Which key, as one number.
base::Sha256Digest hash_of(const KeyScope& key);

/// 64 lower-case digits, as Approval::digest holds it.
std::string action_digest(const ActionIdentity& action);

}  // namespace callgate::ledger
