// Tools that take several turns: progress, cancels, tasks, a stream that ends before its answer. They go on
// when `advance` opens their gate.
#include <condition_variable>
#include <mutex>

#include "offers.h"

namespace interop {

class Turns {
public:
    void open(const std::string& gate) {
        const std::lock_guard lock(mutex_);
        ++opened_[gate];
        changed_.notify_all();
    }
    bool wait(const std::string& gate, unsigned times, const std::stop_token& cancel) {
        std::unique_lock lock(mutex_);
        return changed_.wait(lock, cancel, [&] { return opened_[gate] >= times; });
    }

private:
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::map<std::string, unsigned> opened_;
};

std::shared_ptr<Turns> make_turns() {
    return std::make_shared<Turns>();
}

bool wait_for(Turns& turns, const std::string& gate, unsigned times, const cg::CallContext& context) {
    return turns.wait(gate, times, context.cancel());
}

namespace {

using Shared = std::shared_ptr<Turns>;

cg::Value gate_schema() {
    return all_of({{"gate", string_type()}});
}

cg::ToolReturn called_off() {
    return tl::unexpected(cg::ToolFailure::not_applied("It was called off."));
}

cg::Tool advance(const Shared& turns) {
    return offer("advance", "Opens a gate once", gate_schema(),
                 [turns](const cg::Object& given, cg::CallContext&) -> cg::ToolReturn {
                     turns->open(text_at(given, "gate"));
                     return say("open");
                 });
}

// A turn begins with progress, and goes on when the client has opened the gate once more.
cg::Tool steps(const Shared& turns) {
    return offer("steps", "Takes five turns", gate_schema(),
                 [turns](const cg::Object& given, cg::CallContext& context) -> cg::ToolReturn {
                     for (unsigned turn = 1; turn <= 5; ++turn) {
                         context.progress("turn " + std::to_string(turn) + " of 5", turn, 5.0);
                         if (!wait_for(*turns, text_at(given, "gate"), turn, context)) return called_off();
                     }
                     return say("five turns");
                 });
}

// Opens the gate "noticed GATE" when it was called off.
cg::Tool hold(const Shared& turns) {
    return offer("hold", "Waits until it is called off", gate_schema(),
                 [turns](const cg::Object& given, cg::CallContext& context) -> cg::ToolReturn {
                     const std::string gate = text_at(given, "gate");
                     context.progress("holding", 0.0, 1.0);
                     if (wait_for(*turns, gate, 1, context)) return say("let through");
                     turns->open("noticed " + gate);
                     return called_off();
                 });
}

cg::Tool await(const Shared& turns) {
    return offer("await", "Waits until a gate is open", gate_schema(),
                 [turns](const cg::Object& given, cg::CallContext& context) -> cg::ToolReturn {
                     if (!wait_for(*turns, text_at(given, "gate"), 1, context)) return called_off();
                     return say("open");
                 });
}

cg::Tool leave(const Shared& turns) {
    return offer("leave", "Ends its stream before it answers", gate_schema(),
                 [turns](const cg::Object& given, cg::CallContext& context) -> cg::ToolReturn {
                     if (const auto* client = cg::mcp::caller(context)) client->close_stream();
                     if (!wait_for(*turns, text_at(given, "gate"), 1, context)) return called_off();
                     return say("for who comes back");
                 });
}

cg::Tool task_of(cg::Tool tool, std::string_view support) {
    tool.definition.extra["execution"] = cg::Object{{"taskSupport", support}};
    return tool;
}

// Opens the gate "begun GATE", and "noticed GATE" when it was called off.
cg::Tool job(const Shared& turns) {
    return offer("job", "Works until its gate is open", gate_schema(),
                 [turns](const cg::Object& given, cg::CallContext& context) -> cg::ToolReturn {
                     const std::string gate = text_at(given, "gate");
                     turns->open("begun " + gate);
                     if (!wait_for(*turns, gate, 1, context)) {
                         turns->open("noticed " + gate);
                         return called_off();
                     }
                     cg::ToolResult result = say("the work is done");
                     result.structured = cg::Object{{"gate", gate}, {"count", 90071992547}};
                     return result;
                 });
}

cg::Tool failing_job(const Shared& turns) {
    return offer(
        "failing_job", "Works as a task only, and fails", gate_schema(),
        [turns](const cg::Object& given, cg::CallContext& context) -> cg::ToolReturn {
            if (!wait_for(*turns, text_at(given, "gate"), 1, context)) return called_off();
            return tl::unexpected(
                cg::ToolFailure::answered("The work has failed.").with_content(say("The work has failed.")));
        });
}

cg::Tool broken_job(const Shared& turns) {
    return offer("broken_job", "Ends with an error of the protocol", gate_schema(),
                 [turns](const cg::Object& given, cg::CallContext& context) -> cg::ToolReturn {
                     if (!wait_for(*turns, text_at(given, "gate"), 1, context)) return called_off();
                     return tl::unexpected(
                         cg::mcp::protocol_error(-32050, "The works are shut.", cg::Object{{"until", 7}}));
                 });
}

}  // namespace

void add_turns(cg::Registry& tools, const Shared& turns) {
    tools.add_or_throw(advance(turns))
        .add_or_throw(steps(turns))
        .add_or_throw(hold(turns))
        .add_or_throw(await(turns))
        .add_or_throw(leave(turns))
        .add_or_throw(task_of(job(turns), "optional"))
        .add_or_throw(task_of(failing_job(turns), "required"))
        .add_or_throw(task_of(broken_job(turns), "optional"));
}

}  // namespace interop
