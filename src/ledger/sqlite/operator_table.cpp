#include "ledger/sqlite/operator_table.h"

#include <fmt/format.h>

#include "base/try.h"
#include "ledger/sqlite/columns.h"
#include "ledger/sqlite/vote_mac.h"

namespace callgate::ledger {

base::Sha256Digest OperatorTable::mac_of(std::int64_t uid, std::string_view vkey, std::int64_t since,
                                         std::int64_t event) const {
    return base::keyed_hash(*key_, "callgate-operator-v1",
                            fmt::format("{} {} {} {}", uid, since, event, vkey));
}

Result<std::optional<std::string>> OperatorTable::find(uid_t uid) {
    CALLGATE_TRY_ASSIGN(auto query,
                        database_->prepare("SELECT vkey, since, seq, mac FROM operators WHERE uid = ?1"));
    CALLGATE_TRY_ASSIGN(auto found, query.bind(1, static_cast<std::int64_t>(uid)).step());
    if (!found) return std::nullopt;
    std::string vkey(query.text(0));
    if (!same_mac(mac_of(uid, vkey, query.integer(1), query.integer(2)), query.blob(3))) {
        return fail(ErrorCode::ledger_unavailable,
                    fmt::format("The operator key of uid {} in the ledger's file is not the one that this "
                                "program wrote: somebody changed it. Run `callgate ledger check`.",
                                uid),
                    {{"reason", "tampered"}, {"uid", uid}});
    }
    return vkey;
}

Result<void> OperatorTable::pin(uid_t uid, std::string_view vkey, base::WallTime now, std::uint64_t event) {
    CALLGATE_TRY_ASSIGN(auto put, database_->prepare("INSERT OR REPLACE INTO operators(uid, vkey, since, "
                                                     "seq, mac) VALUES(?1, ?2, ?3, ?4, ?5)"));
    const auto mac = mac_of(uid, vkey, micros(now), static_cast<std::int64_t>(event));
    CALLGATE_TRY(put.bind(1, static_cast<std::int64_t>(uid))
                     .bind(2, vkey)
                     .bind(3, micros(now))
                     .bind(4, static_cast<std::int64_t>(event))
                     .bind_blob(5, mac)
                     .run());
    return {};
}

}  // namespace callgate::ledger
