#include "lane.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "checker.h"
#include "oracle.h"
#include "worker.h"

namespace callgate::fault {

namespace {

using Time = std::chrono::steady_clock::time_point;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kCensusCalls = 400;
constexpr microseconds kTimeToReachAnEffect = seconds(2);       // comes soon, however busy the machine is
constexpr microseconds kTimeToReachAPlace = milliseconds(250);  // may never come
constexpr auto kLongest = seconds(60);                          // for anything that must end by itself

Time now() {
    return std::chrono::steady_clock::now();
}

struct Child {
    pid_t pid = 0;
    os::Fd ended;  // readable then
};

/// A process of ours that goes when we do.
Child start(const std::function<void()>& work) {
    std::fflush(stdout);
    Child child;
    child.pid = ::fork();
    if (child.pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        work();
        std::_Exit(3);
    }
    child.ended = os::Fd(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
    if (child.pid < 0 || !child.ended) {
        std::perror("fork");
        std::_Exit(4);
    }
    return child;
}

int reap(Child& child) {
    int status = 0;
    while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) {
    }
    child = {};
    return status;
}

struct Place {
    std::string name;
    std::uint64_t hits = 0;
};

class Lane {
public:
    Lane(const LanePlan& plan, LaneReport& report) : plan_(plan), report_(report), rng_(plan.seed) {}

    bool run() {
        if (!take_census()) return false;
        while (report_.kills < plan_.kills) {
            if (!round()) return false;
            if (plan_.until_double && report_.found.doubled > 0) break;
        }
        std::string places;
        for (const auto& [name, kills] : kills_at_) places += fmt::format("{} {}\n", name, kills);
        Board::copy(places, report_.places);
        return true;
    }

private:
    struct Contender {
        Child process;
        Orders orders;
        std::optional<Time> dies_at;  // by our hand
        bool killed = false;          // by our hand
    };

    /// One ledger, its oracle and its files.
    class Round {
    public:
        Round(const LanePlan& plan, std::uint64_t number)
            : directory_(fmt::format("{}/{}-{}", plan.directory, plan.seed, number)),
              board(*make_shared_memory<Board>()),
              channels(Channels::open()) {
            std::filesystem::create_directories(directory_);
            records_ = directory_ + "/records";
            oracle_ = start([this] { run_oracle(channels, records_); });
        }
        ~Round() {
            ::kill(oracle_.pid, SIGKILL);
            reap(oracle_);
            std::error_code ignored;
            std::filesystem::remove_all(directory_, ignored);
            ::munmap(&board, sizeof board);
        }
        Round(const Round&) = delete;
        Round& operator=(const Round&) = delete;

        std::string ledger() const { return directory_ + "/ledger"; }
        const std::string& records() const { return records_; }

    private:
        std::string directory_;
        std::string records_;
        Child oracle_;

    public:
        Board& board;
        Channels channels;
    };

    bool trouble(std::string_view what) {
        Board::copy(what, report_.trouble);
        return false;
    }

    /// Runs something that ends by itself, and well.
    bool orderly(Round& round, std::string_view what, const std::function<void()>& work) {
        Child child = start(work);
        pollfd wanted{child.ended.get(), POLLIN, 0};
        const int ended = ::poll(&wanted, 1, static_cast<int>(milliseconds(kLongest).count()));
        if (ended != 1) ::kill(child.pid, SIGKILL);
        const int status = reap(child);
        if (ended != 1) return trouble(fmt::format("{} did not end.", what));
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
        return trouble(fmt::format("{} ended with status {}: {}", what, status, round.board.trouble.data()));
    }

    Orders orders_for(const Round& round) {
        Orders orders;
        orders.directory = round.ledger();
        orders.seed = rng_.next_u64();
        orders.resends = plan_.resends;
        return orders;
    }

