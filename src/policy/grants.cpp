#include <algorithm>
#include <atomic>
#include <utility>

#include <fmt/format.h>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/try.h"
#include "policy/memory.h"

namespace callgate::policy {

namespace {

constexpr std::size_t kMostGrants = 1'000;
constexpr std::uint32_t kMostUses = 10'000;
constexpr std::chrono::hours kLongest{24 * 7};
constexpr std::size_t kLongestText = 2'000;

struct Live {
    Grant grant;
    std::vector<Glob> tool;
    std::vector<Glob> action;
    std::optional<schema::Schema> arguments;

    bool expired(base::WallTime now) const { return grant.expires_at <= now; }
};

Error bad(std::string message) {
    return {ErrorCode::config_error, std::move(message), {{"reason", "bad_grant"}}};
}

Result<Live> compile(Grant grant, base::WallTime now) {
    Live made;
    auto tool = compile_globs({grant.tool}, "its tool");
    if (!tool) return tl::unexpected(bad("The grant: " + tool.error().message + '.'));
    made.tool = std::move(*tool);
    auto action = compile_globs({grant.action}, "its action");
    if (!action) return tl::unexpected(bad("The grant: " + action.error().message + '.'));
    made.action = std::move(*action);
    if (grant.uses == 0 || grant.uses > kMostUses) {
        return tl::unexpected(
            bad(fmt::format("A grant is for 1 to {} calls, not {}.", kMostUses, grant.uses)));
    }
    if (grant.expires_at <= now)
        return tl::unexpected(bad("The grant's expiry has already passed; give a later time."));
    if (grant.expires_at > now + kLongest) {
        return tl::unexpected(bad("A grant lasts at most 7 days; for longer, write a rule."));
    }
    if (grant.principal.size() + grant.tenant.size() + grant.granted_by.size() + grant.reason.size() >
        kLongestText) {
        return tl::unexpected(bad(fmt::format("The grant's texts are longer than {} bytes.", kLongestText)));
    }
    if (!grant.principal.empty() && grant.principal == grant.granted_by) {
        return tl::unexpected(Error(ErrorCode::denied,
                                    "Nobody can give a grant to themselves; another person has to.",
                                    {{"reason", "self_approval"}}));
    }
    if (grant.arguments) {
        auto schema = schema::Schema::compile(*grant.arguments);
        if (!schema) return tl::unexpected(bad("The grant's argument schema: " + schema.error().message));
        made.arguments = std::move(*schema);
    }
    made.grant = std::move(grant);
    return made;
}

}  // namespace

struct Grants::State {
    mutable base::Mutex mutex;
    std::vector<Live> live CALLGATE_GUARDED_BY(mutex);  // in the order they were given
    std::atomic<std::size_t> count{0};                  // of live, to ask without the lock
    mutable ScratchPool scratch;
    base::SystemClock clock;
    base::SystemRng rng;
    base::IdGenerator ids{clock, rng};

    void recount() CALLGATE_REQUIRES(mutex) { count.store(live.size(), std::memory_order_release); }
};

Grants::Grants() : state_(std::make_unique<State>()) {}
Grants::~Grants() = default;

Result<std::string> Grants::add(Grant grant, base::WallTime now) {
    CALLGATE_TRY_ASSIGN(auto made, compile(std::move(grant), now));
    std::string id = "grant-" + state_->ids.next().to_string();
    made.grant.id = id;
    const base::MutexLock lock(state_->mutex);
    std::erase_if(state_->live, [&](const Live& one) { return one.expired(now); });
    if (state_->live.size() >= kMostGrants) {
        return fail(ErrorCode::config_error,
                    fmt::format("{} grants are in force, which is the limit; revoke some, or write a rule.",
                                kMostGrants),
                    {{"reason", "too_many"}});
    }
    state_->live.push_back(std::move(made));
    state_->recount();
    return id;
}

bool Grants::revoke(std::string_view id) {
    const base::MutexLock lock(state_->mutex);
    const std::size_t gone = std::erase_if(state_->live, [&](const Live& one) { return one.grant.id == id; });
    state_->recount();
    return gone != 0;
}

std::vector<Grant> Grants::list(base::WallTime now) const {
    const base::MutexLock lock(state_->mutex);
    std::vector<Grant> all;
    for (const Live& one : state_->live) {
        if (!one.expired(now)) all.push_back(one.grant);
    }
    return all;
}

std::optional<std::string> Grants::covers(const Question& question) const {
    if (state_->count.load(std::memory_order_acquire) == 0) return {};
    const base::MutexLock lock(state_->mutex);
    for (const Live& one : state_->live) {
        const Grant& grant = one.grant;
        if (one.expired(question.now) || grant.tenant != question.caller.tenant) continue;
        if (!grant.principal.empty() && grant.principal != question.caller.principal) continue;
        if (!grant.granted_by.empty() && grant.granted_by == question.caller.principal) continue;
        if (!any_matches(one.tool, question.tool.name()) || !any_matches(one.action, question.action))
            continue;
        if (one.arguments &&
            state_->scratch.check(*one.arguments, question.arguments) != schema::Verdict::valid) {
            continue;
        }
        return grant.id;
    }
    return {};
}

bool Grants::use(std::string_view id, base::WallTime now) {
    const base::MutexLock lock(state_->mutex);
    const auto found =
        std::ranges::find_if(state_->live, [&](const Live& one) { return one.grant.id == id; });
    if (found == state_->live.end() || found->expired(now)) return false;
    if (--found->grant.uses == 0) {
        state_->live.erase(found);
        state_->recount();
    }
    return true;
}

}  // namespace callgate::policy
