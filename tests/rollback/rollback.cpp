// Puts a ledger's past back in every way, and counts what is not noticed. README.md tells what the counts
// mean.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <callgate/runtime.h>

#include "base/rng.h"
#include "ledger/sqlite/restore.h"
#include "ledger/sqlite/sqlite_ledger.h"
#include "os/scratch_dir.h"

namespace {

namespace fs = std::filesystem;
using namespace callgate;

constexpr int kBefore = 6;  // keys that were used before the backup
constexpr int kKeys = 14;   // and all

struct Counts {
    std::uint64_t cases = 0, ran_again = 0, silent = 0, false_alarms = 0, refused = 0, restores = 0;
};

[[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "rollback: %s\n", why.c_str());
    std::exit(2);
}

std::string key_of(int number) {
    return "key-" + std::to_string(number);
}

/// The files of a ledger, its mark and its anchor, and what can be done to them.
class Stage {
public:
    explicit Stage(bool anchored) : anchored_(anchored) {
        run_child(0, kBefore, false);
        keep("early");
        run_child(kBefore, kBefore + 2, true);
        keep("middle");
        run_child(kBefore + 2, kKeys, true);
        keep("late");
    }

    std::string ledger() const { return dir_.file("led"); }
    std::string marks() const { return dir_.file("marks"); }
    std::string wal() const { return ledger() + "/ledger.db-wal"; }
    bool anchored() const { return anchored_; }

    RuntimeOptions options() const {
        RuntimeOptions made;
        made.ledger_dir = ledger();
        made.ledger_mark_dir = marks();
        if (anchored_) made.audit_anchor_file = dir_.file("anchor");
        made.control_socket = false;
        made.pool_threads = 1;
        return made;
    }
    ledger::SqliteOptions ledger_options() const {
        ledger::SqliteOptions made;
        made.directory = ledger();
        made.mark_dir = marks();
        if (anchored_) made.anchor_file = dir_.file("anchor");
        return made;
    }

    /// The directory itself stays what it is.
    void put_back(const std::string& kept, std::initializer_list<const char*> names) const {
        for (const char* name : names) {
            fs::remove(ledger() + "/" + name);
            const std::string from = dir_.file(kept) + "/led/" + name;
            if (fs::exists(from)) fs::copy_file(from, ledger() + "/" + name);
        }
        fs::remove(ledger() + "/ledger.db-shm");
    }
    void put_all_back(const std::string& kept) const {
        if (!fs::exists(ledger())) {
            fs::create_directory(ledger());
            fs::permissions(ledger(), fs::perms::owner_all);
        }
        put_back(kept, {"ledger.db", "ledger.db-wal", "ledger.key", "audit.key"});
        put_marks_back(kept);
        if (anchored_)
            fs::copy_file(dir_.file(kept) + "/anchor", dir_.file("anchor"),
                          fs::copy_options::overwrite_existing);
    }
    void put_marks_back(const std::string& kept) const {
        fs::remove_all(marks());
        fs::copy(dir_.file(kept) + "/marks", marks());
        fs::permissions(marks(), fs::perms::owner_all);
    }
    /// As the killed process left everything; a directory that was made again counts as the old one.
    void set_scene() const { put_all_back("late"); }

    static Tool tool(std::function<void(const std::string&)> effect) {
        Tool made = schema_tool(ToolDefinition("pay", "One effect.", Object{{"type", "object"}}),
                                [effect](const Object& arguments, CallContext&) -> ToolReturn {
                                    effect(std::string(arguments.at("key").as_string()));
                                    return ToolResult(Value("paid"));
                                });
        made.effect(EffectClass::unsafe);
        made.run_inline();
        return made;
    }
    static Outcome call(Runtime& runtime, int number) {
        Context context;
        context.idempotency_key = key_of(number);
        context.autonomy = Autonomy::a4;
        return runtime.call("pay", {{"key", key_of(number)}}, std::move(context));
    }

private:
    void keep(const std::string& as) const {
        fs::create_directory(dir_.file(as));
        fs::copy(ledger(), dir_.file(as) + "/led", fs::copy_options::recursive);
        fs::copy(marks(), dir_.file(as) + "/marks", fs::copy_options::recursive);
        if (anchored_) fs::copy_file(dir_.file("anchor"), dir_.file(as) + "/anchor");
    }

