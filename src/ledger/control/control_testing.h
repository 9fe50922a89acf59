// For tests of the control socket: the operators' side of a ledger in memory, with a check that a test can
// make wait.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "ledger/audit/reader.h"
#include "ledger/blocking_waiter.h"
#include "ledger/ledger_testing.h"
#include "ledger/operations.h"

namespace callgate::ledger::testing {

inline std::string id_text(std::uint64_t number) {
    return base::Uuid{call_id(number)}.to_string();
}

/// Pages over a MemoryLedger; reports that say that they were asked for.
class FakeOperations final : public Operations {
public:
    explicit FakeOperations(Ledger& ledger, const base::Clock& clock) : ledger_(ledger), clock_(clock) {}

    Result<std::vector<CallRow>> page_of_calls(const CallQuery& query) override {
        std::vector<CallRow> rows = must(ledger_.list(query.state));
        std::ranges::sort(rows, std::greater<>(), &CallRow::call_id);
        const auto before = base::parse_uuid(query.before);
        std::erase_if(rows, [&](const CallRow& row) {
            return (!query.tool.empty() && row.key.tool != query.tool) ||
                   (!query.principal.empty() && row.key.principal != query.principal) ||
                   (before && row.call_id >= before->bytes);
        });
        if (rows.size() > query.limit) rows.resize(query.limit);
        return rows;
    }
    Result<std::vector<AttemptRow>> attempts(const CallId& call_id) override {
        std::vector<AttemptRow> made;
        const auto row = ledger_.find(call_id);
        for (std::uint32_t i = 0; row && i < row->attempt; ++i) {
            made.emplace_back();
            made.back().number = i + 1;
            made.back().end = "ambiguous";
        }
        return made;
    }
    Result<std::vector<Approval>> page_of_approvals(const ApprovalQuery& query) override {
        std::vector<Approval> all = must(ledger_.approvals(query.state));
        std::ranges::sort(all, std::greater<>(), &Approval::id);
        std::erase_if(all,
                      [&](const Approval& one) { return !query.before.empty() && one.id >= query.before; });
        if (all.size() > query.limit) all.resize(query.limit);
        return all;
    }
    base::WallTime approval_time() override { return clock_.wall_now(); }
    std::uint64_t approvals_version() override { return ledger_.audit_count(); }

    Result<Object> stats() override { return Object{{"calls", must(ledger_.list({})).size()}}; }
    Result<Object> check(const WorkProgress& progress) override {
        if (on_check) return on_check(progress);
        return Object{{"ok", true}};
    }
    Result<Object> backup(const std::string& path, const WorkProgress&) override {
        return Object{{"path", path}};
    }
    Result<Object> collect() override { return Object{{"collected", 0}}; }

    Result<std::vector<AuditEvent>> events(const AuditSelection& which) override {
        std::vector<AuditEvent> all = must(ledger_.audit({}));
        std::erase_if(all, [&](const AuditEvent& one) { return which.call && one.call_id != *which.call; });
        if (all.size() > which.limit) all.resize(which.limit);
        return all;
    }
    Result<std::unique_ptr<AuditReader>> read_audit() override {
        if (log) return std::make_unique<MemoryAudit>(*log);
        return fail(ErrorCode::ledger_unavailable, "This ledger keeps no chain.", {{"reason", "no_chain"}});
    }
    Result<std::string> checkpoint() override {
        if (log) return MemoryAudit(*log).latest_checkpoint().value().value_or("");
        return fail(ErrorCode::ledger_unavailable, "This ledger keeps no chain.", {{"reason", "no_chain"}});
    }
    Result<std::uint64_t> erase_payloads(const CallId&, std::string_view, std::uint64_t) override {
        return 0;
    }
    Result<Object> rotate_audit_key(std::string_view) override { return Object{}; }
    Result<Object> archive_audit(const ArchiveRequest& request, const WorkProgress&) override {
        return Object{{"archived", 0}, {"segments", Array{}}, {"by", request.by}};
    }
    Result<Object> audit_segments() override { return Object{{"archived", 0}, {"segments", Array{}}}; }

    std::vector<uid_t> operator_uids() override { return operators; }
    Result<std::optional<std::string>> operator_key(uid_t uid) override {
        const auto found = keys.find(uid);
        return found == keys.end() ? std::nullopt : std::optional(found->second);
    }
    Result<void> set_operator_key(uid_t uid, std::string_view vkey, AuditEvent& event) override {
        keys[uid] = vkey;
        Reply reply;
        BlockingWaiter waiter;
        waiter.wait(ledger_.record(event, reply, waiter));
        return {};
    }

    std::vector<uid_t> operators{1000};
    std::map<uid_t, std::string> keys;
    std::function<Result<Object>(const WorkProgress&)> on_check;  ///< set while nothing runs
    const MemoryAudit* log = nullptr;                             ///< the audit, where there is one

private:
    Ledger& ledger_;
    const base::Clock& clock_;
};

}  // namespace callgate::ledger::testing
