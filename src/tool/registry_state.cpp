#include "tool/registry_state.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/try.h"

namespace callgate {

namespace {

constexpr std::string_view kUnreviewed =
    "Too much was known of this server's gone tools to remember all of it, so nobody can say whether this "
    "one "
    "was in quarantine before. Review it, then release it.";

ExposedNames::Options remembering(const Registry::Options& options) {
    ExposedNames::Options out;
    out.max_remembered = options.max_remembered_names;
    return out;
}

void note(RegistryChange& notice, std::vector<std::string>& list, const std::string& name) {
    if (notice.added.size() + notice.replaced.size() + notice.removed.size() < RegistryChange::kMostNames) {
        list.push_back(name);
    } else {
        ++notice.unnamed;
    }
}

void note_undeclared(RegistryChange& notice, const ToolEntry& entry) {
    if (entry.undeclared() && notice.undeclared.size() < RegistryChange::kMostNames)
        notice.undeclared.push_back(entry.name());
}

}  // namespace

void keep_restrictions(const LiveState& from, LiveState& to) {
    if (from.quarantined()) to.quarantine(from.quarantine_reason());
    if (from.silenced.load()) to.silenced.store(true);
}

Registry::State::State(Options given)
    : options(std::move(given)), names(remembering(options)), remembered(options.max_remembered_tools) {}

auto Registry::State::entries() const -> std::vector<Entry> {
    const base::ReaderLock held(lock);
    return entries_of_locked({});
}

auto Registry::State::entries_of(std::string_view server) const -> std::vector<Entry> {
    const base::ReaderLock held(lock);
    return entries_of_locked(server);
}

auto Registry::State::entries_of_locked(std::string_view server) const -> std::vector<Entry> {
    std::vector<Entry> out;
    if (server.empty()) {
        out.reserve(in_order.size());
        for (const auto& [name, entry] : in_order) out.push_back(entry);
        return out;
    }
    const std::string begin = fmt::format("{}/", server);
    for (auto at = in_order.lower_bound(begin); at != in_order.end() && at->first.starts_with(begin); ++at)
        out.push_back(at->second);
    return out;
}

auto Registry::State::find(std::string_view name) const -> Entry {
    const base::ReaderLock held(lock);
    return find_locked(name);
}

auto Registry::State::find_locked(std::string_view name) const -> Entry {
    const auto found = by_name.find(name);
    return found != by_name.end() ? found->second : nullptr;
}

auto Registry::State::understand(std::string_view name) const -> Entry {
    const base::ReaderLock held(lock);
    const auto canonical = names.find(name);
    return canonical ? find_locked(*canonical) : nullptr;
}

Result<void> Registry::State::put(std::vector<NewEntry> added, IfPresent if_present) {
    Change change;
    {
        const base::WriterLock held(lock);
        CALLGATE_TRY(put_locked(added, if_present, change));
    }
    tell(change);
    return {};
}

Result<void> Registry::State::put_locked(std::vector<NewEntry>& added, IfPresent if_present, Change& change) {
    std::size_t more = 0;
    std::vector<std::string_view> called;
    for (const NewEntry& entry : added) {
        const bool present = by_name.contains(entry->name());
        if (present && if_present == IfPresent::refuse)
            return fail(ErrorCode::config_error,
                        fmt::format("There is already a tool \"{}\". Register it under another name, or with "
                                    "IfPresent::replace.",
                                    entry->name()),
                        {{"reason", "duplicate_name"}, {"tool", entry->name()}});
        more += present ? 0 : 1;
        called.push_back(entry->name());
    }
    CALLGATE_TRY(check_room(more, 0));
    CALLGATE_TRY(names.add(called));
    for (NewEntry& entry : added) insert(std::move(entry), Keeps::restrictions, change);
    if (!called.empty()) finish(change);
    return {};
}

Result<void> Registry::State::check_room(std::size_t more, std::size_t fewer) const {
    if (by_name.size() - fewer + more <= options.max_tools) return {};
    return fail(ErrorCode::config_error,
                fmt::format("The registry \"{}\" has {} tools and takes {} at most; {} more do not fit.",
                            options.name, by_name.size() - fewer, options.max_tools, more),
                {{"reason", "too_many"}, {"max_tools", options.max_tools}});
}

void Registry::State::insert(NewEntry entry, Keeps keeps, Change& change) {
    const std::string& name = entry->name();
    if (const auto old = by_name.find(name); old != by_name.end()) {
        if (keeps == Keeps::live_state) {
            entry->adopt(old->second->shared_live());
        } else {
            keep_restrictions(old->second->live(), entry->live());
        }
        note(change.notice, change.notice.replaced, name);
        change.gone.push_back(std::move(old->second));
        // The keys point into the entry that goes.
        by_name.erase(old);
        in_order.erase(name);
    } else {
        if (auto live = remembered.take(name)) {
            entry->adopt(std::move(live));
        } else if (remembered.must_be_reviewed(name)) {
            entry->live().quarantine(std::string(kUnreviewed));
        }
        note(change.notice, change.notice.added, name);
    }
    note_undeclared(change.notice, *entry);
    const Entry shared = std::move(entry);
    in_order.emplace(shared->name(), shared);
    by_name.emplace(shared->name(), shared);
}

void Registry::State::erase(const Entry& entry, Change& change) {
    const std::string& name = entry->name();
    change.gone.push_back(entry);
    note(change.notice, change.notice.removed, name);
    remembered.remember(name, entry->shared_live());
    names.remove(name);
    by_name.erase(name);
    in_order.erase(name);
}

bool Registry::State::take_out(const std::vector<Entry>& those, Change& change) {
    for (const Entry& entry : those) erase(entry, change);
    if (!those.empty()) finish(change);
    return !those.empty();
}

void Registry::State::finish(Change& change) {
    change.notice.revision = ++revision;
    const base::MutexLock held(snapshots_mutex_);
    change.snapshots.push_back(std::exchange(by_canonical_, {}));
    for (auto& [rules, snapshot] : by_rules_) change.snapshots.push_back(std::move(snapshot));
    by_rules_.clear();
}

void Registry::State::tell(const Change& change) const {
    if (change.was_made()) listeners->tell(change.notice);
}

void Registry::State::tell_health(std::string_view name) const {
    RegistryChange notice;
    notice.what = RegistryChange::What::health;
    notice.name = name;
    {
        const base::ReaderLock held(lock);
        notice.revision = revision;
    }
    listeners->tell(notice);
}

RegistrySnapshot Registry::State::snapshot() const {
    const base::ReaderLock held(lock);
    const base::MutexLock making(snapshots_mutex_);
    return snapshot_locked();
}

RegistrySnapshot Registry::State::snapshot_locked() const {
    if (by_canonical_.tools_) return by_canonical_;
    const auto tools = std::make_shared<RegistrySnapshot::Tools>();
    tools->revision = revision;
    tools->entries.reserve(in_order.size());
    tools->listed.reserve(in_order.size());
    for (const auto& [name, entry] : in_order) {
        tools->entries.push_back(entry);
        tools->listed.push_back({name, &entry->definition(), &entry->contract(), entry->actions()});
    }
    by_canonical_.tools_ = tools;
    return by_canonical_;
}

RegistrySnapshot Registry::State::snapshot(const NameRules& rules) const {
    RegistrySnapshot displaced;  // destroyed outside the locks
    const base::ReaderLock held(lock);
    const base::MutexLock making(snapshots_mutex_);
    const auto made =
        std::ranges::find(by_rules_, rules, [](const auto& pair) -> const NameRules& { return pair.first; });
    if (made != by_rules_.end()) return made->second;

    RegistrySnapshot out = snapshot_locked();
    const auto shown = std::make_shared<RegistrySnapshot::Names>();
    const auto& listed = out.tools_->listed;
    shown->names.resize(listed.size());
    shown->listed.reserve(listed.size());
    for (std::size_t i = 0; i < listed.size(); ++i) {
        if (Result<std::string> name = names.shown(listed[i].name, rules)) {
            shown->names[i] = std::move(*name);
        } else {
            shown->faults.emplace(i, std::move(name.error()));
        }
        shown->listed.push_back(
            {shown->names[i], listed[i].definition, listed[i].contract, listed[i].actions});
    }
    out.names_ = shown;
    if (by_rules_.size() >= kMostRules) {
        displaced = std::move(by_rules_.front().second);
        by_rules_.erase(by_rules_.begin());
    }
    by_rules_.emplace_back(rules, out);
    return out;
}

}  // namespace callgate
