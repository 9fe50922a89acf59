#include "pipeline/validate.h"

#include <fmt/format.h>
#include <boost/json/monotonic_resource.hpp>

#include "base/guard.h"
#include "base/thread_role.h"
#include "base/utf8.h"
#include "json/size.h"
#include "pipeline/call.h"
#include "pipeline/projection.h"
#include "tool/action_hooks.h"

namespace callgate::pipeline {
namespace {

Step not_an_object(Call& call, const Value& value) {
    call.core->counters.validate.invalid.add();
    return call.refuse(
        Error(ErrorCode::invalid_arguments,
              fmt::format("Arguments must be a JSON object, not {}.", json::kind_with_article(value)),
              {{"reason", "not_an_object"}}));
}

Step invalid(Call& call, const Value& value) {
    call.core->counters.validate.invalid.add();
    const schema::Explanation explanation = call.tool->input().explain(value);
    if (explanation.verdict == schema::Verdict::over_budget) {
        return call.refuse(
            Error(ErrorCode::invalid_arguments,
                  "Checking the arguments against the tool's schema takes too long; send smaller ones.",
                  {{"reason", "over_budget"}}));
    }
    std::string message = "Argument validation failed: ";
    Array errors;
    Array places;
    for (const auto& violation : explanation.violations) {
        if (!errors.empty()) message += "; ";
        message += violation.message;
        errors.emplace_back(violation.message);
        places.emplace_back(Object{{"path", violation.instance_path}, {"keyword", violation.keyword}});
    }
    // A model gets enough to mend the call, and not more than it can read.
    constexpr std::size_t kMaxMessage = 2'000;
    if (message.size() > kMaxMessage)
        message = std::string(base::truncate_to_bytes(message, kMaxMessage)) + "...";
    return call.refuse(
        Error(ErrorCode::invalid_arguments, std::move(message),
              {{"reason", "schema"}, {"errors", std::move(errors)}, {"violations", std::move(places)}}));
}

Step not_finite(Call& call, const std::string& path) {
    call.core->counters.validate.invalid.add();
    return call.refuse(Error(ErrorCode::invalid_arguments,
                             fmt::format("The argument at {} is NaN or infinite, which JSON cannot say.",
                                         path.empty() ? "the root" : path),
                             {{"reason", "not_finite"}, {"path", path}}));
}

// Of a hook's own making: what came from outside was held to argument_limits.
[[gnu::cold]] Step too_deep(Call& call) {
    call.core->counters.validate.invalid.add();
    return call.refuse(Error(
        ErrorCode::invalid_arguments,
        fmt::format("The tool's hooks made arguments that are nested more than {} levels deep, which nobody "
                    "could read again.",
                    json::kDeepestKept),
        {{"reason", "too_deep"}, {"limit", json::kDeepestKept}}));
}

// Absent members become the schema's defaults. False: that made more of them than arguments may be.
bool fill_in(Call& call, Value& value, bool& filled) {
    const schema::Defaults* const defaults = call.tool->defaults();
    if (defaults == nullptr || !CALLGATE_GUARD(defaults_filled_in)) return true;
    const bool keyed = !call.request.context->idempotency_key.empty();
    filled = defaults->fill(value, keyed ? &call.cold().filled : nullptr) != 0;
    return !filled || json::check_size(value, call.core->options.argument_limits).has_value();
}

[[gnu::cold]] Step filled_too_large(Call& call) {
    call.core->counters.validate.invalid.add();
    return call.refuse(Error(ErrorCode::invalid_arguments,
                             "With the defaults of the tool's schema there are too many arguments; send "
                             "fewer.",
                             {{"reason", "too_large"}}));
}

// Arguments with the memory they live in: small ones take a single allocation, and go at once.
struct HeldArguments {
    unsigned char first[512];
    boost::json::monotonic_resource memory;
    std::optional<Value> value;

