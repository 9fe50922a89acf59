#include "man_page.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "terminal.h"

namespace callgate::cli {

namespace {

constexpr std::size_t kSourceColumns = 72;

// Text that means itself. Hyphens are those of a command line, so that they can be copied.
std::string roff(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const Glyph glyph = first_glyph(text);
        switch (glyph.code) {
            case '\\': out += "\\e"; break;
            case '-': out += "\\-"; break;
            case '\'': out += "\\(aq"; break;
            case '`': out += "\\(ga"; break;
            case '^': out += "\\(ha"; break;
            case '~': out += "\\(ti"; break;
            case '"': out += "\\(dq"; break;
            case '\n': out += '\n'; break;
            default:
                if (glyph.code < 0x80) {
                    out += static_cast<char>(glyph.code);
                } else {
                    out += fmt::format("\\[u{:04X}]", static_cast<std::uint32_t>(glyph.code));
                }
        }
        text.remove_prefix(glyph.bytes);
    }
    return out;
}

// A line of its own; a "." at its beginning is no macro.
std::string line_of(std::string_view text) {
    const std::string out = roff(text);
    return (out.starts_with('.') ? "\\&" : "") + out + '\n';
}

std::string paragraph_of(std::string_view text) {
    std::string out;
    for (const std::string& line : wrapped(text, kSourceColumns)) out += line_of(line);
    return out;
}

std::string in_capitals(std::string text) {
    for (char& c : text)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return text;
}

std::string entry(std::string_view what, std::string_view help) {
    return fmt::format(".TP\n\\fB{}\\fR\n{}", roff(what), paragraph_of(help));
}

// Leads down to what can be run, in the order of the help.
void collect_runnable(const Verb& verb, std::vector<const Verb*>& to) {
    if (!verb.is_group()) {
        to.push_back(&verb);
        return;
    }
    for (const Verb& one : verb.verbs())
        if (!one.is_hidden()) collect_runnable(one, to);
}

// The verb on whose page this one is: the program, or one right below it.
const Verb& head_of_page(const Verb& verb) {
    const Verb* at = &verb;
    while (at->parent() != nullptr && at->parent()->parent() != nullptr) at = at->parent();
    return *at;
}

std::string synopsis(const Verb& head) {
    std::vector<const Verb*> verbs{&head};
    if (head.parent() != nullptr) {
        verbs.clear();
        collect_runnable(head, verbs);
    }
    std::string out = ".SH SYNOPSIS\n.nf\n";
    for (const Verb* verb : verbs) {
        for (const std::string& line : verb->usage_lines()) {
            const std::size_t end = verb->command().size();
            out += fmt::format("\\fB{}\\fR{}\n", roff(verb->command()), roff(line.substr(end)));
        }
    }
    return out + ".fi\n";
}

// A title in the page (`.SH OPTIONS`) or in one of its sections.
std::string title(bool is_section, std::string_view text) {
    return is_section ? fmt::format(".PP\n\\fI{}\\fR\n", roff(text))
                      : fmt::format(".SH \"{}\"\n", roff(text));
}

std::string options_of(const Verb& verb, bool is_section) {
    using Kind = Verb::Part::Kind;
    const std::string help = entry("-h, --help", "the help, which says the same in brief");
    std::string out;
    bool titled = false;
    bool helped = false;
    const auto begin = [&] {
        if (!titled) out += title(is_section, is_section ? "Options" : "OPTIONS");
        titled = true;
    };
    for (const Verb::Part& part : verb.parts()) {
        switch (part.kind) {
            case Kind::heading:
                out += title(is_section, part.text);
                titled = true;
                break;
            case Kind::text: out += ".PP\n" + paragraph_of(part.text); break;
            case Kind::option:
                begin();
                out += entry(part.option->shown(), part.option->help);
                if (part.option == &verb.options().back()) {
                    out += help;
                    helped = true;
                }
                break;
        }
    }
    if (!helped) {
        begin();
        out += help;
    }
    if (verb.parent() == nullptr) out += entry("--version", "the version");
    return out;
}

std::string endings_of(const Verb& verb, bool is_section) {
    std::string out;
    if (!verb.exit_codes().empty()) {
        out += title(is_section, is_section ? "Exit status" : "EXIT STATUS");
        for (const Verb::Exit& one : verb.exit_codes()) out += entry(std::to_string(one.code), one.meaning);
    }
    if (!verb.variables().empty()) {
        out += title(is_section, is_section ? "Environment" : "ENVIRONMENT");
        for (const Verb::Variable& one : verb.variables()) out += entry(one.name, one.meaning);
    }
    if (!verb.examples().empty()) {
        out += title(is_section, is_section ? "Examples" : "EXAMPLES");
        out += is_section ? ".RS\n.nf\n" : ".nf\n";
        for (const std::string& example : verb.examples()) out += line_of(example);
        out += is_section ? ".fi\n.RE\n" : ".fi\n";
    }
    return out;
}

std::string see_also(const Verb& head) {
    const Verb& program = head.parent() == nullptr ? head : *head.parent();
    std::vector<std::string> pages;
    if (&head != &program) pages.push_back(man_page_name(program));
    for (const Verb& one : program.verbs())
        if (!one.is_hidden() && &one != &head) pages.push_back(man_page_name(one));
    std::string out = ".SH \"SEE ALSO\"\n";
    for (std::size_t i = 0; i < pages.size(); ++i)
        out += fmt::format(".BR {} (1){}\n", roff(pages[i]), i + 1 < pages.size() ? "," : "");
    return out;
}

}  // namespace

std::string man_page_name(const Verb& verb) {
    const Verb& head = head_of_page(verb);
    return head.parent() == nullptr ? head.name() : fmt::format("{}-{}", head.parent()->name(), head.name());
}

std::string man_page(const Verb& verb) {
    const Verb& head = head_of_page(verb);
    const std::string name = man_page_name(head);
    std::string out =
        fmt::format(".TH {} 1 \"\" \"callgate {}\" \"Callgate\"\n.nh\n.ad l\n.SH NAME\n{} \\- {}\n",
                    roff(in_capitals(name)), CALLGATE_VERSION, roff(name), roff(head.summary()));
    out += synopsis(head);
    if (head.is_group() && head.parent() == nullptr) {
        out += ".SH VERBS\n";
        for (const Verb& one : head.verbs()) {
            if (!one.is_hidden())
                out += entry(one.name(), fmt::format("{}: {}(1)", one.summary(), man_page_name(one)));
        }
    }
    if (head.is_group() && head.parent() != nullptr) {
        std::vector<const Verb*> verbs;
        collect_runnable(head, verbs);
        out += ".SH VERBS\n";
        for (const Verb* one : verbs) {
            out += fmt::format(".SS \"{}\"\n", roff(one->command())) + paragraph_of(one->summary());
            out += options_of(*one, true) + endings_of(*one, true);
        }
    } else {
        out += options_of(head, false) + endings_of(head, false);
    }
    return out + see_also(head);
}

}  // namespace callgate::cli
