#include <csignal>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <unistd.h>

#include "program.h"

int main(int argc, char** argv) {
    using namespace callgate::cli;
    // A reader that went away shows as a failed write, not as a death by signal.
    std::signal(SIGPIPE, SIG_IGN);
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
