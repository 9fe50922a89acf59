#include "pipeline/shape.h"

#include <algorithm>

#include <fmt/format.h>

#include <callgate/views.h>

#include "base/guard.h"
#include "base/thread_role.h"
#include "json/size.h"
#include "pipeline/call.h"
#include "tool/action_hooks.h"
#include "tool/received.h"

namespace callgate::pipeline {
namespace {

// A result so large that sealing it would take long, on a thread that serves sockets.
bool holds_up_a_loop(const Call& call) {
    if (!base::must_not_block()) return false;
    const ToolResult& result = call.outcome.result;
    std::size_t bytes = result.raw.size() + json::text_size_up_to(result.value, base::kMostOnALoop);
    for (const Block& block : result.blocks) {
        bytes +=
            block.text.size() + block.data.size() + json::text_size_up_to(block.json, base::kMostOnALoop);
    }
    if (result.structured) bytes += json::text_size_up_to(*result.structured, base::kMostOnALoop);
    return bytes >= base::kMostOnALoop;
}

// The tool ran, so this is a definite end; only its answer is no use.
Step output_invalid(Call& call, std::string message, Object details) {
    call.core->counters.shape.output_invalid.add();
    call.outcome.result = {};
    call.attempt_end = ledger::AttemptEnd::failed;
    return call.end(State::failed, Error(ErrorCode::output_invalid, std::move(message), std::move(details)));
}

Step check_schema(Call& call) {
    const schema::Schema* schema = call.tool->output();
    if (schema == nullptr) return Step::next;
    const ToolResult& result = call.outcome.result;
    if (!result.structured && !result.blocks.empty()) {
        return output_invalid(call,
                              fmt::format("The tool {} has an output schema and gave no structured content.",
                                          call.tool->name()),
                              {{"reason", "no_structured_content"}});
    }
    const Value& judged = result.structured ? *result.structured : result.value;
    if (schema->check(judged, call.workspace().scratch) == schema::Verdict::valid) return Step::next;
    const auto explanation = schema->explain(judged, 10);
    return output_invalid(call,
                          fmt::format("The tool {} gave an answer that does not fit its output schema: {}",
                                      call.tool->name(), schema::to_text(explanation)),
                          {{"reason", "schema"}});
}

// Anything but a number that is not finite, and what may hold one or others like it, can be written.
bool is_plain(const ToolResult& result) {
    return result.blocks.empty() && !result.structured && !result.value.is_structured() &&
           !result.value.is_double() && result.extra.empty();
}

[[gnu::noinline]] Step look_for_unwritable(Call& call) {
    auto fault = unwritable(call.outcome.result, call.tool->name());
    if (!fault || !CALLGATE_GUARD(finite_results)) [[likely]]
        return Step::next;
    return output_invalid(call, std::move(fault->message), std::move(fault->details));
}

[[gnu::hot]] Step check_json(Call& call) {
    return is_plain(call.outcome.result) ? Step::next : look_for_unwritable(call);
}

std::size_t size_of(const Object& extra, std::size_t enough) {
    std::size_t bytes = 0;
    for (const auto& member : extra)
        bytes += member.key().size() + json::text_size_up_to(member.value(), enough);
    return bytes;
}

std::size_t size_of(const ToolResult& result, std::size_t enough) {
    if (result.raw_is != RawIs::other) return result.raw.size();
    std::size_t bytes = result.raw.size() + json::text_size_up_to(result.value, enough);
    for (const Block& block : result.blocks) {
        bytes += block.text.size() + block.data.size() + json::text_size_up_to(block.json, enough) +
                 size_of(block.extra, enough);
    }
    bytes += size_of(result.extra, enough);
    if (result.structured) bytes += json::text_size_up_to(*result.structured, enough);
    return bytes;
}

void mask(Object& object, const redact::Redactor& redactor) {
    if (object.empty()) return;
    Value whole(std::move(object));
    redactor.redact_in_place(whole, redact::Rules::values_only);
    object = std::move(whole.get_object());
}

bool is_scalar(const ToolResult& result) {
    return (result.value.is_number() || result.value.is_bool()) && result.raw.empty() &&
           result.blocks.empty() && !result.structured && result.extra.empty();
}

// False: it fits.
bool cut_to_limit(const Call& call, ToolResult& result) {
    if (is_scalar(result)) return false;
    const std::size_t limit = call.core->options.max_result_bytes;
    if (size_of(result, limit) <= limit) return false;
    call.core->counters.shape.cut.add();
    OutcomeData whole;
    whole.result = std::move(result);
    views::Limits limits;
    limits.model_bytes = std::min(limits.model_bytes, limit);
    result = ToolResult(views::model(Outcome(std::move(whole)).content(), limits));
    return true;
}

}  // namespace

std::optional<Error> unwritable(const ToolResult& result, std::string_view tool) {
    const auto judge = [tool](const Value& value, std::string_view part) -> std::optional<Error> {
        auto fault = json::find_unwritable(value);
        if (!fault) return std::nullopt;
        Object details{{"reason", fault->reason()}, {"part", part}};
        if (fault->too_deep) {
            details["limit"] = json::kDeepestKept;
        } else {
            details["path"] = fault->path;
            fault->path.insert(0, part);
        }
        return Error(ErrorCode::output_invalid,
                     fmt::format("The tool {} ran, but its answer has {}.", tool, fault->what()),
                     std::move(details));
    };
    const auto judge_all = [&](const Object& extra, std::string_view part) -> std::optional<Error> {
        for (const auto& member : extra) {
            if (auto fault =
                    judge(member.value(), fmt::format("{}/{}", part, std::string_view(member.key()))))
                return fault;
        }
        return std::nullopt;
    };
    if (auto fault = judge(result.value, "value")) return fault;
    if (result.structured) {
        if (auto fault = judge(*result.structured, "structured")) return fault;
    }
    for (std::size_t i = 0; i < result.blocks.size(); ++i) {
        if (auto fault = judge(result.blocks[i].json, fmt::format("blocks/{}", i))) return fault;
        if (auto fault = judge_all(result.blocks[i].extra, fmt::format("blocks/{}/extra", i))) return fault;
    }
    return judge_all(result.extra, "extra");
}

void leave_out_unwritable(Object& details) {
    if (details.empty()) return;
    Value all(std::move(details));
    const auto fault = json::find_unwritable(all);
    details = fault ? Object{{"left_out", fmt::format("The details: they have {}.", fault->what())}}
                    : std::move(all.get_object());
}

void shape_failure(const Call& call, ToolFailure& failure) {
    ToolResult& content = *failure.content;
    if (const auto fault = unwritable(content, call.outcome.tool)) {
        failure.error.details["content_left_out"] = fault->message;
        failure.content.reset();
        return;
    }
    finish_result(call, content, Of::failure);
}

bool finish_result(const Call& call, ToolResult& result, Of what) {
    const bool failed = what == Of::failure;
    result.raw_is = result.raw.empty() ? RawIs::other : raw_says(result, failed);
    if (call.has_secrets()) {
        const bool said_it = result.raw_is != RawIs::other;
        mask(result, call.redactor());
        if (said_it && raw_says(result, failed) != result.raw_is) {
            result.raw.clear();  // what was masked elsewhere may still be in it
            result.raw_is = RawIs::other;
        }
    }
    return cut_to_limit(call, result);
}

void mask(ToolResult& result, const redact::Redactor& redactor) {
    constexpr auto kValues = redact::Rules::values_only;
    redactor.redact_in_place(result.value, kValues);
    if (result.structured) redactor.redact_in_place(*result.structured, kValues);
    if (redactor.finds_secret(result.raw)) result.raw = redactor.redact_text(result.raw);
    for (Block& block : result.blocks) {
        block.text = redactor.redact_text(block.text);
        redactor.redact_in_place(block.json, kValues);
        if (redactor.finds_secret(block.data)) block.data = redactor.redact_text(block.data);
        block.uri = redactor.redact_text(block.uri);
        block.name = redactor.redact_text(block.name);
        block.mime_type = redactor.redact_text(block.mime_type);
        mask(block.extra, redactor);
    }
    mask(result.extra, redactor);
}

void mask(Error& error, const redact::Redactor& redactor) {
    error.message = redactor.redact_text(error.message);
    mask(error.details, redactor);
}

Step shape(Call& call) {
    if (call.tool->hooks() != nullptr || holds_up_a_loop(call)) [[unlikely]] {
        if (const auto step = call.go_elsewhere()) return *step;
    }
    if (const Step step = check_json(call); step != Step::next) return step;
    if (const Step step = check_schema(call); step != Step::next) return step;
    if (const ActionHooks* hooks = call.tool->hooks()) {
        auto changed = after_output(hooks, std::move(call.outcome.result));
        if (!changed) {
            call.outcome.result = {};
            leave_out_unwritable(changed.error().details);
            return output_invalid(call, changed.error().message, changed.error().details);
        }
        call.outcome.result = std::move(*changed);
        if (const Step step = check_json(call); step != Step::next) return step;
    }
    if (finish_result(call, call.outcome.result)) [[unlikely]]
        call.note("shape", "cut", "the result was larger than max_result_bytes");
    call.outcome.succeeded = true;
    call.outcome.state = State::succeeded;
    call.note("shape", "shaped");
    return Step::next;
}

}  // namespace callgate::pipeline
