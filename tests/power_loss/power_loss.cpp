// The power goes again and again, and what was answered is held against what is left. README.md tells what
// the counts mean.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <semaphore>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/sha256.h"
#include "disk.h"
#include "disk_vfs.h"
#include "ledger/audit/verify.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "os/scratch_dir.h"

namespace {

using namespace callgate;
using namespace callgate::power_loss;

constexpr std::size_t kKeys = 24;            // of one ledger
constexpr std::uint64_t kDeaths = 25;        // of one ledger
constexpr std::uint64_t kLongestLife = 220;  // writes and syncs; a start takes some forty

/// What outlives the children.
struct Board {
    std::atomic<std::uint32_t> entered[kKeys];
    std::atomic<std::uint32_t> answered[kKeys];
    std::atomic<std::uint64_t> last_call;
    std::atomic<std::uint64_t> told_event;
    std::atomic<std::uint64_t> doubles, lost, hidden, stuck, clean_ends;
    char why[400];
};

struct Counts {
    std::uint64_t deaths = 0, keys = 0, doubles = 0, lost = 0, hidden = 0, stuck = 0;
};

class Turn final : public ledger::Waiter {
public:
    void wake() override { woken_.release(); }
    void wait_for(ledger::Io io) {
        if (io == ledger::Io::pending) woken_.acquire();
    }

private:
    std::binary_semaphore woken_{0};
};

/// One life of a host: what it learns goes on the board at once.
class Host {
public:
    Host(Board& board, std::shared_ptr<ledger::SqliteLedger> opened, std::uint64_t seed)
        : board_(board), ledger_(std::move(opened)), rng_(seed) {
        ledger::OwnerReply reply;
        Turn turn;
        turn.wait_for(ledger_->register_owner(reply, turn));
        owner_ = reply.owner;
    }

    void run() {
        if (ledger_->audit_count() < board_.told_event.load()) ++board_.hidden;
        for (int round = 0; round < 6; ++round) {
            // Several callers at once, so that they share a commit.
            const std::size_t first = rng_.below(kKeys);
            const std::size_t count = 1 + rng_.below(4);
            std::vector<std::unique_ptr<One>> calls;
            for (std::size_t i = 0; i < count; ++i) calls.push_back(claim((first + i) % kKeys));
            for (auto& call : calls) entered(*call);
            for (auto& call : calls) settled(*call);
            if (rng_.below(3) == 0) read();
        }
    }
    /// Every key has an end that somebody can learn.
    void finish() {
        for (std::size_t key = 0; key < kKeys; ++key) {
            auto call = claim(key);
            entered(*call);
            settled(*call);
            if (call->reply.verdict == ledger::ClaimVerdict::in_progress) ++board_.stuck;
        }
        auto audit = ledger_->read_audit();
        const auto report = audit ? ledger::verify_audit(**audit, {}) : tl::unexpected(audit.error());
        if (!report || report->verdict() == ledger::AuditVerdict::broken) ++board_.hidden;
        const auto checked = ledger_->check({});
        if (!checked || !checked->at("ok").as_bool()) ++board_.hidden;
    }

private:
    struct One {
        std::size_t key = 0;
        CallId id{};
        bool ours = false;
        Turn turn, end;
        ledger::Io io = ledger::Io::done, ending = ledger::Io::done;
        ledger::ClaimReply reply;
        ledger::SettleReply settled;
    };

    static AuditEvent event(std::string_view type, const CallId& id) {
        AuditFacts facts;
        facts.type = type;
        facts.outcome = "info";
        facts.stage = "test";
        facts.call_id = id;
        return AuditEvent(facts);
    }

    std::unique_ptr<One> claim(std::size_t key) {
        auto call = std::make_unique<One>();
        call->key = key;
        const std::uint64_t number = ++board_.last_call;
        std::memcpy(call->id.data(), &number, sizeof number);
        call->id.back() = 1;
        ledger::ClaimRequest request;
        request.row.key = {"tenant", "agent", "pay", "key " + std::to_string(key)};
        request.row.call_id = call->id;
        request.row.fingerprint = base::sha256("request");
        request.row.owner = owner_;
        request.row.definition_hash = base::sha256("definition");
        request.row.action = "call";
        request.events.push_back(event("tool_call.attempted", call->id));
        call->io = ledger_->claim(std::move(request), call->reply, call->turn);
        return call;
    }