    /// Which failpoints a worker passes, and how often: with a new ledger, and with one whose owner was
    /// killed.
    bool take_census() {
        Round round(plan_, 0);
        if (!census_of(round, new_places_)) return false;
        Contender killed;
        killed.orders = orders_for(round);
        killed.orders.failpoint = "fault.after_effect=kill@40";
        killed.process = start([&] { run_worker(killed.orders, round.board, round.channels); });
        if (!buried(round, killed) || !census_of(round, places_)) return false;
        std::erase_if(new_places_, [this](const Place& place) {
            return std::ranges::any_of(places_, [&](const Place& other) { return other.name == place.name; });
        });
        return true;
    }

    bool census_of(Round& round, std::vector<Place>& places) {
        Orders orders = orders_for(round);
        orders.calls = kCensusCalls;
        if (!orderly(round, "A worker without orders to die",
                     [&] { run_worker(orders, round.board, round.channels); })) {
            return false;
        }
        std::istringstream census(round.board.census.data());
        for (Place place; census >> place.name >> place.hits;) {
            if (!place.name.starts_with("fault.")) places.push_back(place);
        }
        return true;
    }

    /// Where it dies by itself; "" if only we kill it.
    std::string choose_failpoint(bool new_ledger) {
        const std::uint64_t dice = rng_.below(100);
        const std::vector<Place>& places = new_ledger ? new_places_ : places_;
        if (dice < 45 && !new_ledger) {
            return fmt::format("fault.{}_effect=kill@{}", dice % 2 == 0 ? "before" : "after",
                               1 + rng_.below(4));
        }
        if (dice < 75 && !places.empty()) {
            const Place& place = places[rng_.below(places.size())];
            return fmt::format("{}=kill@{}", place.name,
                               1 + rng_.below(std::min<std::uint64_t>(place.hits, 24)));
        }
        return "";
    }

