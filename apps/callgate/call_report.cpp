#include "call_report.h"

#include <utility>

#include <fmt/format.h>

#include <callgate/views.h>

#include "error_report.h"
#include "ledger/control/row_views.h"
#include "shown_value.h"

namespace callgate::cli {

namespace {

constexpr std::size_t kLongestNameOfCall = 160;
constexpr std::size_t kLongestPreview = 2'000;

std::string_view words(State state) noexcept {
    switch (state) {
        case State::succeeded: return "succeeded";
        case State::failed: return "failed";
        case State::timed_out: return "timed out";
        case State::cancelled: return "called off";
        case State::unknown: return "outcome unknown";
        case State::not_found: return "not found";
        case State::unavailable: return "unavailable";
        case State::scope_denied: return "scope not granted";
        case State::invalid: return "invalid arguments";
        case State::denied: return "denied";
        case State::needs_approval: return "needs approval";
        case State::previewed: return "only previewed";
        case State::suppressed: return "suppressed";
        case State::limited: return "over a limit";
        case State::replayed: return "answered from the record";
        case State::in_progress: return "still running elsewhere";
        case State::key_conflict: return "the key is taken";
    }
    return "failed";
}

std::string detail(const Error& error, std::string_view name) {
    const Value* value = error.details.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

// What to do about it on this command line.
std::string advice(const Outcome& outcome) {
    const Error& error = *outcome.error();
    switch (error.code) {
        case ErrorCode::not_found: return "callgate tools lists the tools there are.";
        case ErrorCode::unknown_action: return "Choose one with --action.";
        case ErrorCode::scope_denied: return fmt::format("Grant it with --scope {}.", detail(error, "scope"));
        case ErrorCode::timed_out:
            if (outcome.state() != State::unknown) return "--timeout MS gives it longer.";
            break;
        case ErrorCode::denied: return "--trace shows what each stage decided.";
        case ErrorCode::preview_required: return "At --autonomy A1 to A4 a call can be run.";
        default: break;
    }
    if (outcome.state() == State::unknown)
        return "It may or may not have taken effect. Find out before you call again.";
    return {};
}

// On a line where that is short.
bool fits_a_line(const Value& value) {
    return value.is_string() ? value.get_string().size() <= kLongestSentence
                             : json::write(value).size() <= kLongestPreview;
}

// Whole on a line where it is short and nothing in it hides; else as the operators' verbs show it.
std::string value_fact(std::string_view name, const Value& value, bool full, std::string_view how_to_see_all,
                       const Style& style) {
    if (fits_a_line(value) && suspicion_of(value) == Suspicion())
        return fact(name, printable(value.is_string() ? std::string(value.get_string()) : json::write(value)),
                    style);
    return "  " + style.dim(name) + '\n' + to_text(value, full, 4, style, how_to_see_all);
}

std::string preview_facts(const std::optional<Preview>& preview, bool full, std::string_view how_to_see_all,
                          const Style& style) {
    if (!preview) return {};
    std::string out = value_fact("preview", Value(preview->summary), full, how_to_see_all, style);
    if (preview->diff) out += value_fact("changes", *preview->diff, full, how_to_see_all, style);
    return out;
}

bool is_cut(Value value) {
    return (!fits_a_line(value) || suspicion_of(value) != Suspicion()) && !cut_long_texts(value).empty();
}

Value json_of(const std::optional<Approval>& approval) {
    if (!approval) return nullptr;
    Array votes;
    for (const Vote& vote : approval->votes)
        votes.push_back({{"approver", vote.approver}, {"approve", vote.approve}, {"reason", vote.reason}});
    return {{"id", approval->id},
            {"state", to_string(approval->state)},
            {"risk", to_string(approval->risk)},
            {"why", approval->why},
            {"requester", approval->requester},
            {"approvals_needed", approval->approvals_needed},
            {"votes", std::move(votes)}};
}

}  // namespace

CallExit exit_of(const Outcome& outcome) noexcept {
    if (outcome.ok()) return CallExit::ok;
    switch (outcome.state()) {
        case State::succeeded:
        case State::failed:
        case State::timed_out:
        case State::cancelled:
        case State::replayed: return CallExit::failed;
        case State::unknown: return CallExit::unknown;
        case State::needs_approval: return CallExit::needs_approval;
        default: return CallExit::refused;
    }
}

Object to_json(const Outcome& outcome, const std::optional<Approval>& approval) {
    Object out = views::s2(outcome);
    Value content = outcome.content();
    if (outcome.ok() || !content.is_null()) out["content"] = std::move(content);
    out.erase("content_length");
    out["state"] = to_string(outcome.state());
    out["action"] = outcome.action();
    out["call_id"] = outcome.call_id();
    out["attempts"] = outcome.attempts();
    out["replayed"] = outcome.replayed();
    out["safe_new_key"] = outcome.safe_new_key();
    out["preview"] = ledger::preview_json(outcome.preview());
    out["approval"] = json_of(approval);
    out["error"] = nullptr;
    if (const Error* error = outcome.error()) {
        Error shown = *error;
        // Meant for a host's own ways; on the command line it is another.
        shown.details.erase("how_to_approve");
        out["error"] = json_of(shown);
    }
    return out;
}

Array to_json(const std::vector<StageNote>& trace) {
    Array out;
    for (const StageNote& note : trace)
        out.push_back({{"stage", note.stage}, {"decision", note.decision}, {"reason", note.reason}});
    return out;
}

std::string to_text(const std::vector<StageNote>& trace, const Style& style) {
    std::vector<std::vector<std::string>> rows = {{"stage", "decision", "reason"}};
    for (const StageNote& note : trace)
        rows.push_back({printable(note.stage), printable(note.decision),
                        clipped(one_line(note.reason), kLongestSentence)});
    return table(rows, style);
}

std::string to_text(const Outcome& outcome, const std::optional<Excerpt>& excerpt, const Style& style) {
    const std::string name =
        heading_name(clipped(outcome.tool().empty() ? "call" : outcome.tool(), kLongestNameOfCall), style);
    if (outcome.ok()) {
        std::string verdict(words(outcome.state()));
        if (outcome.attempts() > 1) verdict += fmt::format(" at attempt {}", outcome.attempts());
        return fmt::format("{} {}: {}\n", style.green("✓"), style.bold(name), style.green(verdict));
    }
    const bool open = outcome.state() == State::needs_approval || outcome.state() == State::previewed;
    const bool no_action = outcome.error() != nullptr && outcome.error()->code == ErrorCode::unknown_action;
    const std::string_view verdict = no_action ? "no such action" : words(outcome.state());
    std::string out = fmt::format("{} {}: {}\n", open ? style.yellow("?") : style.red("✗"), style.bold(name),
                                  open ? style.yellow(verdict) : style.red(verdict));
    const Error* error = outcome.error();
    if (error == nullptr) return out;
    const std::string message = clipped(one_line(error->message), kLongestSentence);
    out += indented(message, 2, style);
    if (excerpt) out += render(*excerpt, style);
    if (outcome.state() == State::previewed)
        out += preview_facts(outcome.preview(), false, "--json shows all of it.", style);
    std::string facts = fmt::format("code {}", to_string(error->code));
    if (outcome.attempts() > 0)
        facts += fmt::format(", {} attempt{}", outcome.attempts(), outcome.attempts() == 1 ? "" : "s");
    out += "  " + style.dim(facts) + '\n';
    if (const std::string what = advice(outcome); !what.empty()) out += indented(printable(what), 2, style);
    return out;
}

std::string to_text(const Approval& approval, bool full, std::string_view how_to_see_all,
                    const Style& style) {
    std::string out = value_fact("arguments", approval.arguments, full, how_to_see_all, style);
    out += fact("asked by", clipped(approval.requester, kLongestNameOfCall), style);
    out += fact("risk", to_string(approval.risk), style);
    out += preview_facts(approval.preview, full, how_to_see_all, style);
    out += fact("approval", approval.id, style);
    return out;
}

bool is_cut(const Approval& approval) {
    const auto& preview = approval.preview;
    return is_cut(approval.arguments) ||
           (preview && (is_cut(Value(preview->summary)) || (preview->diff && is_cut(*preview->diff))));
}

std::string unwritten_text(const Outcome& outcome, const Style& style) {
    std::string out = indented(
        fmt::format("The answer could not be written to standard output. {}: {}, call {}.",
                    printable(clipped(outcome.tool().empty() ? "call" : outcome.tool(), kLongestNameOfCall)),
                    words(outcome.state()), outcome.call_id()),
        2, style);
    return out.replace(0, 1, style.red("✗"));
}

}  // namespace callgate::cli
