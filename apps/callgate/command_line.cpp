#include "command_line.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "terminal.h"
#include "tool/suggest.h"

namespace callgate::cli {

namespace {

constexpr std::size_t kLongestWord = 40;
constexpr std::uint64_t kUnbounded = ~std::uint64_t{0};
constexpr std::uint64_t kMost32 = ~std::uint32_t{0};

bool is_under(const Verb& verb, std::string_view group) {
    for (const Verb* at = &verb; at != nullptr; at = at->parent())
        if (at->name() == group) return true;
    return false;
}

bool is_no_option(const std::string& word) {
    return !word.starts_with('-');
}

std::string names_below(const Verb& group) {
    std::vector<std::string_view> names;
    for (const Verb& one : group.verbs())
        if (!one.is_hidden()) names.emplace_back(one.name());
    return fmt::format("{}", fmt::join(names, ", "));
}

// The option or verb that an unknown word may have meant.
std::optional<std::string> meant(const Verb& verb, const std::vector<std::string>& unknown) {
    std::vector<std::string> known;
    for (const Option& option : verb.options()) {
        for (const std::string& name : option.all_names())
            if (name.starts_with("--")) known.push_back(name);
    }
    for (const Verb& one : verb.verbs())
        if (!one.is_hidden()) known.push_back(one.name());
    const std::vector<std::string_view> views(known.begin(), known.end());
    for (const std::string& word : unknown) {
        auto near = suggest_names(word.substr(0, word.find('=')), views);
        if (!near.empty()) return std::move(near.front());
    }
    return std::nullopt;
}

Error wrong_usage(const Verb& verb, std::string_view problem, const std::vector<std::string>& unknown) {
    while (problem.ends_with('.') || problem.ends_with('\n')) problem.remove_suffix(1);
    std::string message = fmt::format("{}.", problem);
    if (const auto near = meant(verb, unknown)) {
        message += fmt::format(" Did you mean {}?", *near);
    } else if (verb.is_group() && std::ranges::any_of(unknown, is_no_option)) {
        message += fmt::format(" The verbs are {}.", names_below(verb));
    }
    return Error(ErrorCode::config_error, fmt::format("{} See {} --help.", message, verb.command()),
                 {{"reason", "usage"}});
}

// The name of an option is repeated; nothing else is.
std::string unexpected(const Verb& verb, const std::vector<std::string>& left_over) {
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
    // Behind a verb that there is none of, nobody knows which options there are.
    if (!names.empty() && !(verb.is_group() && hidden != 0))
        said = fmt::format("There is no option {} here. ", names);
    if (hidden != 0 && verb.is_group()) {
        said += "There is no such verb (it is not repeated here: it might be secret). ";
    } else if (hidden != 0) {
        said += fmt::format("{} more argument{} than expected (not shown: {} might be secret). ", hidden,
                            hidden == 1 ? "" : "s", hidden == 1 ? "it" : "one");
    }
    if (is_under(verb, "secrets"))
        said +=
            "A secret's value is never given here, where other programs can see it: it is asked for, or "
            "read from standard input. ";
    said.pop_back();
    return said;
}

bool is_narrow(const Option& option) {
    return std::holds_alternative<std::uint32_t*>(option.target) ||
           std::holds_alternative<std::optional<std::uint32_t>*>(option.target);
}

bool takes_number(const Option& option) {
    return is_narrow(option) || std::holds_alternative<std::uint64_t*>(option.target) ||
           std::holds_alternative<std::optional<std::uint64_t>*>(option.target);
}

bool is_number_for(const Option& option, std::string_view given) {
    std::uint64_t number = 0;
    const auto [end, fault] = std::from_chars(given.data(), given.data() + given.size(), number);
    return fault == std::errc() && end == given.data() + given.size() && number >= option.least &&
           number <= std::min<std::uint64_t>(option.most, is_narrow(option) ? kMost32 : kUnbounded);
}

std::string number_for(const Option& option) {
    if (option.most < kMost32) return fmt::format("a whole number from {} to {}", option.least, option.most);
    return option.least == 0 ? "a whole number" : fmt::format("a whole number, {} or more,", option.least);
}

// One reading of a command line: CLI11's own tree beside ours.
class Reading {
public:
    explicit Reading(const Verb& program) : program_(program) {
        app_.name(program.name());
        app_.set_help_flag("-h,--help");
        app_.set_version_flag("--version", "");
        app_.require_subcommand(0, 1);
        verbs_[&app_] = &program;
        for (const Verb& verb : program.verbs()) add(app_, verb);
    }

