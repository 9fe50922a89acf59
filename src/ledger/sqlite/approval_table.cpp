#include "ledger/sqlite/approval_table.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "ledger/sqlite/codec.h"
#include "ledger/sqlite/columns.h"

namespace callgate::ledger {

namespace {

constexpr std::string_view kPurpose = "approval";

constexpr std::string_view kApprovalColumns =
    "id, state, created_at, expires_at, consumed_by, body, digest, tenant, "
    "requester, superseded_by, n, tool, request_hash, seq, mac";

std::string select(std::string_view rest) {
    return "SELECT " + std::string(kApprovalColumns) + " FROM approvals " + std::string(rest);
}

ApprovalTime approval_time(std::int64_t micros) {
    return ApprovalTime(std::chrono::microseconds(micros));
}

/// A null is not the zero or the empty text that it would be read as.
bool has_all(const Statement& row, std::initializer_list<int> columns) {
    return std::ranges::none_of(columns, [&](int column) { return row.is_null(column); });
}

std::optional<Assurance> assurance_from_string(std::string_view text) {
    for (const Assurance one : {Assurance::a1, Assurance::a2, Assurance::a3}) {
        if (to_string(one) == text) return one;
    }
    return std::nullopt;
}

}  // namespace

base::Sha256Digest hash_of_request(std::string_view tenant, std::string_view requester,
                                   const base::Sha256Digest& fingerprint, std::string_view idempotency_key) {
    base::Sha256 hash;
    hash.update("callgate-request-v1");
    for (const std::string_view part : {tenant, requester, bytes_of(fingerprint), idempotency_key}) {
        hash.update(std::to_string(part.size())).update(":").update(part);
    }
    return hash.finish();
}

Result<void> ApprovalTable::prepare(Access access) {
    Preparing all(*database_);
    all.add(find_, select("WHERE id = ?1"));
    all.add(by_call_, select("WHERE id = (SELECT approval_id FROM approval_calls WHERE call_id = ?1)"));
    all.add(open_for_, select("WHERE request_hash = ?1 ORDER BY n DESC LIMIT 1"));
    all.add(votes_,
            "SELECT approver, approve, assurance, reason, at, n, event_seq, event_hash, mac, uid, key, "
            "signature FROM votes WHERE "
            "approval_id = ?1 ORDER BY n");
    all.add(count_,
            "SELECT count(*) FROM approvals WHERE state IN ('pending', 'approved') AND expires_at > ?1");
    if (access == Access::read_only) return all.done();
    all.add(count_of_principal_,
            "SELECT count(*) FROM (SELECT 1 FROM approvals WHERE tenant = ?1 AND requester = ?4 AND state IN "
            "('pending', 'approved') AND expires_at > ?2 LIMIT ?3)");
    all.add(count_of_tenant_,
            "SELECT count(*) FROM (SELECT 1 FROM approvals WHERE tenant = ?1 AND state IN ('pending', "
            "'approved') AND expires_at > ?2 LIMIT ?3)");
    all.add(insert_,
            "INSERT INTO approvals(id, tenant, requester, tool, digest, request_hash, state, created_at, "
            "expires_at, consumed_by, body, n, seq, mac) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, "
            "?11, ?12, ?13, ?14)");
    all.add(rest_, "SELECT n, request_hash, body FROM approvals WHERE id = ?1");
    all.add(join_, "INSERT INTO approval_calls(call_id, approval_id) VALUES(?1, ?2) ON CONFLICT DO NOTHING");
    all.add(update_,
            "UPDATE approvals SET state = ?2, consumed_by = ?3, superseded_by = ?5, seq = ?6, mac = "
            "?7 WHERE id = ?1 AND state = ?4");
    all.add(vote_,
            "INSERT INTO votes(approval_id, n, approver, approve, assurance, reason, at, event_seq, "
            "event_hash, mac, uid, key, signature) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, "
            "?13)");
    all.add(old_, "SELECT id FROM approvals WHERE expires_at <= ?1 LIMIT ?2");
    all.add(drop_, "DELETE FROM approvals WHERE id = ?1");
    all.add(drop_votes_, "DELETE FROM votes WHERE approval_id = ?1");
    all.add(drop_calls_, "DELETE FROM approval_calls WHERE approval_id = ?1");
    return all.done();
}

Result<std::string> ApprovalTable::load_votes(Approval& approval, bool& intact) {
    std::string macs;
    votes_.bind(1, approval.id);
    for (;;) {
        CALLGATE_TRY_ASSIGN(auto found, votes_.step());
        if (!found) return macs;
        const std::size_t n = approval.votes.size();
        Vote& vote = approval.votes.emplace_back();
        vote.approver = votes_.text(0);
        vote.approve = votes_.integer(1) != 0;
        const auto assurance = assurance_from_string(votes_.text(2));
        vote.assurance = assurance.value_or(Assurance::a1);
        vote.reason = votes_.text(3);
        vote.at = approval_time(votes_.integer(4));
        vote.uid = votes_.is_null(9) ? -1 : votes_.integer(9);
        vote.key = votes_.text(10);
        vote.signature = votes_.text(11);
        AuditMark mark;
        mark.sequence = static_cast<std::uint64_t>(votes_.integer(6));
        const bool plain = votes_.integer(1) == (vote.approve ? 1 : 0) && assurance &&
                           votes_.integer(5) == static_cast<std::int64_t>(n) &&
                           has_all(votes_, {6, 9, 10, 11}) && copy_bytes(votes_.blob(7), mark.hash);
        intact = intact && plain && same_mac(macs_.of_vote(approval, n, vote, mark), votes_.blob(8));
        macs.append(votes_.blob(8));
    }
}

Result<Approval> ApprovalTable::read(const Statement& row, ApprovalTime now) {
    const std::string id(row.text(0));
    const auto state = approval_state_from_string(row.text(1));
    auto plain = base::unseal(*key_, kPurpose, id, row.blob(5));
    if (!plain) return tampered_approval(id);
    CALLGATE_TRY_ASSIGN(auto approval, decode_approval(*plain));
    // The columns it was found by must be those of what was sealed: nobody can hang it under another name.
    if (!state || approval.id != id || approval.digest != row.text(6) || approval.tenant != row.text(7) ||
        approval.requester != row.text(8) || approval.tool != row.text(11)) {
        return tampered_approval(id);
    }
    approval.state = *state;
    approval.created_at = approval_time(row.integer(2));
    approval.expires_at = approval_time(row.integer(3));
    approval.consumed_by = row.text(4);
    approval.superseded_by = row.text(9);
    bool intact = true;
    CALLGATE_TRY_ASSIGN(auto votes, load_votes(approval, intact));
    if (row.is_null(14)) {
        // From before there were MACs: for people to look at, and of no use to anybody.
        if (is_open(approval, ApprovalTime::min())) approval.state = ApprovalState::expired;
        return approval;
    }
    ApprovalColumns columns;
    columns.n = row.integer(10);
    columns.request_hash = row.blob(12);
    columns.body = row.blob(5);
    columns.sequence = row.integer(13);
    const base::Sha256Digest mac = macs_.of_approval(approval, *state, columns, votes);
    if (!intact || !has_all(row, {13}) || !same_mac(mac, row.blob(14))) return tampered_approval(id);
    expire(approval, now);
    return approval;
}

Result<std::vector<AuditMark>> ApprovalTable::marks_of(std::string_view id) {
    std::vector<AuditMark> marks;
    votes_.bind(1, id);
    for (;;) {
        CALLGATE_TRY_ASSIGN(auto found, votes_.step());
        if (!found) return marks;
        AuditMark& mark = marks.emplace_back();
        mark.sequence = static_cast<std::uint64_t>(votes_.integer(6));
        (void)copy_bytes(votes_.blob(7), mark.hash);
    }
}

Result<std::optional<Approval>> ApprovalTable::one(Statement& query, ApprovalTime now) {
    CALLGATE_TRY_ASSIGN(auto found, query.step());
    if (!found) return std::nullopt;
    auto approval = read(query, now);
    query.reset();
    if (!approval) return tl::unexpected(std::move(approval.error()));
    return std::optional(std::move(*approval));
}

Result<std::optional<Approval>> ApprovalTable::find(std::string_view id, ApprovalTime now) {
    return one(find_.bind(1, id), now);
}

Result<std::optional<Approval>> ApprovalTable::by_call(std::string_view call_id, ApprovalTime now) {
    return one(by_call_.bind(1, call_id), now);
}

Result<std::optional<Approval>> ApprovalTable::open_for(const base::Sha256Digest& request, ApprovalTime now) {
    auto latest = one(open_for_.bind_blob(1, request), now);
    if (latest && *latest && !is_open(**latest, now)) return std::nullopt;
    return latest;
}

Result<std::vector<Approval>> ApprovalTable::page(const ApprovalQuery& query, ApprovalTime now) {
    // Undecided ones whose time has come are expired, whatever is written.
    std::string sql = select("WHERE 1");
    if (query.state == ApprovalState::expired) {
        sql += " AND (state = 'expired' OR (state IN ('pending', 'approved') AND expires_at <= ?2))";
    } else if (query.state == ApprovalState::pending || query.state == ApprovalState::approved) {
        sql += " AND state = ?1 AND expires_at > ?2";
    } else if (query.state) {
        sql += " AND state = ?1";
    }
    if (!query.before.empty()) sql += " AND n < (SELECT n FROM approvals WHERE id = ?3)";
    sql += " ORDER BY n DESC LIMIT ?4";
    CALLGATE_TRY_ASSIGN(auto statement, database_->prepare(sql));
    if (query.state && *query.state != ApprovalState::expired) statement.bind(1, to_string(*query.state));
    if (sql.find("?2") != std::string::npos) statement.bind(2, micros(now));
    if (!query.before.empty()) statement.bind(3, query.before);
    statement.bind(4, static_cast<std::int64_t>(std::min<std::size_t>(query.limit, 10'000'000)));
    std::vector<Approval> all;
    for (;;) {
        CALLGATE_TRY_ASSIGN(auto found, statement.step());
        if (!found) return all;
        CALLGATE_TRY_ASSIGN(auto approval, read(statement, now));
        all.push_back(std::move(approval));
    }
}

Result<RowStore::OpenCount> ApprovalTable::count_open_of(std::string_view tenant, std::string_view requester,
                                                         ApprovalTime now, const OpenApprovalLimits& limits) {
    constexpr std::size_t kMost = std::numeric_limits<std::int64_t>::max();
    const auto count = [&](Statement& statement, std::size_t most) -> Result<std::size_t> {
        const auto limit = static_cast<std::int64_t>(std::min(most, kMost));
        statement.bind(1, tenant).bind(2, micros(now)).bind(3, limit);
        CALLGATE_TRY_ASSIGN(auto found, statement.step());
        const auto number = static_cast<std::size_t>(found ? statement.integer(0) : 0);
        statement.reset();
        return number;
    };
    count_of_principal_.bind(4, requester);
    CALLGATE_TRY_ASSIGN(const auto of_principal, count(count_of_principal_, limits.per_principal));
    CALLGATE_TRY_ASSIGN(const auto of_tenant, count(count_of_tenant_, limits.per_tenant));
    return RowStore::OpenCount{of_principal, of_tenant};
}

Result<std::uint64_t> ApprovalTable::count_open(ApprovalTime now) {
    CALLGATE_TRY_ASSIGN(auto found, count_.bind(1, micros(now)).step());
    const auto count = static_cast<std::uint64_t>(found ? count_.integer(0) : 0);
    count_.reset();
    return count;
}

Result<void> ApprovalTable::insert(const Approval& approval, const base::Sha256Digest& request,
                                   const AuditMark& event) {
    const std::string body = base::seal(*key_, kPurpose, approval.id, encode(approval));
    CALLGATE_TRY_ASSIGN(auto last, database_->integer_of("SELECT max(n) FROM approvals"));
    ApprovalColumns columns;
    columns.n = last + 1;
    columns.request_hash = bytes_of(request);
    columns.body = body;
    columns.sequence = static_cast<std::int64_t>(event.sequence);
    const base::Sha256Digest mac = macs_.of_approval(approval, approval.state, columns, {});
    insert_.bind(1, approval.id)
        .bind(2, approval.tenant)
        .bind(3, approval.requester)
        .bind(4, approval.tool)
        .bind(5, approval.digest)
        .bind_blob(6, request)
        .bind(7, to_string(approval.state))
        .bind(8, micros(approval.created_at))
        .bind(9, micros(approval.expires_at))
        .bind(10, approval.consumed_by)
        .bind_blob(11, body)
        .bind(12, columns.n)
        .bind(13, columns.sequence)
        .bind_blob(14, mac);
    CALLGATE_TRY(insert_.run());
    return join(approval.call_id, approval.id);
}

Result<void> ApprovalTable::join(std::string_view call_id, std::string_view approval_id) {
    if (call_id.empty()) return {};
    CALLGATE_TRY(join_.bind(1, call_id).bind(2, approval_id).run());
    return {};
}

Result<bool> ApprovalTable::update(const Approval& approval, ApprovalState before, std::size_t votes_before,
                                   const AuditMark& event) {
    for (std::size_t i = votes_before; i < approval.votes.size(); ++i) {
        const Vote& vote = approval.votes[i];
        const base::Sha256Digest mac = macs_.of_vote(approval, i, vote, event);
        vote_.bind(1, approval.id)
            .bind(2, static_cast<std::int64_t>(i))
            .bind(3, vote.approver)
            .bind(4, vote.approve ? 1 : 0)
            .bind(5, to_string(vote.assurance))
            .bind(6, vote.reason)
            .bind(7, micros(vote.at))
            .bind(8, static_cast<std::int64_t>(event.sequence))
            .bind_blob(9, event.hash)
            .bind_blob(10, mac)
            .bind(11, vote.uid)
            .bind(12, vote.key)
            .bind(13, vote.signature);
        CALLGATE_TRY(vote_.run());
    }
    std::string macs;
    votes_.bind(1, approval.id);
    for (;;) {
        CALLGATE_TRY_ASSIGN(auto found, votes_.step());
        if (!found) break;
        macs.append(votes_.blob(8));
    }
    CALLGATE_TRY_ASSIGN(auto there, rest_.bind(1, approval.id).step());
    if (!there) return false;
    ApprovalColumns columns;
    columns.n = rest_.integer(0);
    columns.request_hash = rest_.blob(1);
    columns.body = rest_.blob(2);
    columns.sequence = static_cast<std::int64_t>(event.sequence);
    const base::Sha256Digest mac = macs_.of_approval(approval, approval.state, columns, macs);
    rest_.reset();
    update_.bind(1, approval.id)
        .bind(2, to_string(approval.state))
        .bind(3, approval.consumed_by)
        .bind(4, to_string(before))
        .bind(5, approval.superseded_by)
        .bind(6, columns.sequence)
        .bind_blob(7, mac);
    return changed_one(update_);
}

Result<std::int64_t> ApprovalTable::drop_old(ApprovalTime since, std::size_t limit) {
    std::vector<std::string> ids;
    old_.bind(1, micros(since)).bind(2, static_cast<std::int64_t>(limit));
    for (;;) {
        CALLGATE_TRY_ASSIGN(auto found, old_.step());
        if (!found) break;
        ids.emplace_back(old_.text(0));
    }
    for (const std::string& id : ids) {
        for (Statement* drop : {&drop_votes_, &drop_calls_, &drop_}) {
            CALLGATE_TRY(drop->bind(1, id).run());
        }
    }
    return static_cast<std::int64_t>(ids.size());
}

}  // namespace callgate::ledger
