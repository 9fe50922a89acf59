#include "program.h"

#include <algorithm>
#include <new>
#include <optional>
#include <ostream>

#include "command_line.h"
#include "error_report.h"
#include "help_text.h"
#include "options.h"
#include "terminal.h"
#include "validate_report.h"
#include "verb_approvals.h"
#include "verb_audit.h"
#include "verb_call.h"
#include "verb_calls.h"
#include "verb_completion.h"
#include "verb_help.h"
#include "verb_ledger.h"
#include "verb_mcp.h"
#include "verb_operator.h"
#include "verb_policy.h"
#include "verb_secrets.h"
#include "verb_tools.h"
#include "verb_validate.h"

namespace callgate::cli {

namespace {

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

}  // namespace

std::unique_ptr<Verb> make_program(const Console& console) {
    auto program = std::make_unique<Verb>(
        "callgate", "the checked entry through which a model's tool calls reach the world");
    add_validate(*program, console);
    add_tools(*program, console);
    add_call(*program, console);
    add_mcp(*program, console);
    add_policy(*program, console);
    add_secrets(*program, console);
    add_approvals(*program, console);
    add_operator(*program, console);
    add_calls(*program, console);
    add_audit(*program, console);
    add_ledger(*program, console);
    add_completion(*program, console);
    add_help(*program, console);
    program->exits(0, "done, or yes")
        .exits(1, "no, or it was refused")
        .exits(2, "wrong usage, or it could not be done at all; some verbs have more, in their help")
        .exits(kCalledOff, kCalledOffMeaning);
    program->variable("CALLGATE_LEDGER", "where the ledger is, where --ledger does not say")
        .variable("XDG_STATE_HOME", "where a ledger is made by default; else ~/.local/state")
        .variable("XDG_CONFIG_HOME", "where your operator key is; else ~/.config")
        .variable("CALLGATE_SECRETS", "the file of the secrets, where --file does not say")
        .variable("NO_COLOR", "set to anything: no colours")
        .variable("COLUMNS", "how wide a terminal is that does not say");
    program->example("callgate validate send_mail.json")
        .example("callgate call add '{\"a\": 5, \"b\": 3}' --trace")
        .example("callgate mcp serve --http 8372")
        .example("callgate help approvals approve");
    return program;
}

int run_program(const std::vector<std::string>& arguments, const Console& console) {
    const auto program = make_program(console);
    const auto command = read_command_line(*program, arguments);
    if (!command) return give_up(arguments, command.error(), console);
    try {
        switch (command->what) {
            case Command::What::help: console.out << help_text(*command->verb); return 0;
            case Command::What::version: return print_version(false, console);
            case Command::What::run: break;
        }
        return command->verb->run()();
    } catch (const std::bad_alloc&) {
        const Error error(ErrorCode::internal, "Out of memory. Give the program more, or lower --max-bytes.",
                          {{"reason", "out_of_memory"}});
        return give_up(arguments, error, console);
    }
}

}  // namespace callgate::cli
