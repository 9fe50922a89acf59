#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <callgate/definitions.h>
#include <callgate/exceptions.h>
#include <callgate/registry.h>

#include "base/mutex.h"
#include "base/try.h"
#include "tool/exposed_names.h"
#include "tool/suggest.h"
#include "tool/tool_entry.h"
#include "tool/tool_name.h"

namespace callgate {

namespace {

using Entry = std::shared_ptr<const ToolEntry>;

// Those who want to know. Outlived by no subscription handle's need of it: handles hold it weakly.
class Listeners {
public:
    std::uint64_t add(Registry::Listener listener) {
        auto shared = std::make_shared<const Registry::Listener>(std::move(listener));
        const base::MutexLock lock(mutex_);
        all_.emplace(++last_, std::move(shared));
        return last_;
    }

    void remove(std::uint64_t id) {
        std::shared_ptr<const Registry::Listener> gone;  // destroyed outside the lock
        const base::MutexLock lock(mutex_);
        if (const auto found = all_.find(id); found != all_.end()) {
            gone = std::move(found->second);
            all_.erase(found);
        }
    }

    void tell(const std::vector<RegistryChange>& changes) const {
        std::vector<std::shared_ptr<const Registry::Listener>> now;
        {
            const base::MutexLock lock(mutex_);
            for (const auto& [id, listener] : all_) now.push_back(listener);
        }
        for (const RegistryChange& change : changes) {
            for (const auto& listener : now) {
                try {
                    (*listener)(change);
                    // The change is made; a listener cannot undo it.
                } catch (...) {  // NOLINT(bugprone-empty-catch)
                }
            }
        }
    }

private:
    mutable base::Mutex mutex_;
    std::uint64_t last_ CALLGATE_GUARDED_BY(mutex_) = 0;
    std::map<std::uint64_t, std::shared_ptr<const Registry::Listener>> all_ CALLGATE_GUARDED_BY(mutex_);
};

class Subscription {
public:
    Subscription(std::weak_ptr<Listeners> listeners, std::uint64_t id)
        : listeners_(std::move(listeners)), id_(id) {}
    ~Subscription() {
        if (const auto listeners = listeners_.lock()) listeners->remove(id_);
    }
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;

private:
    std::weak_ptr<Listeners> listeners_;
    std::uint64_t id_;
};

// What the operator took out of use stays so, whatever registration is put in its place.
void keep_restrictions(const LiveState& from, LiveState& to) {
    if (from.quarantined()) to.quarantine(from.quarantine_reason());
    if (from.silenced.load()) to.silenced.store(true);
}

}  // namespace

struct Registry::State {
    explicit State(Options given) : options(std::move(given)), names(remembering(options)) {}

    static ExposedNames::Options remembering(const Options& options) {
        ExposedNames::Options out;
        out.max_remembered = options.max_remembered_names;
        return out;
    }

    const Options options;
    // Changed in place under the lock; a reader leaves with its own reference to an entry, and entries never
    // change. Both maps' keys are the names inside the entries.
    mutable base::SharedMutex lock;
    std::map<std::string_view, Entry> in_order CALLGATE_GUARDED_BY(lock);
    std::unordered_map<std::string_view, Entry> by_name CALLGATE_GUARDED_BY(lock);
    ExposedNames names CALLGATE_GUARDED_BY(lock);
    std::shared_ptr<Listeners> listeners = std::make_shared<Listeners>();

    std::vector<Entry> entries() const {
        const base::ReaderLock held(lock);
        std::vector<Entry> out;
        out.reserve(in_order.size());
        for (const auto& [name, entry] : in_order) out.push_back(entry);
        return out;
    }

    Entry find(std::string_view name) const {
        const base::ReaderLock held(lock);
        const auto found = by_name.find(name);
        return found != by_name.end() ? found->second : nullptr;
    }

    Entry understand(std::string_view name) const {
        const base::ReaderLock held(lock);
        const auto canonical = names.find(name);
        if (!canonical) return nullptr;
        const auto found = by_name.find(*canonical);
        return found != by_name.end() ? found->second : nullptr;
    }

