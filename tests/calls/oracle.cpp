#include "oracle.h"

#include <algorithm>

#include <fmt/format.h>

#include "../support/ends.h"
#include "base/ids.h"
#include "base/must.h"

namespace callgate::calls {
namespace {

std::string text_of(const CallId& id) {
    return base::Uuid{id}.to_string();
}

std::string scope_of(const std::string& tool, const CallContext& context) {
    const Context& caller = context.caller();
    if (caller.idempotency_key.empty()) return context.call_id();
    return fmt::format("{}/{}/{}/{}", caller.tenant, caller.principal, tool, caller.idempotency_key);
}

// The one event that says how a call ended.
bool is_terminal(const AuditEvent& event) {
    if (event.stage == "settle")
        return event.type != "tool_call.resolved" && event.type != "tool_call.attempted";
    return event.stage == "gate" && (event.type == "gate.required" || event.type == "gate.preview");
}

}  // namespace

void Oracle::fail(std::string what) {
    if (violation_.empty()) violation_ = std::move(what);
}

std::size_t Oracle::enter(const std::string& tool, EffectClass effect, const CallContext& context,
                          bool applies) {
    const Context& caller = context.caller();
    Entry entry;
    entry.scope = scope_of(tool, context);
    entry.effect = effect;
    entry.recorded = effect != EffectClass::read || !caller.idempotency_key.empty();
    entry.sent_id = context.call_id();
    if (caller.idempotency_key.empty()) entry.call_id = entry.sent_id;
    entry.call = 0;
    if (entry.call_id.empty()) entry.call = static_cast<std::size_t>(std::stoul(caller.trace_id.substr(1)));
    entry.audit_at = ledger_.audit_count();
    entry.applies = applies;
    for (const Entry& earlier : entries_) {
        if (earlier.scope != entry.scope || earlier.proven) continue;
        switch (effect) {
            case EffectClass::unsafe:
            case EffectClass::tx:
                fail(
                    fmt::format("a tool of class {} was entered again under {}, and the entry before may "
                                "have had its effect",
                                to_string(effect), entry.scope));
                break;
            case EffectClass::verify:
                if (earlier.applies)
                    fail(fmt::format("what had happened under {} was done again", entry.scope));
                break;
            case EffectClass::keyed:
                if (earlier.sent_id != entry.sent_id)
                    fail(fmt::format("a keyed tool was sent two keys under {}", entry.scope));
                break;
            case EffectClass::read: break;
        }
    }
    entries_.push_back(std::move(entry));
    return entries_.size() - 1;
}

bool Oracle::happened(const std::string& tool, const CallContext& context) {
    const std::string scope = scope_of(tool, context);
    for (const Entry& entry : entries_) {
        if (entry.scope == scope && entry.applies) return true;
    }
    for (Entry& entry : entries_) {
        if (entry.scope == scope) entry.proven = true;
    }
    return false;
}

std::size_t Oracle::begins(std::shared_ptr<const bool> dead) {
    calls_.emplace_back().dead = std::move(dead);
    ++open_;
    return calls_.size() - 1;
}

void Oracle::ended(std::size_t call, const Outcome& outcome, const std::string& key_scope) {
    Made& made = calls_[call];
    if (made.endings++ > 0) return fail(fmt::format("call t{} ended twice", call));
    --open_;
    made.id = outcome.data().call_id;
    made.state = outcome.state();
    look_at(outcome);
    check_effects(outcome, key_scope.empty() ? outcome.call_id() : key_scope, call);
    const Error* error = outcome.error();
    if (error != nullptr && !*made.dead && !outcome.replayed()) {
        const auto* reason = error->details.if_contains("reason");
        if (reason != nullptr && *reason == "taken_over")
            fail(fmt::format("call t{} of a living node was taken over", call));
    }
    if (outcome.ok() && !key_scope.empty()) {
        const auto [known, added] = answers_.emplace(key_scope, outcome.text());
        if (!added && known->second != outcome.text())
            fail(fmt::format("the key {} was answered with '{}' and with '{}'", key_scope, known->second,
                             outcome.text()));
    }
}

// What the outcome says of the effect, against what happened.
void Oracle::check_effects(const Outcome& outcome, const std::string& scope, std::size_t call) {
    const std::string id = outcome.call_id();
    std::size_t entered = 0;
    bool maybe =
        false;  // something happened up to its last entry; a key that it gave back may serve others since
    bool doubt = false;
    bool effectful = false;
    for (const Entry& entry : entries_) {
        if (entry.scope != scope) continue;
        effectful = entry.effect != EffectClass::read;
        if (!entry.proven) doubt = true;
        if (entry.call_id.empty() ? entry.call != call : entry.call_id != id) continue;
        ++entered;
        maybe = doubt;
    }
    const auto say = [&](std::string_view what) {
        fail(fmt::format("t{} ({}, {}): {}", call, outcome.tool(), to_string(outcome.state()), what));
    };
    if (tests::is_refusal(outcome.state()) && entered > 0) say("refused, but the tool was entered");
    if (!outcome.replayed() && outcome.attempts() != entered)
        say(fmt::format("{} attempts, but the tool was entered {} times", outcome.attempts(), entered));
    if (entered == 0) {
        // Who obeys makes the call again under a new key: nothing of it may have happened under this one.
        const bool reused = outcome.error() != nullptr && outcome.error()->code == ErrorCode::key_reused;
        if (effectful && doubt && !reused && outcome.safe_new_key())
            say("a new key is called safe, but what this one stands for may have happened");
        return;
    }
    if (effectful && maybe) {
        if (outcome.safe_new_key()) say("a new key is called safe, but the effect may have happened");
        if (outcome.state() == State::timed_out || outcome.state() == State::cancelled)
            say("said to have changed nothing, but the effect may have happened");
    }
}

void Oracle::look(std::string_view where, std::string_view text) {
    if (secret_used_ && text.find(kSecretMark) != std::string_view::npos)
        fail(fmt::format("a secret in {}: {}", where, text.substr(0, 300)));
}

void Oracle::look_at(const Outcome& outcome) {
    const OutcomeData& data = outcome.data();
    if (data.dispatched && !data.approval_id.empty()) used_by_[data.approval_id].insert(data.call_id);
    if (!secret_used_) return;
    look("a result", json::write(outcome.content()));
    look("a raw result", outcome.raw());
    if (outcome.structured()) look("structured content", json::write(*outcome.structured()));
    if (const Error* error = outcome.error()) {
        look("an error", error->message);
        look("an error's details", json::write(error->details));
    }
    if (outcome.partial()) look("partial content", json::write(outcome.partial()->content));
    if (outcome.preview()) look("a preview", outcome.preview()->summary);
    for (const StageNote& note : outcome.trace()) look("a trace", note.reason);
}

void Oracle::on_audit(const AuditEvent& event) {
    look("an audit event's detail", event.detail);
    if (is_terminal(event)) ++heard_[event.call_id].audit_ends;
}

void Oracle::on_telemetry(const TelemetryEvent& event) {
    if (event.name == TelemetryEvent::Name::progress || event.name == TelemetryEvent::Name::retry) return;
    Heard& heard = heard_[event.call_id];
    look("telemetry", event.reason);
    if (event.name == TelemetryEvent::Name::start) {
        ++heard.starts;
        if (secret_used_) look("telemetry's arguments", json::write(event.params->get()));
        return;
    }
    ++heard.ends;
    heard.state = event.state;
    ++states_[static_cast<std::size_t>(event.state)];
    last_end_ = event.call_id;
    if (secret_used_) look("telemetry's result", json::write(event.result->get()));
}

void Oracle::on_log(LogLevel, std::string_view line) {
    look("the log", line);
    if (line.starts_with("TOOL_CALL ")) ++call_lines_;
    if (!line.starts_with("TOOL_SUCCESS ") && !line.starts_with("TOOL_FAILED ")) return;
    // The line has no id; it follows the telemetry of the same call.
    if (!last_end_) return fail(fmt::format("a line about the end of no call: {}", line));
    ++heard_[*last_end_].log_ends;
    last_end_.reset();
}

void Oracle::on_progress(const Progress& progress) {
    look("progress", progress.message);
    if (progress.partial) look("progress content", json::write(*progress.partial));
    const auto id = base::parse_uuid(progress.call_id);
    if (id && heard_[id->bytes].ends > 0) fail("progress of a call that had ended");
}

void Oracle::check() {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
        const Made& made = calls_[i];
        if (made.endings != 1) return fail(fmt::format("call t{} ended {} times", i, made.endings));
        const auto heard = heard_.find(made.id);
        if (heard == heard_.end()) return fail(fmt::format("nothing was told about call t{}", i));
        if (heard->second.state != made.state) {
            return fail(fmt::format("call t{} ended {}, and telemetry says {}", i, to_string(made.state),
                                    to_string(heard->second.state)));
        }
    }
    for (const AuditEvent& event : must(ledger_.audit({}))) {
        look("the audit", event.detail);
        Heard& heard = heard_[event.call_id];
        if (is_terminal(event)) {
            ++heard.recorded_ends;
            heard.told_unknown = event.type == "tool_call.unknown";
        }
        if (event.type == "tool_call.attempted") heard.attempted.push_back(event.sequence);
        if (event.type == "gate.approved" && event.stage == "claim")
            used_by_[std::string(event.approval_id)].insert(event.call_id);
    }
    check_heard();
    check_entries();
    check_approvals();
    if (secret_used_) check_stored();
}

