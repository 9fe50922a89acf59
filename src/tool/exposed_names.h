// The names under which tools are shown and understood.
//
// A tool has one canonical name: `tool`, or `server/tool` if a server brought it. Rules, the ledger and the
// audit know it by that alone. What a model is shown is a view of it:
//
//   canonical                  files/read
//   plain                      read               while no other tool has it, and none had it before
//   qualified                  files__read        where the plain name would not do
//   always understood          files/read, files__read, mcp__files__read
//   in a vendor's characters   r_ad_0rg6tycadn6zx7rnb (files/réad; fitted_name.h)
//
// A plain name never changes its owner: it belongs to the first tool that brought it, for as long as this
// object lives. While a second tool has it, it means neither; when its owner has gone, it means nothing. A
// name that could be taken for another's is refused: look-alikes (base/look_alike.h), and a tool without a
// server whose name is a plain or qualified name of a server's tool, or the other way round.
//
// So each name that is understood means one tool, and shown() names are understood as the tool they were
// shown for, or no more.
//
// Names are remembered when their tools go, up to a limit. From then on new tools of servers have no plain
// names, so that none can inherit one.
//
// Threads: none of its own; its owner guards it (the registry, by its lock). Reading changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <callgate/definitions.h>
#include <callgate/error.h>

#include "tool/fitted_name.h"
#include "tool/tool_name.h"

namespace callgate {

class ExposedNames {
public:
    struct Options {
        std::size_t max_remembered = 65'536;  ///< canonical and plain names
        Options() {}
    };
    explicit ExposedNames(Options options = {});
    ExposedNames(const ExposedNames&) = delete;
    ExposedNames& operator=(const ExposedNames&) = delete;

    /// Names that tool_name_fault() has nothing against; one that is here already stays. config_error
    /// {reason: name_taken | look_alike, tool, other}. Tools without a server come first, whatever their
    /// place: their names are the host's own choice. All or none.
    [[nodiscard]] Result<void> add(std::span<const std::string_view> canonical);
    [[nodiscard]] Result<void> add(std::string_view canonical) { return add({&canonical, 1}); }
    /// False if it was not there.
    bool remove(std::string_view canonical);
    void clear();

    /// The canonical name of the tool that the name means, itself included; nothing if it means none, or
    /// several. Good until that tool is removed. Takes no memory.
    std::optional<std::string_view> find(std::string_view name) const;
    /// The same for a name that was shown under these rules. Needed only where they cannot write the usual
    /// suffix; find() knows the others.
    std::optional<std::string_view> find(std::string_view name, const NameRules& rules) const;
    /// The tools that have this plain name, in order: those that a name that means none may have meant.
    std::vector<std::string_view> candidates(std::string_view name) const;

    /// As a model is shown it: plain, or qualified. The name must be here.
    std::string shown(std::string_view canonical) const;
    /// config_error {reason: name_rules_too_narrow}.
    Result<std::string> shown(std::string_view canonical, const NameRules& rules) const;

    std::size_t size() const noexcept { return live_; }
    /// Canonical and plain names, of tools that are here and that were.
    std::size_t remembered() const noexcept { return known_.size(); }

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>()(text);
        }
    };
    struct TagHash {
        std::size_t operator()(const NameTag& tag) const noexcept { return tag.high; }
    };
    using Canonical = const std::string*;  // a key of known_
    // One text: a canonical name, a plain one, or (of a tool without a server) both.
    struct Known {
        Canonical owner = nullptr;       // the tool that it means
        bool is_live = false;            // canonical, and the tool is here
        bool is_kept = true;             // is remembered
        std::vector<Canonical> bearers;  // plain: tools of servers that are here, in order
    };
    // Who has which look. Several ASCII texts may; of all others, one alone.
    struct Look {
        Canonical ascii = nullptr;
        Canonical other = nullptr;
        std::string other_text;
    };
    using Names = std::unordered_map<std::string, Known, Hash, std::equal_to<>>;

    Result<void> add_one(std::string_view canonical, bool& is_new);
    Result<void> check(std::string_view canonical) const;
    Result<void> check_looks(std::string_view canonical) const;
    void insert(std::string_view canonical);
    void revive(Names::iterator at);
    void retire(Names::iterator at);
    void forget(Names::iterator at);
    void note_looks(Canonical canonical);
    Canonical live(std::string_view canonical) const;
    std::optional<std::string_view> fitted_to(std::string_view name, const NameRules& rules) const;
    Canonical live_in(const NameParts& parts) const;
    Canonical qualified(std::string_view name) const;
    Canonical plain_owner(const Known& known) const;
    bool has_plain(std::string_view canonical) const;
    std::string base_name(std::string_view canonical) const;
    bool was_fitted(std::string_view stem, std::string_view canonical) const;

    const Options options_;
    std::size_t live_ = 0;
    bool is_full_ = false;  // for good: who was forgotten could be inherited from
    Names known_;
    std::unordered_map<NameTag, Canonical, TagHash> tags_;
    std::unordered_map<std::string, Look, Hash, std::equal_to<>> looks_;
};

/// The error for a name that several tools have, which are given as they are shown.
Error ambiguous_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace callgate