    // All or none. Entries that go are destroyed by the caller, outside the lock: their bodies are the host's
    // code.
    Result<std::vector<RegistryChange>> put(std::vector<Entry> added, IfPresent if_present,
                                            std::vector<Entry>& gone) {
        std::vector<RegistryChange> changes;
        const base::WriterLock held(lock);
        std::size_t more = 0;
        for (const Entry& entry : added) {
            const bool present = by_name.contains(entry->name());
            if (present && if_present == IfPresent::refuse)
                return fail(
                    ErrorCode::config_error,
                    fmt::format("There is already a tool \"{}\". Register it under another name, or with "
                                "IfPresent::replace.",
                                entry->name()),
                    {{"reason", "duplicate_name"}, {"tool", entry->name()}});
            more += present ? 0 : 1;
        }
        if (by_name.size() + more > options.max_tools)
            return fail(
                ErrorCode::config_error,
                fmt::format("The registry \"{}\" has {} tools and takes {} at most; {} more do not fit.",
                            options.name, by_name.size(), options.max_tools, more),
                {{"reason", "too_many"}, {"max_tools", options.max_tools}});
        std::vector<std::string_view> called;
        for (const Entry& entry : added) called.push_back(entry->name());
        CALLGATE_TRY(names.add(called));
        for (Entry& entry : added) {
            const std::string_view name = entry->name();
            const auto old = by_name.find(name);
            const bool replaces = old != by_name.end();
            if (replaces) {
                keep_restrictions(old->second->live(), entry->live());
                gone.push_back(std::move(old->second));
                // The keys point into the entry that goes.
                by_name.erase(old);
                in_order.erase(name);
            }
            changes.push_back({replaces ? RegistryChange::What::replaced : RegistryChange::What::added,
                               std::string(name), entry->undeclared()});
            in_order.emplace(name, entry);
            by_name.emplace(name, std::move(entry));
        }
        return changes;
    }

    Result<void> put_and_tell(std::vector<Entry> added, IfPresent if_present) {
        std::vector<Entry> gone;
        CALLGATE_TRY_ASSIGN(auto changes, put(std::move(added), if_present, gone));
        listeners->tell(changes);
        return {};
    }

