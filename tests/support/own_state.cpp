// For programs that only tests and benchmarks run: what they would keep in this user's state directory goes
// into one of their own, which they remove when they end. Programs that they start use the same.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <unistd.h>

#include "os/scratch_dir.h"

namespace {

constexpr const char* kGiven = "CALLGATE_TEST_STATE";

struct OwnState {
    OwnState() {
        if (std::getenv(kGiven) != nullptr) return;
        path = (callgate::os::quick_directory() / "callgate-state-XXXXXX").string();
        if (::mkdtemp(path.data()) == nullptr) std::abort();
        maker = ::getpid();
        ::setenv("XDG_STATE_HOME", path.c_str(), 1);
        ::setenv(kGiven, path.c_str(), 1);
    }
    ~OwnState() {
        if (path.empty() || maker != ::getpid()) return;
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    OwnState(const OwnState&) = delete;
    OwnState& operator=(const OwnState&) = delete;

    std::string path;
    pid_t maker = 0;
};

const OwnState own_state;

}  // namespace
