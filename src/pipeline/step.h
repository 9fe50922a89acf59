// What a stage says.
#pragma once

#include <atomic>
#include <cstdint>

namespace callgate::pipeline {

class Call;

/// Go to the next stage, wait to be woken, wait for the ledger's answer (and for nothing else), or the call
/// is over (settle is next).
enum class Step : std::uint8_t { next, pending, asked, end };

/// What the ledger has been asked, by a call that may have to go on without the answer (leave.h).
enum class Asking : std::uint8_t {
    look,        ///< nothing is changed by it
    other_call,  ///< whether there is another call with the key to wait for
    claim,
    dispatch,
    give_back,  ///< an attempt has ended, and another is to follow
    conclude,
    approval,
    end  ///< how the call ended goes on the record
};

/// How often something happened. May be used from any thread.
class Counter {
public:
    void add(std::uint64_t by = 1) noexcept { value_.fetch_add(by, std::memory_order_relaxed); }
    std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_{0};
};

}  // namespace callgate::pipeline
