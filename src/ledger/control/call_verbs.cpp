#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/ids.h"
#include "base/try.h"
#include "ledger/audit/reader.h"
#include "ledger/blocking_waiter.h"
#include "ledger/control/row_views.h"
#include "ledger/control/verbs.h"

namespace callgate::ledger {
namespace {

Result<Value> list_calls(VerbRequest& asked) {
    CallQuery query;
    query.state = choice(asked.members, "state", CallState::not_applied);
    query.tool = asked.members.text_or("tool", {});
    query.principal = asked.members.text_or("principal", {});
    query.before = asked.members.text_or("before", {});
    const std::size_t limit = asked.members.number_or("limit", kUsualPage, 1, kLargestPage);
    CALLGATE_TRY(asked.members.done());
    query.limit = limit + 1;
    CALLGATE_TRY_ASSIGN(auto page, asked.operations.page_of_calls(query));
    Value next =
        cut_to_page(page, limit, [](const CallRow& last) { return base::Uuid{last.call_id}.to_string(); });
    Array rows;
    for (const CallRow& row : page) rows.push_back(to_json(row));
    return Value{{"calls", std::move(rows)}, {"next", std::move(next)}};
}

// A call that waits for an approval has no row yet: whoever looks for it learns where it stands.
tl::unexpected<Error> no_such_call(VerbRequest& asked, const std::string& id) {
    CALLGATE_TRY_ASSIGN(const auto found, approval_of_call(asked.ledger, id));
    if (!found) return no_such("call", id);
    const Approval* const approval = &*found;
    return fail(ErrorCode::denied,
                fmt::format("The call {} has not begun: it asked for approval {}, which is {}.", id,
                            approval->id, to_string(approval->state)),
                {{"reason", "not_begun"}, {"id", id}, {"approval_id", approval->id}});
}

// What it was called with: its row has that only while somebody may still need it to go on, the record until
// it is erased.
Value arguments_of(VerbRequest& asked, const CallRow& row, const std::vector<AuditEvent>& events) {
    if (row.arguments) return *row.arguments;
    const auto reader = asked.operations.read_audit();
    if (!reader) return nullptr;
    for (const AuditEvent& event : events) {
        const auto payloads = (*reader)->payloads(event.sequence, event.sequence + 1);
        if (!payloads) return nullptr;
        for (const PayloadRow& one : *payloads) {
            if (one.payload.field != "arguments") continue;
            auto read = json::parse(one.payload.bytes);
            if (read) return std::move(*read);
        }
    }
    return nullptr;
}

Result<Value> show_call(VerbRequest& asked) {
    const std::string id = asked.members.text("id");
    CALLGATE_TRY(asked.members.done());
    const auto call_id = base::parse_uuid(id);
    if (!call_id) return no_such_call(asked, id);
    const auto row = asked.ledger.find(call_id->bytes);
    if (!row && is_not_found(row.error())) return no_such_call(asked, id);
    if (!row) return tl::unexpected(row.error());
    CALLGATE_TRY_ASSIGN(const auto attempts, asked.operations.attempts(call_id->bytes));
    Object call = to_json(*row);
    Array list;
    for (const AttemptRow& attempt : attempts) list.push_back(to_json(attempt));
    call["attempt_list"] = std::move(list);
    call["outcome"] = shape_json(row->outcome.get());
    AuditSelection about;
    about.call = row->call_id;
    about.limit = kLargestPage;
    const auto events = asked.operations.events(about);
    if (!events) return tl::unexpected(events.error());
    call["arguments"] = arguments_of(asked, *row, *events);
    Array told;
    for (const AuditEvent& event : *events) told.push_back(event.to_json());
    call["events"] = std::move(told);
    return Value{{"call", std::move(call)}};
}

Result<Value> resolve(VerbRequest& asked) {
    const std::string id = asked.members.text("id");
    const bool applied = asked.members.flag("applied");
    const std::string evidence = asked.members.text("evidence", kLongestReason);
    CALLGATE_TRY(asked.members.done());
    CALLGATE_TRY_ASSIGN(const auto resolved, resolve_unknown(asked.ledger, id, applied, asked.user.name,
                                                             with_origin(evidence, asked.user), asked.told));
    return Value{{"call", to_json(resolved)}};
}

}  // namespace

std::span<const Verb> call_verbs() noexcept {
    static constexpr std::array kVerbs = {Verb{"calls.list", list_calls}, Verb{"calls.show", show_call},
                                          Verb{"calls.resolve", resolve, Verb::Length::writes}};
    return kVerbs;
}

}  // namespace callgate::ledger
