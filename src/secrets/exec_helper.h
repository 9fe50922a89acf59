// A helper program that is asked for secrets, and its answers for a short while.
//
// Connector and key go to its standard input, never into its arguments, where other users could see them. The
// value comes from its standard output straight into locked memory. ExecSecrets (secret_stores.h) has the
// whole contract.
//
// Threads: may be used from any thread; several may ask at once. Asking waits for the helper.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <callgate/secret_stores.h>

#include "base/clock.h"
#include "base/locked_bytes.h"
#include "base/mutex.h"
#include "os/process.h"

namespace callgate::secrets {

/// config_error {reason: bad_helper}: no command, a timeout not in 1 ms to 5 min, keep not in 0 to 60 s.
Result<void> check(const ExecSecretsOptions& options);

class ExecHelper {
public:
    /// The seams must outlive this; `clock` decides how long answers are kept.
    ExecHelper(os::ProcessLauncher& launcher, const base::Clock& clock, ExecSecretsOptions options);

    Result<base::LockedBytes> ask(std::string_view connector, std::string_view key);
    void revoke(std::string_view connector, std::string_view key);
    void revoke_all();

private:
    using Name = std::pair<std::string, std::string>;
    struct Answer {
        base::LockedBytes value;
        base::MonotonicTime until;
    };

    Result<base::LockedBytes> run(const Name& name);
    void forget_old() CALLGATE_REQUIRES(mutex_);

    os::ProcessLauncher& launcher_;
    const base::Clock& clock_;
    const ExecSecretsOptions options_;

    base::Mutex mutex_;
    std::map<Name, Answer> answers_ CALLGATE_GUARDED_BY(mutex_);
    std::uint64_t revocations_ CALLGATE_GUARDED_BY(mutex_) = 0;
};

}  // namespace callgate::secrets