    void entered(One& call) {
        call.turn.wait_for(call.io);
        const bool told = board_.answered[call.key].load() != 0;
        if (call.reply.error) {
            ++board_.stuck;
            return;
        }
        if (call.reply.verdict == ledger::ClaimVerdict::unknown && told) ++board_.lost;
        if (call.reply.verdict != ledger::ClaimVerdict::claimed) return;
        if (told) ++board_.lost;
        call.ours = true;
        tell(call.reply.first_event);
        if (board_.entered[call.key].fetch_add(1) != 0) ++board_.doubles;
        ledger::SettleRequest request;
        request.call_id = call.reply.row.call_id;
        request.epoch = call.reply.row.epoch;
        request.attempt = call.reply.row.attempt;
        request.end = ledger::AttemptEnd::succeeded;
        auto outcome = std::make_shared<ledger::StoredOutcome>();
        outcome->succeeded = true;
        outcome->state = State::succeeded;
        outcome->result.value = std::string(200 + rng_.below(6'000), 'x');
        outcome->call_id = request.call_id;
        request.outcome = std::move(outcome);
        request.events.push_back(event("tool_call.succeeded", call.id));
        call.ending = ledger_->settle(std::move(request), call.settled, call.end);
    }

    void settled(One& call) {
        if (!call.ours) return;
        call.end.wait_for(call.ending);
        if (call.settled.error || !call.settled.settled.accepted) {
            ++board_.stuck;
            return;
        }
        board_.answered[call.key] = 1;
        tell(call.settled.first_event);
    }

    /// On the record some time: nothing is promised of it.
    void read() {
        AuditEvent told = event("tool_call.succeeded", CallId{1});
        ledger::Reply reply;
        Turn turn;
        turn.wait_for(ledger_->record(told, reply, turn));
    }

    void tell(std::uint64_t sequence) {
        if (board_.told_event.load() < sequence) board_.told_event = sequence;
    }

    Board& board_;
    std::shared_ptr<ledger::SqliteLedger> ledger_;
    ledger::OwnerId owner_ = 0;
    base::SeededRng rng_;
};

struct Trial {
    std::uint64_t seed;
    std::uint64_t life;  // 0: the power stays
    bool honest;
    bool last;
};

/// In a child.
[[noreturn]] void live(const std::string& home, Board& board, const Trial& trial) {
    Disk disk(trial.seed, trial.life, trial.honest, [] { std::_Exit(0); });
    DiskVfs vfs(disk);
    ledger::SqliteOptions options;
    options.directory = home + "/led";
    options.mark_dir = home + "/state/marks";
    options.files = std::make_shared<DiskFileOps>(disk);
    options.vfs = vfs.name();
    options.watch_past = trial.honest;
    options.writer.checkpoint_pages = 12;
    auto opened = ledger::SqliteLedger::open(std::move(options));
    if (!opened) {
        ++board.stuck;
        std::snprintf(board.why, sizeof board.why, "%s", opened.error().message.c_str());
        std::_Exit(0);
    }
    {
        Host host(board, std::move(*opened), trial.seed);
        trial.last ? host.finish() : host.run();
    }
    ++board.clean_ends;
    disk.die();  // even a clean stop is followed by a power cut
    std::_Exit(0);
}

void run_child(const std::string& home, Board& board, const Trial& trial) {
    constexpr unsigned kLongest = 120;  // seconds; one that hangs is killed, and counts as stuck
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(kLongest);
        live(home, board, trial);
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) != 0) {
        ++board.stuck;
        std::snprintf(board.why, sizeof board.why, "a child ended with status %d", status);
    }
}

/// Until `deaths` deaths, or until one ledger has had enough.
void run_ledger(std::uint64_t deaths, std::uint64_t seed, bool honest, Counts& counts) {
    void* const shared =
        ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) std::abort();
    Board& board = *new (shared) Board();
    base::SeededRng rng(seed);
    {
        const os::ScratchDir home(os::quick_directory());
        std::filesystem::create_directory(home.file("state"));  // durable: not what makes the ledger's so
        for (std::uint64_t death = 0; death < deaths; ++death) {
            run_child(home.path(), board,
                      {rng.below(~std::uint64_t{0}), 1 + rng.below(kLongestLife), honest, false});
            // It is not for the disk; SQLite makes it again.
            std::error_code ignored;
            if (rng.below(2) == 0) std::filesystem::remove(home.file("led/ledger.db-shm"), ignored);
            ++counts.deaths;
            if (board.stuck.load() != 0) break;
        }
        if (board.stuck.load() == 0)
            run_child(home.path(), board, {rng.below(~std::uint64_t{0}), 0, honest, true});
    }
    for (const auto& entered : board.entered) counts.keys += entered.load() != 0 ? 1u : 0u;
    counts.doubles += board.doubles.load();
    counts.lost += board.lost.load();
    counts.hidden += board.hidden.load();
    counts.stuck += board.stuck.load();
    if (honest && (board.doubles + board.lost + board.hidden + board.stuck) != 0) {
        std::printf("seed %llu: double=%llu lost=%llu hidden=%llu stuck=%llu %s\n",
                    static_cast<unsigned long long>(seed),
                    static_cast<unsigned long long>(board.doubles.load()),
                    static_cast<unsigned long long>(board.lost.load()),
                    static_cast<unsigned long long>(board.hidden.load()),
                    static_cast<unsigned long long>(board.stuck.load()), board.why);
    }
    ::munmap(shared, sizeof(Board));
}

Counts run(std::uint64_t deaths, std::uint64_t seed, bool honest) {
    Counts counts;
    for (std::uint64_t ledger = 0; counts.deaths < deaths; ++ledger)
        run_ledger(std::min(kDeaths, deaths - counts.deaths), seed * 1'000'003 + ledger, honest, counts);
    return counts;
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t deaths = 2'000;
    std::uint64_t seed = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--deaths") == 0) deaths = std::strtoull(argv[i + 1], nullptr, 10);
        if (std::strcmp(argv[i], "--seed") == 0) seed = std::strtoull(argv[i + 1], nullptr, 10);
    }
    const Counts held = run(deaths, seed, true);
    const Counts control = run(std::max<std::uint64_t>(deaths / 10, 25), seed, false);
    const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
    std::printf(
        "RESULT deaths=%llu keys=%llu double=%llu lost=%llu hidden=%llu stuck=%llu control_double=%llu "
        "control_lost=%llu\n",
        number(held.deaths), number(held.keys), number(held.doubles), number(held.lost), number(held.hidden),
        number(held.stuck), number(control.doubles), number(control.lost));
    const bool kept = held.doubles + held.lost + held.hidden + held.stuck == 0;
    return kept && control.doubles != 0 && control.lost != 0 ? 0 : 1;
}
