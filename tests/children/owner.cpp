#include "owner.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/must.h"
#include "base/sha256.h"
#include "census.h"
#include "ledger/control/filled_ledger.h"
#include "ledger/control/message.h"
#include "ledger/control/server.h"
#include "ledger/control/service.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "os/child.h"
#include "os/error_lines.h"
#include "os/subreaper.h"
#include "talk.h"

namespace callgate::children {
namespace {

using namespace std::chrono_literals;

// The kinds of hostile.cpp; a word is what is waited for before the end.
struct Kind {
    const char* name;
    bool says_something;
    bool votes = false;
};

constexpr std::string_view kFatherless = "approve_fatherless";

constexpr std::array kKinds = {Kind{"exit", false},
                               Kind{"garbage", true},
                               Kind{"deaf", true},
                               Kind{"silent", false},
                               Kind{"storm", true},
                               Kind{"approve", true, true},
                               Kind{"runaway", true},
                               Kind{"flood", false},
                               Kind{"orphan", true},
                               Kind{"stopped", true},
                               Kind{"approve_orphan", true, true},
                               Kind{"stop_launcher", true},
                               Kind{"kill_launcher", true},
                               Kind{"approve_fatherless", true, true},
                               Kind{"deaf", false},
                               Kind{"echo", false}};

class Owner {
public:
    explicit Owner(const OwnerPlan& plan) : plan_(plan) {
        ledger::SqliteOptions options;
        options.directory = plan.directory;
        ledger_ = must(ledger::SqliteLedger::open(std::move(options)));
        service_ = std::make_unique<ledger::ControlService>(*ledger_, *ledger_, clock_);
        ledger::ControlOptions served;
        served.directory = plan.directory;
        if (!plan.refuses) {
            served.origin_of = [](const os::Fd&, std::span<const os::ProcessId>) {
                os::PeerOrigin anywhere;
                anywhere.from_us = anywhere.from_others = os::Descent::elsewhere;
                return anywhere;
            };
        }
        server_ = must(ledger::ControlServer::start(*service_, clock_, std::move(served)));
        auto request = ledger::testing::approval_request(1, Object(), "agent", 24h);
        request.approval.assurance_needed = Assurance::a1;
        ledger::testing::done<ledger::OpenApprovalReply>(
            [&](ledger::OpenApprovalReply& reply, ledger::Waiter& waiter) {
                return ledger_->open_approval(std::move(request), reply, waiter);
            });
    }

    OwnerReport run() {
        // Threads that a vote started stay with the server; they are no leak of the children's.
        const std::size_t before = open_descriptors();
        {
            std::vector<std::thread> lanes;
            for (int i = 0; i < plan_.lanes; ++i) lanes.emplace_back([this] { lane(); });
            for (std::thread& one : lanes) one.join();
            launcher_.reset();
        }
        report_.zombies = zombies_of(::getpid());
        const std::size_t after = open_descriptors();
        report_.descriptors = after > before ? after - before : 0;
        report_.self_approvals = must(ledger_->approval(approval_id())).votes.size();
        return report_;
    }

private:
    void lane() {
        for (int number = next_++; number < plan_.cycles; number = next_++) {
            const Kind& kind = kKinds[static_cast<std::size_t>(number) % kKinds.size()];
            const bool waits = static_cast<std::size_t>(number) / kKinds.size() % 2 == 0;
            cycle(kind, fmt::format("{}-{}", plan_.marker, number), waits);
        }
    }

    void cycle(const Kind& kind, const std::string& marker, bool waits) {
        os::ChildSpec spec = hostile(marker, kind.name);
        if (kind.votes) {
            spec.argv.push_back(plan_.directory + '/' + ledger::kControlSocket);
            spec.argv.push_back(as_hex(vote_request()));
        }
        // While it votes without a launcher, nobody ends what has none.
        std::unique_lock alone(ending_, std::defer_lock);
        if (kind.name == kFatherless) alone.lock();
        auto started = launcher_->launch(spec);
        if (!started) return note_stuck(kind.name, started.error().message);
        os::Child& child = **started;
        std::string line;
        if (kind.says_something && !hear(child, line)) note_stuck(kind.name, "says nothing");
        // Some of what it floods its errors with.
        os::ErrorLines errors(clock_, [](std::string_view) {});
        read_errors(child, errors);
        child.end();
        if (waits) {
            if (!gone(child)) note_stuck(kind.name, "does not end");
        } else {
            started->reset();  // as a program does that has no time
            while (launcher_->ending() > 0) ::poll(nullptr, 0, 2);
        }
        // By whichever of the lanes' children.
        if (launcher_->launchers_killed() > 0) {
            if (!alone) alone.lock();
            os::end_left_behind(10s);
        }
        const std::size_t left = alive(marker);
        const std::lock_guard lock(mutex_);
        if (left > 0) fmt::print(stderr, "children: {} of '{}' left\n", left, kind.name);
        report_.orphans += left;
        if (kind.votes) ++report_.tried;
        if (line == "refused") ++report_.refused;
    }

    void note_stuck(std::string_view kind, std::string_view why) {
        fmt::print(stderr, "children: '{}' {}\n", kind, why);
        const std::lock_guard lock(mutex_);
        ++report_.stuck;
    }

    static void read_errors(os::Child& child, os::ErrorLines& lines) {
        std::string block(65'536, '\0');
        for (int i = 0; i < 16; ++i) {
            const ssize_t got = ::read(child.errors.get(), block.data(), block.size());
            if (got <= 0) return;
            lines.add(std::string_view(block).substr(0, static_cast<std::size_t>(got)));
        }
    }

    static std::string as_hex(std::string_view bytes) {
        std::string digits;
        for (const char c : bytes) digits += fmt::format("{:02x}", static_cast<unsigned char>(c));
        return digits;
    }

    const OwnerPlan plan_;
    const base::SystemClock clock_;
    std::shared_ptr<ledger::SqliteLedger> ledger_;
    std::unique_ptr<ledger::ControlService> service_;
    std::unique_ptr<ledger::ControlServer> server_;
    std::unique_ptr<os::RealChildLauncher> launcher_ =
        std::make_unique<os::RealChildLauncher>(must(os::find_launcher()));
    std::atomic<int> next_{0};
    std::mutex ending_;
    std::mutex mutex_;
    OwnerReport report_;
};

}  // namespace

std::string approval_id() {
    return ledger::testing::numbered_id(1).to_string();
}

std::string approval_digest() {
    return base::sha256_hex("digest " + approval_id());
}

std::string vote_request() {
    return ledger::framed({{"v", ledger::kControlVersion},
                           {"verb", "approvals.vote"},
                           {"id", approval_id()},
                           {"approve", true},
                           {"digest", approval_digest()}});
}

OwnerReport run_owner(const OwnerPlan& plan) {
    if (!os::become_subreaper()) std::abort();
    Owner owner(plan);
    const OwnerReport report = owner.run();
    std::puts("served");
    std::fflush(stdout);
    char line[16];
    static_cast<void>(std::fgets(line, sizeof line, stdin));
    return report;
}

}  // namespace callgate::children
