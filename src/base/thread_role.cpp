#include "base/thread_role.h"

#include <cstdio>
#include <cstdlib>

namespace callgate::base {

void foreign_code_on_our_thread(const char* what) noexcept {
    (void)std::fprintf(stderr, "callgate: %s was about to run on a thread that others depend on\n", what);
    std::abort();
}

void blocks_a_loop(const char* what) noexcept {
    (void)std::fprintf(stderr, "callgate: %s on a thread that serves sockets\n", what);
    std::abort();
}

}  // namespace callgate::base
