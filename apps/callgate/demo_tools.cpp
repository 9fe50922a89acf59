#include "demo_tools.h"

#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include <callgate/typed.h>

#include "base/interruptible_wait.h"
#include "base/mutex.h"

namespace callgate::cli {

namespace {

using std::chrono::milliseconds;

Tool add() {
    return tool(
               "add", "Add two integers", [](std::int64_t a, std::int64_t b) { return a + b; },
               param("a", "first addend").minimum(-1'000'000'000).maximum(1'000'000'000),
               param("b", "second addend").minimum(-1'000'000'000).maximum(1'000'000'000))
        .read_only()
        .run_inline();
}

ToolReturn count_up(std::int64_t to, std::int64_t step_ms, CallContext& context) {
    for (std::int64_t at = 1; at <= to; ++at) {
        if (!base::wait_unless_stopped(context.cancel(), milliseconds(step_ms))) {
            const bool late = context.time_left().count() == 0;
            return tl::unexpected(
                ToolFailure(Error(late ? ErrorCode::timed_out : ErrorCode::cancelled, "It was told to stop."),
                            Applied::no));
        }
        context.progress(fmt::format("counted to {}", at), static_cast<double>(at), static_cast<double>(to));
    }
    return ToolResult(Value(fmt::format("counted to {}", to)));
}

Tool count() {
    return tool("count", "Count up to a number, step by step", count_up,
                param("to", "where to end").minimum(1).maximum(1'000),
                param("step_ms", "how long a step takes, in milliseconds")
                    .minimum(0)
                    .maximum(10'000)
                    .default_to(100))
        .read_only();
}

ToolReturn fail_so(const std::string& how, const std::string& message) {
    if (how == "throw") throw std::runtime_error(message);
    if (how == "lost") return tl::unexpected(ToolFailure::lost(message));
    return tl::unexpected(ToolFailure::answered(message));
}

Tool fail_tool() {
    return tool("fail", "Fail in a way you choose", fail_so,
                param("how", "told: it says so; throw: an exception; lost: no answer after it was sent")
                    .one_of({"told", "throw", "lost"})
                    .default_to(std::string("told")),
                param("message", "what it says").default_to(std::string("The disk is full.")))
        .risk(Risk::low)
        .effect(EffectClass::unsafe);
}

Tool flaky() {
    RetryPolicy retry(3);
    retry.base_delay = milliseconds(1);
    retry.max_delay = milliseconds(5);
    return tool(
               "flaky", "Work after some failures",
               [](std::uint32_t failures, CallContext& context) -> ToolReturn {
                   if (context.attempt() <= failures)
                       return tl::unexpected(ToolFailure::not_applied("The line was busy."));
                   return ToolResult(Value(fmt::format("worked at attempt {}", context.attempt())));
               },
               param("failures", "how often it fails first").maximum(10))
        .risk(Risk::low)
        .effect(EffectClass::unsafe)
        .retries(retry);
}

// In memory only; they go with the program.
class Notes {
public:
    ToolReturn read(const std::string& name) const {
        const base::MutexLock lock(mutex_);
        const auto found = texts_.find(name);
        if (found == texts_.end())
            return tl::unexpected(ToolFailure::answered(fmt::format("There is no note called '{}'.", name)));
        return ToolResult(Value(found->second));
    }
    std::string text_of(const std::string& name) const {
        const base::MutexLock lock(mutex_);
        const auto found = texts_.find(name);
        return found == texts_.end() ? std::string() : found->second;
    }
    void write(const std::string& name, std::string text) {
        const base::MutexLock lock(mutex_);
        texts_[name] = std::move(text);
    }
    bool remove(const std::string& name) {
        const base::MutexLock lock(mutex_);
        return texts_.erase(name) > 0;
    }

private:
    mutable base::Mutex mutex_;
    std::map<std::string, std::string> texts_ CALLGATE_GUARDED_BY(mutex_){
        {"todo", "Water the plants."}, {"welcome", "Notes live as long as the program runs."}};
};

std::string text_in(const Object& arguments, std::string_view name) {
    const Value* value = arguments.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

AdapterAction read_note(const std::shared_ptr<Notes>& notes) {
    AdapterAction action(
        "read", [notes](const Object& given, CallContext&) { return notes->read(text_in(given, "name")); });
    action.effect = EffectClass::read;
    return action;
}

AdapterAction write_note(const std::shared_ptr<Notes>& notes) {
    AdapterAction action("write", [notes](const Object& given, CallContext&) -> ToolReturn {
        notes->write(text_in(given, "name"), text_in(given, "text"));
        return ToolResult(Value(fmt::format("wrote '{}'", text_in(given, "name"))));
    });
    action.preview = [notes](const Object& given, CallContext&) -> Result<Preview> {
        const std::string name = text_in(given, "name");
        return Preview(fmt::format("Would write the note '{}'.", name),
                       Value(Object{{"before", notes->text_of(name)}, {"after", text_in(given, "text")}}));
    };
    action.effect = EffectClass::keyed;
    action.risk = Risk::medium;
    return action;
}

AdapterAction delete_note(const std::shared_ptr<Notes>& notes) {
    AdapterAction action("delete", [notes](const Object& given, CallContext&) -> ToolReturn {
        const std::string name = text_in(given, "name");
        if (!notes->remove(name))
            return tl::unexpected(ToolFailure::answered(fmt::format("There is no note called '{}'.", name)));
        return ToolResult(Value(fmt::format("deleted '{}'", name)));
    });
    action.effect = EffectClass::unsafe;
    action.risk = Risk::medium;
    return action;
}

Tool notes_tool() {
    const auto notes = std::make_shared<Notes>();
    const Value schema = Object{
        {"type", "object"},
        {"properties", Object{{"name", Object{{"type", "string"}, {"minLength", 1}, {"maxLength", 64}}},
                              {"text", Object{{"type", "string"}, {"maxLength", 10'000}}}}},
        {"required", Array{"name"}}};
    return adapter_tool(ToolDefinition("notes", "Read, write and delete notes (--action)", schema),
                        {read_note(notes), write_note(notes), delete_note(notes)})
        .scopes({"notes"})
        .target("/name");
}

Tool send_mail() {
    return tool(
               "send_mail", "Send a mail (the demo only says so)",
               [](const std::vector<std::string>& to, const std::string& subject, const std::string&) {
                   return fmt::format("sent '{}' to {}", subject, fmt::join(to, ", "));
               },
               param("to", "the receivers' addresses"), param("subject", "one line").max_length(200),
               param("body", "the text").default_to(std::string()))
        .risk(Risk::high)
        .capability("notification")
        .target("/to")
        .preview([](const Object& given, CallContext&) -> Result<Preview> {
            return Preview(fmt::format("Would send '{}' to {}.", text_in(given, "subject"),
                                       json::write(given.at("to"))));
        });
}

}  // namespace

std::vector<DemoTool> demo_tools() {
    std::vector<DemoTool> all;
    all.push_back({add(), "a plain C++ function that runs where it is called"});
    all.push_back({count(), "progress, deadline (--timeout) and cancelling (Ctrl-C)"});
    all.push_back({fail_tool(), "failures: told, thrown, and an outcome nobody knows"});
    all.push_back({flaky(), "retries of failures that changed nothing"});
    all.push_back({notes_tool(), "actions, a scope (--scope notes), a preview (--autonomy A0)"});
    all.push_back({send_mail(), "risk high: a person must approve; several receivers are denied"});
    return all;
}

Result<void> add_demo_tools(Registry& registry) {
    std::vector<Tool> tools;
    for (DemoTool& demo : demo_tools()) tools.push_back(std::move(demo.tool));
    return registry.add_all(std::move(tools));
}

}  // namespace callgate::cli
