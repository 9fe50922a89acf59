// What the processes of one round share: memory that outlives whoever is killed, and the ways by which a
// worker tells the oracle what it did.
//
// Threads, processes: the board's atomics may be used from any; a worker's texts are read after its end.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <sys/types.h>

#include <callgate/callgate.h>

#include "os/fd.h"
#include "tool/words.h"

namespace callgate::fault {

inline constexpr std::size_t kContenders = 3;  // at most: processes that want the same ledger

/// A key is a number; its effect class follows from it.
inline EffectClass class_of(std::uint64_t key) {
    return kEffectClasses[key % kEffectClasses.size()];
}
inline std::string name_of(std::uint64_t key) {
    return "key-" + std::to_string(key);
}

/// One message to the oracle, written at once (a pipe keeps writes of this size whole).
struct Record {
    enum class Kind : std::uint32_t {
        effect,  ///< this is the effect: with this message it has happened
        told     ///< what a caller learned
    };
    Kind kind = Kind::effect;
    std::uint32_t state = 0;  ///< told: as State
    std::uint64_t key = 0;
    CallId call_id{};             ///< effect: the key that the tool was given for the other side
    std::uint32_t attempt = 0;    ///< effect
    std::uint8_t succeeded = 0;   ///< told
    std::uint8_t dispatched = 0;  ///< told: the tool was entered
    std::array<std::uint8_t, 2> unused{};
};

struct Question {
    enum class Kind : std::uint32_t {
        applied,  ///< did this call have its effect?
        write     ///< put everything you heard into the file
    };
    Kind kind = Kind::applied;
    std::uint64_t nonce = 0;
    std::uint64_t key = 0;
    CallId call_id{};
};

struct Answer {
    std::uint64_t nonce = 0;
    std::uint64_t yes = 0;
};

/// What the checker found when all were dead and the rest was brought to its end.
struct Verdict {
    std::uint64_t keys = 0;
    std::uint64_t effects = 0;
    std::uint64_t doubled = 0;       ///< keys whose effect happened more often than it may
    std::uint64_t lost = 0;          ///< keys whose record is not what a caller learned, or what happened
    std::uint64_t orphans = 0;       ///< effects without a dispatched attempt on the record
    std::uint64_t stuck = 0;         ///< calls that run, and nobody runs them
    std::uint64_t chain_breaks = 0;  ///< audits that do not verify
    std::uint64_t unknown = 0;       ///< keys
    std::uint64_t events = 0;        ///< of the audit, verified
};

struct Board {
    std::atomic<std::uint64_t> cursor{0};  ///< calls are made under the keys from here on
    std::array<std::atomic<std::int32_t>, kContenders> in_body{};  ///< tools that run, by worker
    std::atomic<pid_t> owner{0};
    std::atomic<std::uint32_t> refusals{0};    ///< of those that did not get the ledger
    std::atomic<std::uint32_t> two_owners{0};  ///< got it while another had it
    std::array<std::atomic<std::uint64_t>, kStateCount> told{};
    Verdict verdict;
    std::array<char, 2'048> trouble{};  ///< why somebody gave up; "" if nobody did
    std::array<char, 8'192> census{};   ///< "name hits\n" for each failpoint passed

    void report(std::string_view text) { copy(text, trouble); }

    template <std::size_t N>
    static void copy(std::string_view text, std::array<char, N>& to) {
        const std::size_t length = std::min(text.size(), N - 1);
        std::memcpy(to.data(), text.data(), length);
        to[length] = '\0';
    }
};

/// A T in memory that children of this process share with it.
template <class T>
T* make_shared_memory();

struct Channels {
    os::Fd effects_in;   ///< the oracle's end of the pipe
    os::Fd effects_out;  ///< the workers'
    os::Fd questions;    ///< the oracle's end
    os::Fd asking;       ///< the workers'
    os::Fd ready;        ///< a worker has got the ledger
    os::Fd freed;        ///< the ledger may be free

    static Channels open();
};

/// Asks the oracle; one at a time in a process. Aborts the process if it is gone.
std::uint64_t ask(const Channels& channels, Question question);

}  // namespace callgate::fault

#include <new>

#include <sys/mman.h>

template <class T>
T* callgate::fault::make_shared_memory() {
    void* place = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return place == MAP_FAILED ? nullptr : new (place) T();
}
