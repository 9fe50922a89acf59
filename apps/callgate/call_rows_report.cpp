#include "call_rows_report.h"

#include <vector>

#include <fmt/format.h>

#include "operator_verb.h"
#include "shown_value.h"

namespace callgate::cli {

namespace {

constexpr std::size_t kLongestName = 60;
constexpr std::size_t kLongestSentence = 2'000;

std::string state_in_colour(const std::string& state, const Style& style) {
    if (state == "succeeded") return style.green(state);
    if (state == "unknown" || state == "failed") return style.red(state);
    return style.yellow(state);
}

std::string tool_of(const Value& call) {
    const std::string action = text_at(call, "action");
    std::string name = clipped(text_at(call, "tool"), kLongestName);
    if (!action.empty() && action != "call") name += " " + clipped(action, kLongestName);
    return name;
}

void add_fact(std::string& out, std::string_view name, const std::string& value, const Style& style) {
    if (!value.empty()) out += fact(name, clipped(one_line(value), kLongestSentence), style);
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
    std::vector<std::vector<std::string>> rows = {
        {"call", "state", "tool", "by", "effect", "attempts", "began", "key"}};
    for (const Value& one : list)
        rows.push_back({printable(text_at(one, "call_id")), printable(text_at(one, "state")), tool_of(one),
                        clipped(text_at(one, "principal"), kLongestName), printable(text_at(one, "effect")),
                        std::to_string(number_at(one, "attempts")), short_time(text_at(one, "created_at")),
                        clipped(text_at(one, "idempotency_key"), kLongestName)});
    std::string out = table(rows, style);
    if (const std::string next = text_at(page, "next"); !next.empty())
        out += fmt::format("  There are more: --before {}\n", printable(next));
    return out;
}

std::string events_table(const Array& events, const Style& style) {
    std::vector<std::vector<std::string>> rows = {{"event", "time", "type", "tool", "by", "what"}};
    for (const Value& one : events) {
        std::string what = text_at(one, "error_code");
        if (const std::string detail = text_at(one, "detail"); !detail.empty())
            what += (what.empty() ? "" : ": ") + detail;
        rows.push_back({std::to_string(number_at(one, "sequence")), short_time(text_at(one, "timestamp")),
                        printable(text_at(one, "type")), clipped(text_at(one, "tool_name"), kLongestName),
                        clipped(text_at(one, "principal"), kLongestName),
                        clipped(one_line(what), kLongestSentence)});
    }
    return table(rows, style);
}

std::string call_text(const Value& call, bool full, const Style& style) {
    const std::string state = text_at(call, "state");
    std::string out =
        fmt::format("{}: {}\n", style.bold(tool_of(call)), state_in_colour(printable(state), style));
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
    out += outcome_facts(value_at(call, "outcome"), style);
    if (const Value& arguments = value_at(call, "arguments"); !arguments.is_null())
        out += "  " + style.dim("arguments") + '\n' + to_text(arguments, full, 4, style);
    if (const Array& attempts = list_at(call, "attempt_list"); !attempts.empty())
        out += '\n' + attempts_table(attempts, style);
    if (const Array& events = list_at(call, "events"); !events.empty())
        out += '\n' + events_table(events, style);
    if (state == "unknown")
        out +=
            "\n  It may or may not have taken effect. When you have found out:\n"
            "  callgate calls resolve " +
            printable(text_at(call, "call_id")) + " --applied --evidence '…'   (or --not-applied)\n";
    return out;
}

}  // namespace callgate::cli
