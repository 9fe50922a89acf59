// The registry: the tools that exist. Nothing runs that was not put in here by the host.
//
// A tool has one canonical name, `tool` or `server/tool`: the registry lists by it, and rules, ledger and
// audit know no other. Models are shown shorter ones, and calls may use these (understand()): `tool` while no
// other server's tool has had that name, else `server__tool`; `mcp__server__tool` is always understood. A
// plain name never changes its owner while the registry lives (decision 26). All else is exact. Listing is in
// name order. A registration checks everything that can be checked by then: the name, both schemas (compiled
// once), the contract, and that no credential stands in it.
//
// What changes while a tool is used (health, breaker, retry budget, quarantine) belongs to its name rather
// than to one registration of it. Tools of servers, `server/tool`, keep it when sync() changes them, when
// their contracts change, and when they go and come back, whichever way: only the host heals a tool
// (release(), update_health()), never the server that brings it (decision 29).
//
// Threads: may be used from any thread; a call keeps the tool that it found when it was made, whatever
// becomes of the registry.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/error.h>
#include <callgate/registry_snapshot.h>
#include <callgate/tool.h>

namespace callgate {

enum class HealthStatus : std::uint8_t { healthy, degraded, unavailable };
std::string_view to_string(HealthStatus status) noexcept;

struct ToolHealth {
    HealthStatus status = HealthStatus::healthy;
    std::optional<std::chrono::system_clock::time_point> last_success_at;
    std::optional<std::string> last_error;
    std::uint32_t consecutive_errors = 0;
    std::optional<std::chrono::system_clock::time_point> rate_limit_resets_at;

    ToolHealth() = default;
};

/// A registered tool as others may read it.
struct RegisteredTool {
    ToolDefinition definition;
    Contract contract;
    ToolKind kind = ToolKind::function;
    std::string definition_hash;  ///< SHA-256 of the canonical definition, as hex
    bool supports_preview = false;
    ToolHealth health;
    bool quarantined = false;
    bool silenced = false;
    /// A native tool, or an action of one, about which nobody said either what it risks or what repeating it
    /// would do: it runs as `low` and `unsafe`. One of the two is a declaration; the other has its default.
    bool undeclared = false;
};

enum class IfPresent : std::uint8_t { refuse, replace };

/// What happened to the registry: one for each change, however many tools it was about.
struct RegistryChange {
    enum class What : std::uint8_t {
        tools,  ///< tools were added, replaced or removed; `replaced` also names those with another contract
        health  ///< of the tool `name`; or its quarantine or silence
    };
    static constexpr std::size_t kMostNames = 1'024;

    What what = What::tools;
    std::uint64_t revision = 0;  ///< of the registry, after it; listeners of two threads may be called late
    std::string name;
    std::vector<std::string> added;
    std::vector<std::string> replaced;
    std::vector<std::string> removed;
    std::vector<std::string> undeclared;  ///< of the added and replaced: as RegisteredTool says
    std::size_t unnamed = 0;              ///< changed as well: beyond kMostNames they are only counted

    RegistryChange() = default;
};

/// What sync() did, by the tools' names.
struct SyncResult {
    std::vector<std::string> added;
    std::vector<std::string> replaced;
    std::vector<std::string> removed;
    std::vector<std::string> unchanged;

    SyncResult() = default;
};

struct NameRules;

class Registry {
public:
    struct Options {
        std::string name = "default";
        std::size_t max_tools = 10'000;
        std::size_t max_name_bytes = 192;
        /// Names that stay their tools' own when these have gone. Beyond, new tools of servers are shown as
        /// `server__tool` alone.
        std::size_t max_remembered_names = 65'536;
        /// Tools of servers whose health, breaker, retry budget and quarantine are remembered when they have
        /// gone; one server has a quarter of them. Of a server of which more would have to be remembered,
        /// tools that come and are not remembered come in quarantine.
        std::size_t max_remembered_tools = 65'536;
        std::uint32_t degraded_after = 3;  ///< errors in a row
        Options() {}
    };

    explicit Registry(Options options = {});
    ~Registry();
    Registry(const Registry&) = delete;
    Registry& operator=(const Registry&) = delete;

