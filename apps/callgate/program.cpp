#include "program.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <new>
#include <ostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "help.h"
#include "validate_report.h"
#include "verb_validate.h"

namespace callgate::cli {

namespace {

constexpr std::string_view kHelp =
    R"(callgate: the checked entry through which a model's tool calls reach the world

Usage: callgate VERB [options]

Verbs
  validate    is a tool's schema sound, and would this call be accepted?

Options
  -h, --help  this text; after a verb, that verb's
  --version   the version

Examples
  callgate validate send_mail.json
  callgate validate send_mail.json call.json
  callgate validate --help
)";

// The answer when there is no other.
int give_up(const std::vector<std::string>& arguments, const Error& error, const Console& console) {
    if (std::ranges::find(arguments, "--json") != arguments.end()) {
        console.out << json::write_pretty(to_json(error)) << '\n';
    } else {
        console.err << error_text(error, std::nullopt, console.err_terminal.style(ColorMode::automatic));
    }
    return kUnusable;
}

Error wrong_usage(const CLI::App& app, std::string_view problem) {
    const auto verbs = app.get_subcommands();
    const std::string help = verbs.empty() ? "callgate" : fmt::format("callgate {}", verbs[0]->get_name());
    while (problem.ends_with('.') || problem.ends_with('\n')) problem.remove_suffix(1);
    return Error(ErrorCode::config_error, fmt::format("{}. See {} --help.", problem, help),
                 {{"reason", "usage"}});
}

}  // namespace

int run_program(const std::vector<std::string>& arguments, const Console& console) {
    CLI::App app;
    app.name("callgate");
    app.formatter(std::make_shared<FixedHelp>(kHelp));
    app.set_version_flag("--version", "callgate " CALLGATE_VERSION);
    app.require_subcommand(0, 1);

    std::function<int()> chosen;
    add_validate(app, console, chosen);

    try {
        // CLI11 takes them from the back.
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::CallForHelp&) {
        console.out << app.help();
        return 0;
    } catch (const CLI::CallForVersion& version) {
        console.out << version.what() << '\n';
        return 0;
    } catch (const CLI::ParseError& error) {
        return give_up(arguments, wrong_usage(app, error.what()), console);
    }
    if (!chosen) {
        console.out << app.help();
        return 0;
    }
    try {
        return chosen();
    } catch (const std::bad_alloc&) {
        const Error error(ErrorCode::internal, "Out of memory. Give the program more, or lower --max-bytes.",
                          {{"reason", "out_of_memory"}});
        return give_up(arguments, error, console);
    }
}

}  // namespace callgate::cli
