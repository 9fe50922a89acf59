#include "options.h"

#include <algorithm>

#include <fmt/format.h>

namespace callgate::cli {

Option& Option::one_of(std::initializer_list<const char*> words) {
    choices.assign(words.begin(), words.end());
    return *this;
}

Option& Option::between(std::uint64_t from, std::uint64_t to) {
    least = from;
    most = to;
    return *this;
}

Option& Option::required() {
    is_required = true;
    return *this;
}

Option& Option::not_empty() {
    may_be_empty = false;
    return *this;
}

Option& Option::empty_too() {
    may_be_empty = true;
    return *this;
}

Option& Option::excludes(std::string name) {
    excluded.push_back(std::move(name));
    return *this;
}

Option& Option::completed_by(Completes what) {
    completes = what;
    return *this;
}

std::vector<std::string> Option::all_names() const {
    std::vector<std::string> out;
    for (std::size_t at = 0; at <= names.size();) {
        const std::size_t end = std::min(names.find(',', at), names.size());
        out.push_back(names.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

std::string Option::shown() const {
    std::string out = fmt::format("{}", fmt::join(all_names(), ", "));
    if (value_alone) return fmt::format("{}[={}]", out, value);
    return value.empty() ? out : fmt::format("{} {}", out, value);
}

Verb::Verb(std::string name, std::string summary, const Verb* parent)
    : name_(std::move(name)), summary_(std::move(summary)), parent_(parent) {}

Verb& Verb::add(std::string name, std::string summary) {
    return verbs_.emplace_back(std::move(name), std::move(summary), this);
}

Verb& Verb::usage(std::string line) {
    usage_.push_back(std::move(line));
    return *this;
}

Verb& Verb::heading(std::string text) {
    parts_.push_back({Part::Kind::heading, std::move(text)});
    return *this;
}

Verb& Verb::text(std::string paragraph) {
    parts_.push_back({Part::Kind::text, std::move(paragraph)});
    return *this;
}

Option& Verb::flag(std::string names, std::string help, bool& target) {
    return add_option(std::move(names), {}, std::move(help), &target);
}

Option& Verb::add_option(std::string names, std::string value, std::string help, OptionTarget target) {
    Option& option = options_.emplace_back();
    option.names = std::move(names);
    option.value = std::move(value);
    option.help = std::move(help);
    option.target = target;
    // An id, a path or a name that is empty is a variable of a script that was not set, and never what the
    // option means when it is left out.
    const bool is_text = std::holds_alternative<std::string*>(target) ||
                         std::holds_alternative<std::optional<std::string>*>(target) || option.is_list();
    option.may_be_empty = option.is_positional() || !is_text;
    parts_.push_back({Part::Kind::option, {}, &option});
    return option;
}

Verb& Verb::exits(int code, std::string meaning) {
    exits_.push_back({code, std::move(meaning)});
    return *this;
}

Verb& Verb::variable(std::string name, std::string meaning) {
    variables_.push_back({std::move(name), std::move(meaning)});
    return *this;
}

Verb& Verb::example(std::string lines) {
    examples_.push_back(std::move(lines));
    return *this;
}

Verb& Verb::runs(std::function<int()> run) {
    run_ = std::move(run);
    return *this;
}

Verb& Verb::hidden() {
    hidden_ = true;
    return *this;
}

std::string Verb::command() const {
    return parent_ == nullptr ? name_ : fmt::format("{} {}", parent_->command(), name_);
}

const Verb* Verb::find(std::string_view name) const {
    for (const Verb& verb : verbs_) {
        if (verb.name_ == name) return &verb;
    }
    return nullptr;
}

std::vector<std::string> Verb::usage_lines() const {
    std::vector<std::string> lines;
    for (const std::string& line : usage_) lines.push_back(fmt::format("{} {}", command(), line));
    if (!lines.empty()) return lines;
    std::string line = command();
    if (is_group()) return {line + " VERB [options]"};
    bool has_options = false;
    for (const Option& option : options_) has_options = has_options || !option.is_positional();
    if (has_options) line += " [options]";
    for (const Option& option : options_) {
        if (!option.is_positional()) continue;
        std::string name = option.names + (option.is_list() ? "..." : "");
        line += option.is_required ? " " + name : " [" + name + "]";
    }
    return {line};
}

void add_output_options(Verb& verb, bool& json, std::string& color, std::string_view json_help) {
    constexpr std::string_view kUsual = "one JSON document on standard output, whatever happens";
    verb.flag("--json", std::string(json_help.empty() ? kUsual : json_help), json);
    verb.option("--color", "WHEN", "auto (default), always, never; NO_COLOR is respected", color)
        .one_of({"auto", "always", "never"});
}

void add_ledger_option(Verb& verb, std::string& ledger, std::string_view also) {
    verb.option("--ledger", "DIR",
                fmt::format("where the ledger is: by default $CALLGATE_LEDGER, else "
                            "$XDG_STATE_HOME/callgate, else ~/.local/state/callgate{}",
                            also),
                ledger)
        .completed_by(Completes::directory);
}

}  // namespace callgate::cli
