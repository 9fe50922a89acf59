// What is looked up in the SQLite ledger: for calls, by the readers' threads; for people, on their own.
#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/failpoint.h"
#include "base/ids.h"
#include "base/try.h"
#include "ledger/digest.h"
#include "ledger/sqlite/columns.h"
#include "ledger/sqlite/engine.h"
#include "ledger/sqlite/restore.h"
#include "ledger/sqlite/sqlite_ledger.h"

namespace callgate::ledger {

namespace {

/// What a call wants to know, on its way through a reader: the reply is filled in, then the waiter is woken.
template <class Answer, class Look>
class LookJob final : public ReadJob {
public:
    LookJob(Look look, Answer& reply, Waiter& waiter)
        : look_(std::move(look)), reply_(&reply), waiter_(&waiter) {}

    Result<void> look(Reader& reader) override { return look_(reader, *reply_); }
    void finish(const Error* error) override {
        if (error != nullptr) reply_->error = *error;
        Waiter* const waiter = waiter_;
        reply_->ready = true;
        waiter->wake();
    }

private:
    Look look_;
    Answer* reply_;
    Waiter* waiter_;
};

/// Whether the call under a key still runs. If not, or if that cannot be read, the waiter is released.
class EndJob final : public ReadJob {
public:
    EndJob(SqliteLedger::Engine& engine, const base::Sha256Digest& key, std::shared_ptr<Waiter> ended,
           WaitReply& reply, Waiter& waiter)
        : engine_(engine), key_(key), ended_(std::move(ended)), reply_(&reply), waiter_(&waiter) {}

