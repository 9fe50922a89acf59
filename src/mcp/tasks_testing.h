// For tests of tasks: tools that are tasks, and a client that knows them.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "mcp/mcp_testing.h"

namespace callgate::mcp {

inline const Object kKnowsTasks{{"elicitation", Object{}},
                                {"extensions", Object{{"io.modelcontextprotocol/tasks", Object{}}}}};

inline Tool as_task(Tool tool, std::string_view support = "optional") {
    tool.definition.extra["execution"] = Object{{"taskSupport", support}};
    return tool;
}

/// Its tool runs until the gate is opened, or it is called off.
class Gate {
public:
    void open() { open_.set_value(); }
    void begun() { begun_.set_value(); }
    void wait_until_begun() { begun_.get_future().wait(); }
    bool wait(const CallContext& context) {
        std::promise<void> off;
        const std::stop_callback stops(context.cancel(), [&] { off.set_value(); });
        auto called_off = off.get_future();
        while (opened_.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
            if (called_off.wait_for(std::chrono::milliseconds(0)) == std::future_status::ready) return false;
        }
        return true;
    }

private:
    std::promise<void> open_;
    std::shared_future<void> opened_{open_.get_future()};
    std::promise<void> begun_;
};

inline Tool slow(const std::shared_ptr<Gate>& gate) {
    return as_task(schema_tool(ToolDefinition("slow", "Takes its time", Object{{"type", "object"}}),
                               [gate](const Object&, CallContext& context) -> ToolReturn {
                                   gate->begun();
                                   if (!gate->wait(context))
                                       return tl::unexpected(ToolFailure::not_applied("called off"));
                                   return ToolResult(Value("at last"));
                               })
                       .risk(Risk::low)
                       .effect(EffectClass::unsafe));
}

class TaskTest : public testing::Test {
protected:
    static Value request(LineClient& by, std::string_view method, Object params,
                         const Object& can = kKnowsTasks) {
        static std::int64_t id = 0;
        return by.request(++id, method, modern(std::move(params), can));
    }
    static Value call(LineClient& by, std::string_view tool, const Object& can = kKnowsTasks) {
        return request(by, "tools/call", {{"name", tool}, {"arguments", Object{}}}, can);
    }
    static Value get(LineClient& by, const Value& id) {
        return request(by, "tasks/get", {{"taskId", id}}).at("result");
    }
    /// Asks until it has ended; the tools here do so at once.
    static Value end_of(LineClient& by, const Value& id) {
        for (;;) {
            Value task = get(by, id);
            const std::string_view status = task.at("status").as_string();
            if (status != "working" && status != "input_required") return task;
        }
    }
    /// The id of one whose runtime has gone since.
    static Value completed_before_a_restart(const RuntimeOptions& options) {
        const auto gate = std::make_shared<Gate>();
        gate->open();
        Runtime runtime(options);
        runtime.tools().add_or_throw(slow(gate));
        Server server(runtime);
        LineClient client(server);
        const Value id = call(client, "slow").at("result").at("taskId");
        EXPECT_EQ(end_of(client, id).at("status"), "completed");
        return id;
    }
};

}  // namespace callgate::mcp