    HeldArguments() : memory(first, sizeof first) {}
};

void accept(Call& call, std::shared_ptr<HeldArguments> held) {
    const Value* value = &*held->value;
    call.outcome.arguments = std::shared_ptr<const Value>(std::move(held), value);
    call.arguments = value;
}

void accept(Call& call, Value value) {
    call.outcome.arguments = std::make_shared<const Value>(std::move(value));
    call.arguments = call.outcome.arguments.get();
}

Step judge(Call& call, Value value, schema::Scratch& scratch) {
    if (!value.is_object()) return not_an_object(call, value);
    if (const auto path = json::find_not_finite(value); path && CALLGATE_GUARD(finite_arguments))
        return not_finite(call, *path);
    const ActionHooks* hooks = call.tool->hooks();
    if (hooks != nullptr) {
        auto changed = before_validate(hooks, std::move(value.get_object()));
        if (!changed) return call.refuse(std::move(changed.error()));
        value = std::move(*changed);
    }
    bool filled = false;
    if (!fill_in(call, value, filled)) return filled_too_large(call);
    if (call.core->options.validate_arguments && CALLGATE_GUARD(schema_check) &&
        call.tool->input().check(value, scratch) != schema::Verdict::valid) {
        schema::Coerced coerced = call.tool->input().coerce(value, call.tool->contract().coercion);
        // What was brought into shape may have become an object with defaults of its own.
        if (!coerced.changes.empty() && !fill_in(call, coerced.value, filled)) return filled_too_large(call);
        if (coerced.changes.empty() ||
            call.tool->input().check(coerced.value, scratch) != schema::Verdict::valid) {
            return invalid(call, coerced.changes.empty() ? value : coerced.value);
        }
        call.core->counters.validate.coerced.add();
        value = std::move(coerced.value);
    }
    if (hooks != nullptr) {
        auto changed = after_validate(hooks, std::move(value.get_object()));
        if (!changed) return call.refuse(std::move(changed.error()));
        value = std::move(*changed);
        if (const auto fault = json::find_unwritable(value))
            return fault->too_deep ? too_deep(call) : not_finite(call, fault->path);
    }
    accept(call, std::move(value));
    return Step::next;
}

// Arguments that would take long to judge, on a thread that serves sockets.
bool holds_up_a_loop(Args& arguments) {
    if (!base::must_not_block()) return false;
    if (const auto text = arguments.text()) return text->size() >= base::kMostOnALoop;
    const Value* value = arguments.value();
    return value != nullptr && json::text_size_up_to(*value, base::kMostOnALoop) >= base::kMostOnALoop;
}

// What a person agreed to is what runs: the hooks have had their say when it was asked for, and nothing is
// brought into shape again. Arguments that after_validate made need not fit the schema any more.
Step judge_approved(Call& call, const Value& value, schema::Scratch& scratch) {
    if (!value.is_object()) return not_an_object(call, value);
    const ActionHooks* const hooks = call.tool->hooks();
    if (call.core->options.validate_arguments && (hooks == nullptr || !hooks->after_validate) &&
        call.tool->input().check(value, scratch) != schema::Verdict::valid) {
        return invalid(call, value);
    }
    accept(call, value);
    return Step::next;
}

[[gnu::hot]] Step from_text(Call& call, std::string_view text, schema::Scratch& scratch) {
    const auto& limits = call.core->options.argument_limits;
    const bool hooked = call.tool->hooks() != nullptr;
    if (call.core->options.validate_arguments && !hooked) {
        auto held = std::allocate_shared<HeldArguments>(base::RecyclingAllocator<HeldArguments>());
        auto accepted = call.tool->input().accept(text, scratch, limits, &held->memory);
        if (accepted && accepted->verdict == schema::Verdict::valid && accepted->value.is_object()) {
            held->value.emplace(std::move(accepted->value));
            bool filled = false;
            if (!fill_in(call, *held->value, filled)) return filled_too_large(call);
            if (filled && call.tool->input().check(*held->value, scratch) != schema::Verdict::valid)
                return invalid(call, *held->value);
            accept(call, std::move(held));
            return Step::next;
        }
    }
    auto parsed = json::parse(text, limits);
    if (!parsed) {
        call.core->counters.validate.unparsable.add();
        Error error = std::move(parsed.error());
        error.code = ErrorCode::invalid_arguments;
        error.message = "The arguments are not usable JSON: " + error.message;
        return call.refuse(std::move(error));
    }
    return judge(call, std::move(*parsed), scratch);
}

}  // namespace

Step validate(Call& call) {
    if (call.tool->hooks() != nullptr || holds_up_a_loop(call.request.arguments)) [[unlikely]] {
        if (const auto step = call.go_elsewhere()) return *step;
    }
    schema::Scratch& scratch = call.workspace().scratch;
    Args& args = call.request.arguments;
    Step step = Step::next;
    if (call.resumes() && CALLGATE_GUARD(hooks_once)) {
        step = judge_approved(call, call.request.origin->approval->arguments, scratch);
    } else if (const auto text = args.text()) {
        step = from_text(call, *text, scratch);
    } else if (Value* value = args.value()) {
        if (value->is_string()) {
            step = from_text(call, std::string_view(value->get_string()), scratch);
        } else if (value->is_null()) {
            step = judge(call, Object(), scratch);
        } else if (auto within = json::check_size(*value, call.core->options.argument_limits); !within) {
            call.core->counters.validate.invalid.add();
            step = call.refuse(std::move(within.error()));
        } else {
            step = judge(call, *value, scratch);
        }
    } else {
        step = judge(call, Object(), scratch);
    }
    if (step == Step::next) {
        project_call_line(call);
        call.note("validate", "valid");
    }
    return step;
}

}  // namespace callgate::pipeline