    Result<void> look(Reader& reader) override {
        CALLGATE_TRY_ASSIGN(const auto found, reader.calls.by_key(key_));
        reply_->runs = found && !is_end(found->row.state) && engine_.is_alive(found->row.owner);
        return {};
    }
    void finish(const Error* error) override {
        if (error != nullptr) reply_->error = *error;
        if (!reply_->runs) engine_.stop_waiting(key_, *ended_);
        ended_.reset();
        Waiter* const waiter = waiter_;
        reply_->ready = true;
        waiter->wake();
    }

private:
    SqliteLedger::Engine& engine_;
    const base::Sha256Digest key_;
    std::shared_ptr<Waiter> ended_;
    WaitReply* reply_;
    Waiter* waiter_;
};

template <class Answer, class Look>
Io look_up(Readers& readers, Answer& reply, Waiter& waiter, Look look) {
    readers.submit(std::make_unique<LookJob<Answer, Look>>(std::move(look), reply, waiter));
    return Io::pending;
}

Result<void> peek_at(SqliteLedger::Engine& engine, const std::string& key, const base::Sha256Digest& hash,
                     const base::Sha256Digest& fingerprint, Reader& reader, PeekReply& reply) {
    CALLGATE_FAILPOINT_RETURN("ledger.sqlite_peek");
    // One snapshot for the row and its outcome.
    CALLGATE_TRY(reader.database.execute("BEGIN"));
    const auto seen = [&]() -> Result<void> {
        const base::WallTime now = engine.time->lived();
        CALLGATE_TRY_ASSIGN(auto call, reader.calls.by_key(hash));
        const bool expired = call && call->row.expires_at != base::WallTime() && call->row.expires_at <= now;
        if (expired) call.reset();
        bool spent = expired;
        if (!call && !spent) {
            CALLGATE_TRY_ASSIGN(spent, reader.calls.is_spent(hash, now));
        }
        CALLGATE_TRY_ASSIGN(auto lost, lost_in_gap(*engine.tables, reader.calls, key, fingerprint,
                                                   call ? &*call : nullptr, spent));
        if (lost) return tl::unexpected(std::move(*lost));
        reply.verdict =
            foresee_claim(Standing{call ? &call->row : nullptr, call && engine.is_alive(call->row.owner),
                                   spent, call && is_stale(call->row, *engine.time, engine.options.kept)},
                          fingerprint);
        reply.found = call.has_value() || spent;
        if (!call) return {};
        // What has ended has ended, whether or not its outcome can be read.
        if (auto loaded = reader.calls.load_outcome(*call); !loaded)
            reply.unreadable = std::move(loaded.error());
        reply.row = std::move(call->row);
        return {};
    }();
    auto ended = reader.database.execute("COMMIT");
    return seen ? ended : seen;
}

tl::unexpected<Error> nothing_under(std::string_view name) {
    return fail(ErrorCode::denied, fmt::format("There is no {}. List those there are.", name),
                {{"reason", "not_found"}});
}

}  // namespace

Io SqliteLedger::peek(const KeyScope& key, const base::Sha256Digest& fingerprint, PeekReply& reply,
                      Waiter& waiter) {
    reply.verdict = ClaimVerdict::claimed;
    if (key.key.empty()) return Io::done;
    return look_up(*engine_->lookups, reply, waiter,
                   [&engine = *engine_, name = key.key, hash = hash_of(key), fingerprint](Reader& reader,
                                                                                          PeekReply& into) {
                       return peek_at(engine, name, hash, fingerprint, reader, into);
                   });
}

Io SqliteLedger::wait_for_end(const KeyScope& key, std::shared_ptr<Waiter> ended, WaitReply& reply,
                              Waiter& waiter) {
    const base::Sha256Digest hash = hash_of(key);
    // Registered first: an end that is not seen below wakes it.
    engine_->wait_for(hash, ended);
    engine_->lookups->submit(std::make_unique<EndJob>(*engine_, hash, std::move(ended), reply, waiter));
    return Io::pending;
}

Io SqliteLedger::approval_of_call(std::string call_id, ApprovalReply& reply, Waiter& waiter) {
    return look_up(
        *engine_->lookups, reply, waiter,
        [&engine = *engine_, id = std::move(call_id)](Reader& reader, ApprovalReply& into) -> Result<void> {
            CALLGATE_TRY_ASSIGN(into.approval, reader.approvals.by_call(id, engine.time->latest()));
            return {};
        });
}

Io SqliteLedger::open_approval_for(std::string_view tenant, std::string_view requester,
                                   const base::Sha256Digest& fingerprint, std::string_view idempotency_key,
                                   ApprovalReply& reply, Waiter& waiter) {
    return look_up(
        *engine_->lookups, reply, waiter,
        [&engine = *engine_, hash = hash_of_request(tenant, requester, fingerprint, idempotency_key)](
            Reader& reader, ApprovalReply& into) -> Result<void> {
            auto found = reader.approvals.open_for(hash, engine.time->latest());
            // One that somebody changed in the file is none: asking again puts that on the record.
            if (!found && is_tampered(found.error())) return {};
            if (!found) return tl::unexpected(std::move(found.error()));
            into.approval = std::move(*found);
            return {};
        });
}

Result<std::vector<Approval>> SqliteLedger::approvals(std::optional<ApprovalState> state) {
    ApprovalQuery query;
    query.state = state;
    query.limit = static_cast<std::size_t>(-1);
    auto all = page_of_approvals(query);
    if (all) std::ranges::reverse(*all);
    return all;
}

Result<Approval> SqliteLedger::approval(std::string_view id) {
    CALLGATE_TRY_ASSIGN(auto reader, engine_->read());
    CALLGATE_TRY_ASSIGN(auto found, reader->approvals.find(id, engine_->time->latest()));
    if (!found) return nothing_under(fmt::format("approval '{}'", id));
    return std::move(*found);
}

Result<CallRow> SqliteLedger::find(const CallId& call_id) {
    CALLGATE_TRY_ASSIGN(auto reader, engine_->read());
    // One snapshot for the row and its outcome.
    CALLGATE_TRY(reader->database.execute("BEGIN"));
    auto found = reader->calls.by_id(call_id);
    Result<void> loaded;
    if (found && *found) loaded = reader->calls.load_outcome(**found);
    auto ended = reader->database.execute("COMMIT");
    if (!found) return tl::unexpected(std::move(found.error()));
    if (!loaded) return tl::unexpected(std::move(loaded.error()));
    if (!ended) return tl::unexpected(std::move(ended.error()));
    const auto gone = [&] {
        const base::WallTime expires = (*found)->row.expires_at;
        return expires != base::WallTime() && expires <= engine_->time->lived();
    };
    if (!*found || gone()) return nothing_under(fmt::format("call {}", base::Uuid{call_id}.to_string()));
    return std::move((*found)->row);
}

Result<std::vector<CallRow>> SqliteLedger::list(std::optional<CallState> state) {
    CallQuery query;
    query.state = state;
    query.limit = static_cast<std::size_t>(-1);
    auto all = page_of_calls(query);
    if (all) std::ranges::reverse(*all);
    return all;
}

Result<std::vector<CallRow>> SqliteLedger::in_doubt() {
    constexpr std::size_t kAtOnce = 1'000;
    std::vector<CallRow> found;
    CALLGATE_TRY_ASSIGN(auto reader, engine_->read());
    for (CallId after{};;) {
        CALLGATE_TRY_ASSIGN(auto open, reader->calls.open_calls(after, kAtOnce));
        for (StoredCall& call : open) {
            after = call.row.call_id;
            if (!call.restored && needs_probe(call.row, engine_->is_alive(call.row.owner)))
                found.push_back(std::move(call.row));
        }
        if (open.size() < kAtOnce) return found;
    }
}

}  // namespace callgate::ledger