    /// config_error {reason: duplicate_name | bad_name | bad_schema | inline_credential | bad_contract |
    /// bad_default | too_many | name_taken | look_alike | …}. A tool that was refused is not there: look at
    /// the answer, or use add_or_throw.
    [[nodiscard]] Result<void> add(Tool tool, IfPresent if_present = IfPresent::refuse);
    /// The same for hosts that would rather stop than start without a tool: throws RegistrationError
    /// (exceptions.h) where add() would refuse. Chains.
    Registry& add_or_throw(Tool tool, IfPresent if_present = IfPresent::refuse);
    /// All or none.
    [[nodiscard]] Result<void> add_all(std::vector<Tool> tools, IfPresent if_present = IfPresent::refuse);
    /// False if there was none.
    bool remove(std::string_view name);
    /// All tools `server/…`; how many there were.
    std::size_t remove_server(std::string_view server);
    /// Makes the tools of this server exactly these, in one change: what is new is added, what is missing is
    /// removed, what differs is replaced. A tool differs if its definition, contract, kind or version() does,
    /// or the class of its body or what that says about itself (actions, preview, run mode, …). One that does
    /// not stays as it is, with the body it has: a body that does something else needs another version().
    /// The contracts given here count, also where change_contract() had set another.
    /// Names are `server/tool`. All or none; errors as for add(), and config_error {reason: wrong_server}.
    [[nodiscard]] Result<SyncResult> sync(std::string_view server, std::vector<Tool> tools);
    /// Puts another contract in the place of the tool's own, checked as at registration; the body stays.
    /// Calls under way keep the contract they began with. not_found {reason: unknown_tool}.
    [[nodiscard]] Result<void> change_contract(std::string_view name, Contract contract);
    /// The same, beginning with the contract it has. `edit` is called again where another change came
    /// between.
    [[nodiscard]] Result<void> change_contract(std::string_view name,
                                               const std::function<void(Contract&)>& edit);
    void clear();
    /// Takes over the other's tools; all or none.
    [[nodiscard]] Result<void> import_from(const Registry& other, IfPresent if_present = IfPresent::refuse);

    const std::string& name() const noexcept;
    /// Grows with every change of tools, definitions or contracts; not with health, quarantine and silence.
    std::uint64_t revision() const;
    /// The tools as they are now, under their canonical names. Made once for a revision; nothing is copied.
    RegistrySnapshot snapshot() const;
    /// The same under the names that a vendor's models take, as for shown_definitions().
    RegistrySnapshot snapshot(const NameRules& rules) const;
    std::size_t size() const;
    bool contains(std::string_view name) const;
    std::optional<RegisteredTool> get(std::string_view name) const;
    std::vector<RegisteredTool> list() const;
    std::vector<RegisteredTool> list(ToolKind kind) const;
    std::vector<RegisteredTool> list_healthy() const;
    /// The names of tools that are undeclared (RegisteredTool), in order: what a host looks at after it has
    /// registered its tools. `policy lint` reports the same.
    std::vector<std::string> undeclared() const;

    /// Every registered tool's definition, in name order. This and the next two copy; a snapshot does not.
    std::vector<ToolDefinition> definitions() const;
    /// What a model that acts for this caller may know of: all tools except those that are unavailable,
    /// quarantined or silenced, and those whose scopes the caller lacks. Under their canonical names.
    std::vector<ToolDefinition> visible_definitions(const Context& caller) const;
    /// The same as a model is shown it, under names that its vendor takes: name_rules(form) of definitions.h.
    /// Calls under these names are understood. config_error {reason: name_rules_too_narrow} where the rules
    /// leave no room to say which tool is meant.
    Result<std::vector<ToolDefinition>> shown_definitions(const Context& caller,
                                                          const NameRules& rules) const;
    /// What the name means, as a call would have it: the canonical name of one tool, or nothing. With the
    /// rules it was shown under, if these are narrower than any vendor's.
    std::optional<std::string> canonical_name(std::string_view name) const;
    std::optional<std::string> canonical_name(std::string_view name, const NameRules& rules) const;

    /// All four are false for an unknown name. A tool that add() puts in the place of another begins healthy,
    /// but stays in quarantine or silence.
    bool update_health(std::string_view name, ToolHealth health);
    bool quarantine(std::string_view name, std::string reason);
    bool release(std::string_view name);  ///< from quarantine or silence
    bool silence(std::string_view name);

    /// `listener` is called after each change, on the thread that made it, outside all locks: it may use the
    /// registry. What it throws is dropped. It is unsubscribed when the handle goes; a call under way on
    /// another thread may still finish.
    using Listener = std::function<void(const RegistryChange&)>;
    [[nodiscard]] std::shared_ptr<void> on_change(Listener listener);

    /// For the pipeline: the entry under exactly this name.
    std::shared_ptr<const ToolEntry> find(std::string_view name) const;
    /// For the pipeline: the entry that the name means, be it canonical or not; null if it means none.
    std::shared_ptr<const ToolEntry> understand(std::string_view name) const;
    /// The tools that have this name in common, and that the caller may know of, as they are shown.
    std::vector<std::string> candidates(std::string_view name, const Context& caller) const;
    /// For the pipeline: a call changed this tool's health; tells the listeners.
    void health_changed(std::string_view name) const;
    /// Up to three names, as they are shown, of tools the caller may see that are like this one.
    std::vector<std::string> suggestions(std::string_view name, const Context& caller) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace callgate