void Oracle::check_heard() {
    for (const auto& [id, heard] : heard_) {
        const auto once = [&, &call = id](int times, std::string_view what) {
            if (times != 1) fail(fmt::format("call {} has {} {}, not one", text_of(call), times, what));
        };
        once(heard.starts, "telemetry starts");
        once(heard.ends, "telemetry ends");
        once(heard.recorded_ends, "terminal events on the record");
        once(heard.audit_ends, "terminal events told to observers");
        once(heard.log_ends, "log lines about its end");
        if (heard.told_unknown != (heard.state == State::unknown)) {
            fail(fmt::format("call {} ended {}, and the record says {}", text_of(id), to_string(heard.state),
                             heard.told_unknown ? "tool_call.unknown" : "that the outcome is known"));
        }
    }
    if (call_lines_ != heard_.size())
        fail(fmt::format("{} TOOL_CALL lines about {} calls", call_lines_, heard_.size()));
}

void Oracle::check_entries() {
    std::map<CallId, std::size_t> seen;
    for (const Entry& entry : entries_) {
        if (!entry.recorded) continue;
        const auto parsed = base::parse_uuid(entry.call_id);
        const CallId id = parsed ? parsed->bytes : calls_[entry.call].id;
        const std::vector<std::uint64_t>& attempted = heard_[id].attempted;
        const std::size_t number = seen[id]++;
        if (number >= attempted.size() || attempted[number] > entry.audit_at) {
            return fail(fmt::format(
                "call {} entered its tool for the {}. time, and that was not on the record before",
                text_of(id), number + 1));
        }
    }
}

