#include "fixtures.h"

#include <condition_variable>
#include <mutex>

namespace conformance {

cg::Tool fixture(std::string name, std::string description, cg::Value schema, cg::ToolFunction run) {
    return cg::schema_tool(cg::ToolDefinition(std::move(name), std::move(description), std::move(schema)),
                           std::move(run))
        .read_only()
        .risk(cg::Risk::low);
}

cg::Value object_schema(cg::Object properties, bool required) {
    cg::Array names;
    for (const auto& [name, schema] : properties) {
        names.emplace_back(name);
    }
    cg::Object schema{{"type", "object"}, {"properties", std::move(properties)}};
    if (required) schema["required"] = std::move(names);
    return schema;
}

cg::Object string_schema() {
    return {{"type", "string"}};
}

cg::ToolResult text(std::string what) {
    return cg::ToolResult(std::vector<cg::Block>{cg::Block::of_text(std::move(what))});
}

cg::InputRequest sampling(std::string_view prompt, int max_tokens) {
    return cg::InputRequest::sampling(cg::Object{
        {"messages", cg::Array{cg::Object{{"role", "user"},
                                          {"content", cg::Object{{"type", "text"}, {"text", prompt}}}}}},
        {"maxTokens", max_tokens}});
}

bool pause(const cg::CallContext& context, std::chrono::milliseconds time) {
    std::mutex mutex;
    std::condition_variable_any woken;
    std::unique_lock lock(mutex);
    const std::stop_token cancel = context.cancel();
    (void)woken.wait_for(lock, cancel, time, [] { return false; });
    return !cancel.stop_requested();
}

}  // namespace conformance
