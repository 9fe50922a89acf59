// The one place from which others are notified of a call: audit events, telemetry, log lines, progress. All
// redacted. Each runs foreign code here, on the caller's own thread, or leaves it to Call::notify_later().
#pragma once

#include <optional>
#include <string_view>

#include <callgate/observer.h>

#include "pipeline/call.h"

namespace callgate::pipeline {

/// Telemetry `start`.
[[gnu::hot]] void project_start(Call& call);
/// The TOOL_CALL line, once.
[[gnu::hot]] void project_call_line(Call& call);
void project_security_warning(Call& call);
void project_retry(Call& call);
/// `here`: this thread runs the call.
void project_progress(Call& call, Progress progress, bool here);
/// Of text that came in pieces: what was held back, in case it was the beginning of a secret.
void project_rest_of_stream(Call& call);
/// Telemetry `stop` or `exception`, the TOOL_SUCCESS or TOOL_FAILED line, and the count.
[[gnu::hot]] void project_end(Call& call);
/// An audit event of the call that is on the record, to the observers.
[[gnu::hot]] void project_audit(Call& call, const AuditEvent& event);
/// One that belongs to no call under way.
void project_audit(Runtime::Core& core, const AuditEvent& event);
/// One of a call that has ended, after everything else of it.
void project_late_audit(Call& call, const AuditEvent& event);

/// The events of a claim, a dispatch or a settlement that the ledger has taken: they get their numbers, from
/// `first` on, and the observers are notified.
void project_claim_events(Call& call, std::uint64_t first);

/// An event about this call, which it borrows its texts from.
AuditEvent make_event(const Call& call, std::string_view type, std::string_view outcome,
                      std::string_view stage);
[[gnu::hot]] void fill_event(AuditEvent& event, const Call& call, std::string_view type,
                             std::string_view outcome, std::string_view stage);
/// The event that ends it.
[[gnu::hot]] void fill_terminal_event(AuditEvent& event, const Call& call);

}  // namespace callgate::pipeline
