#include "help_text.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "terminal.h"

namespace callgate::cli {

namespace {

constexpr std::size_t kOptionColumn = 23;  // where the help of an option begins

// "  what       help", the help in as many lines as it takes.
std::string entry(std::string_view what, std::string_view help, std::size_t column) {
    std::string out;
    std::string first = padded(fmt::format("  {}", what), column - 2) + "  ";
    for (const std::string& line : wrapped(help, kHelpWidth - column)) {
        out += (out.empty() ? first : std::string(column, ' ')) + line + '\n';
    }
    return out;
}

std::string verb_list(const Verb& group) {
    std::size_t widest = 0;
    for (const Verb& verb : group.verbs()) {
        if (!verb.is_hidden()) widest = std::max(widest, verb.name().size());
    }
    std::string out = "\nVerbs\n";
    for (const Verb& verb : group.verbs()) {
        if (!verb.is_hidden()) out += entry(verb.name(), verb.summary(), widest + 4);
    }
    return out;
}

std::string paragraph(std::string_view text) {
    std::string out;
    for (const std::string& line : wrapped(text, kHelpWidth)) out += line + '\n';
    return out;
}

// Options in a row stand together; a heading or a paragraph has an empty line before it.
std::string parts(const Verb& verb) {
    using Kind = Verb::Part::Kind;
    std::string out;
    Kind before = Kind::text;
    const std::string help = verb.is_group() ? entry("-h, --help", "this text; after a verb, that verb's", 14)
                                             : entry("-h, --help", "this text", kOptionColumn);
    if (verb.options().empty()) out += "\nOptions\n" + help;
    if (verb.parent() == nullptr) out += entry("--version", "the version", 14);
    for (const Verb::Part& part : verb.parts()) {
        const bool follows = part.kind == Kind::option && before != Kind::text;
        if (!follows) out += '\n';
        before = part.kind;
        switch (part.kind) {
            case Kind::heading: out += part.text + '\n'; break;
            case Kind::text: out += paragraph(part.text); break;
            case Kind::option: out += entry(part.option->shown(), part.option->help, kOptionColumn); break;
        }
        if (part.option != nullptr && part.option == &verb.options().back()) out += help;
    }
    return out;
}

}  // namespace

std::string help_text(const Verb& verb) {
    std::string out = paragraph(fmt::format("{}: {}", verb.command(), verb.summary()));
    std::string lead = "\nUsage: ";
    for (const std::string& line : verb.usage_lines()) {
        out += lead + line + '\n';
        lead = "       ";
    }
    if (verb.is_group()) out += verb_list(verb);
    out += parts(verb);
    if (!verb.exit_codes().empty()) {
        out += "\nExit codes\n";
        for (const Verb::Exit& one : verb.exit_codes())
            out += entry(std::to_string(one.code), one.meaning, one.code < 10 ? 5 : 7);
    }
    if (!verb.variables().empty()) {
        out += "\nEnvironment\n";
        for (const Verb::Variable& one : verb.variables()) out += entry(one.name, one.meaning, kOptionColumn);
    }
    if (!verb.examples().empty()) {
        out += "\nExamples\n";
        for (const std::string& example : verb.examples()) out += fmt::format("  {}\n", example);
    }
    return out;
}

}  // namespace callgate::cli
