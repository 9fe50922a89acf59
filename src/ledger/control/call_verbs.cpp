#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/ids.h"
#include "base/try.h"
#include "json/size.h"
#include "ledger/audit/reader.h"
#include "ledger/blocking_waiter.h"
#include "ledger/control/row_views.h"
#include "ledger/control/verbs.h"

namespace callgate::ledger {
namespace {

Result<Value> list_calls(VerbRequest& request) {
    CallQuery query;
    query.state = choice(request.members, "state", CallState::not_applied);
    query.tool = request.members.text_or("tool", {});
    query.principal = request.members.text_or("principal", {});
    query.before = request.members.text_or("before", {});
    const std::size_t limit = request.members.number_or("limit", kUsualPage, 1, kLargestPage);
    CALLGATE_TRY(request.members.done());
    query.limit = limit + 1;
    CALLGATE_TRY_ASSIGN(auto page, request.operations.page_of_calls(query));
    Value next =
        cut_to_page(page, limit, [](const CallRow& last) { return base::Uuid{last.call_id}.to_string(); });
    Array rows;
    for (const CallRow& row : page) rows.push_back(to_json(row));
    return Value{{"calls", std::move(rows)}, {"next", std::move(next)}};
}

// A call that waits for an approval has no row yet: whoever looks for it learns where it stands.
tl::unexpected<Error> no_such_call(VerbRequest& request, const std::string& id) {
    CALLGATE_TRY_ASSIGN(const auto found, approval_of_call(request.ledger, id));
    if (!found) return no_such("call", id);
    const Approval* const approval = &*found;
    return fail(ErrorCode::denied,
                fmt::format("The call {} has not begun: it asked for approval {}, which is {}.", id,
                            approval->id, to_string(approval->state)),
                {{"reason", "not_begun"}, {"id", id}, {"approval_id", approval->id}});
}

// What it was called with: its row has that only while somebody may still need it to go on, the record until
// it is erased.
Value arguments_of(VerbRequest& request, const CallRow& row, const std::vector<AuditEvent>& events) {
    if (row.arguments) return *row.arguments;
    const auto reader = request.operations.read_audit();
    if (!reader) return nullptr;
    for (const AuditEvent& event : events) {
        const auto payloads = (*reader)->payloads(event.sequence, event.sequence + 1);
        if (!payloads) return nullptr;
        for (const PayloadRow& one : *payloads) {
            if (one.payload.field != "arguments") continue;
            auto read = json::parse(one.payload.bytes, json::any_size());
            if (read) return std::move(*read);
        }
    }
    return nullptr;
}

Result<Value> show_call(VerbRequest& request) {
    const std::string id = request.members.text("id");
    CALLGATE_TRY(request.members.done());
    const auto call_id = base::parse_uuid(id);
    if (!call_id) return no_such_call(request, id);
    const auto row = request.ledger.find(call_id->bytes);
    if (!row && is_not_found(row.error())) return no_such_call(request, id);
    if (!row) return tl::unexpected(row.error());
    CALLGATE_TRY_ASSIGN(const auto attempts, request.operations.attempts(call_id->bytes));
    Object call = to_json(*row);
    Array list;
    for (const AttemptRow& attempt : attempts) list.push_back(to_json(attempt));
    call["attempt_list"] = std::move(list);
    call["outcome"] = shape_json(row->outcome.get());
    AuditSelection about;
    about.call = row->call_id;
    about.limit = kLargestPage;
    CALLGATE_TRY_ASSIGN(const auto events, request.operations.events(about));
    call["arguments"] = arguments_of(request, *row, events);
    Array shown;
    for (const AuditEvent& event : events) shown.push_back(event.to_json());
    call["events"] = std::move(shown);
    return Value{{"call", std::move(call)}};
}

Result<Value> resolve(VerbRequest& request) {
    const std::string id = request.members.text("id");
    const bool applied = request.members.flag("applied");
    const std::string evidence = request.members.text("evidence", kLongestReason);
    CALLGATE_TRY(request.members.done());
    CALLGATE_TRY_ASSIGN(const auto resolved,
                        resolve_unknown(request.ledger, id, applied, request.user.name,
                                        with_origin(evidence, request.user), request.sink));
    return Value{{"call", to_json(resolved)}};
}

}  // namespace

std::span<const Verb> call_verbs() noexcept {
    static constexpr std::array kVerbs = {Verb{"calls.list", list_calls}, Verb{"calls.show", show_call},
                                          Verb{"calls.resolve", resolve, Verb::Length::writes}};
    return kVerbs;
}

}  // namespace callgate::ledger