    void run_child(int from, int to, bool killed) {
        const pid_t child = ::fork();
        if (child == 0) {
            auto runtime = Runtime::open(options());
            if (!runtime) give_up(runtime.error().message);
            (*runtime)->tools().add_or_throw(tool([](const std::string&) {}));
            for (int number = from; number < to; ++number) {
                const Outcome outcome = call(**runtime, number);
                if (!outcome.ok()) give_up("a call failed: " + outcome.error()->message);
            }
            if (killed) ::raise(SIGKILL);
            runtime->reset();
            std::_Exit(0);
        }
        int status = 0;
        if (::waitpid(child, &status, 0) != child) give_up("waitpid");
        const bool as_told = killed ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (!as_told) give_up("a child did not end as it should");
    }

    const bool anchored_;
    os::ScratchDir dir_{os::quick_directory()};
};

enum class Expect { refused, accepted, either, new_ledger };

std::string reason_of(const Error& error) {
    const Value* reason = error.details.if_contains("reason");
    return reason != nullptr && reason->is_string() ? std::string(reason->get_string()) : "";
}

class Trial {
public:
    Trial(Stage& stage, Counts& counts) : stage_(stage), counts_(counts) {}

    /// `told` keys were answered before, and must be known or the ledger refused.
    void run(const std::string& name, Expect expect, bool then_restore) {
        ++counts_.cases;
        std::string why;
        const int unknown = open_and_repeat(why, expect == Expect::new_ledger);
        if (unknown < 0) {
            ++counts_.refused;
            const bool known =
                why == "rolled_back" || why == "moved" || why == "foreign_log" || why == "damaged";
            if (!known) give_up(fmt::format("{}: refused as '{}'", name, why));
            if (expect == Expect::accepted || expect == Expect::new_ledger) {
                ++counts_.false_alarms;
                std::printf("false alarm: %s (%s)\n", name.c_str(), why.c_str());
            }
            if (then_restore && (why == "rolled_back" || why == "moved")) restore(name, why == "moved");
            return;
        }
        if (unknown > 0 || expect == Expect::refused) {
            ++counts_.silent;
            std::printf("silent: %s (%d keys)\n", name.c_str(), unknown);
        }
    }

private:
    /// How many answered keys it did not know; -1: refused, `why` says it.
    int open_and_repeat(std::string& why, bool begins_anew) {
        auto runtime = Runtime::open(stage_.options());
        if (!runtime) {
            why = reason_of(runtime.error());
            return -1;
        }
        if (begins_anew) {
            const auto events = (*runtime)->audit();
            if (!events) give_up(events.error().message);
            bool warned = false;
            for (const AuditEvent& event : *events) warned = warned || event.type == "ledger.replaced";
            return warned ? 0 : 1;
        }
        int ran = 0;
        (*runtime)->tools().add_or_throw(Stage::tool([&ran](const std::string&) { ++ran; }));
        int unknown = 0;
        for (int number = 0; number < kKeys; ++number) {
            if (Stage::call(**runtime, number).state() != State::replayed) ++unknown;
        }
        counts_.ran_again += static_cast<std::uint64_t>(ran);
        return unknown;
    }

    void restore(const std::string& name, bool moved) {
        ++counts_.restores;
        ledger::RestoreRequest order;
        order.moved = moved;
        order.by = "tester";
        if (const auto done = ledger::SqliteLedger::restore(stage_.ledger_options(), order); !done)
            give_up(fmt::format("{}: restore: {}", name, done.error().message));
        std::string why;
        const std::uint64_t before = counts_.ran_again;
        if (open_and_repeat(why, false) < 0) {
            ++counts_.false_alarms;
            std::printf("refused after its restore: %s (%s)\n", name.c_str(), why.c_str());
        }
        if (counts_.ran_again != before) std::printf("ran again after the restore: %s\n", name.c_str());
    }

    Stage& stage_;
    Counts& counts_;
};

void flip(const std::string& path, std::uint64_t byte, int bit) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(byte));
    const int value = file.get();
    file.seekp(static_cast<std::streamoff>(byte));
    file.put(static_cast<char>(value ^ (1 << bit)));
}