    void send_in(Round& round, Contender& contender, std::size_t place, bool waits) {
        contender.orders = orders_for(round);
        contender.orders.place = place;
        contender.orders.waits = waits;
        contender.orders.failpoint = choose_failpoint(!std::filesystem::exists(round.ledger()));
        round.board.in_body[place] = 0;
        contender.dies_at.reset();
        contender.killed = false;
        if (contender.orders.failpoint.empty() && rng_.below(4) == 0)
            contender.dies_at = now() + microseconds(rng_.below(10'000));
        contender.process = start([&] { run_worker(contender.orders, round.board, round.channels); });
    }

    bool round() {
        ++report_.rounds;
        Round round(plan_, report_.rounds);
        const bool race = report_.rounds % 3 == 0;
        std::vector<Contender> contenders(race ? kContenders : 1);
        const std::uint64_t until = std::min(plan_.kills, report_.kills + plan_.kills_per_round);
        for (std::size_t i = 0; i < contenders.size(); ++i) send_in(round, contenders[i], i, race);
        while (report_.kills < until) {
            if (!step(round, contenders)) return false;
        }
        for (Contender& contender : contenders) {
            kill(contender);
            if (!buried(round, contender)) return false;
        }
        return judged(round);
    }

    /// Waits for a death, for a new owner, or for the moment to kill.
    bool step(Round& round, std::vector<Contender>& contenders) {
        std::vector<pollfd> wanted{{round.channels.ready.get(), POLLIN, 0}};
        Time next = now() + kLongest;
        for (const Contender& contender : contenders) {
            wanted.push_back({contender.process.ended.get(), POLLIN, 0});
            if (contender.dies_at) next = std::min(next, *contender.dies_at);
        }
        const auto left = std::max<Time::duration>(next - now(), Time::duration::zero());
        const timespec patience{std::chrono::duration_cast<seconds>(left).count(),
                                static_cast<long>(std::chrono::nanoseconds(left % seconds(1)).count())};
        const int events = ::ppoll(wanted.data(), wanted.size(), &patience, nullptr);
        if (events < 0 && errno != EINTR) return trouble("poll failed");
        bool somebody_dies = false;
        for (std::size_t i = 0; i < contenders.size(); ++i) {
            Contender& contender = contenders[i];
            if ((wanted[i + 1].revents & POLLIN) != 0) {
                const bool raced = contender.orders.waits;
                if (!buried(round, contender)) return false;
                send_in(round, contender, i, raced);
                continue;
            }
            somebody_dies = somebody_dies || contender.dies_at.has_value();
            if (contender.dies_at && *contender.dies_at <= now()) kill(contender);
        }
        if ((wanted[0].revents & POLLIN) != 0) {
            std::uint64_t ignored = 0;
            (void)!::read(round.channels.ready.get(), &ignored, sizeof ignored);
            for (Contender& contender : contenders) {
                if (contender.process.pid != round.board.owner || contender.dies_at) continue;
                const std::string& failpoint = contender.orders.failpoint;
                contender.dies_at = now() + (failpoint.empty() ? microseconds(rng_.below(15'000))
                                             : failpoint.starts_with("fault.") ? kTimeToReachAnEffect
                                                                               : kTimeToReachAPlace);
            }
        } else if (events == 0 && !somebody_dies) {
            return trouble("No worker gets the ledger.");
        }
        return true;
    }

    static void kill(Contender& contender) {
        contender.killed = true;
        ::kill(contender.process.pid, SIGKILL);
    }

    /// A worker has ended: by SIGKILL, or something is wrong.
    bool buried(Round& round, Contender& contender) {
        const pid_t pid = contender.process.pid;
        const int status = reap(contender.process);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
            return trouble(fmt::format("A worker with the orders '{}' ended with status {}: {}",
                                       contender.orders.failpoint, status, round.board.trouble.data()));
        }
        ++report_.kills;
        pid_t owner = pid;
        const bool owned = round.board.owner.compare_exchange_strong(owner, 0);
        if (round.board.in_body[contender.orders.place].load() > 0) ++report_.in_effect;
        if (contender.orders.waits) ++report_.in_races;
        if (!owned) ++report_.while_opening;
        if (!contender.killed && !contender.orders.failpoint.empty()) {
            ++report_.at_failpoints;
            ++kills_at_[contender.orders.failpoint.substr(0, contender.orders.failpoint.find('='))];
        }
        if (contender.orders.waits) {
            const std::uint64_t all = kContenders;
            (void)!::write(round.channels.freed.get(), &all, sizeof all);
        }
        return true;
    }

    /// Brings the rest to its end and holds the ledger against the oracle.
    bool judged(Round& round) {
        Orders orders = orders_for(round);
        orders.drains = true;
        if (!orderly(round, "The worker that brings the rest to its end",
                     [&] { run_worker(orders, round.board, round.channels); })) {
            return false;
        }
        Question question;
        question.kind = Question::Kind::write;
        ask(round.channels, question);
        const std::string exported =
            plan_.kept.empty() ? "" : fmt::format("{}/{}-{}.jsonl", plan_.kept, plan_.seed, report_.rounds);
        if (!orderly(round, "The checker",
                     [&] { run_checker(round.ledger(), round.records(), exported, round.board); })) {
            return false;
        }
        const Verdict& found = round.board.verdict;
        Verdict& all = report_.found;
        all.keys += found.keys;
        all.effects += found.effects;
        all.doubled += found.doubled;
        all.lost += found.lost;
        all.orphans += found.orphans;
        all.stuck += found.stuck;
        all.chain_breaks += found.chain_breaks;
        all.unknown += found.unknown;
        all.events += found.events;
        report_.refusals += round.board.refusals;
        report_.two_owners += round.board.two_owners;
        for (std::size_t i = 0; i < kStateCount; ++i) report_.told[i] += round.board.told[i];
        return true;
    }

    const LanePlan& plan_;
    LaneReport& report_;
    base::SeededRng rng_;
    std::vector<Place> new_places_;  // only where the ledger is made
    std::vector<Place> places_;
    std::map<std::string, std::uint64_t> kills_at_;
};

}  // namespace

void run_lane(const LanePlan& plan, LaneReport& report) {
    const bool well = Lane(plan, report).run();
    std::fflush(stdout);
    std::_Exit(well ? 0 : 1);
}

}  // namespace callgate::fault
