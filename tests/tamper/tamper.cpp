// One-field edits of a ledger's file without its key: see README.md.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/rng.h"
#include "ledger/blocking_waiter.h"
#include "ledger/control/filled_ledger.h"
#include "ledger/sqlite/database.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "os/scratch_dir.h"
#include "tool/words.h"

namespace callgate::ledger {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using testing::done;

[[noreturn]] void stop(const std::string& why) {
    std::cerr << "tamper: " << why << '\n';
    std::exit(2);
}

template <class T>
T must(Result<T> result) {
    if (!result) stop(result.error().message);
    if constexpr (!std::is_void_v<T>) return std::move(*result);
}

using ClockPtr = std::shared_ptr<base::ManualClock>;

Result<std::shared_ptr<SqliteLedger>> try_open(const fs::path& directory, const ClockPtr& clock) {
    SqliteOptions options;
    options.directory = directory.string();
    options.watch_past = false;  // copies are looked at, and edits are to be found without the mark
    options.clock = clock;
    return SqliteLedger::open(std::move(options));
}

/// A vote that the ledger itself takes in.
void vote(SqliteLedger& ledger, const std::string& id, std::string who, bool yes = true) {
    AuditFacts facts;
    facts.type = yes ? "approval.vote" : "gate.denied";
    facts.outcome = "info";
    facts.stage = "approval";
    facts.approval_id = id;
    AuditEvent event(facts);
    Vote cast;
    cast.approver = std::move(who);
    cast.approve = yes;
    cast.reason = "looked at it";
    must(ledger.vote(id, std::move(cast), event));
}

/// Whether a claim that uses the approval, as its requester for its very call, goes through.
bool takes_effect(SqliteLedger& ledger, OwnerId owner, const Approval& approval, std::uint64_t number) {
    ClaimRequest claim;
    claim.row.key = {approval.tenant, approval.requester, approval.tool, ""};
    claim.row.call_id = testing::numbered_id(number).bytes;
    claim.row.owner = owner;
    claim.row.action = approval.action;
    claim.approval = ApprovalUse{approval.id, approval.digest};
    const auto reply = done<ClaimReply>(
        [&](ClaimReply& to, Waiter& waiter) { return ledger.claim(std::move(claim), to, waiter); });
    return !reply.error && reply.approval == ApprovalVerdict::ok && reply.verdict == ClaimVerdict::claimed;
}

constexpr std::uint64_t kFirstUse = 900'000'000;

using Approvals = std::map<std::string, Approval>;  // as they were asked for

/// Everything a ledger can hold: tombstones first, of calls whose time has passed.
Approvals fill(const fs::path& directory, const ClockPtr& clock) {
    const auto ledger = must(try_open(directory, clock));
    const OwnerId owner = must(register_owner(*ledger));
    std::uint64_t n = 1;
    for (int i = 0; i < 12; ++i)
        testing::finished_call(*ledger, owner, n++, i % 3 ? AttemptEnd::succeeded : AttemptEnd::failed);
    clock->advance(25h);
    must(ledger->collect());
    for (int i = 0; i < 12; ++i) testing::finished_call(*ledger, owner, n++, AttemptEnd::succeeded);
    for (int i = 0; i < 4; ++i) testing::finished_call(*ledger, owner, n++, AttemptEnd::ambiguous);
    for (int i = 0; i < 4; ++i) testing::finished_call(*ledger, owner, n++, AttemptEnd::failed);

    Approvals all;
    const auto ask = [&](std::uint32_t needed) {
        OpenApprovalRequest request = testing::approval_request(n++, Value{{"to", "ada"}}, "agent", 20h);
        request.approval.approvals_needed = needed;
        const auto opened = done<OpenApprovalReply>([&](OpenApprovalReply& to, Waiter& waiter) {
            return ledger->open_approval(std::move(request), to, waiter);
        });
        if (opened.error) stop(opened.error->message);
        return all.emplace(opened.approval.id, opened.approval).first->first;
    };
    for (int i = 0; i < 4; ++i) {
        ask(1);                        // pending
        vote(*ledger, ask(2), "bob");  // half of what it needs
        vote(*ledger, ask(1), "bob");  // approved
        const std::string two = ask(2);
        vote(*ledger, two, "bob");
        vote(*ledger, two, "carol");
        vote(*ledger, ask(1), "bob", false);  // denied
        const std::string used = ask(1);
        vote(*ledger, used, "bob");
        if (!takes_effect(*ledger, owner, all.at(used), kFirstUse + n)) stop("a given approval is no use");
    }
    return all;
}

struct Column {
    std::string name;
    std::string type;
    bool in_key = false;
};

std::vector<Column> columns_of(Database& database, std::string_view table) {
    auto info = must(database.prepare(fmt::format("PRAGMA table_info({})", table)));
    std::vector<Column> columns;
    while (must(info.step()))
        columns.push_back({std::string(info.text(1)), std::string(info.text(2)), info.integer(5) > 0});
    return columns;
}

/// A value of a column as SQL spells it.
std::string literal_at(Database& database, const std::string& sql) {
    return must(database.text_of(sql));
}

std::string hex_of(std::string_view bytes) {
    std::string out = "x'";
    for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return out + "'";
}

struct Edit {
    std::string table;
    std::string column;
    std::string what;               ///< for people
    std::set<std::string> touched;  ///< approvals that it may have touched
};

class Hand {
public:
    explicit Hand(std::uint64_t seed) : rng_(seed) {}

