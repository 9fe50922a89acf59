#include "mcp/sessions.h"

#include <array>

#include "base/encoding.h"
#include "base/rng.h"

namespace callgate::mcp {
namespace {

constexpr std::size_t kSessionIdBytes = 24;
/// So many are looked at to find one that is not in use: whoever begins a session does not walk them all.
constexpr std::size_t kLookedAt = 64;

std::string new_id() {
    std::array<std::byte, kSessionIdBytes> bytes{};
    base::SystemRng().fill(bytes);
    return base::hex_encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

std::shared_ptr<Session> Sessions::new_session_over_lines() {
    auto session = std::make_shared<Session>(new_id(), limits_);
    over_lines_.insert(session);
    return session;
}

// Those in use go behind the others, so the next one that makes room does not look at them again.
std::vector<std::shared_ptr<Session>> Sessions::make_room(Time now) {
    std::vector<std::shared_ptr<Session>> due;
    std::size_t left = by_use_.size();
    auto it = by_use_.begin();
    for (std::size_t looked = 0; looked < kLookedAt && it != by_use_.end(); ++looked) {
        const auto one = it++;
        const bool idle = now - (*one)->last_used_ > limits_.session_idle;
        if (!idle && left < limits_.max_sessions) break;
        if ((*one)->in_use()) {
            by_use_.splice(by_use_.end(), by_use_, one);
            (*one)->last_used_ = now;
            continue;
        }
        due.push_back(*one);
        --left;
    }
    return due;
}

std::shared_ptr<Session> Sessions::new_session(Time now) {
    if (by_use_.size() >= limits_.max_sessions) return nullptr;
    auto session = std::make_shared<Session>(new_id(), limits_);
    session->last_used_ = now;
    by_id_.emplace(session->id(), by_use_.insert(by_use_.end(), session));
    return session;
}

std::shared_ptr<Session> Sessions::find(std::string_view id) const {
    const auto it = by_id_.find(id);
    return it == by_id_.end() ? nullptr : *it->second;
}

void Sessions::used(Session& session, Time now) {
    const auto it = by_id_.find(session.id());
    if (it == by_id_.end()) return;
    session.last_used_ = now;
    by_use_.splice(by_use_.end(), by_use_, it->second);
}

void Sessions::remove(const std::shared_ptr<Session>& session) {
    over_lines_.erase(session);
    const auto it = by_id_.find(session->id());
    if (it == by_id_.end()) return;
    by_use_.erase(it->second);
    by_id_.erase(it);
}

std::vector<std::shared_ptr<Session>> Sessions::all() const {
    std::vector<std::shared_ptr<Session>> all(by_use_.begin(), by_use_.end());
    all.insert(all.end(), over_lines_.begin(), over_lines_.end());
    return all;
}

}  // namespace callgate::mcp
