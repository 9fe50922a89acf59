// What the program's verbs are, as data: their names, options, help, exit codes and examples.
//
// One description gives everything that speaks of a verb: the reading of the command line
// (command_line.h), --help (help_text.h), the man pages (man_page.h) and completion (completion.h). None of
// them can name an option that another does not know.
//
// Threads: built by one thread, then immutable.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace callgate::cli {

/// Where the value of an option goes. It must live as long as the command line is read.
using OptionTarget =
    std::variant<bool*, std::string*, std::optional<std::string>*, std::vector<std::string>*, std::uint32_t*,
                 std::optional<std::uint32_t>*, std::uint64_t*, std::optional<std::uint64_t>*>;

/// What can stand in an option's place, for completion; `choices` go before it.
enum class Completes : std::uint8_t { nothing, file, directory, approval, call, tool, verb };

/// One option, flag or positional argument.
struct Option {
    std::string names;    ///< "-n,--lines", "--follow", or of a positional how help calls it: "ID"
    std::string value;    ///< how help calls its value: "N"; "" for flags and positionals
    std::string help;     ///< one paragraph
    OptionTarget target;  ///< a bool is a flag; a list may be given again and again

    std::vector<std::string> choices{};
    std::uint64_t least = 0;
    std::uint64_t most = ~std::uint64_t{0};
    bool is_required = false;
    bool is_size = false;                    ///< 4k and 4M are numbers, too
    bool may_be_empty = true;                ///< `--key ''`; not where an option takes a text
    std::optional<std::string> value_alone;  ///< what `--coerce` means; a value needs `--coerce=full` then
    std::vector<std::string> excluded{};     ///< options that cannot stand beside it
    Completes completes = Completes::nothing;

    Option& one_of(std::initializer_list<const char*> words);
    Option& between(std::uint64_t from, std::uint64_t to);
    Option& positive() { return between(1, ~std::uint64_t{0}); }
    Option& required();
    Option& not_empty();
    Option& empty_too();
    Option& excludes(std::string name);
    Option& completed_by(Completes what);

    bool is_positional() const noexcept { return !names.starts_with('-'); }
    bool is_flag() const noexcept { return std::holds_alternative<bool*>(target); }
    bool is_list() const noexcept { return std::holds_alternative<std::vector<std::string>*>(target); }
    /// Each of `names`: "-n", "--lines".
    std::vector<std::string> all_names() const;
    /// As help shows it: "-n, --lines N", "--coerce[=full]", "ID".
    std::string shown() const;
};

/// A verb, or a group of verbs. References to verbs and options stay valid while their program lives.
class Verb {
public:
    /// `summary` stands in lists of verbs, and at the head of the verb's own help.
    Verb(std::string name, std::string summary, const Verb* parent = nullptr);
    Verb(const Verb&) = delete;
    Verb& operator=(const Verb&) = delete;

    // In the order of the help.

    Verb& add(std::string name, std::string summary);
    /// Replaces what is made up from the options: what stands behind the command, one line each call.
    Verb& usage(std::string line);
    Verb& heading(std::string text);
    /// A paragraph between the options.
    Verb& text(std::string paragraph);
    Option& flag(std::string names, std::string help, bool& target);
    template <class Target>
    Option& option(std::string names, std::string value, std::string help, Target& target) {
        return add_option(std::move(names), std::move(value), std::move(help), &target);
    }
    template <class Target>
    Option& argument(std::string name, std::string help, Target& target) {
        return add_option(std::move(name), {}, std::move(help), &target);
    }
    Verb& exits(int code, std::string meaning);
    /// A variable of the environment that it reads.
    Verb& variable(std::string name, std::string meaning);
    /// Lines of a shell; further ones begin with six spaces.
    Verb& example(std::string lines);

    /// What the verb does; the exit code comes from it.
    Verb& runs(std::function<int()> run);
    /// Not in lists of verbs, nor completed.
    Verb& hidden();

    const std::string& name() const noexcept { return name_; }
    const std::string& summary() const noexcept { return summary_; }
    /// "callgate calls list"
    std::string command() const;
    const Verb* parent() const noexcept { return parent_; }
    bool is_group() const noexcept { return !verbs_.empty(); }
    bool is_hidden() const noexcept { return hidden_; }
    const std::deque<Verb>& verbs() const noexcept { return verbs_; }
    const Verb* find(std::string_view name) const;
    const std::deque<Option>& options() const noexcept { return options_; }
    std::vector<std::string> usage_lines() const;
    const std::function<int()>& run() const noexcept { return run_; }

    struct Part {
        enum class Kind : std::uint8_t { heading, text, option };
        Kind kind = Kind::text;
        std::string text{};
        const Option* option = nullptr;
    };
    struct Exit {
        int code = 0;
        std::string meaning;
    };
    struct Variable {
        std::string name;
        std::string meaning;
    };
    const std::vector<Part>& parts() const noexcept { return parts_; }
    const std::vector<Exit>& exit_codes() const noexcept { return exits_; }
    const std::vector<Variable>& variables() const noexcept { return variables_; }
    const std::vector<std::string>& examples() const noexcept { return examples_; }

private:
    Option& add_option(std::string names, std::string value, std::string help, OptionTarget target);

    std::string name_;
    std::string summary_;
    const Verb* parent_;
    std::deque<Verb> verbs_;
    std::deque<Option> options_;
    std::vector<std::string> usage_;
    std::vector<Part> parts_;
    std::vector<Exit> exits_;
    std::vector<Variable> variables_;
    std::vector<std::string> examples_;
    std::function<int()> run_;
    bool hidden_ = false;
};

/// --json and --color, as every verb that answers has them. `json_help`: what --json does here, where that
/// is not the usual.
void add_output_options(Verb& verb, bool& json, std::string& color, std::string_view json_help = {});

/// --ledger of every verb that speaks to a ledger. `also` goes on after the sentence that is the same for
/// all.
void add_ledger_option(Verb& verb, std::string& ledger, std::string_view also = {});

}  // namespace callgate::cli
