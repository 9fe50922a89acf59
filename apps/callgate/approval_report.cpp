#include "approval_report.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "ids.h"
#include "operator_verb.h"
#include "shown_value.h"

namespace callgate::cli {

namespace {

constexpr std::size_t kLongestNameOfApproval = 60;
// On a narrow terminal.
constexpr std::size_t kNarrowNameOfApproval = 14;
constexpr std::size_t kNarrowGlimpse = 60;

std::int64_t yes_votes(const Value& approval) {
    const Array& votes = list_at(approval, "votes");
    return std::ranges::count_if(votes, [](const Value& vote) { return flag_at(vote, "approve"); });
}

std::string votes_cell(const Value& approval) {
    return fmt::format("{} of {}", yes_votes(approval), number_at(approval, "approvals_needed"));
}

// Two people with A2 do for a critical call that asks for A3 (ledger/approval_rules.h).
bool two_people_do(const Value& approval) {
    return text_at(approval, "risk") == "critical" && text_at(approval, "assurance_needed") == "A3";
}

std::string votes_needed(const Value& approval) {
    const std::int64_t needed = number_at(approval, "approvals_needed");
    if (two_people_do(approval)) {
        return fmt::format("{} given; {} with assurance A3 needed, or {} with A2", yes_votes(approval),
                           needed, std::max<std::int64_t>(needed, 2));
    }
    return fmt::format("{}, each with assurance {} or more", votes_cell(approval),
                       printable(text_at(approval, "assurance_needed")));
}

std::string risk_in_colour(const std::string& risk, const Style& style) {
    if (risk == "high" || risk == "critical") return style.red(risk);
    return risk == "medium" ? style.yellow(risk) : risk;
}

std::string approval_state_in_colour(const std::string& state, const Style& style) {
    if (state == "approved" || state == "consumed") return style.green(state);
    return state == "pending" ? style.yellow(state) : style.red(state);
}

bool is_open(const Value& approval) {
    const std::string state = text_at(approval, "state");
    return state == "pending" || state == "approved";
}

std::string standing(const Value& approval, const Style& style) {
    std::string out = approval_state_in_colour(printable(text_at(approval, "state")), style);
    if (is_open(approval)) out += ", expires in " + duration_text(number_at(approval, "seconds_left"));
    return out;
}

std::string vote_text(const Value& vote) {
    return fmt::format("{} {} at {} ({}): {}", clipped(text_at(vote, "approver"), kLongestNameOfApproval),
                       flag_at(vote, "approve") ? "approved" : "denied", short_time(text_at(vote, "at")),
                       printable(text_at(vote, "assurance")),
                       clipped(one_line(text_at(vote, "reason")), kLongestSentence));
}

// A fact that is there only where it says something.
}  // namespace

std::string approvals_table(const Value& page, std::string_view state, const Style& style) {
    const Array& list = list_at(page, "approvals");
    if (list.empty())
        return state.empty() ? "No approval was ever asked for.\n"
                             : fmt::format("No approval is {}.\n", state);
    const bool mixed = state.empty();
    const bool narrow = style.is_narrow();
    const auto cut = [&](std::string_view text, std::size_t columns) {
        return narrow ? clipped(text, columns) : printable(text);
    };
    std::vector<std::vector<std::string>> rows = {{"approval", "tool", "risk", "asked by", "votes"}};
    rows.front().emplace_back(mixed ? "state" : "expires in");
    rows.front().emplace_back("arguments");
    const std::vector<std::string> ids = ids_for_table(list, "id", style);
    for (std::size_t i = 0; i < list.size(); ++i) {
        const Value& one = list[i];
        std::string last = printable(one_line(text_at(one, "arguments_text")));
        if (flag_at(one, "arguments_cut") && !last.ends_with("…")) last += "…";
        rows.push_back({ids[i], cut(tool_of(one), kNarrowNameOfApproval), printable(text_at(one, "risk")),
                        cut(text_at(one, "requester"), kNarrowNameOfApproval), votes_cell(one),
                        mixed          ? printable(text_at(one, "state"))
                        : is_open(one) ? duration_text(number_at(one, "seconds_left"))
                                       : "–",
                        narrow ? clipped(last, kNarrowGlimpse) : std::move(last)});
    }
    if (narrow) {
        for (auto& row : rows) row.erase(row.begin() + 4);  // the votes
    }
    return table(rows, style) + next_page(page, style);
}

std::string approval_text(const Value& approval, bool full, const Style& style) {
    std::string out = fmt::format("{}: {}\n", style.bold(heading_name(tool_of(approval), style)),
                                  standing(approval, style));
    out += fact("risk", risk_in_colour(printable(text_at(approval, "risk")), style), style);
    add_fact(out, "why", text_at(approval, "why"), style);
    std::string asked = text_at(approval, "requester");
    if (const std::string tenant = text_at(approval, "tenant"); !tenant.empty()) asked += " of " + tenant;
    add_fact(out, "asked by", asked, style);
    add_fact(out, "asked at", short_time(text_at(approval, "created_at")) + " UTC", style);
    add_fact(out, "autonomy", text_at(approval, "autonomy"), style);
    std::string scopes;
    for (const Value& scope : list_at(approval, "scopes"))
        scopes += (scopes.empty() ? "" : ", ") + (scope.is_string() ? std::string(scope.get_string()) : "");
    add_fact(out, "scopes", scopes, style);
    add_fact(out, "key", text_at(approval, "idempotency_key"), style);
    add_fact(out, "task", text_at(approval, "task_id"), style);
    out += fact("votes", votes_needed(approval), style);
    for (const Value& vote : list_at(approval, "votes")) out += fact("", vote_text(vote), style);
    const Value& preview = value_at(approval, "preview");
    if (const std::string summary = text_at(preview, "summary"); summary.size() <= kLongestSentence)
        add_fact(out, "preview", summary, style);
    else
        out += "  " + style.dim("preview") + '\n' + to_text(Value(summary), full, 4, style);
    if (const Value& diff = value_at(preview, "diff"); !diff.is_null())
        out += "  " + style.dim("changes") + '\n' + to_text(diff, full, 4, style);
    out += "  " + style.dim("arguments") + '\n' + to_text(value_at(approval, "arguments"), full, 4, style);
    out += fact("approval", printable(text_at(approval, "id")), style);
    out += fact("call", printable(text_at(approval, "call_id")), style);
    add_fact(out, "used by", text_at(approval, "consumed_by"), style);
    out += fact("digest", printable(text_at(approval, "digest")), style);
    return out;
}

std::string standing_approval_hint(const Error& error, const std::string& ledger, const Style& style) {
    if (text_at(error.details, "state") != "approved") return {};
    std::vector<std::string> words = {"callgate approvals revoke",
                                      printable(text_at(error.details, "approval_id"))};
    if (!ledger.empty()) words.push_back(ledger);
    return indented("The approval stands until it is used or expires. This takes it back:", 2, style) +
           command_hint(words, style);
}

std::string ResumeHint::text(const Style& style) const {
    std::vector<std::string> words = {"callgate call --resume", call};
    if (!ledger.empty()) words.push_back(ledger);
    if (principal != kUsualPrincipal) words.push_back("--principal " + shell_word(principal));
    for (const std::string& scope : scopes) words.push_back("--scope " + shell_word(scope));
    if (!autonomy.empty() && autonomy != kUsualAutonomy)
        words.push_back("--autonomy " + shell_word(autonomy));
    return command_hint(words, style);
}

std::string decision_text(const Value& approval, const std::string& ledger, const Style& style) {
    const std::string state = text_at(approval, "state");
    const std::string name = style.bold(heading_name(tool_of(approval), style));
    if (state == "approved") {
        ResumeHint hint{printable(text_at(approval, "call_id")),
                        text_at(approval, "requester"),
                        {},
                        text_at(approval, "autonomy"),
                        ledger};
        for (const Value& scope : list_at(approval, "scopes"))
            if (scope.is_string()) hint.scopes.emplace_back(scope.get_string());
        return fmt::format("{} {}: {}\n  It runs when the call is made again, or is resumed:\n",
                           style.green("✓"), name, style.green("approved")) +
               hint.text(style);
    }
    if (state == "pending")
        return fmt::format("{} {}: your approval is recorded; votes: {}\n", style.yellow("?"), name,
                           votes_needed(approval));
    return fmt::format("{} {}: {}\n", style.green("✓"), name, printable(state));
}

}  // namespace callgate::cli
