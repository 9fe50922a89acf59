#include "tool/event_types.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string>

#include <fmt/format.h>

#include <callgate/events.h>

#include "base/mutex.h"

namespace callgate {
namespace {

constexpr std::size_t kMostTypes = 1'000;
constexpr std::size_t kLongest = 64;
constexpr std::array<std::string_view, 7> kOwnAreas = {"tool_call", "gate",   "approval", "operator",
                                                       "audit",     "ledger", "security"};

bool is_word(std::string_view word) {
    return !word.empty() && word.front() >= 'a' && word.front() <= 'z' &&
           std::ranges::all_of(
               word, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; });
}

bool is_event_type(std::string_view name) {
    if (name.size() > kLongest) return false;
    const std::string_view area = name.substr(0, name.find('.'));
    if (std::ranges::find(kOwnAreas, area) != kOwnAreas.end()) return false;
    std::size_t words = 1;
    for (auto dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
        if (!is_word(name.substr(0, dot))) return false;
        name.remove_prefix(dot + 1);
        ++words;
    }
    return is_word(name) && words >= 2 && words <= 4;
}

struct Kept {
    base::Mutex mutex;
    std::set<std::string, std::less<>> names CALLGATE_GUARDED_BY(mutex);
};

// Never freed: events that name them may be read until the process is gone.
Kept& kept() {
    static Kept& all = *new Kept;
    return all;
}

}  // namespace

std::string_view kept_event_type(std::string_view name) {
    if (!is_event_type(name)) return {};
    Kept& all = kept();
    const base::MutexLock lock(all.mutex);
    if (const auto found = all.names.find(name); found != all.names.end()) return *found;
    if (all.names.size() >= kMostTypes) return {};
    return *all.names.emplace(name).first;
}

Result<EventType> EventType::registered(std::string_view name) {
    const std::string_view stays = kept_event_type(name);
    if (!stays.empty()) return EventType(stays);
    return fail(
        ErrorCode::config_error,
        is_event_type(name)
            ? fmt::format("There are {} types of events already.", kMostTypes)
            : fmt::format("'{}' cannot be a type of events. Use two to four words of small letters, digits "
                          "and '_' with dots between, such as session.opened; the areas {} are the "
                          "library's own.",
                          name.substr(0, kLongest), fmt::join(kOwnAreas, ", ")),
        {{"reason", "event_type"}});
}

}  // namespace callgate
