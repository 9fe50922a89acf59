#include "ledger/operators.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "ledger/approval_rules.h"
#include "os/unix_socket.h"

#include "base/encoding.h"

namespace callgate::ledger {

namespace {

/// Whether the text is this number, with or without `uid:` before it, in decimal or hexadecimal.
bool is_number(std::string_view text, uid_t number) noexcept {
    constexpr std::string_view kUid = "uid:";
    const auto starts_with = [&text](std::string_view with) {
        return std::ranges::equal(text.substr(0, with.size()), with, {}, base::ascii_lower);
    };
    if (starts_with(kUid)) text.remove_prefix(kUid.size());
    text = bare_name(text);
    if (starts_with("+")) text.remove_prefix(1);
    const bool hexadecimal = starts_with("0x");
    if (hexadecimal) text.remove_prefix(2);
    std::uint64_t read = 0;
    const auto* const end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, read, hexadecimal ? 16 : 10);
    return result.ec == std::errc() && result.ptr == end && read == number;
}

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
    requester = bare_name(requester);
    if (is_number(requester, uid)) return true;
    // Names are compared without case elsewhere, too.
    std::string name(requester);
    auto known = os::user_id(name);
    if (known && !*known) {
        std::ranges::transform(name, name.begin(), base::ascii_lower);
        known = os::user_id(name);
    }
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
