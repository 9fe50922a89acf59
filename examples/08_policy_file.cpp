// A policy from a file: read, checked as a whole, and asked what it would decide before anything runs.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>

#include <callgate/callgate.h>

namespace cg = callgate;

namespace {

cg::Result<void> load_policy(cg::Runtime& runtime, const std::filesystem::path& path) {
    std::ifstream file(path);
    if (!file) return cg::fail(cg::ErrorCode::config_error, "The policy cannot be read.");
    std::ostringstream text;
    text << file.rdbuf();
    const auto document = cg::json::parse(text.str());
    if (!document) return tl::unexpected(document.error());
    const auto config = cg::policy_from_json(*document);
    if (!config) return tl::unexpected(config.error());
    return runtime.policy().set(*config);
}

void explain(cg::Runtime& runtime, const std::string& tool, cg::Args arguments) {
    const cg::CallExplanation would = runtime.explain(cg::CallRequest(tool, std::move(arguments)));
    if (!would.decision) {
        std::cout << tool << ": refused: " << would.refused->message << '\n';
        return;
    }
    std::cout << tool << ": " << to_string(would.decision->gate) << " by "
              << (would.decision->rule_id.empty() ? "the matrix" : would.decision->rule_id) << '\n';
}

}  // namespace

int main() {
    cg::Runtime runtime;
    runtime.tools().add_or_throw(
        cg::tool(
            "read_file", "Read a file", [](const std::string& path) { return path; }, cg::param("path"))
            .risk(cg::Risk::low)
            .effect(cg::EffectClass::read));
    runtime.tools().add_or_throw(
        cg::tool(
            "write_file", "Write a file", [](const std::string& path) { return path; }, cg::param("path"))
            .risk(cg::Risk::medium)
            .effect(cg::EffectClass::unsafe));

    // Where a program would have a path of its operator's, this one writes the file itself.
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("callgate-policy-" + std::to_string(getpid()) + ".json");
    const auto load = [&](const char* text) {
        std::ofstream(path) << text;
        const auto loaded = load_policy(runtime, path);
        std::cout << (loaded ? "loaded" : loaded.error().message) << '\n';
    };

    load(R"({"rules": [{"id": "typo", "decision": "deny", "tool": ["write_file"]}]})");
    load(R"({"rules": [
        {"id": "keys", "decision": "deny", "arguments": {"properties": {"path": {"pattern": "\\.key$"}}}},
        {"id": "drafts", "decision": "allow", "tools": ["write_file"],
         "arguments": {"properties": {"path": {"pattern": "^drafts/"}}}}]})");
    std::filesystem::remove(path);

    explain(runtime, "read_file", {{"path", "notes.txt"}});
    explain(runtime, "read_file", {{"path", "server.key"}});
    explain(runtime, "write_file", {{"path", "drafts/a.txt"}});
    explain(runtime, "write_file", {{"path", "final/a.txt"}});
    explain(runtime, "write_file", {{"file", "a.txt"}});
    for (const cg::PolicyFinding& one : runtime.policy().lint(runtime.tools()))
        std::cout << "lint: " << one.subject << ": " << one.message << '\n';
    return runtime.call("write_file", {{"path", "drafts/a.txt"}}).ok() ? 0 : 1;
}
