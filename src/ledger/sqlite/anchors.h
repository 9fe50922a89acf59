// Brings each checkpoint to the witnesses (audit/anchor.h), away from the writer, which must not wait for
// them.
//
// Only the newest matters: while a witness is slow, the ones between are passed over. What a witness did not
// take is tried again with the next, or after a while. standing() says how far they have come, so that an
// operator sees a witness that has fallen behind.
//
// Threads: may be used from any thread; has one of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <callgate/error.h>

#include "base/mutex.h"
#include "ledger/audit/anchor.h"

namespace callgate::ledger {

class Anchors {
public:
    struct Options {
        std::chrono::milliseconds retry{1'000};

        Options() {}
    };

    explicit Anchors(std::vector<std::unique_ptr<Witness>> witnesses, Options options = {});
    /// What is still to be brought is brought once more, if it can be.
    ~Anchors();

    /// A signed note that is on the disk. Never waits.
    void submit(std::string note, std::uint64_t size);

    struct Standing {
        std::uint64_t size = 0;      ///< of the last checkpoint that all witnesses have
        std::uint64_t offered = 0;   ///< of the newest
        std::uint64_t failures = 0;  ///< so far
        std::optional<Error> error;  ///< the last one's, until all have taken one again
    };
    Standing standing() const;
    /// Until all witnesses have a checkpoint of at least this size. False: one of them did not take what it
    /// was brought, or the time is over.
    bool wait_for(std::uint64_t size, std::chrono::milliseconds time) const;

private:
    void run();
    bool bring(const std::string& note);

    const std::vector<std::unique_ptr<Witness>> witnesses_;
    const Options options_;
    mutable base::Mutex mutex_;
    base::CondVar wanted_;
    mutable base::CondVar taken_;
    std::optional<std::string> note_ CALLGATE_GUARDED_BY(mutex_);  // the newest, not brought to all yet
    Standing standing_ CALLGATE_GUARDED_BY(mutex_);
    bool stopping_ CALLGATE_GUARDED_BY(mutex_) = false;
    std::thread thread_;
};

}  // namespace callgate::ledger
