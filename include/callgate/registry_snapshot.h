// The tools of a registry as they were at one revision, to be listed without copying a definition.
//
// It is a cheap value: copies share what they list. The registry makes it once for a revision, and once for
// each set of naming rules. Which tools exist, and under which names, is as of the revision; whether a caller
// may know of one (health, quarantine, silence, scopes) is asked when it is listed. Until its last copy goes,
// it keeps its tools, bodies included.
//
// Threads: immutable; may be used from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/context.h>
#include <callgate/error.h>

namespace callgate {

class ToolEntry;
struct Contract;
struct ToolDefinition;

/// A tool in a listing. Good for as long as a copy of its snapshot is.
struct ListedTool {
    std::string_view name;                       ///< as the snapshot names it
    const ToolDefinition* definition = nullptr;  ///< never null; its own name is the canonical one
    const Contract* contract = nullptr;    ///< never null; as registered, with what registration fills in
    std::span<const std::string> actions;  ///< those it knows; empty: any, and `call` is the usual one
};

class RegistrySnapshot {
public:
    RegistrySnapshot() = default;  ///< of revision 0, without tools

    std::uint64_t revision() const noexcept;
    std::size_t size() const noexcept;
    /// All of them, in the order of their canonical names. Takes no memory. A name is "" where the naming
    /// rules leave no room for one.
    std::span<const ListedTool> tools() const& noexcept;
    std::span<const ListedTool> tools() const&& = delete;  // they would be gone
    /// Those that a model that acts for this caller may know of, as Registry::visible_definitions() says. The
    /// list is all the memory it takes. config_error {reason: name_rules_too_narrow}.
    Result<std::vector<ListedTool>> visible_to(const Context& caller) const&;
    Result<std::vector<ListedTool>> visible_to(const Context& caller) const&& = delete;

private:
    friend class Registry;
    struct Tools;
    struct Names;

    std::shared_ptr<const Tools> tools_;
    std::shared_ptr<const Names> names_;  // null: the canonical ones
};

}  // namespace callgate
