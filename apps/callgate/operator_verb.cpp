#include "operator_verb.h"

#include <algorithm>
#include <array>
#include <istream>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "error_report.h"
#include "interrupt.h"
#include "ledger/control/message.h"
#include "options.h"
#include "person_line.h"
#include "program.h"

namespace callgate::cli {

namespace {

constexpr int kMostOwners = 100;

// They change something: asked twice, they might do it twice.
bool changes_something(const Object& request) {
    static constexpr std::array kChanging = {"approvals.vote", "approvals.revoke", "calls.resolve",
                                             "ledger.backup",  "ledger.gc",        "audit.rotate_key",
                                             "audit.archive",  "audit.erase"};
    const Value* verb = request.if_contains("verb");
    for (const char* one : kChanging) {
        if (verb != nullptr && *verb == Value(one)) return true;
    }
    return false;
}

bool is_a_no(ErrorCode code) {
    switch (code) {
        case ErrorCode::denied:
        case ErrorCode::approval_denied:
        case ErrorCode::approval_expired:
        case ErrorCode::cancelled: return true;
        default: return false;
    }
}

std::string cell(const Value& value) {
    return value.is_string() ? printable(value.get_string()) : printable(json::write(value));
}

void outline_rows(const Value& report, std::size_t indent, std::vector<std::vector<std::string>>& rows) {
    for (const auto& [name, value] : report.get_object()) {
        const std::string what = std::string(indent, ' ') + printable(name);
        if (value.is_object() && !value.get_object().empty()) {
            rows.push_back({what, ""});
            outline_rows(value, indent + 2, rows);
        } else if (value.is_array() && !value.get_array().empty()) {
            std::string first = what;
            for (const Value& one : value.get_array()) rows.push_back({std::exchange(first, ""), cell(one)});
        } else {
            rows.push_back({what, cell(value)});
        }
    }
}

}  // namespace

void add_operator_options(Verb& verb, OperatorLine& line, std::string_view json) {
    add_ledger_option(verb, line.ledger);
    add_output_options(verb, line.json, line.color, json);
}

void add_list_options(Verb& listing, ListLine& line, Completes before) {
    listing.option("--limit", "N", "how many at most: 50 by default", line.limit).between(1, 1'000);
    listing.option("--before", "ID", "those before this one: the next page", line.before)
        .completed_by(before);
    add_operator_options(listing, line);
    listing.text(
        "On a terminal ids are shown by their end, as much of it as is unique in the list and has a letter. "
        "Every verb takes an id whole, or its beginning or end of four characters or more, if only one id "
        "fits.");
    listing.exits(0, "listed").exits(2, "wrong usage, or no ledger");
}

std::string ledger_option(const std::string& ledger) {
    return ledger.empty() ? ledger : "--ledger " + shell_quoted(ledger);
}

OperatorRun::OperatorRun(const OperatorLine& line, const Console& console)
    : line_(line),
      console_(console),
      color_(color_mode(line.color)),
      style_(console.out_terminal.style(color_)),
      err_style_(console.err_terminal.style(color_)) {}

Result<Value> OperatorRun::ask_with(const Object& request, const ledger::Meanwhile& meanwhile,
                                    const bool& begun) {
    bool lost_before = false;
    for (int tries = 0;; ++tries) {
        if (!access_) {
            CALLGATE_TRY_ASSIGN(const auto where, ledger_directory(line_.ledger));
            CALLGATE_TRY_ASSIGN(auto opened, LedgerAccess::open(where));
            access_.emplace(std::move(opened));
        }
        auto answer = access_->ask(request, meanwhile);
        if (answer) return answer;
        const std::string reason = text_at(answer.error().details, "reason");
        const bool untouched = reason == ledger::kOwnerEnds || reason == ledger::kNotTaken;
        if (!untouched && answer.error().code != ErrorCode::transport) return answer;
        access_.reset();
        // Owners may come and go quickly, where many verbs run at once.
        if (untouched && !begun && tries < kMostOwners) continue;
        if (!untouched && !std::exchange(lost_before, true) && !begun && !changes_something(request))
            continue;
        if (!untouched && changes_something(request))
            answer.error().message += " Whether it was done is not known: look before you ask again.";
        return answer;
    }
}

Result<Value> OperatorRun::ask(const Object& request) {
    return ask_with(request, {}, false);
}

Result<Value> OperatorRun::ask_long(const Object& request, std::string_view what,
                                    std::function<bool(std::string_view)> text) {
    const Interrupt interrupt;
    ProgressLine line(console_.err, console_.err_terminal);
    Progress progress;
    progress.tool = what;
    const bool shown = !line_.json && console_.err_terminal.is_terminal;
    bool begun = false;
    ledger::Meanwhile meanwhile([&](std::uint64_t done, std::uint64_t total) {
        if (shown && total != 0) {
            progress.done = static_cast<double>(done);
            progress.total = static_cast<double>(total);
            line.show(progress);
        }
        return !interrupt.requested();
    });
    if (text)
        meanwhile.text = [&](std::string_view piece) {
            begun = true;
            return text(piece) && !interrupt.requested();
        };
    auto answer = ask_with(request, meanwhile, begun);
    line.clear();
    return answer;
}

bool OperatorRun::let_go() {
    const bool served = access_ && access_->stop_serving();
    access_.reset();
    return served;
}

LedgerMarks OperatorRun::marks() const {
    const auto where = ledger_directory(line_.ledger);
    return where ? LedgerMarks::of(*where) : LedgerMarks();
}

int OperatorRun::give_up(const Error& error) const {
    print_error(error, std::nullopt, line_.json, color_, console_);
    const std::string reason = text_at(error.details, "reason");
    if (error.code == ErrorCode::config_error && reason == "called_off") return kCalledOff;
    return is_a_no(error.code) || reason == "wrong_passphrase" ? kNo : kUnusable;
}

bool OperatorRun::print_json(const Value& document) const {
    if (line_.json) console_.out << json::write_pretty(document) << '\n';
    return line_.json;
}

void OperatorRun::print(std::string_view text) const {
    console_.out << text << std::flush;
}

bool OperatorRun::may_ask() const {
    return !line_.json && console_.person != nullptr && console_.err_terminal.is_terminal &&
           console_.person_sees_err;
}

std::optional<std::string> OperatorRun::ask_person(std::string_view question) const {
    console_.out << std::flush;
    forget_typed_ahead(*console_.person);
    console_.err << question << ' ' << std::flush;
    std::string answer;
    if (std::getline(*console_.person, answer)) return one_line(answer);
    console_.err << '\n';
    return std::nullopt;
}

bool OperatorRun::says_yes(std::string_view question) const {
    const auto answer = ask_person(fmt::format("{} [y/N]", question));
    return is_yes(answer.value_or(""));
}

bool is_yes(std::string_view answer) {
    return answer == "y" || answer == "Y" || answer == "yes";
}

bool is_no(std::string_view answer) {
    return answer == "n" || answer == "N" || answer == "no" || answer == "d" || answer == "deny";
}

const Value& value_at(const Value& object, std::string_view name) {
    static const Value kNone;
    if (!object.is_object()) return kNone;
    const Value* found = object.get_object().if_contains(name);
    return found == nullptr ? kNone : *found;
}

std::string text_at(const Value& object, std::string_view name) {
    const Value& found = value_at(object, name);
    return found.is_string() ? std::string(found.get_string()) : std::string();
}

std::string tool_of(const Value& object) {
    const std::string action = text_at(object, "action");
    std::string name = printable(text_at(object, "tool"));
    if (!action.empty() && action != "call") name += " " + printable(action);
    return name;
}

std::int64_t number_at(const Value& object, std::string_view name) {
    const Value& found = value_at(object, name);
    if (found.is_uint64()) return static_cast<std::int64_t>(found.get_uint64());
    return found.is_int64() ? found.get_int64() : 0;
}

bool flag_at(const Value& object, std::string_view name) {
    const Value& found = value_at(object, name);
    return found.is_bool() && found.get_bool();
}

const Array& list_at(const Value& object, std::string_view name) {
    static const Array kNone;
    const Value& found = value_at(object, name);
    return found.is_array() ? found.get_array() : kNone;
}

std::string short_time(std::string_view iso) {
    std::string out = printable(iso.substr(0, 19));
    if (out.size() > 10 && out[10] == 'T') out[10] = ' ';
    return out;
}

std::string next_page(const Value& page, const Style& style) {
    const std::string next = text_at(page, "next");
    return next.empty() ? next
                        : indented(fmt::format("There are more: --before {}", printable(next)), 2, style);
}

std::string done_text(std::string_view what, const Style& style) {
    std::string out = indented(what, 2, style);
    return out.replace(0, 1, style.green("✓"));
}

std::string duration_text(std::int64_t seconds) {
    struct Unit {
        std::int64_t seconds;
        const char* name;
    };
    static constexpr std::array kUnits = {Unit{86'400, "d"}, Unit{3'600, "h"}, Unit{60, "min"}, Unit{1, "s"}};
    for (std::size_t i = 0; i < kUnits.size(); ++i) {
        const Unit& unit = kUnits[i];
        if (seconds < unit.seconds) continue;
        std::string out = fmt::format("{} {}", seconds / unit.seconds, unit.name);
        const std::int64_t rest = seconds % unit.seconds;
        if (i + 1 < kUnits.size() && rest >= kUnits[i + 1].seconds)
            out += fmt::format(" {} {}", rest / kUnits[i + 1].seconds, kUnits[i + 1].name);
        return out;
    }
    return "0 s";
}

std::string outline(const Value& report, const Style& style) {
    if (!report.is_object()) return "  " + cell(report) + '\n';
    std::vector<std::vector<std::string>> rows;
    outline_rows(report, 0, rows);
    std::size_t width = 0;
    for (const auto& row : rows) width = std::max(width, columns_of(row.front()));
    std::string out;
    const std::size_t column = width + 4;
    const std::size_t room = style.width > column + 20 ? style.width - column : 0;
    for (const auto& row : rows) {
        if (row.back().empty()) {
            out += fmt::format("  {}\n", style.dim(row.front()));
            continue;
        }
        std::string lead = "  " + style.dim(padded(row.front(), width + 2));
        for (const std::string& line : folded(row.back(), room))
            out += std::exchange(lead, std::string(column, ' ')) + line + '\n';
    }
    return out;
}

}  // namespace callgate::cli
