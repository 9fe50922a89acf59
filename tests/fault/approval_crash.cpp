// Kills the owner of a durable ledger between the request for an approval and the dispatch of what was
// approved, again and again.
//
//     approval_crash [--kills N] [--seed S] [--directory DIR]
//
// The worker asks, decides and executes on several threads: orders that need a person's yes, people who give
// it, callers who come back. What each learned and every effect is a message to the oracle. Afterwards no
// approval that somebody was notified of may be lost, no vote, none may be used twice, and nothing may have
// happened without one. The last line is the RESULT; exit code 0 if all held, 1 if not, 2 for bad arguments,
// 77 where the build has no failpoints.
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <callgate/callgate.h>

#include "base/failpoint.h"
#include "base/ids.h"
#include "base/must.h"
#include "base/rng.h"
#include "board.h"
#include "ledger/audit/verify.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "oracle.h"
#include "os/fd.h"

namespace {

using namespace callgate;
using namespace callgate::fault;

constexpr std::uint64_t kWindow = 12;  // orders that are under way at a time
constexpr std::size_t kCallers = 4;
constexpr std::size_t kDeciders = 2;

struct Options {
    std::uint64_t kills = 1'000;
    std::uint64_t seed = 1;
    std::string directory = "/dev/shm";
};

/// What is reported of an order: what `call_id` is, is said by `state`.
enum class Reported : std::uint32_t { approval_opened = 1'000, voted = 1'001, outcome = 1'002 };

[[noreturn]] void give_up(Board& board, const std::string& why) {
    board.report(why);
    std::_Exit(3);
}

CallId bytes_of(const std::string& id) {
    return base::parse_uuid(id)->bytes;
}

class Worker {
public:
    Worker(std::string directory, std::uint64_t seed, bool drains, Board& board, const Channels& channels)
        : directory_(std::move(directory)),
          seed_(seed),
          drains_(drains),
          board_(board),
          channels_(channels) {}

    void run() {
        RuntimeOptions options;
        options.ledger_dir = directory_;
        options.control_socket = false;
        auto opened = Runtime::open(options);
        if (!opened) give_up(board_, opened.error().message);
        runtime_ = std::move(*opened);
        Tool pay =
            schema_tool(ToolDefinition("pay", "Pays an order.",
                                       Object{{"type", "object"},
                                              {"properties", Object{{"order", Object{{"type", "integer"}}}}},
                                              {"required", Array{"order"}}}),
                        [this](const Object& arguments, CallContext& context) -> ToolReturn {
                            return act(arguments.at("order").to_number<std::uint64_t>(), context);
                        });
        pay.risk(Risk::high);
        pay.effect(EffectClass::unsafe);
        pay.contract.breaker.failures = 0;
        if (auto added = runtime_->tools().add(pay); !added) give_up(board_, added.error().message);

        last_ = board_.cursor.load() + kWindow;
        std::vector<std::thread> callers;
        for (std::size_t i = 0; i < kCallers; ++i) {
            callers.emplace_back([this, i] {
                base::SeededRng rng(seed_ * 64 + i);
                if (drains_) {
                    for (std::uint64_t order = i; order < last_; order += kCallers) {
                        while (!place(order)) decide(rng);
                    }
                } else {
                    for (;;) place(pick(rng));
                }
            });
        }
        std::vector<std::thread> deciders;
        for (std::size_t i = 0; i < kDeciders && !drains_; ++i) {
            deciders.emplace_back([this, i] {
                base::SeededRng rng(seed_ * 64 + kCallers + i);
                for (;;) decide(rng);
            });
        }
        for (std::thread& thread : callers) thread.join();
        runtime_.reset();
    }

private:
    ToolReturn act(std::uint64_t order, CallContext& context) {
        CALLGATE_FAILPOINT("fault.before_effect");
        Record record;
        record.kind = Record::Kind::effect;
        record.key = order;
        record.call_id = bytes_of(context.call_id());
        tell(record);
        CALLGATE_FAILPOINT("fault.after_effect");
        return ToolResult(Value(order));
    }

    std::uint64_t pick(base::Rng& rng) {
        if (rng.below(4) == 0) return board_.cursor.fetch_add(1);
        return board_.cursor.load() + rng.below(kWindow);
    }

    /// True: the order has come to its end.
    bool place(std::uint64_t order) {
        Context context;
        context.principal = "agent";
        context.idempotency_key = name_of(order);
        const Outcome outcome = runtime_->call("pay", {{"order", order}}, std::move(context));
        if (outcome.state() == State::needs_approval) {
            tell_of(Reported::approval_opened, order, bytes_of(outcome.approval_id()), false);
            return false;
        }
        switch (outcome.state()) {
            case State::succeeded:
            case State::replayed:
            case State::unknown: break;
            case State::denied: return false;  // somebody else used it first, and the next try replays
            default:
                give_up(board_, fmt::format("{} ended as {}: {}", name_of(order), to_string(outcome.state()),
                                            outcome.error() != nullptr ? outcome.error()->message : ""));
        }
        tell_of(Reported::outcome, order, {}, outcome.ok());
        return true;
    }

