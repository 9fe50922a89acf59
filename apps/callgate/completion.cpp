#include "completion.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "terminal.h"

namespace callgate::cli {

namespace {

constexpr std::size_t kHelpColumns = 60;  // beside the words, on one line

// The words before the one being typed, taken in as the program would.
class TypedWords {
public:
    TypedWords(const Verb& program, std::span<const std::string> words) : program_(program), at_(&program) {
        for (const std::string& word : words) take(word);
    }

    const Verb& program() const noexcept { return program_; }
    const Verb& verb() const noexcept { return *at_; }
    /// A verb that there is none of: nothing fits behind it.
    bool is_lost() const noexcept { return lost_; }
    bool options_ended() const noexcept { return options_ended_; }
    /// The option whose value is next.
    const Option* waits_for_value() const noexcept { return waiting_; }
    const std::vector<std::string>& positionals() const noexcept { return positionals_; }

    /// The positional that is next; a list goes on to the end.
    const Option* next_positional() const {
        std::size_t index = positionals_.size();
        for (const Option& option : at_->options()) {
            if (!option.is_positional()) continue;
            if (option.is_list() || index == 0) return &option;
            --index;
        }
        return nullptr;
    }

    const Option* find(std::string_view name) const {
        for (const Option& option : at_->options()) {
            if (!option.is_positional() && std::ranges::count(option.all_names(), name) != 0) return &option;
        }
        return nullptr;
    }

    /// It may stand once more, and nothing stands there that it cannot be beside.
    bool is_open(const Option& option) const {
        for (const Option* one : given_) {
            if (one == &option && !option.is_list()) return false;
            for (const std::string& name : one->all_names())
                if (std::ranges::count(option.excluded, name) != 0) return false;
            for (const std::string& name : option.all_names())
                if (std::ranges::count(one->excluded, name) != 0) return false;
        }
        return true;
    }

private:
    void take(const std::string& word) {
        if (waiting_ != nullptr) {
            waiting_ = nullptr;
        } else if (!options_ended_ && word == "--") {
            options_ended_ = true;
        } else if (!options_ended_ && word.size() > 1 && word.starts_with('-')) {
            take_option(word);
        } else if (!at_->is_group()) {
            positionals_.push_back(word);
        } else if (const Verb* const next = at_->find(word); next != nullptr) {
            at_ = next;
        } else {
            lost_ = true;
        }
    }

    void take_option(const std::string& word) {
        // -n20 and --lines=20 bring their value.
        const bool is_long = word.starts_with("--");
        const std::string name = word.substr(0, is_long ? word.find('=') : 2);
        const Option* const option = find(name);
        if (option == nullptr) return;
        given_.push_back(option);
        if (name == word && !option->is_flag() && !option->value_alone) waiting_ = option;
    }

    const Verb& program_;
    const Verb* at_;
    bool lost_ = false;
    bool options_ended_ = false;
    const Option* waiting_ = nullptr;
    std::vector<const Option*> given_;
    std::vector<std::string> positionals_;
};

void add(Completion& to, std::string word, std::string_view help) {
    to.words.push_back({std::move(word), clipped(one_line(help), kHelpColumns)});
}

void add_verbs(Completion& to, const Verb& group) {
    for (const Verb& verb : group.verbs())
        if (!verb.is_hidden()) add(to, verb.name(), verb.summary());
}

void add_options(Completion& to, const TypedWords& typed) {
    for (const Option& option : typed.verb().options()) {
        if (option.is_positional() || !typed.is_open(option)) continue;
        for (std::string& name : option.all_names()) add(to, std::move(name), option.help);
    }
    add(to, "-h", "help");
    add(to, "--help", "help");
    if (typed.verb().parent() == nullptr) add(to, "--version", "the version");
}

// What can stand in the option's place; false: that is up to whoever types.
bool add_values(Completion& to, const Option& option, const TypedWords& typed,
                const std::function<std::vector<Completion::Word>()>& tools) {
    for (const std::string& choice : option.choices) add(to, choice, "");
    switch (option.completes) {
        case Completes::file:
        case Completes::directory: to.paths = option.completes; return true;
        case Completes::tool:
            for (const Completion::Word& tool : tools()) add(to, tool.word, tool.help);
            return true;
        case Completes::verb: {
            const Verb* at = &typed.program();
            for (const std::string& name : typed.positionals()) {
                at = at->find(name);
                if (at == nullptr) return true;
            }
            add_verbs(to, *at);
            return true;
        }
        case Completes::approval:
        case Completes::call:
        case Completes::nothing: break;
    }
    return !option.choices.empty();
}

// Leaves what begins like `beginning`.
Completion fitting(Completion all, std::string_view beginning) {
    std::erase_if(all.words, [&](const Completion::Word& one) { return !one.word.starts_with(beginning); });
    return all;
}

}  // namespace

Completion complete(const Verb& program, std::span<const std::string> words,
                    const std::function<std::vector<Completion::Word>()>& tools) {
    const std::string last = words.empty() ? std::string() : words.back();
    const TypedWords typed(program, words.empty() ? words : words.first(words.size() - 1));
    Completion out;
    if (typed.is_lost()) return out;
    if (const Option* const option = typed.waits_for_value(); option != nullptr) {
        add_values(out, *option, typed, tools);
        return fitting(std::move(out), last);
    }
    if (!typed.options_ended() && last.starts_with('-') && last.find('=') != std::string::npos) {
        const std::string name = last.substr(0, last.find('='));
        const Option* const option = typed.find(name);
        if (option == nullptr || option->is_flag()) return out;
        add_values(out, *option, typed, tools);
        for (Completion::Word& one : out.words) one.word = fmt::format("{}={}", name, one.word);
        return fitting(std::move(out), last);
    }
    if (!typed.options_ended() && last.starts_with('-')) {
        add_options(out, typed);
        return fitting(std::move(out), last);
    }
    if (typed.verb().is_group()) {
        add_verbs(out, typed.verb());
        return fitting(std::move(out), last);
    }
    const Option* const positional = typed.next_positional();
    const bool known = positional != nullptr && add_values(out, *positional, typed, tools);
    // Where nothing else is expected, it can only be an option.
    if (!known && positional == nullptr && !typed.options_ended()) add_options(out, typed);
    return fitting(std::move(out), last);
}

std::string completion_answer(const Completion& completion) {
    std::string out = completion.paths == Completes::file        ? "file\n"
                      : completion.paths == Completes::directory ? "directory\n"
                                                                 : "nothing\n";
    for (const Completion::Word& one : completion.words) out += fmt::format("{}\t{}\n", one.word, one.help);
    return out;
}

}  // namespace callgate::cli
