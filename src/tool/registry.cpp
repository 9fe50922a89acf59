#include <algorithm>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include <callgate/exceptions.h>
#include <callgate/registry.h>

#include "base/try.h"
#include "tool/registry_state.h"
#include "tool/suggest.h"

namespace callgate {

Registry::Registry(Options options) : state_(std::make_unique<State>(std::move(options))) {}
Registry::~Registry() = default;

Result<void> Registry::add(Tool tool, IfPresent if_present) {
    CALLGATE_TRY_ASSIGN(auto entry, ToolEntry::make(std::move(tool), state_->options));
    std::vector<State::NewEntry> one;
    one.push_back(std::move(entry));
    return state_->put(std::move(one), if_present);
}

Registry& Registry::add_or_throw(Tool tool, IfPresent if_present) {
    if (auto added = add(std::move(tool), if_present); !added)
        throw RegistrationError(std::move(added.error()));
    return *this;
}

Result<void> Registry::add_all(std::vector<Tool> tools, IfPresent if_present) {
    std::vector<State::NewEntry> entries;
    std::unordered_set<std::string_view> seen;
    for (Tool& tool : tools) {
        CALLGATE_TRY_ASSIGN(auto entry, ToolEntry::make(std::move(tool), state_->options));
        if (!seen.insert(entry->name()).second)
            return fail(ErrorCode::config_error,
                        fmt::format("The tool \"{}\" is given twice; none was registered.", entry->name()),
                        {{"reason", "duplicate_name"}, {"tool", entry->name()}});
        entries.push_back(std::move(entry));
    }
    return state_->put(std::move(entries), if_present);
}

bool Registry::remove(std::string_view name) {
    State::Change change;
    {
        const base::WriterLock held(state_->lock);
        const State::Entry there = state_->find_locked(name);
        if (!there || !state_->take_out({there}, change)) return false;
    }
    state_->tell(change);
    return true;
}

std::size_t Registry::remove_server(std::string_view server) {
    if (server.empty()) return 0;
    State::Change change;
    {
        const base::WriterLock held(state_->lock);
        state_->take_out(state_->entries_of_locked(server), change);
    }
    state_->tell(change);
    return change.gone.size();
}

void Registry::clear() {
    State::Change change;
    {
        const base::WriterLock held(state_->lock);
        state_->take_out(state_->entries_of_locked({}), change);
    }
    state_->tell(change);
}

Result<void> Registry::import_from(const Registry& other, IfPresent if_present) {
    std::vector<State::NewEntry> entries;
    for (const auto& theirs : other.state_->entries()) {
        CALLGATE_TRY_ASSIGN(auto entry, ToolEntry::make(theirs->declared(), state_->options));
        keep_restrictions(theirs->live(), entry->live());
        entries.push_back(std::move(entry));
    }
    return state_->put(std::move(entries), if_present);
}

const std::string& Registry::name() const noexcept {
    return state_->options.name;
}

std::uint64_t Registry::revision() const {
    const base::ReaderLock held(state_->lock);
    return state_->revision;
}

RegistrySnapshot Registry::snapshot() const {
    return state_->snapshot();
}

RegistrySnapshot Registry::snapshot(const NameRules& rules) const {
    return state_->snapshot(rules);
}

std::size_t Registry::size() const {
    const base::ReaderLock held(state_->lock);
    return state_->by_name.size();
}

bool Registry::contains(std::string_view name) const {
    const base::ReaderLock held(state_->lock);
    return state_->by_name.contains(name);
}

std::optional<RegisteredTool> Registry::get(std::string_view name) const {
    const State::Entry entry = state_->find(name);
    if (!entry) return std::nullopt;
    return entry->describe();
}

std::vector<RegisteredTool> Registry::list() const {
    std::vector<RegisteredTool> out;
    for (const auto& entry : state_->entries()) out.push_back(entry->describe());
    return out;
}

std::vector<RegisteredTool> Registry::list(ToolKind kind) const {
    std::vector<RegisteredTool> out;
    for (const auto& entry : state_->entries()) {
        if (entry->kind() == kind) out.push_back(entry->describe());
    }
    return out;
}

std::vector<RegisteredTool> Registry::list_healthy() const {
    std::vector<RegisteredTool> out;
    for (const auto& entry : state_->entries()) {
        if (entry->live().status() == HealthStatus::healthy) out.push_back(entry->describe());
    }
    return out;
}

std::vector<std::string> Registry::undeclared() const {
    std::vector<std::string> out;
    for (const auto& entry : state_->entries()) {
        if (entry->undeclared()) out.push_back(entry->name());
    }
    return out;
}

std::vector<ToolDefinition> Registry::definitions() const {
    const RegistrySnapshot now = snapshot();
    std::vector<ToolDefinition> out;
    out.reserve(now.size());
    for (const ListedTool& tool : now.tools()) out.push_back(*tool.definition);
    return out;
}

std::vector<ToolDefinition> Registry::visible_definitions(const Context& caller) const {
    const RegistrySnapshot now = snapshot();
    const std::vector<ListedTool> visible = now.visible_to(caller).value();  // canonical names have no faults
    std::vector<ToolDefinition> out;
    out.reserve(visible.size());
    for (const ListedTool& tool : visible) out.push_back(*tool.definition);
    return out;
}

Result<std::vector<ToolDefinition>> Registry::shown_definitions(const Context& caller,
                                                                const NameRules& rules) const {
    const RegistrySnapshot now = snapshot(rules);
    CALLGATE_TRY_ASSIGN(const std::vector<ListedTool> shown, now.visible_to(caller));
    std::vector<ToolDefinition> out;
    out.reserve(shown.size());
    for (const ListedTool& tool : shown) {
        out.push_back(*tool.definition);
        out.back().name = tool.name;
    }
    return out;
}

std::optional<std::string> Registry::canonical_name(std::string_view name) const {
    const base::ReaderLock held(state_->lock);
    const auto found = state_->names.find(name);
    return found ? std::optional<std::string>(*found) : std::nullopt;
}

std::optional<std::string> Registry::canonical_name(std::string_view name, const NameRules& rules) const {
    const base::ReaderLock held(state_->lock);
    const auto found = state_->names.find(name, rules);
    return found ? std::optional<std::string>(*found) : std::nullopt;
}

bool Registry::update_health(std::string_view name, ToolHealth health) {
    return state_->change_live(name, [&](LiveState& live) { live.set_health(std::move(health)); });
}

bool Registry::quarantine(std::string_view name, std::string reason) {
    return state_->change_live(name, [&](LiveState& live) { live.quarantine(std::move(reason)); });
}

bool Registry::release(std::string_view name) {
    return state_->change_live(name, [](LiveState& live) { live.release(); });
}

bool Registry::silence(std::string_view name) {
    return state_->change_live(name, [](LiveState& live) { live.silenced.store(true); });
}

std::shared_ptr<void> Registry::on_change(Listener listener) {
    if (!listener) return nullptr;
    return state_->listeners->subscribe(std::move(listener));
}

std::shared_ptr<const ToolEntry> Registry::find(std::string_view name) const {
    return state_->find(name);
}

std::shared_ptr<const ToolEntry> Registry::understand(std::string_view name) const {
    return state_->understand(name);
}

std::vector<std::string> Registry::candidates(std::string_view name, const Context& caller) const {
    std::vector<std::string> out;
    const base::ReaderLock held(state_->lock);
    for (const std::string_view canonical : state_->names.candidates(name)) {
        const auto found = state_->by_name.find(canonical);
        if (found != state_->by_name.end() && found->second->in_scope(caller.scopes))
            out.push_back(state_->names.shown(canonical));
    }
    return out;
}

void Registry::health_changed(std::string_view name) const {
    state_->tell_health(name);
}

std::vector<std::string> Registry::suggestions(std::string_view name, const Context& caller) const {
    std::vector<std::string> shown;
    {
        const base::ReaderLock held(state_->lock);
        for (const auto& [canonical, entry] : state_->in_order) {
            if (entry->visible_to(caller.scopes)) shown.push_back(state_->names.shown(canonical));
        }
    }
    std::ranges::sort(shown);
    const std::vector<std::string_view> names(shown.begin(), shown.end());
    return suggest_names(name, names);
}

}  // namespace callgate
