#include "ledger/operators.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "os/unix_socket.h"

namespace callgate::ledger {

namespace {

constexpr std::string_view kUser = "user:";
constexpr std::string_view kUid = "uid:";

}  // namespace

Assurance assurance_of(uid_t voter, const std::vector<uid_t>& operators) noexcept {
    return std::ranges::find(operators, voter) != operators.end() ? Assurance::a2 : Assurance::a1;
}

std::string vote_statement(std::string_view approval_id, std::string_view digest, bool approve) {
    return fmt::format("callgate-operator-vote-v1\n{}\n{}\n{}\n", approval_id, digest,
                       approve ? "approve" : "deny");
}

std::string succession_statement(uid_t uid, std::string_view next_vkey) {
    return fmt::format("callgate-operator-key-v1\n{}\n{}\n", uid, next_vkey);
}

Result<bool> is_own_request(std::string_view requester, uid_t uid) {
    if (requester.starts_with(kUid)) {
        const std::string_view digits = requester.substr(kUid.size());
        uid_t asked = 0;
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), asked);
        return read.ec == std::errc() && read.ptr == digits.data() + digits.size() && asked == uid;
    }
    if (requester.starts_with(kUser)) requester.remove_prefix(kUser.size());
    const auto known = os::user_id(std::string(requester));
    if (!known) {
        return fail(ErrorCode::denied,
                    fmt::format("It cannot be found out now whether '{}', who asked, is you: the system's "
                                "name service does not answer. Try again.",
                                requester),
                    {{"reason", "name_service"}});
    }
    return *known && **known == uid;
}

}  // namespace callgate::ledger
