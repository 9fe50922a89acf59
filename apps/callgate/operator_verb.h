// What the operators' verbs share: the options that say which ledger and how to answer, the way to it, and
// what becomes of an error.
//
// Threads: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <callgate/error.h>
#include <callgate/json.h>

#include "ledger_access.h"
#include "ledger_marks.h"
#include "progress_line.h"
#include "terminal.h"

namespace callgate::cli {

class Verb;
enum class Completes : std::uint8_t;

/// It was understood and refused, or the answer is no: too late, not found, not whole.
constexpr int kNo = 1;

struct OperatorLine {
    std::string ledger;
    bool json = false;
    std::string color = "auto";
};

/// A list, a page at a time.
struct ListLine : OperatorLine {
    std::uint32_t limit = 50;
    std::string before;
};

/// --ledger, --json and --color. `json` replaces what the help says of --json.
void add_operator_options(Verb& verb, OperatorLine& line, std::string_view json = {});

/// --limit and --before, those of all operators' verbs, and what the help of every list says. `before` is an
/// id of what is listed.
void add_list_options(Verb& listing, ListLine& line, Completes before);

/// "--ledger 'DIR'", for a command line that is to be copied; "" where none was given.
std::string ledger_option(const std::string& ledger);

/// One run of an operators' verb.
class OperatorRun {
public:
    OperatorRun(const OperatorLine& line, const Console& console);

    /// The verb's result; the ledger is opened when something is asked first. Where its owner went away
    /// before it answered, what changes nothing is asked once more.
    Result<Value> ask(const Object& request);
    /// The same, with progress on a terminal; Ctrl-C calls it off. `text` gets the pieces of a long text, and
    /// says whether it wants more.
    Result<Value> ask_long(const Object& request, std::string_view what,
                           std::function<bool(std::string_view)> text = {});
    /// Lets the ledger go: others may have it while we wait. True: others were served meanwhile, so that
    /// there may be news.
    bool let_go();
    /// Another process owns it, and answers.
    bool has_owner_to_ask() const noexcept { return access_ && !access_->owns(); }

    /// Prints the error. kNo for what was refused, kCalledOff for a Ctrl-C at a prompt, kUnusable for the
    /// rest.
    int give_up(const Error& error) const;
    /// --json: the document, and true.
    bool print_json(const Value& document) const;
    void print(std::string_view text) const;

    /// Somebody at a terminal says yes.
    bool may_ask() const;
    bool says_yes(std::string_view question) const;
    /// The line that is typed; nothing where the input ended.
    std::optional<std::string> ask_person(std::string_view question) const;

    /// Where the ledger is.
    Result<std::string> directory() const { return ledger_directory(line_.ledger); }
    /// For a command line that is to be copied: the option that names the ledger, or "".
    std::string same_ledger() const { return ledger_option(line_.ledger); }
    bool json() const noexcept { return line_.json; }
    const Console& console() const noexcept { return console_; }
    const Style& style() const noexcept { return style_; }
    const Style& err_style() const noexcept { return err_style_; }
    LedgerMarks marks() const;

private:
    /// `begun` becomes true when some of the answer has been passed on already.
    Result<Value> ask_with(const Object& request, const ledger::Meanwhile& meanwhile, const bool& begun);

    const OperatorLine& line_;
    const Console& console_;
    const ColorMode color_;
    const Style style_;
    const Style err_style_;
    std::optional<LedgerAccess> access_;
};

// What a person answered: anything that is neither leaves things as they are.

bool is_yes(std::string_view answer);
bool is_no(std::string_view answer);

// Small things out of a report, "" and 0 where they are not there.

std::string text_at(const Value& object, std::string_view name);
/// Of a call or an approval: "mail/send", or "notes delete" with an action; printable.
std::string tool_of(const Value& object);
std::int64_t number_at(const Value& object, std::string_view name);
bool flag_at(const Value& object, std::string_view name);
const Value& value_at(const Value& object, std::string_view name);  ///< null where it is not there
const Array& list_at(const Value& object, std::string_view name);

/// "2026-01-01T00:00:00.000000Z" as "2026-01-01 00:00:00".
std::string short_time(std::string_view iso);
/// "45 s", "14 min 5 s", "2 h 10 min", "3 d 4 h"
std::string duration_text(std::int64_t seconds);
/// How to see more of a list; "" where there is none.
std::string next_page(const Value& page, const Style& style);
/// "✓ what was done"
std::string done_text(std::string_view what, const Style& style);
/// A report of any shape: one line for each value, members of members indented.
std::string outline(const Value& report, const Style& style);

}  // namespace callgate::cli
