// What the ledger notes about itself: which one it is, where its mark is, what the host has decided.
#include "ledger/sqlite/engine.h"

#include <array>
#include <sstream>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/try.h"
#include "ledger/sqlite/columns.h"
#include "ledger/sqlite/refused.h"

namespace callgate::ledger {

std::string SqliteLedger::Engine::random_id(base::Rng& rng) {
    std::array<std::byte, 8> bytes{};
    rng.fill(bytes);
    return base::hex_encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Whether it is the ledger that was here last. Only reads.
Result<void> SqliteLedger::Engine::look_back() {
    if (!options.watch_past) return {};
    CALLGATE_TRY_ASSIGN(auto chain, database.text_of("SELECT value FROM meta WHERE name = 'chain_id'"));
    CALLGATE_TRY_ASSIGN(auto was_in, database.text_of("SELECT value FROM meta WHERE name = 'mark_dir'"));
    CALLGATE_TRY_ASSIGN(auto place, Place::of(*options.files, options.directory));
    // Who only passes by looks where the host has put it.
    const bool as_before = options.in_passing && options.mark_dir.empty() && !was_in.empty();
    CALLGATE_TRY_ASSIGN(auto marks,
                        as_before ? was_in : HeadMark::directory_for(options.mark_dir, options.directory));
    question = {options.directory, std::move(marks), std::move(was_in), options.anchor_file, place};
    if (chain.empty()) return {};
    CALLGATE_TRY_ASSIGN(auto connection, open_reader());
    CALLGATE_TRY_ASSIGN(auto audit, SqliteAuditReader::make(std::move(connection), *key));
    CALLGATE_TRY_ASSIGN(past, judge_past(*options.files, *audit, question));
    const bool fits = options.to_restore || past->verdict == Past::Verdict::same ||
                      past->verdict == Past::Verdict::unmarked;
    if (!fits) return tl::unexpected(refusal_of(*past, question));
    return {};
}

Result<void> SqliteLedger::Engine::put_meta(std::string_view name, std::string_view text) {
    CALLGATE_TRY_ASSIGN(auto put,
                        database.prepare("INSERT OR REPLACE INTO meta(name, value) VALUES(?1, ?2)"));
    CALLGATE_TRY(put.bind(1, name).bind(2, text).run());
    return {};
}

Result<void> SqliteLedger::Engine::put_meta(std::string_view name, std::int64_t number) {
    CALLGATE_TRY_ASSIGN(auto put,
                        database.prepare("INSERT OR REPLACE INTO meta(name, value) VALUES(?1, ?2)"));
    CALLGATE_TRY(put.bind(1, name).bind(2, number).run());
    return {};
}

// How long things are kept is the host's to say: who only passes by goes by what the host said last, so that
// no key is forgotten before its time.
Result<void> SqliteLedger::Engine::establish_retention() {
    struct Term {
        const char* name;
        std::chrono::seconds& kept;
    };
    for (const Term& term :
         {Term{"key_ttl", options.kept.key_ttl}, Term{"tombstone_ttl", options.kept.tombstone_ttl},
          Term{"approval_ttl", options.kept.approval_ttl}}) {
        if (!options.in_passing) {
            CALLGATE_TRY(put_meta(term.name, term.kept.count()));
            continue;
        }
        CALLGATE_TRY_ASSIGN(auto said, database.integer_of(fmt::format(
                                           "SELECT value FROM meta WHERE name = '{}'", term.name)));
        if (said != 0) term.kept = std::chrono::seconds(said);
    }
    return {};
}

// Whose votes count for more is the host's to say as well, and sealed, so that nobody else says it.
Result<void> SqliteLedger::Engine::establish_operators() {
    constexpr std::string_view kPurpose = "operator-uids";
    if (!options.in_passing) {
        std::string all;
        for (const uid_t uid : options.operator_uids) all += fmt::format("{} ", uid);
        return put_meta("operator_uids", base::base64_encode(base::seal(*key, kPurpose, chain_id_, all)));
    }
    CALLGATE_TRY_ASSIGN(auto said, database.text_of("SELECT value FROM meta WHERE name = 'operator_uids'"));
    options.operator_uids.clear();
    const auto sealed = base::base64_decode(said);
    const auto plain = sealed ? base::unseal(*key, kPurpose, chain_id_, *sealed) : Result<std::string>("");
    if (!plain) return {};  // somebody else's words: then nobody is one
    std::istringstream words(*plain);
    for (uid_t uid = 0; words >> uid;) options.operator_uids.push_back(uid);
    return {};
}

// The mark is durable before the ledger says that it has one.
Result<void> SqliteLedger::Engine::establish_mark(bool fresh) {
    if (!options.watch_past || options.to_restore) return {};
    os::FileOps& files = *options.files;
    const std::string& marks = question.mark_directory;
    const MarkRecord last = past && past->mark ? *past->mark : MarkRecord();
    const bool goes_on = past && past->mark && !past->mark_elsewhere;
    if (fresh) {
        CALLGATE_TRY_ASSIGN(auto before, HeadMark::last_at(files, marks, question.place));
        CALLGATE_TRY_ASSIGN(auto known, before.empty() ? std::nullopt : HeadMark::look(files, marks, before));
        if (known && known->end.events != 0) recovery.replaces = before;
    }
    CALLGATE_TRY_ASSIGN(auto opened,
                        goes_on ? HeadMark::open(files, marks, chain_id_, question.place, last)
                                : HeadMark::make(files, *options.rng, marks, chain_id_, question.place, last,
                                                 past ? past->end : AuditEnd{0, empty_head(chain_id_).hash}));
    mark = std::move(opened);
    return {};
}

tl::unexpected<Error> SqliteLedger::Engine::notes_changed() const {
    return refused("tampered", fmt::format("What the ledger in '{}' notes about itself (its clock, how "
                                           "long things are "
                                           "kept, where its mark is) was changed by another program. "
                                           "Restore a copy from "
                                           "before that with its own mark; nothing was changed.",
                                           options.directory));
}

// Whose file this is and under which key; a log that belongs to another ledger shows here.
Result<void> SqliteLedger::Engine::establish_identity() {
    CALLGATE_TRY_ASSIGN(const auto chain, database.text_of("SELECT value FROM meta WHERE name = 'chain_id'"));
    CALLGATE_TRY_ASSIGN(const auto sealed_under,
                        database.text_of("SELECT value FROM meta WHERE name = 'key_id'"));
    CALLGATE_TRY_ASSIGN(const auto clean, database.integer_of("SELECT value FROM meta WHERE name = 'clean'"));
    CALLGATE_TRY_ASSIGN(const auto reached,
                        database.integer_of("SELECT value FROM meta WHERE name = 'reached'"));
    CALLGATE_TRY_ASSIGN(const auto latest,
                        database.integer_of("SELECT value FROM meta WHERE name = 'latest'"));
    CALLGATE_TRY_ASSIGN(const auto clocks, database.text_of("SELECT value FROM meta WHERE name = 'clocks'"));
    CALLGATE_TRY_ASSIGN(const auto boots, database.integer_of("SELECT value FROM meta WHERE name = 'boots'"));
    const bool fresh = chain.empty();
    if (fresh && has_signed()) return lost();
    if (!fresh) {
        CALLGATE_TRY(check_key(sealed_under));
    }
    chain_id_ = fresh ? random_id(*options.rng) : chain;
    CALLGATE_TRY_ASSIGN(auto end,
                        fresh ? AuditPlace(empty_head(chain_id_)) : audit_place(database, chain_id_));
    Tally tally(*key, chain_id_);
    CALLGATE_TRY(tally.load(database, end));
    // A restore reports by its own check what is wrong.
    if (!tally.notes_add_up() && !options.to_restore) return notes_changed();
    recovery.unclean = !fresh && clean == 0;
    boots_ = static_cast<std::uint64_t>(boots) + 1;
    std::optional<ClocksReached> last;
    if (reached != 0) {
        last.emplace();
        last->lived = time_of(reached);
        last->latest = time_of(latest);
        // A file that does not say more was written before anybody asked how long the machine was up.
        if (!last->read(clocks)) last->wall = last->lived;
    }
    time.emplace(*options.clock, last);
    CALLGATE_TRY(establish_mark(fresh));
    CALLGATE_TRY(database.execute("BEGIN IMMEDIATE"));
    tally.watch(database);
    Result<void> done = put_meta("chain_id", chain_id_);
    if (done) done = put_meta("key_id", key->id());
    if (done) done = put_meta("boots", static_cast<std::int64_t>(boots_));
    if (done) done = put_meta("clean", 0);
    if (done && mark) done = put_meta("mark_dir", question.mark_directory);
    if (done) done = establish_retention();
    if (done) done = establish_operators();
    if (done) done = tally.store(end);
    if (done) done = database.execute("COMMIT");
    if (!done && database.in_transaction()) (void)database.execute("ROLLBACK");
    // One that is left behind would only ever be older. It stays where no other was made: for a restore,
    // which may yet be refused.
    if (done && mark && past && past->mark_elsewhere)
        (void)options.files->unlink(question.mark_was_in + "/" + chain_id_);
    return done;
}

}  // namespace callgate::ledger