    Result<Command> read(const std::vector<std::string>& arguments) {
        std::vector<std::string> words;
        bool options_ended = false;
        for (const std::string& word : arguments) {
            options_ended = options_ended || word == "--";
            // CLI11 would take the next word for the value of `--key=`.
            const bool empty_value = !options_ended && word.starts_with("--") && word.size() > 3 &&
                                     word.find('=') == word.size() - 1;
            words.push_back(empty_value ? word.substr(0, word.size() - 1) : word);
            if (empty_value) words.emplace_back();
        }
        std::ranges::reverse(words);  // it takes them from the back
        try {
            app_.parse(std::move(words));
        } catch (const CLI::CallForHelp&) {
            return Command{Command::What::help, &chosen()};
        } catch (const CLI::CallForVersion&) {
            return Command{Command::What::version, &program_};
        } catch (const CLI::ParseError& error) {
            return tl::unexpected(error_of(error));
        }
        const Verb& verb = chosen();
        return Command{verb.run() ? Command::What::run : Command::What::help, &verb};
    }

private:
    void add(CLI::App& parent, const Verb& verb) {
        CLI::App& app = *parent.add_subcommand(verb.name());
        app.set_help_flag("-h,--help");
        verbs_[&app] = &verb;
        if (verb.is_group()) app.require_subcommand(1);
        for (const Verb& one : verb.verbs()) add(app, one);
        std::map<std::string, CLI::Option*> made;
        for (const Option& option : verb.options()) {
            CLI::Option* const one = add(app, option);
            for (const std::string& name : option.all_names()) made[name] = one;
        }
        for (const Option& option : verb.options()) {
            for (const std::string& other : option.excluded)
                made.at(option.all_names().front())->excludes(made.at(other));
        }
    }

    static CLI::Option* add(CLI::App& app, const Option& option) {
        // Of TOOL.json its name is TOOL.
        std::string names =
            option.is_positional() ? option.names.substr(0, option.names.find('.')) : option.names;
        if (option.value_alone) names += fmt::format("{{{}}}", *option.value_alone);
        CLI::Option* const one = std::visit(
            [&](auto* target) -> CLI::Option* {
                using Target = std::remove_pointer_t<decltype(target)>;
                if constexpr (std::is_same_v<Target, bool>) {
                    return app.add_flag(names, *target);
                } else if constexpr (std::is_same_v<Target, std::string>) {
                    // As an option it would swallow the word that follows.
                    if (option.value_alone) return app.add_flag(names, *target);
                    return app.add_option(names, *target);
                } else if constexpr (std::is_same_v<Target, std::vector<std::string>>) {
                    CLI::Option* const list = app.add_option(names, *target);
                    return option.is_positional() ? list : list->allow_extra_args(false);
                } else {
                    return app.add_option(names, *target);
                }
            },
            option.target);
        one->required(option.is_required);
        if (!option.choices.empty()) one->check(CLI::IsMember(option.choices));
        if (takes_number(option)) {
            one->check([&option](const std::string& given) {
                return is_number_for(option, given)
                           ? std::string()
                           : fmt::format("'{}' was given; {} is expected",
                                         printable(clipped(given, kLongestWord)), number_for(option));
            });
        }
        if (option.is_size) one->transform(CLI::AsSizeValue(false));
        if (!option.may_be_empty)
            one->check([](const std::string& value) {
                return std::string(value.empty() ? "the value is empty; leave the option out, or give one"
                                                 : "");
            });
        return one;
    }

    const CLI::App& chosen_app() const {
        const CLI::App* at = &app_;
        while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
        return *at;
    }
    const Verb& chosen() const { return *verbs_.at(&chosen_app()); }

    // Its own words repeat what was typed.
    Error error_of(const CLI::ParseError& error) const {
        const CLI::App& app = chosen_app();
        const Verb& verb = chosen();
        const auto left_over = app.remaining(false);
        const bool no_such_verb = verb.is_group() && !left_over.empty();
        if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr || no_such_verb) {
            for (const CLI::App* at : {&app, &app_})
                if (const auto words = at->remaining(true); !words.empty())
                    return wrong_usage(verb, unexpected(verb, words), left_over);
        }
        if (verb.is_group()) {
            return wrong_usage(verb, fmt::format("Say which: {}", names_below(verb)), {});
        }
        const bool repeats = dynamic_cast<const CLI::ValidationError*>(&error) != nullptr ||
                             dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
        if (repeats && is_under(verb, "secrets"))
            return wrong_usage(verb, without_value(verb, error), left_over);
        return wrong_usage(verb, error.what(), left_over);
    }

    // What was given might be secret; the name that stands before it is one of ours.
    static std::string without_value(const Verb& verb, const CLI::ParseError& error) {
        const std::string_view said = error.what();
        const std::string_view name = said.substr(0, said.find(':'));
        for (const Option& option : verb.options()) {
            const auto names = option.all_names();
            if (takes_number(option) && std::ranges::find(names, name) != names.end())
                return fmt::format("{}: {} is expected", name, number_for(option));
        }
        return "One of the options has a value that it cannot have";
    }

    const Verb& program_;
    CLI::App app_;
    std::map<const CLI::App*, const Verb*> verbs_;
};

}  // namespace

Result<Command> read_command_line(const Verb& program, const std::vector<std::string>& arguments) {
    return Reading(program).read(arguments);
}

Result<const Verb*> find_verb(const Verb& program, std::span<const std::string> names) {
    const Verb* at = &program;
    for (const std::string& name : names) {
        const Verb* const next = at->find(name);
        if (next == nullptr) {
            const std::vector<std::string> unknown{name};
            return tl::unexpected(wrong_usage(
                *at,
                at->is_group() ? unexpected(*at, unknown) : fmt::format("{} has no verbs", at->command()),
                unknown));
        }
        at = next;
    }
    return at;
}

}  // namespace callgate::cli
