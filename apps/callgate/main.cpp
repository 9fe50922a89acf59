#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "program.h"

namespace {

// A standard descriptor that is closed would become the next file that is opened. In its place comes one that
// fails when it is used, as a closed one does.
void hold_standard_descriptors() {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

}  // namespace

int main(int argc, char** argv) {
    using namespace callgate::cli;
    // A reader that went away shows as a failed write, not as a death by signal.
    std::signal(SIGPIPE, SIG_IGN);
    hold_standard_descriptors();
    std::ios::sync_with_stdio(false);
    bool loss_reported = false;
    const Console console{.out = std::cout,
                          .err = std::cerr,
                          .out_terminal = detect_terminal(STDOUT_FILENO),
                          .err_terminal = detect_terminal(STDERR_FILENO),
                          .person = detect_terminal(STDIN_FILENO).is_terminal ? &std::cin : nullptr,
                          .person_sees_out = is_same_terminal(STDIN_FILENO, STDOUT_FILENO),
                          .person_sees_err = is_same_terminal(STDIN_FILENO, STDERR_FILENO),
                          .loss_reported = &loss_reported};
    try {
        const int exit_code =
            run_program(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc), console);
        std::cout.flush();
        if (std::cout.good() || loss_reported) return exit_code;
        std::cerr << "callgate: the answer could not be written to standard output\n";
    } catch (const std::exception& error) {
        std::cerr << "callgate: internal error: " << error.what() << '\n';
    }
    return kUnusable;
}