void Oracle::check_approvals() {
    for (const auto& [approval_id, calls] : used_by_) {
        if (calls.size() > 1)
            fail(fmt::format("approval {} was used by {} calls", approval_id, calls.size()));
        if (closed_.contains(approval_id))
            fail(fmt::format("approval {} was used, and had been refused or taken back", approval_id));
        const auto approval = ledger_.approval(approval_id);
        if (!approval) continue;
        const auto yes = std::count_if(approval->votes.begin(), approval->votes.end(), [&](const Vote& vote) {
            return vote.approve && vote.approver != approval->requester;
        });
        if (yes < static_cast<std::ptrdiff_t>(approval->approvals_needed))
            fail(fmt::format("approval {} was used with {} votes", approval_id, yes));
    }
}

void Oracle::check_stored() {
    for (const ledger::CallRow& row : must(ledger_.list({}))) {
        if (!row.outcome) continue;
        look("a stored result", json::write(row.outcome->result.value));
        look("a stored raw result", row.outcome->result.raw);
        if (row.outcome->error) {
            look("a stored error", row.outcome->error->message);
            look("a stored error's details", json::write(row.outcome->error->details));
        }
    }
    for (const Approval& approval : must(ledger_.approvals({}))) {
        if (approval.preview) look("an approval's preview", approval.preview->summary);
    }
}

}  // namespace callgate::calls