    std::uint64_t below(std::uint64_t limit) { return rng_.below(limit); }

    /// Changes one field of one row for good.
    Edit edit(const fs::path& file) {
        auto database = must(Database::open(file.string(), Access::read_write));
        constexpr std::string_view kTables[] = {"approvals", "votes", "calls", "tombstones"};
        for (;;) {
            Edit edit;
            edit.table = kTables[below(std::size(kTables))];
            const auto columns = columns_of(database, edit.table);
            const Column& column = columns[below(columns.size())];
            edit.column = column.name;
            const auto rows = must(database.integer_of(fmt::format("SELECT count(*) FROM {}", edit.table)));
            const auto row = below(static_cast<std::uint64_t>(rows));
            // Which row, by its key.
            std::string keys;
            for (const Column& key : columns) {
                if (key.in_key)
                    keys += fmt::format("{}'{} = ' || quote({})", keys.empty() ? "" : " || ' AND ' || ",
                                        key.name, key.name);
            }
            const std::string where = literal_at(
                database, fmt::format("SELECT {} FROM {} LIMIT 1 OFFSET {}", keys, edit.table, row));
            const std::string before = literal_at(
                database, fmt::format("SELECT quote({}) FROM {} WHERE {}", column.name, edit.table, where));
            const std::string after = another(database, edit.table, column, where);
            if (after == before) continue;
            note_approvals(database, edit, where);
            const std::string update =
                fmt::format("UPDATE {} SET {} = {} WHERE {}", edit.table, column.name, after, where);
            if (!database.execute(update.c_str())) continue;  // a constraint stands in the way
            std::string now_where = where;
            if (column.in_key) {
                const auto at = now_where.find(column.name + " = ");
                now_where.replace(at, column.name.size() + 3 + before.size(), column.name + " = " + after);
            }
            const std::string stored = literal_at(database, fmt::format("SELECT quote({}) FROM {} WHERE {}",
                                                                        column.name, edit.table, now_where));
            if (stored == before) stop("an edit changed nothing");
            note_approvals(database, edit, now_where);
            edit.what = fmt::format("{}.{} where {}: {} -> {}", edit.table, edit.column, where,
                                    before.substr(0, 80), after.substr(0, 80));
            return edit;
        }
    }

private:
    static void note_approvals(Database& database, Edit& edit, const std::string& where) {
        if (edit.table != "approvals" && edit.table != "votes") return;
        const char* column = edit.table == "votes" ? "approval_id" : "id";
        edit.touched.insert(
            literal_at(database, fmt::format("SELECT {} FROM {} WHERE {}", column, edit.table, where)));
    }

    std::string bytes(std::size_t count) {
        std::string out;
        for (std::size_t i = 0; i < count; ++i) out.push_back(static_cast<char>(below(256)));
        return out;
    }