void try_all(bool anchored, int flips, std::uint64_t seed, Counts& counts) {
    Stage stage(anchored);
    Trial trial(stage, counts);
    base::SeededRng rng(seed);
    const auto name = [&](const std::string& what) { return what + (anchored ? ", anchored" : ""); };

    stage.set_scene();
    trial.run(name("killed"), Expect::accepted, false);
    for (int again = 0; again < 10; ++again) trial.run(name("opened again"), Expect::accepted, false);
    stage.set_scene();
    stage.put_marks_back("middle");
    trial.run(name("the mark lost its last writes"), Expect::accepted, false);

    stage.set_scene();
    stage.put_back("early", {"ledger.db", "ledger.db-wal"});
    trial.run(name("restored backup"), Expect::refused, true);
    stage.set_scene();
    stage.put_back("middle", {"ledger.db", "ledger.db-wal"});
    trial.run(name("restored files"), Expect::refused, true);
    stage.set_scene();
    stage.put_back("middle", {"ledger.db-wal"});
    trial.run(name("older log"), Expect::refused, true);
    stage.set_scene();
    fs::remove(stage.wal());
    trial.run(name("no log"), Expect::refused, true);
    if (anchored) {
        // The anchor has what was signed until the clean stop.
        stage.set_scene();
        trial.run(name("signed"), Expect::accepted, false);  // stops cleanly: signs, and tells the anchor
        stage.put_back("middle", {"ledger.db", "ledger.db-wal"});
        stage.put_marks_back("middle");
        trial.run(name("ledger and mark of the same time"), Expect::refused, true);
    }
    stage.set_scene();
    const auto size = fs::file_size(stage.wal());
    for (std::uint64_t cut = 1; cut <= 16; ++cut) {
        stage.set_scene();
        fs::resize_file(stage.wal(), size - size * cut / 17);
        trial.run(name(fmt::format("log cut by {}/17", cut)), Expect::either, cut % 4 == 0);
    }
    stage.set_scene();
    fs::remove_all(stage.marks());
    trial.run(name("mark deleted"), Expect::refused, true);
    stage.set_scene();
    {
        const std::string aside = stage.ledger() + "-aside";
        fs::copy(stage.ledger(), aside, fs::copy_options::recursive);
        fs::permissions(aside, fs::perms::owner_all);
        fs::remove_all(stage.ledger());
        fs::rename(aside, stage.ledger());
        trial.run(name("copied directory"), Expect::refused, true);
    }
    stage.set_scene();
    fs::remove_all(stage.ledger());
    trial.run(name("deleted directory"), Expect::new_ledger, false);

    Stage flipped(anchored);
    Trial flipping(flipped, counts);
    for (int i = 0; i < flips; ++i) {
        flipped.set_scene();
        const auto byte = size * static_cast<std::uint64_t>(i) / static_cast<std::uint64_t>(flips);
        flip(flipped.wal(), std::min(byte, fs::file_size(flipped.wal()) - 1), static_cast<int>(rng.below(8)));
        flipping.run(name(fmt::format("bit flipped at {}", byte)), Expect::either, i % 25 == 0);
    }
}

/// Without a mark, and without an anchor: what was put back opens.
std::uint64_t control() {
    Stage stage(false);
    stage.set_scene();
    stage.put_back("early", {"ledger.db", "ledger.db-wal"});
    ledger::SqliteOptions options = stage.ledger_options();
    options.watch_past = false;
    return ledger::SqliteLedger::open(std::move(options)) ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    int flips = 1'000;
    std::uint64_t seed = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--flips") == 0) flips = std::atoi(argv[i + 1]);
        if (std::strcmp(argv[i], "--seed") == 0) seed = std::strtoull(argv[i + 1], nullptr, 10);
    }
    Counts counts;
    for (const bool anchored : {false, true}) try_all(anchored, flips, seed, counts);
    const std::uint64_t control_silent = control();
    std::printf(
        "RESULT cases=%llu refused=%llu restores=%llu ran_again=%llu silent=%llu false_alarms=%llu "
        "control_silent=%llu\n",
        static_cast<unsigned long long>(counts.cases), static_cast<unsigned long long>(counts.refused),
        static_cast<unsigned long long>(counts.restores), static_cast<unsigned long long>(counts.ran_again),
        static_cast<unsigned long long>(counts.silent), static_cast<unsigned long long>(counts.false_alarms),
        static_cast<unsigned long long>(control_silent));
    const bool held = counts.ran_again == 0 && counts.silent == 0 && counts.false_alarms == 0 &&
                      counts.refused != 0 && control_silent != 0;
    return held ? 0 : 1;
}
