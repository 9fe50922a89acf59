#include "judge.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/ids.h"
#include "base/must.h"
#include "base/rng.h"
#include "ledger/audit/anchor.h"
#include "ledger/audit/verify.h"
#include "ledger/blocking_waiter.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "secrets/key_source.h"
#include "secrets/secrets_file.h"

namespace callgate::failpoints {

namespace {

using ledger::CallRow;
using ledger::CallState;

/// Pairs of words, as the workload wrote them; a line that a kill cut short is none.
std::multimap<std::string, std::string> read_lines(const std::string& path) {
    std::multimap<std::string, std::string> lines;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line) && !file.eof();) {
        const auto space = line.find(' ');
        lines.emplace(line.substr(0, space), line.substr(space + 1));
    }
    return lines;
}

class Judge {
public:
    explicit Judge(const Place& place)
        : place_(place), effects_(read_lines(place.effects())), told_(read_lines(place.told())) {}

    std::vector<std::string> run() {
        for (const auto& [what, why] : read_lines(place_.trouble())) wrong(what + " " + why);
        ledger::SqliteOptions options;
        options.directory = place_.ledger();
        auto opened = ledger::SqliteLedger::open(std::move(options));
        if (!opened) {
            wrong("The ledger cannot be opened: " + opened.error().message);
            return std::move(wrongs_);
        }
        ledger_ = std::move(*opened);
        for (CallRow& row : must(ledger_->list(std::nullopt))) rows_.emplace(row.key.key, std::move(row));
        audit_is_whole();
        file_is_sound();
        no_effect_twice_or_unrecorded();
        what_was_told_is_there();
        nothing_is_stuck();
        approvals_are_used_once();
        secrets_are_kept();
        backup_is_whole();
        return std::move(wrongs_);
    }

private:
    void wrong(std::string what) { wrongs_.push_back(std::move(what)); }

    /// Keys of which the ledger knows nothing any more, or never did.
    static bool is_elsewhere(std::string_view key) {
        return key.starts_with("old-") || key.starts_with("memory-");
    }

    void audit_is_whole() {
        auto reader = ledger_->read_audit();
        if (!reader) return wrong("The audit cannot be read: " + reader.error().message);
        ledger::VerifyOptions options;
        os::RealFileOps files;
        if (auto anchored = ledger::read_witness_file(files, place_.anchor()))
            options.witnessed = std::move(anchored->notes);
        const auto report = ledger::verify_audit(**reader, std::move(options));
        if (!report) return wrong("The audit cannot be verified: " + report.error().message);
        if (report->fault) wrong("The audit: " + report->summary());
    }

    void file_is_sound() {
        const auto checked = ledger_->check({});
        if (!checked) return wrong("The file cannot be checked: " + checked.error().message);
        if (!checked->at("ok").as_bool()) wrong("The file: " + json::write(*checked));
    }

    void no_effect_twice_or_unrecorded() {
        std::map<std::string, std::vector<std::string>> by_key;
        for (const auto& [key, call] : effects_) by_key[key].push_back(call);
        for (const auto& [key, calls] : by_key) {
            // The other side of a keyed tool takes the same call id for the same effect.
            const std::set<std::string> different(calls.begin(), calls.end());
            const bool keyed = key.find("keyed") != std::string::npos;
            if ((keyed ? different.size() : calls.size()) > 1)
                wrong(fmt::format("{} had its effect {} times.", key, calls.size()));
            if (is_elsewhere(key)) continue;
            for (const std::string& call : different) {
                const auto attempts = ledger_->attempts(base::parse_uuid(call)->bytes);
                if (!attempts || attempts->empty())
                    wrong(key + " had an effect that was not recorded before.");
            }
        }
    }

    void what_was_told_is_there() {
        const auto [first, last] = told_.equal_range("success");
        for (auto at = first; at != last; ++at) {
            const std::string& key = at->second;
            if (is_elsewhere(key)) continue;
            const auto row = rows_.find(key);
            if (row == rows_.end() || row->second.state != CallState::succeeded) {
                wrong(key + " was told to have succeeded, and that is not on the record.");
                continue;
            }
            const auto stored = ledger_->find(row->second.call_id);
            if (!stored || !stored->outcome || stored->outcome->result.value != Value(key))
                wrong("The outcome of " + key + " is not what was told.");
        }
        for (const auto& [what, id] : told_) {
            if (what != "resolved") continue;
            const auto row = ledger_->find(base::parse_uuid(id)->bytes);
            if (!row || row->state != CallState::succeeded) wrong("A finding about " + id + " is gone.");
        }
    }

