#include "pipeline/projection.h"

#include <array>
#include <charconv>
#include <exception>

#include <fmt/format.h>

#include "base/error_table.h"
#include "base/error_views.h"
#include "base/ids.h"
#include "base/utf8.h"
#include "json/size.h"
#include "pipeline/log_line.h"

namespace callgate::pipeline {
namespace {

constexpr std::size_t kMaxProgressBytes = 4'096;
constexpr std::size_t kMaxHeldProgress = 256;

using Wish = bool Runtime::Core::Watcher::*;

// Those who wish for it, and were not taken away since the call began. What an observer throws is its own
// fault and must not become the call's.
template <class Notify>
[[gnu::hot]] void notify(Runtime::Core& core, const Runtime::Core::Observers* observers, Wish wish,
                         Notify to) {
    if (observers == nullptr) return;
    CALLGATE_FOREIGN_CODE("an observer");
    const bool others_by_now = observers != core.watching();
    for (const auto& watcher : *observers) {
        if (wish != nullptr && !(watcher.*wish)) continue;
        if (others_by_now && !core.still_watches(*watcher.observer)) [[unlikely]]
            continue;
        try {
            to(*watcher.observer);
        } catch (...) {
            core.counters.observer_faults.add();
        }
    }
}

base::CallFacts facts_of(const Call& call) {
    base::CallFacts facts;
    facts.in_process = call.outcome.in_process;
    facts.dispatched = call.entered;
    facts.effectful = call.effectful();
    return facts;
}

// The arguments as they came, for those who look before they are checked. Of text that is no JSON only the
// size is given: nothing in it can be masked by name.
Value raw_arguments(const Call& call) {
    if (call.arguments) return *call.arguments;
    const Args& args = call.request.arguments;
    if (const Value* value = args.value()) return *value;
    const std::string_view text = args.text().value_or(std::string_view());
    if (text.empty()) return Object();
    if (auto parsed = json::parse(text, call.core->options.argument_limits)) return std::move(*parsed);
    return Value(fmt::format("<{} bytes that are no JSON>", text.size()));
}

class LazyArguments final : public LazyValue {
public:
    explicit LazyArguments(const Call& call) : call_(call) {}
    Value get() const override { return call_.redactor().redact(raw_arguments(call_)); }

private:
    const Call& call_;
};

class LazyResult final : public LazyValue {
public:
    explicit LazyResult(const Call& call) : call_(call) {}
    Value get() const override { return call_.redactor().redact(Outcome(call_.outcome_data).content()); }

private:
    const Call& call_;
};

TelemetryEvent telemetry(const Call& call, TelemetryEvent::Name name) {
    // All members by name: what is left out would be cleared first.
    return {.name = name,
            .tool = call.outcome.tool,
            .action = call.outcome.action,
            .call_id = call.id,
            .trace_id = call.request.context->trace_id,
            .at = call.started_wall,
            .duration = {},
            .state = State::failed,
            .reason = {},
            .attempt = 0,
            .params = nullptr,
            .result = nullptr};
}

// What the success line shows of a result.
class ContentText {
public:
    explicit ContentText(const Call& call) {
        const ToolResult& result = call.outcome.result;
        if (!result.blocks.empty()) {
            view_ = made_ = Outcome(call.outcome_data).text();
        } else if (const auto* text = result.value.if_string()) {
            view_ = *text;
        } else if (const auto* number = result.value.if_int64()) {
            const auto end = std::to_chars(digits_.data(), digits_.data() + digits_.size(), *number).ptr;
            view_ = {digits_.data(), static_cast<std::size_t>(end - digits_.data())};
        } else if (!result.value.is_null()) {
            view_ = made_ = json::write(result.value);
        }
    }
    std::string_view view() const noexcept { return view_; }

private:
    std::array<char, 24> digits_;
    std::string made_;
    std::string_view view_;
};

[[gnu::hot]] void log(Call& call, LogLevel level, std::string_view line) {
    if (call.may_notify_here()) [[likely]] {
        notify(*call.core, call.observers, &Runtime::Core::Watcher::log,
               [&](Observer& observer) { observer.on_log(level, line); });
        return;
    }
    call.notify_later([&call, level, line = std::string(line)] {
        notify(*call.core, call.observers, &Runtime::Core::Watcher::log,
               [&](Observer& observer) { observer.on_log(level, line); });
    });
}

// Its views are into the call and stay good; what it would have looked up later may change until then.
class KeptValue final : public LazyValue {
public:
    explicit KeptValue(Value value) : value_(std::move(value)) {}
    Value get() const override { return value_; }

private:
    Value value_;
};

[[gnu::hot]] void tell_telemetry(const Call& call, const TelemetryEvent& event) {
    notify(*call.core, call.observers, &Runtime::Core::Watcher::telemetry,
           [&](Observer& observer) { observer.on_telemetry(event); });
}

[[gnu::cold]] void tell_telemetry_later(Call& call, const TelemetryEvent& event) {
    std::shared_ptr<KeptValue> params;
    std::shared_ptr<KeptValue> result;
    if (event.params != nullptr) params = std::make_shared<KeptValue>(event.params->get());
    if (event.result != nullptr) result = std::make_shared<KeptValue>(event.result->get());
    call.notify_later([&call, event, params, result, tool = std::string(event.tool)] {
        TelemetryEvent kept = event;
        kept.tool = tool;  // the call may go by another name since
        kept.params = params.get();
        kept.result = result.get();
        tell_telemetry(call, kept);
    });
}

[[gnu::hot]] void telemetry_to_all(Call& call, const TelemetryEvent& event) {
    if (call.may_notify_here()) [[likely]] {
        tell_telemetry(call, event);
    } else {
        tell_telemetry_later(call, event);
    }
}

void tell_progress(Call& call, const Progress& progress) {
    if (call.request.context->on_progress) {
        try {
            call.request.context->on_progress(progress);
        } catch (...) {
            call.core->counters.observer_faults.add();
        }
    }
    notify(*call.core, call.observers, nullptr, [&](Observer& observer) { observer.on_progress(progress); });
}

// The oldest that waits.
void tell_held_progress(Call& call) {
    std::optional<Progress> progress;
    {
        const base::MutexLock lock(call.shared.mutex);
        if (call.shared.held.empty()) return;
        progress = std::move(call.shared.held.front().progress);
        call.shared.held_bytes -= call.shared.held.front().bytes;
        call.shared.held.pop_front();
    }
    tell_progress(call, *progress);
}

void tell_of_progress(Call& call, bool here) {
    if (here && call.may_notify_here()) {
        CALLGATE_FOREIGN_CODE("a progress function");
        tell_held_progress(call);
    } else {
        call.notify_later([&call] { tell_held_progress(call); });
    }
}

void leave_out_content(Call& call, Progress& progress, std::string_view why)
    CALLGATE_REQUIRES(call.shared.mutex) {
    progress.partial.reset();
    progress.appends = false;
    if (progress.message.empty()) progress.message = fmt::format("Content so far was left out: {}", why);
    call.shared.pieces_left_out = true;
}

constexpr std::string_view kTooLarge = "it is larger than a result may be (max_result_bytes).";

// Text is added to text, and items to a list. False: neither.
bool append(Value& content, const Value& piece) {
    if (content.is_string() && piece.is_string()) {
        content.get_string().append(piece.get_string());
    } else if (content.is_array() && piece.is_array()) {
        Array& items = content.get_array();
        items.insert(items.end(), piece.get_array().begin(), piece.get_array().end());
    } else {
        return false;
    }
    return true;
}

// What is certain of the text by now. Secrets that have become known since the last piece are looked for from
// here on, and in what was held back.
std::string masked_piece(Call& call, std::string_view piece) CALLGATE_REQUIRES(call.shared.mutex) {
    if (!call.shared.secrets) return std::string(piece);
    auto& stream = call.shared.stream;
    auto index = call.shared.secrets->index();
    std::string held_back;
    if (stream && stream->index != index) {
        stream->redactor.flush(held_back);
        stream = nullptr;
    }
    if (!stream) {
        stream = std::make_unique<Call::TextStream>(
            Call::TextStream{redact::StreamRedactor(index), std::move(index)});
    }
    std::string certain;
    stream->redactor.feed(held_back, certain);
    stream->redactor.feed(piece, certain);
    return certain;
}

void take_whole(Call& call, Progress& progress) CALLGATE_REQUIRES(call.shared.mutex) {
    call.shared.stream = nullptr;
    if (call.shared.secrets) {
        const redact::Redactor redactor(call.shared.secrets->index());
        redactor.redact_in_place(*progress.partial, redact::Rules::values_only);
    }
    Partial whole;
    whole.bytes = json::write(*progress.partial).size();
    if (whole.bytes > call.core->options.max_result_bytes)
        return leave_out_content(call, progress, kTooLarge);
    whole.content = *progress.partial;
    whole.received_at = call.core->clock().wall_now();
    call.shared.partial = std::move(whole);
    call.shared.pieces_left_out = false;
}

// False: there is nothing to notify anybody of yet.
bool take_piece(Call& call, Progress& progress) CALLGATE_REQUIRES(call.shared.mutex) {
    if (call.shared.pieces_left_out) return false;
    Value& piece = *progress.partial;
    std::optional<Partial>& so_far = call.shared.partial;
    constexpr std::size_t kFrame = 2;  // quotes or brackets
    const bool is_list = piece.is_array();
    const std::size_t adds = json::write(piece).size() - (so_far ? kFrame : 0) + (so_far && is_list ? 1 : 0);
    const bool fits_kind = so_far ? so_far->content.kind() == piece.kind() : true;
    if (!(piece.is_string() || is_list) || !fits_kind) {
        leave_out_content(call, progress, "pieces are all text, or all lists.");
        return true;
    }
    if ((so_far ? so_far->bytes : 0) + adds > call.core->options.max_result_bytes) {
        leave_out_content(call, progress, kTooLarge);
        return true;
    }
    if (!so_far) so_far.emplace().content = is_list ? Value(Array()) : Value("");
    append(so_far->content, piece);
    so_far->bytes += adds;
    so_far->received_at = call.core->clock().wall_now();
    if (!is_list) {
        piece = masked_piece(call, piece.get_string());
        return !piece.get_string().empty();
    }
    if (call.shared.secrets) {
        const redact::Redactor redactor(call.shared.secrets->index());
        redactor.redact_in_place(piece, redact::Rules::values_only);
    }
    return true;
}

bool take_content(Call& call, Progress& progress) CALLGATE_REQUIRES(call.shared.mutex) {
    if (progress.appends) return take_piece(call, progress);
    take_whole(call, progress);
    return true;
}

// Two become one: the later one, with all the pieces of content.
void merge(Progress& last, Progress next) {
    if (!next.partial || (next.appends && last.partial && append(*last.partial, *next.partial))) {
        next.partial = std::move(last.partial);
        next.appends = last.appends;
    }
    last = std::move(next);
}

// Who is slow to take it gets the latest: what waits is bounded, and the gap in the numbers shows. True: the
// host is to be notified of one more.
bool hold_progress(Call& call, Progress progress) CALLGATE_REQUIRES(call.shared.mutex) {
    progress.call_id = base::Uuid{call.id}.to_string();
    progress.tool = call.outcome.tool;
    progress.sequence = ++call.shared.progress;
    if (!call.request.context->on_progress && call.observers == nullptr) return false;
    const std::size_t most = call.core->options.max_result_bytes;
    auto& held = call.shared.held;
    std::size_t& all_bytes = call.shared.held_bytes;
    const auto size_of = [most](const Progress& one) {
        return one.partial ? json::text_size_up_to(*one.partial, most) : 0;
    };
    const std::size_t bytes = size_of(progress);
    if (held.empty() || (held.size() < kMaxHeldProgress && all_bytes + bytes <= most)) {
        held.push_back({std::move(progress), bytes});
        all_bytes += bytes;
        return true;
    }
    Call::HeldProgress& last = held.back();
    merge(last.progress, std::move(progress));
    all_bytes -= last.bytes;
    last.bytes = size_of(last.progress);
    all_bytes += last.bytes;
    return false;
}

[[gnu::hot]] void notify_audit(const Runtime::Core::Observers* observers, Runtime::Core& core,
                               const AuditEvent& event) {
    notify(core, observers, &Runtime::Core::Watcher::audit,
           [&](Observer& observer) { observer.on_audit(event); });
}

// Those who watch now, which may be others than when the call began.
[[gnu::cold]] void notify_audit_now(Runtime::Core& core, const AuditEvent& event) {
    const auto now = core.current_observers();
    notify_audit(now.get(), core, event);
}

[[gnu::hot]] LineText& fresh_line(Call& call) {
    LineText& line = call.workspace().line;
    line.clear();
    return line;
}

// Where an exception came from is for the log alone.
void log_stack(Call& call) {
    if (call.outcome.state == State::replayed) return;
    const Object& details = call.outcome.error->details;
    const Value* const stack = details.if_contains("stack");
    const Value* const type = details.if_contains("exception_type");
    if (stack == nullptr || !stack->is_array() || type == nullptr || !type->is_string()) return;
    LineText& line = fresh_line(call);
    tool_stack_line(line, call.outcome.tool, type->get_string(), stack->get_array());
    log(call, LogLevel::warning, line.view());
}

bool logs(const Call& call) {
    return call.observers != nullptr && call.core->options.log_calls && call.core->log_wanted();
}

std::string_view end_event_type(const Call& call) {
    switch (call.outcome.state) {
        case State::succeeded: return "tool_call.succeeded";
        case State::replayed: return "tool_call.deduped";
        case State::previewed: return "gate.preview";
        case State::unknown: return "tool_call.unknown";
        default: break;
    }
    // The state has said already that nothing is left open.
    return base::s3_event(*call.outcome.error, {});
}

std::string_view end_event_outcome(const Call& call, std::string_view type) {
    if (call.outcome.state == State::succeeded) return "success";
    if (call.outcome.state == State::replayed) return "suppressed";
    if (call.outcome.state == State::previewed) return "info";
    if (type == "tool_call.unknown") return "failure";
    return base::error_row(call.outcome.error->code).s3_outcome;
}

}  // namespace

void project_start(Call& call) {
    call.core->counters.calls.add_ordered();
    if (call.observers == nullptr || !call.core->telemetry_wanted()) return;
    const LazyArguments params(call);
    TelemetryEvent event = telemetry(call, TelemetryEvent::Name::start);
    event.params = &params;
    telemetry_to_all(call, event);
}

void project_call_line(Call& call) {
    if (call.call_logged) return;
    call.call_logged = true;
    if (!logs(call)) return;
    LineText& line = fresh_line(call);
    if (call.arguments) {
        tool_call_line(line, call.outcome.tool, *call.arguments, call.redactor());
    } else {
        tool_call_line(line, call.outcome.tool, raw_arguments(call), call.redactor());
    }
    log(call, LogLevel::info, line.view());
}

void project_security_warning(Call& call) {
    if (call.observers == nullptr) return;
    project_call_line(call);  // what is warned of stands before the warning
    LineText& line = fresh_line(call);
    security_warning_line(line, call.outcome.tool, call.request.context->principal);
    log(call, LogLevel::warning, line.view());
}

void project_retry(Call& call) {
    if (call.observers == nullptr || !call.core->telemetry_wanted()) return;
    TelemetryEvent event = telemetry(call, TelemetryEvent::Name::retry);
    event.attempt = call.attempts + 1;
    telemetry_to_all(call, event);
}

void project_progress(Call& call, Progress progress, bool here) {
    const auto not_finite = progress.partial ? json::find_not_finite(*progress.partial) : std::nullopt;
    base::MutexLock lock(call.shared.mutex);
    if (call.shared.ended) return;
    if (not_finite) {
        const std::string place = not_finite->empty() ? "the root" : *not_finite;
        leave_out_content(call, progress,
                          "its number at " + place + " is NaN or infinite, which JSON cannot say.");
    } else if (progress.partial && !take_content(call, progress)) {
        return;
    }
    if (call.shared.secrets)
        progress.message = redact::Redactor(call.shared.secrets->index()).redact_text(progress.message);
    // Cut only now: half a secret would not be known as one.
    if (progress.message.size() > kMaxProgressBytes)
        progress.message = std::string(base::truncate_to_bytes(progress.message, kMaxProgressBytes));
    if (!hold_progress(call, std::move(progress))) return;
    lock.unlock();
    tell_of_progress(call, here);
}

void project_rest_of_stream(Call& call) {
    {
        const base::MutexLock lock(call.shared.mutex);
        const auto stream = std::exchange(call.shared.stream, nullptr);
        if (!stream) return;
        std::string text;
        stream->redactor.flush(text);
        if (text.empty()) return;
        Progress progress;
        progress.partial = std::move(text);
        progress.appends = true;
        if (!hold_progress(call, std::move(progress))) return;
    }
    tell_of_progress(call, true);
}

void project_end(Call& call) {
    const OutcomeData& outcome = call.outcome;
    if (call.came_too_late) [[unlikely]]
        call.core->late_call_ended();
    call.core->counters.ended[static_cast<std::size_t>(outcome.state)].add_ordered();
    if (call.core->ending() == Runtime::Core::Ending::draining) [[unlikely]]
        call.core->ended_while_draining();
    if (call.observers == nullptr) return;
    if (call.core->telemetry_wanted()) {
        const LazyResult result(call);
        const bool broke = outcome.error && outcome.state != State::replayed &&
                           base::error_row(outcome.error->code).telemetry == base::TelemetryEnd::exception;
        TelemetryEvent event =
            telemetry(call, broke ? TelemetryEvent::Name::exception : TelemetryEvent::Name::stop);
        event.duration = outcome.duration;
        event.state = outcome.state;
        if (outcome.error) event.reason = to_string(outcome.error->code);
        event.result = &result;
        telemetry_to_all(call, event);
    }
    if (!logs(call)) return;
    project_call_line(call);
    if (outcome.succeeded) {
        const ContentText content(call);
        LineText& line = fresh_line(call);
        tool_success_line(line, call.outcome.tool, outcome.duration, content.view());
        log(call, LogLevel::info, line.view());
    } else {
        log_stack(call);
        LineText& line = fresh_line(call);
        const std::string message = base::s2_text(*outcome.error, call.outcome.tool);
        tool_failed_line(line, call.outcome.tool, outcome.duration,
                         base::s2_code(outcome.error->code, facts_of(call)), message);
        log(call, LogLevel::warning, line.view());
    }
}

void project_audit(Call& call, const AuditEvent& event) {
    Runtime::Core& core = *call.core;
    if (!core.audit_wanted()) return;
    if (call.may_notify_here()) [[likely]] {
        if (call.observers == core.watching()) [[likely]] {
            notify_audit(call.observers, core, event);
        } else {
            notify_audit_now(core, event);
        }
    } else {
        call.notify_later([&call, event] { notify_audit_now(*call.core, event); });
    }
}

void project_audit(Runtime::Core& core, const AuditEvent& event) {
    if (!core.audit_wanted()) return;
    core.notify([&core, event] { notify_audit_now(core, event); });
}

void project_late_audit(Call& call, const AuditEvent& event) {
    if (!call.core->audit_wanted()) return;  // no thread for nobody
    if (!call.over() || call.notices_pending()) {
        call.notify_later([&call, event] { notify_audit_now(*call.core, event); });
    } else {
        project_audit(*call.core, event);
    }
}

void project_claim_events(Call& call, std::uint64_t first) {
    if (call.cold_if() == nullptr) return;
    for (AuditEvent& event : std::exchange(call.cold().claim_events, {})) {
        event.sequence = first++;
        project_audit(call, event);
    }
}

AuditEvent make_event(const Call& call, std::string_view type, std::string_view outcome,
                      std::string_view stage) {
    AuditEvent event;
    fill_event(event, call, type, outcome, stage);
    event.at = call.core->clock().wall_now();
    return event;
}

void fill_event(AuditEvent& event, const Call& call, std::string_view type, std::string_view outcome,
                std::string_view stage) {
    const Context& context = *call.request.context;
    event.type = type;
    event.outcome = outcome;
    event.stage = stage;
    event.risk = call.risk.risk;
    event.autonomy = context.autonomy;
    event.has_key = !context.idempotency_key.empty();
    event.attempt = call.attempts;
    event.call_id = call.id;
    event.parent_call_id = call.outcome.parent_call_id;
    event.trace_id = context.trace_id;
    if (const ColdState* const cold = call.cold_if()) {
        if (cold->approval_use) event.approval_id = cold->approval_use->id;
        event.request_hash = cold->request_hash;
    }
    event.tenant = context.tenant;
    event.principal = context.principal;
    event.run_id = context.run_id;
    event.task_id = context.task_id;
    event.step_id = context.step_id;
    // The record knows it even where the caller may not.
    event.tool = call.tool ? call.tool->name() : call.outcome.tool;
    event.action = call.outcome.action;
    if (call.tool) event.connector_id = call.tool->contract().connector_id;
}

void fill_terminal_event(AuditEvent& event, const Call& call) {
    const std::string_view type = end_event_type(call);
    fill_event(event, call, type, end_event_outcome(call, type), "settle");
    event.latency = call.outcome.duration;
    event.at =
        call.started_wall + std::chrono::duration_cast<std::chrono::microseconds>(call.outcome.duration);
    if (event.approval_id.empty()) event.approval_id = call.outcome.approval_id;
    if (call.outcome.error) {
        event.error_code = base::s3_code(*call.outcome.error);
        event.detail = base::truncate_to_bytes(call.outcome.error->message, 1'000);
    } else if (const ColdState* const cold = call.cold_if(); cold != nullptr && !call.has_claim) {
        event.detail = cold->predicate_record;  // of a claimed call it is on the record already
    }
}

}  // namespace callgate::pipeline
