// A registered tool, ready to be called: the definition and contract as registered, both schemas compiled,
// the places in the arguments that the contract points to, and what changes while it is in use (health,
// quarantine, breaker).
//
// A call holds the entry it resolved; replacing or removing the tool does not touch calls that are under way.
//
// Threads: once it is in a registry, everything but `live` is immutable; `live` may be used from any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <callgate/registry.h>
#include <callgate/schema.h>
#include <callgate/tool.h>

#include "base/sha256.h"
#include "json/pointer.h"
#include "schema/defaults.h"
#include "tool/live_state.h"

namespace callgate {

class ToolEntry : public std::enable_shared_from_this<ToolEntry> {
public:
    /// All that can be checked about a tool at registration; config_error otherwise.
    static Result<std::shared_ptr<ToolEntry>> make(Tool tool, const Registry::Options& options = {});
    /// The tool as it was given to the registry: what nobody said about it is not said.
    Tool declared() const;
    /// Registering this one would make no difference: the definition, the contract, kind and version() are
    /// equal, and so is the sort of the body: its class, and what it says about itself. What the body does
    /// is not known; another version() says that it does something else.
    bool is(const Tool& tool) const;
    /// Goes on with the live state of an earlier registration, by its own contract. Only before others see
    /// the entry.
    void adopt(std::shared_ptr<LiveState> live);

    const ToolDefinition& definition() const noexcept { return tool_.definition; }
    const Contract& contract() const noexcept { return tool_.contract; }  ///< risk and connector_id filled in
    const std::string& name() const noexcept { return tool_.definition.name; }
    ToolKind kind() const noexcept { return tool_.kind; }
    const Tool& tool() const noexcept { return tool_; }
    ToolBody* body() const noexcept { return tool_.body.get(); }
    /// The body whose own run() it is, without what was said about it afterwards. Null where body() is.
    ToolBody* runner() const noexcept { return runner_; }

    const schema::Schema& input() const noexcept { return *input_; }
    const schema::Schema* output() const noexcept { return output_ ? &*output_ : nullptr; }
    /// What its schema says about absent arguments; null where there is nothing to fill in, and for tools
    /// that are not native: their other side has its own.
    const schema::Defaults* defaults() const noexcept { return defaults_ ? &*defaults_ : nullptr; }
    const base::Sha256Digest& definition_hash() const noexcept { return definition_hash_; }

    // Asked for every call, so that the usual answer is found here.
    EffectClass effect(std::string_view action) const noexcept {
        return contract().effect_map.empty() ? contract().effect : effect_of(action);
    }
    Risk risk(std::string_view action) const noexcept {
        return contract().risk_map.empty() && contract().risk ? *contract().risk : risk_of(action);
    }
    bool knows_action(std::string_view action) const noexcept {
        return actions_.empty() || has_action(action);
    }
    const std::vector<std::string>& actions() const noexcept { return actions_; }
    /// The first scope that the caller lacks for the action; null when all are granted.
    const std::string* missing_scope(const ScopeSet& granted, std::string_view action) const noexcept {
        return needs_scopes_ ? missing_of(granted, action) : nullptr;
    }
    /// As its body says; null and `pooled` without one.
    const ActionHooks* hooks() const noexcept { return hooks_; }
    RunMode mode() const noexcept { return mode_; }
    /// It has the capability "notification".
    bool notifies() const noexcept { return notifies_; }
    /// Its name without the server's: "delete_file" of "files/delete_file".
    std::string_view own_name() const noexcept { return own_name_; }

    /// Whether the caller may know of it: the tool's own scopes are granted, and those of at least one of its
    /// actions.
    bool in_scope(const ScopeSet& granted) const noexcept;
    /// In scope, and not unavailable, quarantined or silenced.
    bool visible_to(const ScopeSet& granted) const noexcept;

    const std::optional<json::Pointer>& target() const noexcept { return target_; }
    const std::optional<json::Pointer>& resource_key() const noexcept { return resource_key_; }
    const std::optional<json::Pointer>& blast_radius() const noexcept { return blast_radius_; }

    /// A native tool about which nobody said what it, or one of its actions, risks and does (registry.h).
    bool undeclared() const noexcept { return undeclared_; }

    LiveState& live() const noexcept { return *live_; }
    const std::shared_ptr<LiveState>& shared_live() const noexcept { return live_; }
    RegisteredTool describe() const;

private:
    ToolEntry() = default;
    void derive();
    EffectClass effect_of(std::string_view action) const noexcept;
    Risk risk_of(std::string_view action) const noexcept;
    bool has_action(std::string_view action) const noexcept;
    const std::string* missing_of(const ScopeSet& granted, std::string_view action) const noexcept;

    Tool tool_;
    std::optional<schema::Schema> input_;
    std::optional<schema::Schema> output_;
    std::optional<schema::Defaults> defaults_;
    base::Sha256Digest definition_hash_{};
    std::vector<std::string> actions_;
    std::optional<json::Pointer> target_;
    std::optional<json::Pointer> resource_key_;
    std::optional<json::Pointer> blast_radius_;
    std::shared_ptr<LiveState> live_;
    ToolBody* runner_ = nullptr;
    const ActionHooks* hooks_ = nullptr;
    RunMode mode_ = RunMode::pooled;
    bool needs_scopes_ = false;
    bool notifies_ = false;
    bool undeclared_ = false;
    std::string_view own_name_;
};

}  // namespace callgate
