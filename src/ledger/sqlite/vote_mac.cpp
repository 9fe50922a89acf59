#include "ledger/sqlite/vote_mac.h"

#include <string>

#include <openssl/crypto.h>

#include "ledger/sqlite/columns.h"

namespace callgate::ledger {

namespace {

// Each part with its length before it, so that nothing can be moved from one to the next.
class Parts {
public:
    Parts& add(std::string_view part) {
        text_.append(std::to_string(part.size())).append(":").append(part);
        return *this;
    }
    Parts& add(std::int64_t number) { return add(std::to_string(number)); }
    const std::string& text() const noexcept { return text_; }

private:
    std::string text_;
};

}  // namespace

base::Sha256Digest VoteMac::of_vote(const Approval& approval, std::size_t n, const Vote& vote,
                                    const AuditMark& mark) const {
    Parts parts;
    parts.add(approval.id)
        .add(approval.digest)
        .add(static_cast<std::int64_t>(n))
        .add(vote.approver)
        .add(vote.approve ? 1 : 0)
        .add(to_string(vote.assurance))
        .add(vote.reason)
        .add(micros(vote.at))
        .add(static_cast<std::int64_t>(mark.sequence))
        .add(bytes_of(mark.hash))
        .add(vote.uid)
        .add(vote.key)
        .add(vote.signature);
    return base::keyed_hash(*key_, "callgate-vote-v1", parts.text());
}

base::Sha256Digest VoteMac::of_approval(const Approval& approval, ApprovalState state,
                                        const ApprovalColumns& columns, std::string_view votes) const {
    Parts parts;
    parts.add(columns.n)
        .add(approval.id)
        .add(approval.tenant)
        .add(approval.requester)
        .add(approval.tool)
        .add(approval.digest)
        .add(columns.request_hash)
        .add(to_string(state))
        .add(micros(approval.created_at))
        .add(micros(approval.expires_at))
        .add(approval.consumed_by)
        .add(approval.superseded_by)
        .add(columns.body)
        .add(columns.sequence)
        .add(votes);
    return base::keyed_hash(*key_, "callgate-approval-v1", parts.text());
}

bool same_mac(const base::Sha256Digest& expected, std::string_view found) noexcept {
    return found.size() == expected.size() &&
           CRYPTO_memcmp(expected.data(), found.data(), expected.size()) == 0;
}

}  // namespace callgate::ledger