    // Under the write lock, so that a replacement cannot slip in between and lose the change.
    template <class Change>
    bool change_health(std::string_view name, Change change) {
        {
            const base::WriterLock held(lock);
            const auto found = by_name.find(name);
            if (found == by_name.end()) return false;
            change(found->second->live());
        }
        listeners->tell({{RegistryChange::What::health, std::string(name)}});
        return true;
    }
};

Registry::Registry(Options options) : state_(std::make_unique<State>(std::move(options))) {}
Registry::~Registry() = default;

Result<void> Registry::add(Tool tool, IfPresent if_present) {
    CALLGATE_TRY_ASSIGN(auto entry, ToolEntry::make(std::move(tool), state_->options));
    return state_->put_and_tell({std::move(entry)}, if_present);
}

Registry& Registry::add_or_throw(Tool tool, IfPresent if_present) {
    if (auto added = add(std::move(tool), if_present); !added)
        throw RegistrationError(std::move(added.error()));
    return *this;
}

Result<void> Registry::add_all(std::vector<Tool> tools, IfPresent if_present) {
    std::vector<Entry> entries;
    std::unordered_map<std::string_view, bool> seen;
    for (Tool& tool : tools) {
        CALLGATE_TRY_ASSIGN(auto entry, ToolEntry::make(std::move(tool), state_->options));
        if (!seen.emplace(entry->name(), true).second)
            return fail(ErrorCode::config_error,
                        fmt::format("The tool \"{}\" is given twice; none was registered.", entry->name()),
                        {{"reason", "duplicate_name"}, {"tool", entry->name()}});
        entries.push_back(std::move(entry));
    }
    return state_->put_and_tell(std::move(entries), if_present);
}

bool Registry::remove(std::string_view name) {
    Entry gone;
    {
        const base::WriterLock held(state_->lock);
        const auto found = state_->by_name.find(name);
        if (found == state_->by_name.end()) return false;
        gone = std::move(found->second);
        state_->names.remove(gone->name());
        state_->by_name.erase(found);
        state_->in_order.erase(gone->name());
    }
    state_->listeners->tell({{RegistryChange::What::removed, gone->name()}});
    return true;
}

void Registry::clear() {
    std::map<std::string_view, Entry> gone;
    {
        const base::WriterLock held(state_->lock);
        gone.swap(state_->in_order);
        state_->by_name.clear();
        state_->names.clear();
    }
    state_->listeners->tell({{RegistryChange::What::cleared, {}}});
}

Result<void> Registry::import_from(const Registry& other, IfPresent if_present) {
    std::vector<Entry> entries;
    for (const Entry& theirs : other.state_->entries()) {
        CALLGATE_TRY_ASSIGN(auto entry, ToolEntry::make_again(*theirs, state_->options));
        keep_restrictions(theirs->live(), entry->live());
        entries.push_back(std::move(entry));
    }
    return state_->put_and_tell(std::move(entries), if_present);
}

const std::string& Registry::name() const noexcept {
    return state_->options.name;
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
    const Entry entry = state_->find(name);
    if (!entry) return std::nullopt;
    return entry->describe();
}

std::vector<RegisteredTool> Registry::list() const {
    std::vector<RegisteredTool> out;
    for (const Entry& entry : state_->entries()) out.push_back(entry->describe());
    return out;
}

std::vector<RegisteredTool> Registry::list(ToolKind kind) const {
    std::vector<RegisteredTool> out;
    for (const Entry& entry : state_->entries()) {
        if (entry->kind() == kind) out.push_back(entry->describe());
    }
    return out;
}

std::vector<RegisteredTool> Registry::list_healthy() const {
    std::vector<RegisteredTool> out;
    for (const Entry& entry : state_->entries()) {
        if (entry->live().status() == HealthStatus::healthy) out.push_back(entry->describe());
    }
    return out;
}

std::vector<std::string> Registry::undeclared() const {
    std::vector<std::string> out;
    for (const Entry& entry : state_->entries()) {
        if (entry->undeclared()) out.push_back(entry->name());
    }
    return out;
}

std::vector<ToolDefinition> Registry::definitions() const {
    std::vector<ToolDefinition> out;
    for (const Entry& entry : state_->entries()) out.push_back(entry->definition());
    return out;
}

std::vector<ToolDefinition> Registry::visible_definitions(const Context& caller) const {
    std::vector<ToolDefinition> out;
    for (const Entry& entry : state_->entries()) {
        if (entry->visible_to(caller.scopes)) out.push_back(entry->definition());
    }
    return out;
}

Result<std::vector<ToolDefinition>> Registry::shown_definitions(const Context& caller,
                                                                const NameRules& rules) const {
    std::vector<std::pair<Entry, std::string>> shown;
    {
        const base::ReaderLock held(state_->lock);
        for (const auto& [name, entry] : state_->in_order) {
            if (!entry->visible_to(caller.scopes)) continue;
            CALLGATE_TRY_ASSIGN(std::string as, state_->names.shown(name, rules));
            shown.emplace_back(entry, std::move(as));
        }
    }
    std::vector<ToolDefinition> out;
    for (auto& [entry, name] : shown) {
        out.push_back(entry->definition());
        out.back().name = std::move(name);
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
    return state_->change_health(name, [&](LiveState& live) { live.set_health(std::move(health)); });
}

bool Registry::quarantine(std::string_view name, std::string reason) {
    return state_->change_health(name, [&](LiveState& live) { live.quarantine(std::move(reason)); });
}

bool Registry::release(std::string_view name) {
    return state_->change_health(name, [](LiveState& live) { live.release(); });
}

bool Registry::silence(std::string_view name) {
    return state_->change_health(name, [](LiveState& live) { live.silenced.store(true); });
}

std::shared_ptr<void> Registry::on_change(Listener listener) {
    if (!listener) return nullptr;
    const std::uint64_t id = state_->listeners->add(std::move(listener));
    return std::make_shared<Subscription>(state_->listeners, id);
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
    state_->listeners->tell({{RegistryChange::What::health, std::string(name)}});
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