    void nothing_is_stuck() {
        for (const auto& [key, row] : rows_) {
            if (ledger::is_end(row.state)) continue;
            ledger::PeekReply reply;
            ledger::BlockingWaiter waiter;
            waiter.wait(ledger_->peek(row.key, row.fingerprint, reply, waiter));
            if (reply.error || key.empty() || reply.verdict == ledger::ClaimVerdict::in_progress)
                wrong(fmt::format("'{}' is {}, and nobody can go on with it.", key, to_string(row.state)));
        }
    }

    void approvals_are_used_once() {
        const std::map<std::string, std::set<ApprovalState>> allowed{
            {"approved", {ApprovalState::approved, ApprovalState::consumed}},
            {"denied", {ApprovalState::denied}},
            {"revoked", {ApprovalState::revoked}}};
        for (const auto& [what, id] : told_) {
            const auto states = allowed.find(what);
            if (states == allowed.end()) continue;
            const auto approval = ledger_->approval(id);
            if (!approval || !states->second.contains(approval->state))
                wrong(fmt::format("An approval that was {} is not so on the record.", what));
        }
        std::map<std::string, int> uses;
        for (const auto& [key, row] : rows_) {
            if (!row.approval_id.empty()) ++uses[row.approval_id];
        }
        for (const auto& [id, number] : uses) {
            const auto approval = ledger_->approval(id);
            if (number > 1 || !approval || approval->state != ApprovalState::consumed)
                wrong(fmt::format("Approval {} was used {} times.", id, number));
        }
        for (const auto& [key, call] : effects_) {
            if (!key.starts_with("asks-")) continue;
            const auto row = ledger_->find(base::parse_uuid(call)->bytes);
            if (!row || row->approval_id.empty()) wrong(key + " had its effect without an approval.");
        }
    }

    void secrets_are_kept() {
        std::uint64_t newest = 0;
        const auto [first, last] = told_.equal_range("secret");
        for (auto at = first; at != last; ++at)
            newest = std::max<std::uint64_t>(newest, std::stoull(at->second));
        if (newest == 0) return;
        os::RealFileOps files;
        base::SystemRng rng;
        const base::SystemClock clock;
        auto key = secrets::load_key(files, KeySource::file(place_.directory + "/secrets.key"));
        if (!key) return wrong("The secrets' key is gone: " + key.error().message);
        const secrets::SecretsFile file(files, rng, clock, place_.secrets(), std::move(*key));
        const auto info = file.check("mail", "token");
        if (!info || !*info || (*info)->version < newest) wrong("A secret that was set is gone.");
    }

    void backup_is_whole() {
        if (!told_.contains("backup")) return;
        namespace fs = std::filesystem;
        const std::string directory = place_.directory + "/restored";
        fs::create_directory(directory);
        fs::permissions(directory, fs::perms::owner_all);
        fs::copy_file(place_.directory + "/backup", directory + "/ledger.db");
        for (const char* name : {"ledger.key", "audit.key", "audit.key.next"}) {
            std::error_code missing;
            fs::copy_file(place_.ledger() + "/" + name, directory + "/" + name, missing);
        }
        ledger::SqliteOptions options;
        options.directory = directory;
        options.watch_past = false;  // a copy of one that lives
        const auto opened = ledger::SqliteLedger::open(std::move(options));
        // The key may have been changed after the backup was made; then it has to be restored, too.
        if (!opened && opened.error().details.at("reason") != "key_mismatch")
            wrong("The backup cannot be opened: " + opened.error().message);
    }

    const Place& place_;
    const std::multimap<std::string, std::string> effects_;
    const std::multimap<std::string, std::string> told_;
    std::shared_ptr<ledger::SqliteLedger> ledger_;
    std::multimap<std::string, CallRow> rows_;
    std::vector<std::string> wrongs_;
};

}  // namespace

std::vector<std::string> judge(const Place& place) {
    return Judge(place).run();
}

}  // namespace callgate::failpoints
