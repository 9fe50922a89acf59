#include "program.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <ostream>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "error_report.h"
#include "help.h"
#include "terminal.h"
#include "tool/suggest.h"
#include "validate_report.h"
#include "verb_approvals.h"
#include "verb_audit.h"
#include "verb_call.h"
#include "verb_calls.h"
#include "verb_ledger.h"
#include "verb_operator.h"
#include "verb_policy.h"
#include "verb_secrets.h"
#include "verb_tools.h"
#include "verb_validate.h"

namespace callgate::cli {

namespace {

constexpr std::string_view kHelp =
    R"(callgate: the checked entry through which a model's tool calls reach the world

Usage: callgate VERB [options]

Verbs
  validate    is a tool's schema sound, and would this call be accepted?
  tools       the built-in demo set
  call        call one of them, through every stage
  policy      test what a policy decides, or lint it
  secrets     what tools log in with, in an encrypted file
  approvals   what waits for a person, and the person's answer
  operator    the key that a person's answers are signed with
  calls       what was called, and what came of it
  audit       the record of everything, and whether it is still what was recorded
  ledger      the care of the ledger that keeps them

Options
  -h, --help  this text; after a verb, that verb's
  --version   the version

Examples
  callgate validate send_mail.json
  callgate call add '{"a": 5, "b": 3}' --trace
  callgate call --help
)";

constexpr std::size_t kLongestWord = 40;

// The answer when there is no other.
int give_up(const std::vector<std::string>& arguments, const Error& error, const Console& console) {
    const bool json = std::ranges::find(arguments, "--json") != arguments.end();
    if (json && std::ranges::find(arguments, "validate") != arguments.end()) {
        console.out << json::write_pretty(to_json(error)) << '\n';
    } else {
        print_error(error, std::nullopt, json, ColorMode::automatic, console);
    }
    return kUnusable;
}

// The verb that was chosen, as deep as it goes.
const CLI::App& chosen_verb(const CLI::App& app) {
    const CLI::App* at = &app;
    while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
    return *at;
}

std::string command(const CLI::App& verb) {
    const CLI::App* parent = verb.get_parent();
    return parent == nullptr ? verb.get_name() : fmt::format("{} {}", command(*parent), verb.get_name());
}

// The option or verb that a word it does not know may have meant.
std::optional<std::string> meant(const CLI::App& verb, const std::vector<std::string>& unknown) {
    std::vector<std::string> known;
    for (const CLI::Option* option : verb.get_options({})) {
        for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    for (const CLI::App* one : verb.get_subcommands({})) known.push_back(one->get_name());
    const std::vector<std::string_view> views(known.begin(), known.end());
    for (const std::string& word : unknown) {
        auto near = suggest_names(word.substr(0, word.find('=')), views);
        if (!near.empty()) return std::move(near.front());
    }
    return std::nullopt;
}

bool is_of(const CLI::App& verb, std::string_view group) {
    for (const CLI::App* at = &verb; at != nullptr; at = at->get_parent())
        if (at->get_name() == group) return true;
    return false;
}

// What was not expected may be a secret that somebody thought belongs there: of an option its name is told,
// of anything else nothing.
std::string unexpected(const CLI::App& verb, const std::vector<std::string>& left_over) {
    std::string names;
    std::size_t hidden = 0;
    for (const std::string& word : left_over) {
        if (word.starts_with("--") && word.size() > 2) {
            if (!names.empty()) names += ", ";
            names += printable(clipped(word.substr(0, word.find('=')), kLongestWord));
        } else {
            ++hidden;
        }
    }
    std::string said;
    if (!names.empty()) said = fmt::format("There is no option {} here. ", names);
    if (hidden != 0)
        said += fmt::format("{} more argument{} than expected (not shown: {} might be secret). ", hidden,
                            hidden == 1 ? "" : "s", hidden == 1 ? "it" : "one");
    if (is_of(verb, "secrets"))
        said +=
            "A secret's value is never given here, where other programs can see it: it is asked for, or "
            "read from standard input. ";
    said.pop_back();
    return said;
}

// The words of the command line's reader, which repeat what was typed.
std::string problem_of(const CLI::App& app, const CLI::ParseError& error) {
    const CLI::App& verb = chosen_verb(app);
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
        for (const CLI::App* at : {&verb, &app})
            if (const auto left_over = at->remaining(true); !left_over.empty())
                return unexpected(verb, left_over);
    }
    const bool repeats = dynamic_cast<const CLI::ValidationError*>(&error) != nullptr ||
                         dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
    if (repeats && is_of(verb, "secrets")) return "One of the options has a value that it cannot have";
    return error.what();
}

Error wrong_usage(const CLI::App& app, std::string_view problem) {
    const CLI::App& verb = chosen_verb(app);
    while (problem.ends_with('.') || problem.ends_with('\n')) problem.remove_suffix(1);
    std::string message = fmt::format("{}.", problem);
    if (const auto near = meant(verb, verb.remaining())) message += fmt::format(" Did you mean {}?", *near);
    return Error(ErrorCode::config_error, fmt::format("{} See {} --help.", message, command(verb)),
                 {{"reason", "usage"}});
}

}  // namespace

void add_verbs(CLI::App& app, const Console& console, std::function<int()>& chosen) {
    add_validate(app, console, chosen);
    add_tools(app, console, chosen);
    add_call(app, console, chosen);
    add_policy(app, console, chosen);
    add_secrets(app, console, chosen);
    add_operator(app, console, chosen);
    add_approvals(app, console, chosen);
    add_calls(app, console, chosen);
    add_audit(app, console, chosen);
    add_ledger(app, console, chosen);
}

int run_program(const std::vector<std::string>& arguments, const Console& console) {
    CLI::App app;
    app.name("callgate");
    app.formatter(std::make_shared<FixedHelp>(kHelp));
    app.set_version_flag("--version", "callgate " CALLGATE_VERSION);
    app.require_subcommand(0, 1);

    std::function<int()> chosen;
    add_verbs(app, console, chosen);

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
        return give_up(arguments, wrong_usage(app, problem_of(app, error)), console);
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
