// Changes of tools that are there already: the tools of a server made equal to a list, a contract edited.
//
// What is new is made outside the lock, because that asks bodies, which are foreign code. Under the lock it
// is seen whether the registry is still as it was looked at; otherwise it is looked at again.
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include <callgate/registry.h>

#include "base/try.h"
#include "tool/registry_state.h"
#include "tool/tool_name.h"

namespace callgate {

namespace {

using Entry = std::shared_ptr<const ToolEntry>;

Result<void> check_wanted(std::string_view server, const std::vector<Tool>& tools, std::size_t max_bytes) {
    if (const auto fault = tool_name_fault(fmt::format("{}/t", server), max_bytes);
        fault || server.empty() || server.find('/') != std::string_view::npos)
        return fail(ErrorCode::config_error,
                    fmt::format("\"{}\" cannot be a server's name: tools are called server/tool.",
                                shown_name(server)),
                    {{"reason", "bad_name"}, {"server", shown_name(server)}});
    std::unordered_set<std::string_view> seen;
    for (const Tool& tool : tools) {
        const std::string& name = tool.definition.name;
        if (split_name(name).server != server)
            return fail(
                ErrorCode::config_error,
                fmt::format("The tool \"{}\" is not of the server \"{}\", so its name would have to be "
                            "\"{}/…\"; nothing was changed.",
                            shown_name(name), server, server),
                {{"reason", "wrong_server"}, {"tool", shown_name(name)}, {"server", server}});
        if (!seen.insert(name).second)
            return fail(ErrorCode::config_error,
                        fmt::format("The tool \"{}\" is given twice; nothing was changed.", shown_name(name)),
                        {{"reason", "duplicate_name"}, {"tool", shown_name(name)}});
    }
    return {};
}

Result<void> compare(std::vector<WantedTool>& all, const std::vector<Entry>& present,
                     const Registry::Options& options) {
    std::unordered_map<std::string_view, const Entry*> by_name;
    for (const Entry& entry : present) by_name.emplace(entry->name(), &entry);
    for (WantedTool& one : all) {
        const auto found = by_name.find(one.tool.definition.name);
        one.there = found != by_name.end() ? *found->second : nullptr;
        if (one.there && one.there->is(one.tool)) {
            one.made.reset();
        } else if (!one.made) {
            CALLGATE_TRY_ASSIGN(one.made, ToolEntry::make(one.tool, options));
        }
    }
    return {};
}

std::vector<Entry> missing_from(const std::vector<WantedTool>& all, std::vector<Entry> present) {
    std::unordered_set<std::string_view> wanted;
    for (const WantedTool& one : all) wanted.insert(one.tool.definition.name);
    std::erase_if(present, [&](const Entry& entry) { return wanted.contains(entry->name()); });
    return present;
}

SyncResult result_of(const std::vector<WantedTool>& all, const std::vector<Entry>& removed) {
    SyncResult out;
    for (const WantedTool& one : all) {
        auto& list = !one.made ? out.unchanged : one.there ? out.replaced : out.added;
        list.push_back(one.tool.definition.name);
    }
    for (const Entry& entry : removed) out.removed.push_back(entry->name());
    return out;
}

tl::unexpected<Error> unknown_tool(std::string_view name) {
    return fail(ErrorCode::not_found, fmt::format("There is no tool \"{}\".", shown_name(name)),
                {{"reason", "unknown_tool"}, {"tool", shown_name(name)}});
}

}  // namespace

bool Registry::State::is_as_compared(const std::vector<WantedTool>& all) const {
    for (const WantedTool& one : all) {
        if (find_locked(one.tool.definition.name) != one.there) return false;
    }
    return true;
}

Result<SyncResult> Registry::State::replace_server(std::string_view server, std::vector<WantedTool>& all,
                                                   Change& change) {
    const std::vector<Entry> removed = missing_from(all, entries_of_locked(server));
    SyncResult result = result_of(all, removed);
    CALLGATE_TRY(check_room(result.added.size(), removed.size()));
    // Before the old ones are given up: a refusal leaves nothing to repair.
    const std::vector<std::string_view> called(result.added.begin(), result.added.end());
    CALLGATE_TRY(names.add(called));
    for (const Entry& entry : removed) erase(entry, change);
    for (WantedTool& one : all) {
        if (one.made) insert(std::move(one.made), Keeps::live_state, change);
    }
    if (!change.gone.empty() || !result.added.empty()) finish(change);
    return result;
}

Result<SyncResult> Registry::sync(std::string_view server, std::vector<Tool> tools) {
    CALLGATE_TRY(check_wanted(server, tools, state_->options.max_name_bytes));
    std::vector<WantedTool> all;
    for (Tool& tool : tools) all.push_back({std::move(tool), nullptr, nullptr});
    for (;;) {
        CALLGATE_TRY(compare(all, state_->entries_of(server), state_->options));
        State::Change change;
        SyncResult result;
        {
            const base::WriterLock held(state_->lock);
            if (!state_->is_as_compared(all)) continue;
            CALLGATE_TRY_ASSIGN(result, state_->replace_server(server, all, change));
        }
        state_->tell(change);
        return result;
    }
}

Result<void> Registry::change_contract(std::string_view name, Contract contract) {
    return change_contract(name, [&](Contract& its) { its = contract; });
}

Result<void> Registry::change_contract(std::string_view name, const std::function<void(Contract&)>& edit) {
    for (;;) {
        const Entry there = state_->find(name);
        if (!there) return unknown_tool(name);
        Tool tool = there->declared();
        edit(tool.contract);
        if (there->is(tool)) return {};
        CALLGATE_TRY_ASSIGN(auto made, ToolEntry::make(std::move(tool), state_->options));
        State::Change change;
        {
            const base::WriterLock held(state_->lock);
            if (state_->find_locked(name) != there) continue;
            state_->insert(std::move(made), State::Keeps::live_state, change);
            state_->finish(change);
        }
        state_->tell(change);
        return {};
    }
}

}  // namespace callgate
