#include "ids.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/ids.h"
#include "base/try.h"
#include "event_calls.h"

namespace callgate::cli {

namespace {

constexpr std::size_t kPage = 1'000;
constexpr std::size_t kMostPages = 100;
// Where not all could be looked at, so few characters might fit another as well.
constexpr std::size_t kCertain = 8;
constexpr std::size_t kMostNamed = 5;

bool fits(std::string_view id, std::string_view part) {
    return id.starts_with(part) || id.ends_with(part);
}

bool may_be_part(std::string_view text) {
    return text.size() < 36 &&
           std::ranges::all_of(text, [](unsigned char c) { return c == '-' || std::isxdigit(c) != 0; });
}

std::string lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

// What fits, and whether all there is was looked at.
class Search {
public:
    Search(OperatorRun& run, std::string part) : run_(run), part_(std::move(part)) {}

    // `keys` are members of each row of the list; the first is the id that is found.
    Result<void> look_at(const char* verb, const char* list, std::vector<const char*> keys) {
        std::string before;
        for (std::size_t page = 0; page < kMostPages; ++page) {
            Object request{{"verb", verb}, {"limit", kPage}};
            if (!before.empty()) request["before"] = before;
            CALLGATE_TRY_ASSIGN(const Value answer, run_.ask(request));
            for (const Value& row : list_at(answer, list)) {
                if (std::ranges::any_of(keys,
                                        [&](const char* key) { return fits(text_at(row, key), part_); }))
                    found_.insert(text_at(row, keys.front()));
            }
            before = text_at(answer, "next");
            if (before.empty()) return {};
        }
        all_ = false;
        return {};
    }

    void look_at_events() {
        // A ledger whose log cannot be read has its rows still.
        EventCalls calls(run_);
        all_ = calls.read_back(EventCalls::kFarBack) && all_;
        for (const std::string& id : calls.ids())
            if (fits(id, part_)) found_.insert(id);
    }

    bool found_none() const noexcept { return found_.empty(); }

    Result<std::string> the_one(const std::string& given, std::string_view what) const {
        if (found_.empty())
            return fail(ErrorCode::denied,
                        fmt::format("There is no {} with the id '{}', nor one whose id begins or ends like "
                                    "that.",
                                    what, given),
                        {{"reason", "not_found"}, {"id", given}});
        if (found_.size() == 1 && (all_ || given.size() >= kCertain)) return *found_.begin();
        Array named;
        std::string list;
        for (const std::string& id : found_) {
            if (named.size() == kMostNamed) break;
            list += (list.empty() ? "" : ", ") + id;
            named.emplace_back(id);
        }
        if (found_.size() > kMostNamed) list += ", …";
        return fail(
            ErrorCode::config_error,
            fmt::format("'{}' is not enough to say which {}: {}. Give more of it.", given, what, list),
            {{"reason", "ambiguous_id"}, {"id", given}, {"candidates", std::move(named)}});
    }

private:
    OperatorRun& run_;
    const std::string part_;
    std::set<std::string> found_;
    bool all_ = true;
};

}  // namespace

std::vector<std::string> short_ids(std::span<const std::string> ids) {
    const auto good = [](std::string_view part) {
        return !part.starts_with('-') &&
               std::ranges::any_of(part, [](unsigned char c) { return std::isdigit(c) == 0 && c != '-'; });
    };
    std::vector<std::string> out;
    for (const std::string& id : ids) {
        std::size_t size = std::min(kShortId, id.size());
        const auto end = [&] { return std::string_view(id).substr(id.size() - size); };
        const auto shared = [&](const std::string& other) { return other != id && other.ends_with(end()); };
        while (size < id.size() && (!good(end()) || std::ranges::any_of(ids, shared))) ++size;
        out.emplace_back(end());
    }
    return out;
}

std::vector<std::string> ids_for_table(const Array& rows, std::string_view member, const Style& style) {
    std::vector<std::string> ids;
    for (const Value& row : rows) ids.push_back(printable(text_at(row, member)));
    return style.width == 0 ? ids : short_ids(ids);
}

Result<std::string> whole_id(OperatorRun& run, const std::string& given, IdOf what) {
    if (base::parse_uuid(given)) return lower(given);
    if (!may_be_part(given)) return given;
    const std::string_view kind = what == IdOf::approval ? "approval" : "call";
    if (given.size() < kShortestGiven)
        return fail(
            ErrorCode::config_error,
            fmt::format("'{}' is too little of an id: give {} characters of its beginning or its end, "
                        "or more.",
                        given, kShortestGiven),
            {{"reason", "short_id"}, {"id", given}});
    Search search(run, lower(given));
    if (what == IdOf::approval) {
        CALLGATE_TRY(search.look_at("approvals.list", "approvals", {"id", "call_id"}));
        return search.the_one(given, kind);
    }
    CALLGATE_TRY(search.look_at("calls.list", "calls", {"call_id"}));
    CALLGATE_TRY(search.look_at("approvals.list", "approvals", {"call_id"}));
    search.look_at_events();
    return search.the_one(given, kind);
}

Result<std::string> id_for_option(OperatorRun& run, const std::string& given, IdOf what,
                                  std::string_view option) {
    auto id = whole_id(run, given, what);
    if (!id && text_at(id.error().details, "reason") == "not_found")
        return fail(ErrorCode::config_error, fmt::format("{}: {}", option, id.error().message),
                    std::move(id.error().details));
    if (id && !base::parse_uuid(*id))
        return fail(ErrorCode::config_error, fmt::format("{}: '{}' is no id.", option, given),
                    {{"reason", "usage"}, {"id", given}});
    return id;
}

}  // namespace callgate::cli
