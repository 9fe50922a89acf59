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
    const Console console{std::cout, std::cerr, detect_terminal(STDOUT_FILENO),
                          detect_terminal(STDERR_FILENO),
                          detect_terminal(STDIN_FILENO).is_terminal ? &std::cin : nullptr};
    try {
        const int exit_code =
            run_program(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc), console);
        std::cout.flush();
        if (std::cout.good()) return exit_code;
        std::cerr << "callgate: the answer could not be written to standard output\n";
    } catch (const std::exception& error) {
        std::cerr << "callgate: internal error: " << error.what() << '\n';
    }
    return kUnusable;
}
