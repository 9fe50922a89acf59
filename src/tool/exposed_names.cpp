#include "tool/exposed_names.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/look_alike.h"
#include "base/try.h"

namespace callgate {

namespace {

// A canonical name has at most 192 bytes, unless its registry was made for longer ones: then its qualified
// names are understood up to here.
constexpr std::size_t kLongestQualified = 512;

constexpr std::string_view kParting = "__";

// Of a server's tool: whether it can have a plain name at all. A plain name looks neither canonical nor
// qualified, nor as if it had a suffix.
bool may_be_plain(std::string_view tool) {
    return tool.find('/') == std::string_view::npos && tool.find(kParting) == std::string_view::npos &&
           !usual_suffix(tool);
}

// mcp__a__b is a/b, whatever a server called mcp brings.
bool may_be_qualified(const NameParts& parts) {
    return !parts.server.empty() &&
           (parts.server != "mcp" || parts.tool.find(kParting) == std::string_view::npos);
}

std::string mcp_name(const NameParts& parts) {
    return fmt::format("mcp__{}__{}", parts.server, parts.tool);
}

std::string qualified_name(const NameParts& parts) {
    return may_be_qualified(parts) ? fmt::format("{}__{}", parts.server, parts.tool) : mcp_name(parts);
}

// Every text that could be taken for another tool's.
std::vector<std::string> seen_as(std::string_view canonical) {
    std::vector<std::string> texts{std::string(canonical)};
    const NameParts parts = split_name(canonical);
    if (parts.server.empty()) return texts;
    texts.push_back(qualified_name(parts));
    if (may_be_plain(parts.tool)) texts.emplace_back(parts.tool);
    return texts;
}

// And its server alone, whose tools are taken for those of one that looks the same.
std::vector<std::string> looks_of(std::string_view canonical) {
    std::vector<std::string> texts = seen_as(canonical);
    const NameParts parts = split_name(canonical);
    if (!parts.server.empty()) texts.push_back(fmt::format("{}/", parts.server));
    return texts;
}

tl::unexpected<Error> refuse(std::string_view reason, std::string_view canonical, std::string_view other,
                             std::string message) {
    return fail(ErrorCode::config_error, std::move(message),
                {{"reason", reason}, {"tool", canonical}, {"other", other}});
}

tl::unexpected<Error> taken(std::string_view canonical, std::string_view other, std::string_view as) {
    return refuse(
        "name_taken", canonical, other,
        fmt::format("Tool \"{}\" cannot be registered: the name \"{}\" has stood for the tool \"{}\", "
                    "and would stand for another. Use another name.",
                    shown_name(canonical), shown_name(as), shown_name(other)));
}

bool name_order(const std::string* a, const std::string* b) {
    return *a < *b;
}

}  // namespace

ExposedNames::ExposedNames(Options options) : options_(options) {}

Result<void> ExposedNames::add(std::span<const std::string_view> canonical) {
    std::vector<std::string_view> in_turn;
    for (const bool of_servers : {false, true}) {
        for (const std::string_view name : canonical) {
            if (split_name(name).server.empty() != of_servers) in_turn.push_back(name);
        }
    }
    struct Done {
        std::string_view name;
        bool is_new;
    };
    std::vector<Done> done;
    for (const std::string_view name : in_turn) {
        if (live(name) != nullptr) continue;
        bool is_new = false;
        if (auto added = add_one(name, is_new); !added) {
            for (auto last = done.rbegin(); last != done.rend(); ++last) {
                const auto at = known_.find(last->name);
                retire(at);
                if (last->is_new) forget(known_.find(last->name));
            }
            return added;
        }
        done.push_back({name, is_new});
    }
    return {};
}

Result<void> ExposedNames::add_one(std::string_view canonical, bool& is_new) {
    const auto at = known_.find(canonical);
    // A text that was only a plain name so far cannot become a tool's own.
    is_new = at == known_.end();
    if (!is_new && at->second.owner == &at->first) {
        revive(at);
        return {};
    }
    CALLGATE_TRY(check(canonical));
    insert(canonical);
    return {};
}

Result<void> ExposedNames::check(std::string_view canonical) const {
    if (const auto at = known_.find(canonical); at != known_.end())
        return taken(canonical, *at->second.owner, canonical);
    const NameParts parts = split_name(canonical);
    const auto known_as = [&](const NameParts& other) -> Canonical {
        const auto at = known_.find(fmt::format("{}/{}", other.server, other.tool));
        return at == known_.end() ? nullptr : at->second.owner;
    };
    if (!parts.server.empty()) {
        for (const std::string& text : {qualified_name(parts), mcp_name(parts)}) {
            if (const auto at = known_.find(text); at != known_.end())
                return taken(canonical, *at->second.owner, text);
        }
    } else {
        const NameParts as_mcp = parse_mcp_name(canonical);
        const NameParts as_qualified = parse_qualified_name(canonical);
        for (const NameParts& other : {as_mcp, as_qualified}) {
            if (other.server.empty()) continue;
            if (const Canonical owner = known_as(other); owner != nullptr)
                return taken(canonical, *owner, canonical);
        }
        if (const auto suffix = usual_suffix(canonical)) {
            const auto at = tags_.find(suffix->tag);
            if (at != tags_.end() && was_fitted(suffix->stem, *at->second))
                return taken(canonical, *at->second, canonical);
        }
    }
    return check_looks(canonical);
}

Result<void> ExposedNames::check_looks(std::string_view canonical) const {
    for (const std::string& text : looks_of(canonical)) {
        const auto at = looks_.find(base::look_of(text));
        if (at == looks_.end()) continue;
        const Look& look = at->second;
        Canonical twin = look.other != nullptr && look.other_text != text ? look.other : nullptr;
        if (twin == nullptr && look.ascii != nullptr && !base::is_ascii(text)) twin = look.ascii;
        if (twin == nullptr) continue;
        return refuse("look_alike", canonical, *twin,
                      fmt::format("Tool \"{}\" cannot be registered: {} looks like that of the tool "
                                  "\"{}\" and is written otherwise. Use a name that nobody takes for it.",
                                  shown_name(canonical), text.ends_with('/') ? "its server" : "its name",
                                  shown_name(*twin)));
    }
    return {};
}

void ExposedNames::insert(std::string_view canonical) {
    is_full_ = is_full_ || known_.size() >= options_.max_remembered;
    const bool is_kept = !is_full_;
    const auto at = known_.try_emplace(std::string(canonical)).first;
    at->second.owner = &at->first;
    at->second.is_kept = is_kept;
    const Canonical name = &at->first;
    tags_.try_emplace(tag_of(canonical), name);
    const NameParts parts = split_name(canonical);
    if (is_kept && !parts.server.empty() && may_be_plain(parts.tool)) {
        // The first to have it owns it.
        const auto plain = known_.try_emplace(std::string(parts.tool)).first;
        if (plain->second.owner == nullptr) plain->second.owner = name;
    }
    note_looks(name);
    revive(known_.find(canonical));
}

void ExposedNames::note_looks(Canonical canonical) {
    for (const std::string& text : looks_of(*canonical)) {
        Look& look = looks_[base::look_of(text)];
        if (base::is_ascii(text)) {
            if (look.ascii == nullptr) look.ascii = canonical;
        } else if (look.other == nullptr) {
            look.other = canonical;
            look.other_text = text;
        }
    }
}

void ExposedNames::revive(Names::iterator at) {
    at->second.is_live = true;
    ++live_;
    const NameParts parts = split_name(at->first);
    if (parts.server.empty() || !may_be_plain(parts.tool)) return;
    const auto plain = known_.find(parts.tool);
    if (plain == known_.end()) return;
    auto& bearers = plain->second.bearers;
    bearers.insert(std::ranges::lower_bound(bearers, &at->first, name_order), &at->first);
}

void ExposedNames::retire(Names::iterator at) {
    at->second.is_live = false;
    --live_;
    const NameParts parts = split_name(at->first);
    if (!parts.server.empty()) {
        if (const auto plain = known_.find(parts.tool); plain != known_.end())
            std::erase(plain->second.bearers, &at->first);
    }
}

void ExposedNames::forget(Names::iterator at) {
    const Canonical name = &at->first;
    for (const std::string& text : looks_of(*name)) {
        const auto found = looks_.find(base::look_of(text));
        if (found == looks_.end()) continue;
        Look& look = found->second;
        if (look.ascii == name) look.ascii = nullptr;
        if (look.other == name) look.other = nullptr;
        if (look.ascii == nullptr && look.other == nullptr) looks_.erase(found);
    }
    if (const auto tag = tags_.find(tag_of(*name)); tag != tags_.end() && tag->second == name)
        tags_.erase(tag);
    const NameParts parts = split_name(*name);
    if (!parts.server.empty()) {
        const auto plain = known_.find(parts.tool);
        if (plain != known_.end() && plain->second.owner == name) known_.erase(plain);
    }
    known_.erase(at);
}

bool ExposedNames::remove(std::string_view canonical) {
    const auto at = known_.find(canonical);
    if (at == known_.end() || !at->second.is_live) return false;
    retire(at);
    if (!at->second.is_kept) forget(at);
    return true;
}

void ExposedNames::clear() {
    std::vector<std::string> gone;
    for (const auto& [name, known] : known_) {
        if (known.is_live) gone.push_back(name);
    }
    for (const std::string& name : gone) remove(name);
}

ExposedNames::Canonical ExposedNames::live(std::string_view canonical) const {
    const auto at = known_.find(canonical);
    return at != known_.end() && at->second.is_live ? &at->first : nullptr;
}

ExposedNames::Canonical ExposedNames::live_in(const NameParts& parts) const {
    if (parts.server.empty() || parts.server.find('/') != std::string_view::npos) return nullptr;
    std::array<char, kLongestQualified> text;
    const std::size_t size = parts.server.size() + 1 + parts.tool.size();
    if (size > text.size()) return nullptr;
    char* const slash = std::ranges::copy(parts.server, text.data()).out;
    *slash = '/';
    std::ranges::copy(parts.tool, slash + 1);
    return live({text.data(), size});
}

ExposedNames::Canonical ExposedNames::qualified(std::string_view name) const {
    if (const NameParts parts = parse_mcp_name(name); !parts.server.empty()) return live_in(parts);
    const NameParts parts = parse_qualified_name(name);
    return may_be_qualified(parts) ? live_in(parts) : nullptr;
}

ExposedNames::Canonical ExposedNames::plain_owner(const Known& known) const {
    return known.bearers.size() == 1 && known.bearers.front() == known.owner ? known.owner : nullptr;
}

std::optional<std::string_view> ExposedNames::find(std::string_view name) const {
    Canonical found = nullptr;
    if (const auto at = known_.find(name); at != known_.end()) {
        found = at->second.is_live ? &at->first : plain_owner(at->second);
    } else if (const auto suffix = usual_suffix(name)) {
        const auto tag = tags_.find(suffix->tag);
        if (tag != tags_.end() && live(*tag->second) != nullptr && was_fitted(suffix->stem, *tag->second))
            found = tag->second;
    } else {
        found = qualified(name);
    }
    return found != nullptr ? std::optional<std::string_view>(*found) : std::nullopt;
}

std::optional<std::string_view> ExposedNames::find(std::string_view name, const NameRules& rules) const {
    if (const auto own = live(name)) return *own;
    // A name that is fitted to the rules is nobody's plain or qualified one: who registers it so gains
    // nothing by it, and takes it from nobody.
    if (const auto fitted = fitted_to(name, rules)) return fitted;
    return find(name);
}

std::optional<std::string_view> ExposedNames::fitted_to(std::string_view name, const NameRules& rules) const {
    const auto tag = tag_in(name, rules);
    if (!tag) return std::nullopt;
    const auto at = tags_.find(*tag);
    if (at == tags_.end() || live(*at->second) == nullptr) return std::nullopt;
    for (const std::string& text : seen_as(*at->second)) {
        if (const auto fitted = fit(text, *tag, rules); fitted && *fitted == name) return *at->second;
    }
    return std::nullopt;
}

// Under a name that it is shown by, or was while its plain name was its own.
bool ExposedNames::was_fitted(std::string_view stem, std::string_view canonical) const {
    const NameParts parts = split_name(canonical);
    if (may_be_stem(stem, {parts.tool})) return true;
    if (parts.server.empty()) return false;
    return may_be_stem(stem, {may_be_qualified(parts) ? "" : "mcp__", parts.server, kParting, parts.tool});
}

std::vector<std::string_view> ExposedNames::candidates(std::string_view name) const {
    std::vector<std::string_view> out;
    if (const auto at = known_.find(name); at != known_.end()) {
        for (const Canonical bearer : at->second.bearers) out.emplace_back(*bearer);
    }
    return out;
}

bool ExposedNames::has_plain(std::string_view canonical) const {
    const auto at = known_.find(split_name(canonical).tool);
    if (at == known_.end()) return false;
    const Canonical owner = plain_owner(at->second);
    return owner != nullptr && *owner == canonical;
}

std::string ExposedNames::base_name(std::string_view canonical) const {
    const NameParts parts = split_name(canonical);
    if (parts.server.empty() || has_plain(canonical)) return std::string(parts.tool);
    return qualified_name(parts);
}

std::string ExposedNames::shown(std::string_view canonical) const {
    std::string name = base_name(canonical);
    if (const auto found = find(name); found && *found == canonical) return name;
    return fit(name, tag_of(canonical), NameRules()).value_or(name);
}

Result<std::string> ExposedNames::shown(std::string_view canonical, const NameRules& rules) const {
    const auto means_it = [&](std::string_view name) {
        const auto found = find(name, rules);
        return found && *found == canonical;
    };
    std::string name = base_name(canonical);
    if (fits(name, rules) && means_it(name)) return name;
    CALLGATE_TRY_ASSIGN(std::string fitted, fit(name, tag_of(canonical), rules));
    if (means_it(fitted)) return fitted;
    const auto other = find(fitted, rules);
    return taken(canonical, other ? *other : std::string_view(), fitted);
}

Error ambiguous_name(std::string_view name, const std::vector<std::string>& candidates) {
    Array list;
    for (const std::string& candidate : candidates) list.emplace_back(candidate);
    return {
        ErrorCode::ambiguous_name,
        fmt::format("Several tools are called {}. Which is meant: {}?", name, fmt::join(candidates, ", ")),
        {{"reason", "ambiguous_name"}, {"candidates", std::move(list)}}};
}

}  // namespace callgate
