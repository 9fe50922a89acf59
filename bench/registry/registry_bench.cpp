// What it costs to list 2,000 tools for a caller, under the names that a vendor's models take.
//
//   snapshot_us      a snapshot of a registry that has not changed since the last one
//   canonical_us     the same under canonical names
//   after_change_us  the first snapshot after a change, under canonical names
//   renamed_us       the first after a change under a vendor's names, which are made then
//   copies_us        shown_definitions(), which copies each definition
//   same_sync_us     a sync with a list that changes nothing
//
// Each is the median of its rounds, in turn with the others.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include <callgate/definitions.h>
#include <callgate/registry.h>

namespace {

namespace cg = callgate;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kTools = 2'000;
constexpr int kRounds = 51;

// As large as real ones: about 1 KB of schema, five parameters.
cg::Tool tool_number(std::size_t i) {
    cg::Object properties;
    for (const char* name : {"path", "pattern", "encoding", "limit", "offset"})
        properties[name] = cg::Object{{"type", "string"},
                                      {"description", std::string("What the tool is to take as its ") + name +
                                                          ", as the user said it."},
                                      {"minLength", 1},
                                      {"maxLength", 4'096}};
    cg::ToolDefinition definition(
        "files/tool_number_" + std::to_string(i), "Does one of the many things that servers offer to models.",
        cg::Object{
            {"type", "object"}, {"properties", std::move(properties)}, {"required", cg::Array{"path"}}});
    return cg::schema_tool(std::move(definition), nullptr);
}

std::vector<cg::Tool> all_tools() {
    std::vector<cg::Tool> tools;
    for (std::size_t i = 0; i < kTools; ++i) tools.push_back(tool_number(i));
    return tools;
}

void check(bool right) {
    if (right) return;
    std::fputs("registry_bench: a listing is not what it should be\n", stderr);
    std::exit(1);
}

class Median {
public:
    template <class Work>
    void measure(const Work& work) {
        const auto begin = Clock::now();
        const bool right = work();
        all_.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
        check(right);
    }
    double microseconds() {
        std::ranges::sort(all_);
        return all_[all_.size() / 2];
    }

private:
    std::vector<double> all_;
};

// Reads each name and each description, as whoever writes the list out would.
bool reads_all(const cg::RegistrySnapshot& snapshot, const cg::Context& caller) {
    const auto tools = snapshot.visible_to(caller);
    std::size_t bytes = 0;
    for (const cg::ListedTool& tool : *tools) bytes += tool.name.size() + tool.definition->description.size();
    return tools->size() >= kTools && bytes > kTools;
}

}  // namespace

int main() {
    cg::Registry registry;
    check(registry.sync("files", all_tools()).has_value());
    const cg::NameRules rules = cg::name_rules(cg::DefinitionForm::openai);
    const cg::Context caller;
    const auto change = [&] {
        registry.remove_server("other");
        cg::Tool tool = tool_number(0);
        tool.definition.name = "other/tool";
        check(registry.add(std::move(tool)).has_value());
    };

    Median snapshot;
    Median canonical;
    Median after_change;
    Median renamed;
    Median copies;
    Median same_sync;
    for (int i = 0; i < kRounds; ++i) {
        change();
        after_change.measure([&] { return reads_all(registry.snapshot(), caller); });
        canonical.measure([&] { return reads_all(registry.snapshot(), caller); });
        renamed.measure([&] { return reads_all(registry.snapshot(rules), caller); });
        snapshot.measure([&] { return reads_all(registry.snapshot(rules), caller); });
        copies.measure([&] { return registry.shown_definitions(caller, rules)->size() >= kTools; });
        std::vector<cg::Tool> same = all_tools();
        same_sync.measure(
            [&] { return registry.sync("files", std::move(same))->unchanged.size() == kTools; });
    }
    std::printf(
        "RESULT definitions=%zu snapshot_us=%.1f copies_us=%.1f canonical_us=%.1f after_change_us=%.1f "
        "renamed_us=%.1f same_sync_us=%.1f\n",
        kTools, snapshot.microseconds(), copies.microseconds(), canonical.microseconds(),
        after_change.microseconds(), renamed.microseconds(), same_sync.microseconds());
}
