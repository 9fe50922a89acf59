// Whose vote is worth what, and what an operator signs.
//
// The kernel vouches for a user, not for a person: a model whose tools run programs as some user can do
// whatever that user can. So a vote through the control socket or the command line counts A1, whoever casts
// it, with two exceptions that count A2: one by a user whom the host's configuration names as an operator,
// and one that carries the signature of the user's own operator key over exactly this decision.
//
// Requester and voter are compared by uid; names are for people, and a name service that fails changes
// nothing.
//
// Threads: pure functions, except is_own_request(), which asks the system's name service.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include <callgate/approvals.h>
#include <callgate/error.h>

namespace callgate::ledger {

/// What a vote by this user counts without a signature.
Assurance assurance_of(uid_t voter, const std::vector<uid_t>& operators) noexcept;

/// How many keys after the first one a key may come with.
inline constexpr std::size_t kMostSuccessions = 32;

/// What is signed: a tag, the approval's id and digest, and the decision.
std::string vote_statement(std::string_view approval_id, std::string_view digest, bool approve);
/// What the key before signs about the one that takes its place.
std::string succession_statement(uid_t uid, std::string_view next_vkey);

/// Whether the requester, by its name, is this user: "uid:1000" and "1000" by the number however it is
/// written, "user:ada" and "ada" by whom the system knows under that name. denied {reason: name_service}
/// where that cannot be found out now.
Result<bool> is_own_request(std::string_view requester, uid_t uid);

}  // namespace callgate::ledger
