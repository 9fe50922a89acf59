#include "call_rows_report.h"

#include <vector>

#include <fmt/format.h>

#include "event_calls.h"
#include "ids.h"
#include "operator_verb.h"
#include "shown_value.h"

namespace callgate::cli {

namespace {

constexpr std::size_t kNarrowNameOfRow = 14;  // on a narrow terminal

std::string state_in_colour(const std::string& state, const Style& style) {
    if (state == "succeeded") return style.green(state);
    if (state == "unknown" || state == "failed") return style.red(state);
    return style.yellow(state);
}

std::string outcome_facts(const Value& outcome, const Style& style) {
    if (outcome.is_null()) return {};
    std::string out = fact("answered", printable(text_at(outcome, "state")), style);
    const Value& error = value_at(outcome, "error");
    if (!error.is_null())
        add_fact(out, "error", text_at(error, "code") + ": " + text_at(error, "message"), style);
    const Value& result = value_at(outcome, "result");
    out += fact(
        "result",
        fmt::format("{} bytes, SHA-256 {}", number_at(result, "bytes"), printable(text_at(result, "sha256"))),
        style);
    for (const Value& block : list_at(result, "blocks"))
        out += fact("",
                    fmt::format("{}, {} bytes", printable(text_at(block, "kind")), number_at(block, "bytes")),
                    style);
    return out;
}

std::string attempts_table(const Array& attempts, const Style& style) {
    std::vector<std::vector<std::string>> rows = {{"attempt", "epoch", "began", "ended", "how"}};
    for (const Value& one : attempts) {
        const std::string end = text_at(one, "end");
        rows.push_back({std::to_string(number_at(one, "number")), std::to_string(number_at(one, "epoch")),
                        short_time(text_at(one, "started_at")), short_time(text_at(one, "ended_at")),
                        end.empty() ? "runs, or nobody knows" : printable(end)});
    }
    return table(rows, style);
}

}  // namespace

std::string calls_table(const Value& page, const Style& style) {
    const Array& list = list_at(page, "calls");
    if (list.empty()) return "No call is recorded that fits.\n";
    const bool narrow = style.is_narrow();
    const auto cut = [&](std::string_view text) {
        return narrow ? clipped(text, kNarrowNameOfRow) : printable(text);
    };
    std::vector<std::vector<std::string>> rows = {
        {"call", "state", "tool", "by", "effect", "attempts", "began", "key"}};
    const std::vector<std::string> ids = ids_for_table(list, "call_id", style);
    for (std::size_t i = 0; i < list.size(); ++i) {
        const Value& one = list[i];
        rows.push_back({ids[i], printable(text_at(one, "state")), cut(tool_of(one)),
                        cut(text_at(one, "principal")), printable(text_at(one, "effect")),
                        std::to_string(number_at(one, "attempts")), short_time(text_at(one, "created_at")),
                        cut(text_at(one, "idempotency_key"))});
    }
    if (narrow) {
        for (auto& row : rows) row.erase(row.begin() + 4, row.begin() + 6);  // effect and attempts
    }
    return table(rows, style) + next_page(page, style);
}

std::string event_line(const Value& event, const Style& style) {
    std::string what = text_at(event, "error_code");
    if (const std::string detail = text_at(event, "detail"); !detail.empty())
        what += (what.empty() ? "" : ": ") + detail;
    what = printable(one_line(what));
    std::string out = fmt::format("{:>6}  {}  {}", number_at(event, "sequence"),
                                  short_time(text_at(event, "timestamp")), printable(text_at(event, "type")));
    for (const char* name : {"tool_name", "principal"}) {
        if (const std::string text = text_at(event, name); !text.empty()) out += "  " + printable(text);
    }
    if (style.width == 0) return out + (what.empty() ? "\n" : "  " + what + '\n');
    out = clipped(out, style.width) + '\n';
    return what.empty() ? out : out + indented(clipped(what, kLongestSentence), 8, style);
}

std::string events_table(const Array& events, const Style& style) {
    if (style.is_narrow()) {
        std::string out =
            style.dim(" event  time                 type, tool, by; below, what it says") + '\n';
        for (const Value& one : events) out += event_line(one, style);
        return out;
    }
    std::vector<std::vector<std::string>> rows = {{"event", "time", "type", "tool", "by", "what"}};
    for (const Value& one : events) {
        std::string what = text_at(one, "error_code");
        if (const std::string detail = text_at(one, "detail"); !detail.empty())
            what += (what.empty() ? "" : ": ") + detail;
        rows.push_back({std::to_string(number_at(one, "sequence")), short_time(text_at(one, "timestamp")),
                        printable(text_at(one, "type")), printable(text_at(one, "tool_name")),
                        printable(text_at(one, "principal")), clipped(one_line(what), kLongestSentence)});
    }
    return table(rows, style);
}

std::string resolve_hint(const std::string& call, const std::string& ledger, const Style& style) {
    std::vector<std::string> words = {"callgate calls resolve", call};
    if (!ledger.empty()) words.push_back(ledger);
    words.insert(words.end(), {"--applied", "--evidence '…'", "  (or --not-applied)"});
    return command_hint(words, style);
}

std::string restored_hint(const std::string& ledger, const Style& style) {
    std::vector<std::string> words = {"callgate ledger restore", "--accept-new-keys"};
    if (!ledger.empty()) words.push_back(ledger);
    words.emplace_back("--because '…'");
    return indented(
               "Nothing on record can be resolved for this key. Until that time is over no key that the "
               "ledger does not know runs. Where you know that no key of the lost time comes again:",
               2, style) +
           command_hint(words, style);
}

std::string call_text(const Value& shown, bool full, const std::string& ledger, const Style& style) {
    const Value& call = value_at(shown, "call");
    const std::string state = text_at(call, "state");
    std::string out = fmt::format("{}: {}\n", style.bold(heading_name(tool_of(call), style)),
                                  state_in_colour(printable(state), style));
    std::string by = text_at(call, "principal");
    if (const std::string tenant = text_at(call, "tenant"); !tenant.empty()) by += " of " + tenant;
    add_fact(out, "called by", by, style);
    add_fact(out, "effect", text_at(call, "effect"), style);
    add_fact(out, "key", text_at(call, "idempotency_key"), style);
    add_fact(out, "began", short_time(text_at(call, "created_at")), style);
    add_fact(out, "ended", short_time(text_at(call, "ended_at")), style);
    add_fact(out, "kept until", short_time(text_at(call, "expires_at")), style);
    add_fact(out, "approval", text_at(call, "approval_id"), style);
    add_fact(out, "call", text_at(call, "call_id"), style);
    add_fact(out, "asked as", text_at(shown, "asked_as"), style);
    add_fact(out, "ran as", text_at(call, "runs_as"), style);
    const bool from_events = text_at(call, "recorded") == "events";
    if (from_events) out += fact("", "It has no row of its own: this is from the audit.", style);
    out += outcome_facts(value_at(call, "outcome"), style);
    if (const Value& arguments = value_at(call, "arguments"); !arguments.is_null())
        out += "  " + style.dim("arguments") + '\n' + to_text(arguments, full, 4, style);
    if (const Array& attempts = list_at(call, "attempt_list"); !attempts.empty())
        out += '\n' + attempts_table(attempts, style);
    if (const Array& events = list_at(call, "events"); !events.empty())
        out += '\n' + events_table(events, style);
    if (state == "unknown" && !from_events)
        out += "\n  It may or may not have taken effect. When you have found out:\n" +
               resolve_hint(printable(text_at(call, "call_id")), ledger, style);
    if (repeats_an_unknown(call)) {
        const Value& earlier = value_at(shown, "earlier");
        const std::string id = printable(text_at(earlier, "call_id"));
        out += '\n';
        if (earlier.is_null()) {
            out += indented("This call did not run.", 2, style) + restored_hint(ledger, style);
        } else if (text_at(earlier, "state") == "unknown") {
            out +=
                indented(
                    "This call did not run: an earlier one may have taken effect. When you have found out:",
                    2, style) +
                resolve_hint(id, ledger, style);
        } else {
            out += indented(fmt::format("This call did not run. The earlier one, {}, is {} by now.", id,
                                        printable(text_at(earlier, "state"))),
                            2, style);
        }
    }
    return out;
}

}  // namespace callgate::cli
