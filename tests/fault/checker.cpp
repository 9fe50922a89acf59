#include "checker.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/ids.h"
#include "base/must.h"
#include "ledger/audit/export.h"
#include "ledger/audit/verify.h"
#include "ledger/sqlite/sqlite_ledger.h"

namespace callgate::fault {

namespace {

using ledger::CallRow;
using ledger::CallState;

/// What the oracle heard about a key.
struct Heard {
    std::vector<CallId> effects;
    bool told_success = false;
};

class Checker {
public:
    Checker(ledger::SqliteLedger& ledger, Verdict& verdict) : ledger_(ledger), verdict_(verdict) {}

    void run(const std::vector<Record>& records) {
        for (const Record& record : records) {
            Heard& heard = heard_[record.key];
            if (record.kind == Record::Kind::effect) {
                heard.effects.push_back(record.call_id);
                ++verdict_.effects;
            } else if (record.succeeded != 0) {
                heard.told_success = true;
            }
        }
        for (CallRow& row : must(ledger_.list(std::nullopt))) rows_[row.key.key].push_back(std::move(row));
        for (const auto& [name, rows] : rows_) {
            for (const CallRow& row : rows) {
                if (!ledger::is_end(row.state))
                    wrong(verdict_.stuck, name,
                          fmt::format("is {}, and nobody runs it", to_string(row.state)));
            }
        }
        for (const auto& [key, heard] : heard_) check(key, heard);
        verdict_.keys = heard_.size();
    }

    /// The audit by itself, and where it is kept.
    void verify(const std::string& exported) {
        auto reader = ledger_.read_audit();
        auto report = reader ? ledger::verify_audit(**reader, {})
                             : Result<ledger::VerifyReport>(tl::unexpected(reader.error()));
        if (!report) {
            wrong(verdict_.chain_breaks, "audit", report.error().message);
        } else {
            verdict_.events = report->events;
            if (report->fault) wrong(verdict_.chain_breaks, "audit", report->summary());
        }
        if (exported.empty() || !reader) return;
        std::FILE* out = std::fopen(exported.c_str(), "wb");
        const auto written = ledger::export_jsonl(**reader, [out](std::string_view text) -> Result<void> {
            if (out != nullptr && std::fwrite(text.data(), 1, text.size(), out) == text.size()) return {};
            return fail(ErrorCode::internal, "The audit cannot be exported.");
        });
        if (!written || std::fclose(out) != 0) wrong(verdict_.chain_breaks, "audit", "could not be exported");
    }

private:
    void wrong(std::uint64_t& counter, std::string_view about, std::string_view what) {
        ++counter;
        if (told_++ < 5) fmt::print("{}: {}\n", about, what);
    }

    void check(std::uint64_t key, const Heard& heard) {
        const EffectClass effect = class_of(key);
        const std::string name = name_of(key);
        const std::vector<CallRow>& rows = rows_[name];
        std::map<CallId, std::size_t> by_call;
        for (const CallId& call : heard.effects) ++by_call[call];

        // Another call id is another effect, whatever the class. Under the same one a keyed tool's other side
        // sees a repetition and does nothing.
        const std::size_t happened = effect == EffectClass::keyed ? by_call.size() : heard.effects.size();
        if (happened > 1)
            wrong(verdict_.doubled, name, describe(fmt::format("had {} effects", happened), rows));

        for (const auto& [call, count] : by_call) {
            const auto attempts = ledger_.attempts(call);
            if (!attempts || attempts->size() < count)
                wrong(verdict_.orphans, name, describe("had an effect without a dispatched attempt", rows));
        }

        std::size_t succeeded = 0;
        std::size_t unknown = 0;
        for (const CallRow& row : rows) {
            succeeded += row.state == CallState::succeeded ? 1 : 0;
            unknown += row.state == CallState::unknown ? 1 : 0;
            const auto effects = by_call.find(row.call_id);
            const bool applied = effects != by_call.end();
            const bool denied = row.state == CallState::failed || row.state == CallState::not_applied ||
                                row.state == CallState::cancelled;
            if (applied && denied)
                wrong(verdict_.lost, name, describe("had its effect, and the record says no", rows));
            if (row.state == CallState::succeeded && !applied && effect != EffectClass::read)
                wrong(verdict_.lost, name, describe("had no effect, and the record says yes", rows));
        }
        if (!heard.effects.empty() && succeeded + unknown == 0)
            wrong(verdict_.lost, name, describe("had its effect, and nothing is on the record", rows));
        if (heard.told_success && succeeded == 0)
            wrong(verdict_.lost, name, describe("was told to have succeeded", rows));
        if (succeeded > 1) wrong(verdict_.doubled, name, describe("succeeded more than once", rows));
        verdict_.unknown += unknown > 0 ? 1 : 0;
    }

    static std::string describe(std::string text, const std::vector<CallRow>& rows) {
        for (const CallRow& row : rows) {
            text += fmt::format("; {} {} epoch {} attempt {}", base::Uuid{row.call_id}.to_string(),
                                to_string(row.state), row.epoch, row.attempt);
        }
        return text;
    }

    ledger::SqliteLedger& ledger_;
    Verdict& verdict_;
    std::map<std::uint64_t, Heard> heard_;
    std::map<std::string, std::vector<CallRow>> rows_;
    int told_ = 0;
};

std::vector<Record> read_records(const std::string& file) {
    std::vector<Record> records;
    std::FILE* in = std::fopen(file.c_str(), "rb");
    if (in == nullptr) return records;
    Record record;
    while (std::fread(&record, sizeof record, 1, in) == 1) records.push_back(record);
    std::fclose(in);
    return records;
}

}  // namespace

void run_checker(const std::string& directory, const std::string& records, const std::string& exported,
                 Board& board) {
    board.verdict = {};
    ledger::SqliteOptions options;
    options.directory = directory;
    auto opened = ledger::SqliteLedger::open(std::move(options));
    if (!opened) {
        board.report(fmt::format("The ledger cannot be opened to be checked: {}", opened.error().message));
        std::_Exit(3);
    }
    Checker checker(**opened, board.verdict);
    checker.run(read_records(records));
    checker.verify(exported);
    std::fflush(stdout);
    opened->reset();
    std::_Exit(0);
}

}  // namespace callgate::fault
