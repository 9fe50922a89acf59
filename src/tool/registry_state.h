// What a registry holds, and how its tools change: each change is made whole under the lock, and ends with
// one revision and one notice.
//
// Threads: may be used from any thread; what the lock must be held for says so.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <callgate/definitions.h>
#include <callgate/registry.h>

#include "base/mutex.h"
#include "tool/exposed_names.h"
#include "tool/gone_tools.h"
#include "tool/registry_listeners.h"
#include "tool/registry_snapshot.h"
#include "tool/tool_entry.h"

namespace callgate {

/// A tool of a list that a server's tools are to become.
struct WantedTool {
    Tool tool;
    std::shared_ptr<const ToolEntry> there;  // the entry that it was compared with; null: there was none
    std::shared_ptr<ToolEntry> made;         // null: the one that is there will do
};

struct Registry::State {
    using Entry = std::shared_ptr<const ToolEntry>;
    using NewEntry = std::shared_ptr<ToolEntry>;  // that nobody else sees yet

    // One change while it is made. It is destroyed outside the lock, and with it what goes: bodies are the
    // host's code.
    struct Change {
        RegistryChange notice;
        std::vector<Entry> gone;
        std::vector<RegistrySnapshot> snapshots;
        bool was_made() const noexcept { return notice.revision != 0; }
    };
    // What a tool keeps of the one whose place it takes.
    enum class Keeps : std::uint8_t {
        restrictions,  // quarantine and silence
        live_state     // all of it
    };

    explicit State(Options given);

    const Options options;
    // Changed in place under the lock; a reader leaves with its own reference to an entry, and entries never
    // change. Both maps' keys are the names inside the entries.
    mutable base::SharedMutex lock;
    std::map<std::string_view, Entry> in_order CALLGATE_GUARDED_BY(lock);
    std::unordered_map<std::string_view, Entry> by_name CALLGATE_GUARDED_BY(lock);
    ExposedNames names CALLGATE_GUARDED_BY(lock);
    GoneTools remembered CALLGATE_GUARDED_BY(lock);
    std::uint64_t revision CALLGATE_GUARDED_BY(lock) = 0;
    std::shared_ptr<RegistryListeners> listeners = std::make_shared<RegistryListeners>();

    std::vector<Entry> entries() const;
    std::vector<Entry> entries_of(std::string_view server) const;
    Entry find(std::string_view name) const;
    Entry understand(std::string_view name) const;
    RegistrySnapshot snapshot() const;
    RegistrySnapshot snapshot(const NameRules& rules) const;

    /// All or none. Tells the listeners.
    Result<void> put(std::vector<NewEntry> added, IfPresent if_present);
    /// Tells the listeners of a change that was made, if there was one.
    void tell(const Change& change) const;
    void tell_health(std::string_view name) const;

    /// Under the write lock, so that a replacement cannot slip in between and lose the change. False for an
    /// unknown name.
    template <class Do>
    bool change_live(std::string_view name, Do change) {
        {
            const base::WriterLock held(lock);
            const Entry there = find_locked(name);
            if (!there) return false;
            change(there->live());
        }
        tell_health(name);
        return true;
    }

    Entry find_locked(std::string_view name) const CALLGATE_REQUIRES_SHARED(lock);
    std::vector<Entry> entries_of_locked(std::string_view server) const CALLGATE_REQUIRES_SHARED(lock);
    Result<void> check_room(std::size_t more, std::size_t fewer) const CALLGATE_REQUIRES_SHARED(lock);
    /// Its name must be among the names already.
    void insert(NewEntry entry, Keeps keeps, Change& change) CALLGATE_REQUIRES(lock);
    void erase(const Entry& entry, Change& change) CALLGATE_REQUIRES(lock);
    /// These leave, as one change. False if there are none.
    bool take_out(const std::vector<Entry>& those, Change& change) CALLGATE_REQUIRES(lock);
    bool is_as_compared(const std::vector<WantedTool>& all) const CALLGATE_REQUIRES_SHARED(lock);
    /// The tools of the server become these, which are as compared.
    Result<SyncResult> replace_server(std::string_view server, std::vector<WantedTool>& all, Change& change)
        CALLGATE_REQUIRES(lock);
    /// Every change of tools ends with this.
    void finish(Change& change) CALLGATE_REQUIRES(lock);

private:
    Result<void> put_locked(std::vector<NewEntry>& added, IfPresent if_present, Change& change)
        CALLGATE_REQUIRES(lock);
    std::shared_ptr<const RegistrySnapshot::Tools> made_tools() const CALLGATE_REQUIRES_SHARED(lock);
    RegistrySnapshot snapshot_locked() const CALLGATE_REQUIRES_SHARED(lock)
        CALLGATE_REQUIRES(snapshots_mutex_);

    // Of this revision, made when they are first asked for: by canonical names, and by naming rules.
    static constexpr std::size_t kMostRules = 8;
    mutable base::Mutex snapshots_mutex_;  // after `lock`
    mutable RegistrySnapshot by_canonical_ CALLGATE_GUARDED_BY(snapshots_mutex_);
    mutable std::vector<std::pair<NameRules, RegistrySnapshot>> by_rules_
        CALLGATE_GUARDED_BY(snapshots_mutex_);
};

/// What the operator took out of use stays so, whatever registration is put in its place.
void keep_restrictions(const LiveState& from, LiveState& to);

}  // namespace callgate
