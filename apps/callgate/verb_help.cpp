#include "verb_help.h"

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "command_line.h"
#include "error_report.h"
#include "help_text.h"
#include "man_page.h"
#include "options.h"
#include "program.h"

namespace callgate::cli {

namespace {

struct HelpLine {
    std::vector<std::string> verb;
    bool man = false;
    bool json = false;
};

int help(const Verb& program, const HelpLine& line, const Console& console) {
    const auto verb = find_verb(program, line.verb);
    if (!verb) {
        print_error(verb.error(), std::nullopt, false, ColorMode::automatic, console);
        return kUnusable;
    }
    console.out << (line.man ? man_page(**verb) : help_text(**verb));
    return 0;
}

}  // namespace

int print_version(bool json, const Console& console) {
    if (json) {
        console.out << json::write_pretty(Object{{"version", CALLGATE_VERSION}}) << '\n';
    } else {
        console.out << "callgate " CALLGATE_VERSION "\n";
    }
    return 0;
}

void add_help(Verb& program, const Console& console) {
    auto line = std::make_shared<HelpLine>();
    Verb& helping = program.add("help", "this text, or that of a verb");
    helping.argument("VERB", "whose help: callgate help approvals list", line->verb)
        .completed_by(Completes::verb);
    helping.flag("--man", "its man page, as roff; those below a verb are on that verb's page", line->man);
    helping.exits(0, "shown").exits(2, "there is no such verb");
    helping.example("callgate help")
        .example("callgate help calls resolve")
        .example("callgate help --man calls | man -l -");
    helping.runs([line, &program, &console] { return help(program, *line, console); });

    Verb& telling = program.add("version", "which version this is");
    telling.flag("--json", "one JSON document on standard output", line->json);
    telling.exits(0, "shown").exits(2, "wrong usage");
    telling.example("callgate version --json");
    telling.runs([line, &console] { return print_version(line->json, console); });
}

}  // namespace callgate::cli