    // What somebody might write there: another word that fits, a neighbour's value, or anything.
    std::string another(Database& database, const std::string& table, const Column& column,
                        const std::string& where) {
        const auto one_of = [&](const std::vector<std::string_view>& words) {
            return fmt::format("'{}'", words[below(words.size())]);
        };
        if (column.name == "state" && table == "approvals")
            return one_of({"pending", "approved", "denied", "expired", "consumed", "revoked", "superseded"});
        if (column.name == "state") {
            return one_of({"claimed", "dispatched", "succeeded", "failed", "unknown", "cancelled",
                           "not_applied", "reconciling"});
        }
        if (column.name == "assurance") return one_of({"A1", "A2", "A3"});
        if (column.name == "approve") return below(2) == 0 ? "0" : "1";
        if (column.name == "effect_class") return one_of({kEffectWords.begin(), kEffectWords.end()});
        const auto kind = below(4);
        if (kind == 0) {
            return literal_at(database, fmt::format("SELECT quote({}) FROM {} ORDER BY random() LIMIT 1",
                                                    column.name, table));
        }
        if (kind == 1) return "NULL";
        if (column.type == "INTEGER") {
            const auto delta = static_cast<std::int64_t>(below(2) == 0 ? below(4) + 1 : below(1ULL << 40));
            return literal_at(database,
                              fmt::format("SELECT quote(coalesce({}, 0) {} {}) FROM {} WHERE {}", column.name,
                                          below(2) == 0 ? '+' : '-', delta, table, where));
        }
        const std::string found = literal_at(
            database,
            fmt::format("SELECT hex(coalesce({}, '')) FROM {} WHERE {}", column.name, table, where));
        if (column.type == "TEXT") {
            return below(2) == 0 ? fmt::format("'{}'", "x" + std::to_string(below(1'000)))
                                 : fmt::format("CAST(x'{}' AS TEXT)", found + "21");
        }
        if (found.empty()) return hex_of(bytes(32));
        std::string changed = found;
        char& digit = changed[below(changed.size())];
        digit = digit == '0' ? '1' : '0';
        return "x'" + changed + "'";
    }

    base::SeededRng rng_;
};

struct Found {
    bool noticed = false;
    std::uint64_t effective = 0;
};

/// What the ledger makes of a file that somebody has been at.
Found look(const fs::path& directory, const ClockPtr& clock, const Approvals& all,
           const std::set<std::string>& touched) {
    Found found;
    auto opened = try_open(directory, clock);
    if (!opened) {
        found.noticed = true;
        return found;
    }
    SqliteLedger& ledger = **opened;
    const OwnerId owner = must(register_owner(ledger));
    std::uint64_t n = kFirstUse * 2;
    for (const std::string& id : touched) {
        // Under the name it has now, with what was asked for then.
        for (const auto& [was, approval] : all) {
            if (was != id && all.contains(id)) continue;
            Approval asked = approval;
            asked.id = id;
            if (takes_effect(ledger, owner, asked, n++)) ++found.effective;
        }
    }
    auto report = ledger.check({});
    found.noticed = !report || !report->at("ok").as_bool();
    return found;
}

void copy_fresh(const fs::path& from, const fs::path& to) {
    fs::remove_all(to);
    fs::copy(from, to, fs::copy_options::recursive);
    fs::permissions(to, fs::perms::owner_all);
}

/// Rows that are moved as a whole, and a trigger. How many, and how many went unnoticed or took effect.
struct Others {
    std::uint64_t tried = 0;
    std::uint64_t unnoticed = 0;
    std::uint64_t effective = 0;
};

Others try_others(const fs::path& whole, const fs::path& work, const ClockPtr& clock, const Approvals& all) {
    struct Other {
        const char* sql;
        bool added;  ///< then no approval may take effect that did not before
    };
    // The pending ones with a vote, a state or a trigger that gives them one; and everything taken away once.
    constexpr Other kOthers[] = {
        {"DELETE FROM calls WHERE call_id = (SELECT call_id FROM calls WHERE state = 'succeeded' LIMIT 1)",
         false},
        {"DELETE FROM calls WHERE state = 'unknown'", false},
        {"DELETE FROM tombstones", false},
        {"DELETE FROM tombstones WHERE key_hash = (SELECT min(key_hash) FROM tombstones)", false},
        {"DELETE FROM approvals WHERE state = 'denied'", false},
        {"DELETE FROM votes WHERE approve = 0", true},
        {"DELETE FROM approval_calls", false},
        {"UPDATE calls SET key_hash = NULL WHERE state = 'succeeded'", false},
        {"UPDATE approvals SET state = 'approved' WHERE state = 'pending'", true},
        {"UPDATE approvals SET state = 'approved', consumed_by = '' WHERE state = 'consumed'", true},
        {"UPDATE approvals SET state = 'approved', mac = NULL WHERE state = 'pending'", true},
        {"INSERT INTO votes(approval_id, n, approver, approve, assurance, reason, at, event_seq, event_hash, "
         "mac) SELECT id, 0, 'mallory', 1, 'A3', '', created_at, seq, zeroblob(32), zeroblob(32) FROM "
         "approvals WHERE state = 'pending' AND id NOT IN (SELECT approval_id FROM votes); UPDATE approvals "
         "SET state = 'approved' WHERE state = 'pending'",
         true},
        {"CREATE TRIGGER helpful AFTER UPDATE ON calls BEGIN UPDATE calls SET key_hash = NULL WHERE call_id "
         "= new.call_id; END",
         false},
        {"CREATE TRIGGER generous AFTER INSERT ON audit BEGIN UPDATE approvals SET state = 'approved'; END",
         true},
        {"CREATE VIEW looks AS SELECT * FROM calls", false},
        {"CREATE TABLE notes(x)", false},
        {"DROP INDEX calls_expiry", false},
        {"UPDATE meta SET value = zeroblob(65) WHERE name = 'tally'", false},
        {"DELETE FROM meta WHERE name = 'tally'; DELETE FROM tombstones", false},
        {"UPDATE meta SET value = x'' WHERE name = 'tally'; DELETE FROM tombstones", false},
    };
    std::set<std::string> not_given;
    {
        auto database = must(Database::open((whole / "ledger.db").string(), Access::read_only));
        auto ids = must(database.prepare("SELECT id FROM approvals WHERE state <> 'approved'"));
        while (must(ids.step())) not_given.insert(std::string(ids.text(0)));
    }
    Others others;
    for (const Other& other : kOthers) {
        copy_fresh(whole, work);
        {
            auto database = must(Database::open((work / "ledger.db").string(), Access::read_write));
            must(database.execute(other.sql));
        }
        const Found found = look(work, clock, all, other.added ? not_given : std::set<std::string>());
        ++others.tried;
        others.effective += found.effective;
        if (!found.noticed) {
            ++others.unnoticed;
            std::cout << "unnoticed: " << other.sql << '\n';
        }
    }
    return others;
}

/// How fast a check is, on a ledger with so many approvals and their events.
std::uint64_t measure(const fs::path& directory, const ClockPtr& clock, std::uint64_t rows) {
    const auto ledger = must(try_open(directory, clock));
    testing::open_approvals(*ledger, 1, rows);
    const Object report = must(ledger->check({}));
    if (!report.at("ok").as_bool()) stop("a ledger that nobody touched is not whole: " + json::write(report));
    return report.at("rows_per_s").to_number<std::uint64_t>();
}

int run(std::uint64_t edits, std::uint64_t seed, std::uint64_t rows, bool verbose) {
    const os::ScratchDir scratch(os::quick_directory());
    const fs::path whole = fs::path(scratch.path()) / "whole";
    const fs::path work = fs::path(scratch.path()) / "work";
    const auto clock = std::make_shared<base::ManualClock>();
    const Approvals all = fill(whole, clock);
    copy_fresh(whole, work);
    if (const Found untouched = look(work, clock, all, {}); untouched.noticed)
        stop("a ledger that nobody touched is not called whole");

    Hand hand(seed);
    std::map<std::string, std::uint64_t> edited;
    std::uint64_t effective = 0;
    std::uint64_t unnoticed = 0;
    for (std::uint64_t i = 0; i < edits; ++i) {
        copy_fresh(whole, work);
        const Edit edit = hand.edit(work / "ledger.db");
        ++edited[edit.table + "." + edit.column];
        const Found found = look(work, clock, all, edit.touched);
        effective += found.effective;
        if (!found.noticed) ++unnoticed;
        if (found.effective != 0 || !found.noticed)
            std::cout << (found.noticed ? "effective: " : "unnoticed: ") << edit.what << '\n';
    }
    if (verbose) {
        for (const auto& [column, count] : edited) std::cout << column << ' ' << count << '\n';
    }
    const Others others = try_others(whole, work, clock, all);
    const std::uint64_t rate = measure(fs::path(scratch.path()) / "large", clock, rows);
    std::cout << fmt::format(
        "RESULT edits={} approvals_effective={} unnoticed={} check_rows_per_s={} columns={} whole_rows={} "
        "whole_rows_effective={} whole_rows_unnoticed={} seed={}\n",
        edits, effective, unnoticed, rate, edited.size(), others.tried, others.effective, others.unnoticed,
        seed);
    return effective + unnoticed + others.effective + others.unnoticed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace callgate::ledger

int main(int argc, char** argv) {
    std::uint64_t edits = 2'000;
    std::uint64_t seed = 1;
    std::uint64_t rows = 20'000;
    bool verbose = false;
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        if (option == "--verbose") {
            verbose = true;
            continue;
        }
        std::uint64_t* const number = option == "--edits"  ? &edits
                                      : option == "--seed" ? &seed
                                      : option == "--rows" ? &rows
                                                           : nullptr;
        if (number == nullptr || i + 1 == argc) {
            std::cerr << "usage: tamper [--edits N] [--seed N] [--rows N] [--verbose]\n";
            return 2;
        }
        *number = std::strtoull(argv[++i], nullptr, 10);
    }
    return callgate::ledger::run(edits, seed, rows, verbose);
}