    void decide(base::Rng& rng) {
        const auto open = must(runtime_->approvals().list(ApprovalState::pending));
        if (open.empty()) {
            std::this_thread::yield();
            return;
        }
        const Approval& one = open[rng.below(open.size())];
        if (runtime_->approvals().approve(one.id, "olga"))
            tell_of(Reported::voted, one.arguments.at("order").to_number<std::uint64_t>(), bytes_of(one.id),
                    true);
    }

    void tell_of(Reported what, std::uint64_t order, const CallId& id, bool succeeded) {
        Record record;
        record.kind = Record::Kind::told;
        record.state = static_cast<std::uint32_t>(what);
        record.key = order;
        record.call_id = id;
        record.succeeded = succeeded ? 1 : 0;
        tell(record);
    }

    void tell(const Record& record) {
        if (::write(channels_.effects_out.get(), &record, sizeof record) != sizeof record)
            give_up(board_, "The oracle does not listen.");
    }

    const std::string directory_;
    const std::uint64_t seed_;
    const bool drains_;
    Board& board_;
    const Channels& channels_;
    std::unique_ptr<Runtime> runtime_;
    std::uint64_t last_ = 0;
};

struct Found {
    std::uint64_t approvals = 0;
    std::uint64_t used = 0;
    std::uint64_t effects = 0;
    std::uint64_t lost = 0;
    std::uint64_t used_twice = 0;
    std::uint64_t unapproved = 0;
    std::uint64_t chain_breaks = 0;
};

void wrong(std::uint64_t& counter, const std::string& what) {
    if (counter++ < 5) fmt::print("{}\n", what);
}

Found judge(const std::string& directory, const std::vector<Record>& records) {
    Found found;
    ledger::SqliteOptions options;
    options.directory = directory;
    auto opened = ledger::SqliteLedger::open(std::move(options));
    if (!opened) {
        wrong(found.lost, "The ledger cannot be opened: " + opened.error().message);
        return found;
    }
    ledger::SqliteLedger& ledger = **opened;
    std::map<std::string, Approval> approvals;
    std::map<std::string, std::string> used_by;  // call → approval
    for (Approval& approval : must(ledger.approvals(std::nullopt))) {
        ++found.approvals;
        if (approval.state == ApprovalState::consumed) {
            ++found.used;
            if (!used_by.emplace(approval.consumed_by, approval.id).second)
                wrong(found.used_twice, "Two approvals were used for call " + approval.consumed_by);
        }
        approvals.emplace(approval.id, std::move(approval));
    }
    std::map<std::uint64_t, std::size_t> effects;
    for (const Record& record : records) {
        if (record.kind == Record::Kind::effect) {
            ++found.effects;
            const std::string call = base::Uuid{record.call_id}.to_string();
            if (++effects[record.key] > 1)
                wrong(found.used_twice, name_of(record.key) + " was paid more than once.");
            if (!used_by.contains(call))
                wrong(found.unapproved, "Call " + call + " ran without an approval.");
            continue;
        }
        const auto what = static_cast<Reported>(record.state);
        if (what == Reported::outcome) continue;
        const std::string id = base::Uuid{record.call_id}.to_string();
        const auto known = approvals.find(id);
        if (known == approvals.end()) {
            wrong(found.lost, "Approval " + id + " was reported, and is gone.");
        } else if (what == Reported::voted && known->second.votes.empty()) {
            wrong(found.lost, "A vote on approval " + id + " was reported, and is gone.");
        }
    }
    for (const auto& [call, approval] : used_by) {
        const auto row = ledger.find(bytes_of(call));
        if (!row || row->approval_id != approval)
            wrong(found.lost, "Approval " + approval + " was used, and there is no call for it.");
    }
    auto reader = ledger.read_audit();
    const auto report = reader ? ledger::verify_audit(**reader, {})
                               : Result<ledger::VerifyReport>(tl::unexpected(reader.error()));
    if (!report || report->fault)
        wrong(found.chain_breaks, report ? report->summary() : report.error().message);
    return found;
}

pid_t start(const std::function<void()>& work) {
    std::fflush(stdout);
    const pid_t process = ::fork();
    if (process == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        work();
        std::_Exit(0);
    }
    return process;
}

/// Waits for the process to end by itself.
bool dies_within(pid_t process, std::uint64_t microseconds) {
    const os::Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    pollfd wanted{handle.get(), POLLIN, 0};
    const timespec patience{static_cast<time_t>(microseconds / 1'000'000),
                            static_cast<long>(microseconds % 1'000'000 * 1'000)};
    return ::ppoll(&wanted, 1, &patience, nullptr) == 1;
}

int ended(pid_t process) {
    int status = 0;
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

bool read_options(int argc, char** argv, Options& options) {
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        const std::string_view value = argv[i + 1];
        if (name == "--directory") {
            options.directory = value;
            continue;
        }
        std::uint64_t* number = name == "--kills"  ? &options.kills
                                : name == "--seed" ? &options.seed
                                                   : nullptr;
        if (number == nullptr ||
            std::from_chars(value.data(), value.data() + value.size(), *number).ec != std::errc()) {
            return false;
        }
    }
    return argc % 2 == 1 && options.kills > 0;
}

/// Where a worker may be asked to die by itself.
constexpr const char* kPlaces[] = {
    "ledger.before_approval_open", "ledger.after_approval_open", "ledger.before_vote",  "ledger.after_vote",
    "ledger.before_approval_use",  "ledger.after_approval_use",  "ledger.before_claim", "ledger.after_claim",
    "ledger.before_commit",        "ledger.after_commit",        "fault.before_effect", "fault.after_effect"};

}  // namespace

int main(int argc, char** argv) {
    Options options;
    if (!read_options(argc, argv, options)) {
        fmt::print(stderr, "usage: approval_crash [--kills N] [--seed S] [--directory DIR]\n");
        return 2;
    }
#ifndef CALLGATE_FAILPOINTS
    fmt::print(stderr, "not in this build: it has no failpoints (CALLGATE_FAILPOINTS)\n");
    return 77;
#else
    const std::string directory = fmt::format("{}/callgate-approvals-{}", options.directory, ::getpid());
    base::SeededRng rng(options.seed);
    Found all;
    std::uint64_t kills = 0;
    std::uint64_t rounds = 0;
    std::uint64_t at_places = 0;
    bool well = true;
    fmt::print("seed {}\n", options.seed);
    const auto began = std::chrono::steady_clock::now();
    while (well && kills < options.kills) {
        const std::string round = fmt::format("{}/{}", directory, rounds++);
        std::filesystem::create_directories(round);
        Board& board = *make_shared_memory<Board>();
        const Channels channels = Channels::open();
        const pid_t oracle = start([&] { run_oracle(channels, round + "/records"); });
        const std::uint64_t until = std::min(options.kills, kills + 50);
        while (well && kills < until) {
            const std::uint64_t seed = rng.next_u64();
            const bool by_itself = rng.below(100) < 60;
            const std::string place = kPlaces[rng.below(std::size(kPlaces))];
            const std::uint64_t hit = 1 + rng.below(6);
            const pid_t worker = start([&] {
                if (by_itself) base::failpoints().arm(place, base::FailAction::kill, hit);
                Worker(round + "/ledger", seed, false, board, channels).run();
            });
            // Late enough that most have the ledger; a place that is not reached ends here, too.
            if (dies_within(worker, by_itself ? 120'000 : 5'000 + rng.below(35'000))) ++at_places;
            ::kill(worker, SIGKILL);
            const int status = ended(worker);
            if (!WIFSIGNALED(status)) {
                fmt::print("A worker ended with status {}: {}\n", status, board.trouble.data());
                well = false;
            }
            ++kills;
        }
        const pid_t last =
            start([&] { Worker(round + "/ledger", rng.next_u64(), true, board, channels).run(); });
        if (const int status = ended(last); status != 0) {
            fmt::print("The last worker ended with status {}: {}\n", status, board.trouble.data());
            well = false;
        }
        Question question;
        question.kind = Question::Kind::write;
        ask(channels, question);
        ::kill(oracle, SIGKILL);
        ended(oracle);
        std::vector<Record> records;
        if (std::FILE* in = std::fopen((round + "/records").c_str(), "rb")) {
            Record record;
            while (std::fread(&record, sizeof record, 1, in) == 1) records.push_back(record);
            std::fclose(in);
        }
        const Found found = judge(round + "/ledger", records);
        all.approvals += found.approvals;
        all.used += found.used;
        all.effects += found.effects;
        all.lost += found.lost;
        all.used_twice += found.used_twice;
        all.unapproved += found.unapproved;
        all.chain_breaks += found.chain_breaks;
        ::munmap(&board, sizeof board);
        std::filesystem::remove_all(round);
    }
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    fmt::print(
        "{} kills in {} rounds and {:.1f} s, {} of them at places of their own; {} approvals, {} used, {} "
        "effects\n",
        kills, rounds, took.count(), at_places, all.approvals, all.used, all.effects);
    fmt::print(
        "RESULT approval_kills={} approvals={} used={} lost={} used_twice={} unapproved={} chain_breaks={}\n",
        kills, all.approvals, all.used, all.lost, all.used_twice, all.unapproved, all.chain_breaks);
    const bool held = all.lost + all.used_twice + all.unapproved + all.chain_breaks == 0;
    return well && held && all.used > 0 ? 0 : 1;
#endif
}
