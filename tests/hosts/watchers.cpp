#include "watchers.h"

#include <charconv>
#include <stdexcept>

#include "tools.h"

namespace callgate::hosts {
namespace {

// The one event that says how a call ended.
bool is_terminal(const AuditEvent& event) {
    if (event.stage == "settle")
        return event.type != "tool_call.resolved" && event.type != "tool_call.attempted";
    return event.stage == "gate" && (event.type == "gate.required" || event.type == "gate.preview");
}

void behave(Host& host, Ticket ticket, Callback how, std::uint64_t steps) {
    switch (how) {
        case Callback::well: break;
        case Callback::stands: host.gates.sit(steps); break;
        case Callback::throws: host.board.throws(); throw std::runtime_error("a callback broke");
        case Callback::calls: call_one(host, host.callback_ticket(), 8 + ticket % 2); break;  // inline ones
        case Callback::starts: start_one(host, host.callback_ticket(), ticket % 8, false); break;
    }
}

}  // namespace

void Watcher::on_audit(const AuditEvent& event) {
    if (is_terminal(event)) host_.board.heard_terminal(event.call_id);
    if (event.type == "tool_call.refused") {
        std::size_t calls = 0;
        (void)std::from_chars(event.detail.data(), event.detail.data() + event.detail.size(), calls);
        host_.board.heard_refused(calls);
    }
    host_.foreign(ticket_of_trace(event.trace_id), "an observer (audit)");
}

void Watcher::on_telemetry(const TelemetryEvent& event) {
    using Name = TelemetryEvent::Name;
    const Ticket ticket = ticket_of_trace(event.trace_id);
    if (event.name == Name::start) host_.board.heard_start(event.call_id);
    const bool end = event.name == Name::stop || event.name == Name::exception;
    if (end) host_.board.heard_end(event.call_id, event.state);
    if (!host_.foreign(ticket, "an observer (telemetry)")) return;
    const CallerManner manner = caller_manner(host_.seed, ticket);
    if (event.name == Name::start) behave(host_, ticket, manner.start, manner.stands);
    if (end) behave(host_, ticket, manner.end, manner.stands);
}

void Watcher::on_progress(const Progress&) {
    host_.foreign(0, "an observer (progress)");
}

std::function<void(Outcome)> done_of(Host& host, Ticket ticket) {
    return [&host, ticket](const Outcome& outcome) {
        host.board.ended(ticket, outcome);
        if (!host.foreign(ticket, "done")) return;
        const CallerManner manner = caller_manner(host.seed, ticket);
        behave(host, ticket, manner.done, manner.stands);
    };
}

std::function<void(Outcome)> awaited_by(Host& host, Ticket ticket) {
    return [&host, ticket](const Outcome& outcome) {
        host.board.ended(ticket, outcome);
        // Whoever stands still here holds up the host's other calls, and that would be its own fault.
        const CallerManner manner = caller_manner(host.seed, ticket);
        if (manner.done == Callback::starts) behave(host, ticket, manner.done, manner.stands);
    };
}

std::function<void(const Progress&)> progress_of(Host& host, Ticket ticket) {
    return [&host, ticket](const Progress&) {
        if (!host.foreign(ticket, "on_progress")) return;
        const CallerManner manner = caller_manner(host.seed, ticket);
        behave(host, ticket, manner.progress, manner.stands);
    };
}

}  // namespace callgate::hosts
