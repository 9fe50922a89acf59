#include "demo_runtime.h"

#include <chrono>
#include <filesystem>
#include <system_error>

#include "base/clock.h"
#include "base/try.h"
#include "error_report.h"
#include "ledger_access.h"

namespace callgate::cli {
namespace {

constexpr std::chrono::milliseconds kPatience{3'000};
constexpr std::chrono::milliseconds kPause{50};

bool is_owned(const Error& error) {
    const Value* reason = error.details.if_contains("reason");
    return reason != nullptr && *reason == "ledger_owned";
}

}  // namespace

Result<void> choose_ledger(RuntimeOptions& options, const std::string& ledger) {
    CALLGATE_TRY_ASSIGN(const std::string where, ledger_directory(ledger));
    if (where == kInMemory) return {};
    options.ledger_dir = where;
    // Its own directory is made with it; where it is the usual one, those above it as well.
    std::error_code ignored;
    if (ledger.empty())
        std::filesystem::create_directories(std::filesystem::path(where).parent_path(), ignored);
    return {};
}

Result<std::unique_ptr<Runtime>> open_when_free(const RuntimeOptions& options, const Interrupt& interrupt) {
    const base::SystemClock clock;
    const base::MonotonicTime end = clock.monotonic_now() + kPatience;
    for (;;) {
        auto opened = Runtime::open(options);
        if (opened || !is_owned(opened.error()) || clock.monotonic_now() >= end || interrupt.wait_for(kPause))
            return opened;
    }
}

}  // namespace callgate::cli
