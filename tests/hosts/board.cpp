#include "board.h"

#include <algorithm>

#include <fmt/format.h>

namespace callgate::hosts {

using namespace std::chrono_literals;

void Board::begins(Ticket ticket, Made made) {
    const std::lock_guard lock(mutex_);
    line(ticket, fmt::format("asks for {} ({}{})", made.tool, to_string(made.effect),
                             made.keyed ? ", key " + made.scope : ""));
    ++now_;
    ++open_;
    if (!made_.emplace(ticket, std::move(made)).second) fail(ticket, "harness", "a ticket was used twice");
}

void Board::must_end(Ticket ticket, base::MonotonicTime by) {
    const std::lock_guard lock(mutex_);
    line(ticket, "is called off");
    made_.at(ticket).due = by;
}

void Board::ended(Ticket ticket, const Outcome& outcome) {
    {
        const std::lock_guard lock(mutex_);
        Made& made = made_[ticket];
        line(ticket, fmt::format("ends: {}{}", to_string(outcome.state()),
                                 outcome.error() != nullptr ? " " + outcome.error()->message : ""));
        if (++made.ends > 1) {
            fail(ticket, "one_end", fmt::format("t{} ended {} times", ticket, made.ends));
        } else {
            --open_;
            made.ended_at = ++now_;
            made.outcome = outcome;
        }
    }
    changed_.notify_all();
}

std::string Board::scope_of(std::string_view tool, Ticket ticket, const Context& caller) {
    if (caller.idempotency_key.empty()) return fmt::format("t{}", ticket);
    return fmt::format("{}/{}/{}", caller.principal, tool, caller.idempotency_key);
}

std::size_t Board::enter(Ticket ticket, std::string_view tool, EffectClass effect,
                         const CallContext& context) {
    Entry entry;
    entry.ticket = ticket;
    entry.tool = std::string(tool);
    entry.effect = effect;
    entry.scope = scope_of(tool, ticket, context.caller());
    entry.sent = context.call_id();
    const std::lock_guard lock(mutex_);
    line(ticket, fmt::format("enters {} (attempt {}, {})", tool, context.attempt(), entry.scope));
    entry.at = ++now_;
    ++inside_;
    for (const Entry& earlier : entries_) {
        if (earlier.scope != entry.scope || earlier.proven_at != kNever) continue;
        const bool again = effect == EffectClass::unsafe || effect == EffectClass::tx ||
                           (effect == EffectClass::verify && (earlier.applies || !earlier.returned));
        if (again)
            fail(ticket, "one_entry",
                 fmt::format("{} ({}) was entered again under {}, and t{} before may have had its effect",
                             tool, to_string(effect), entry.scope, earlier.ticket));
        if (effect == EffectClass::keyed && earlier.sent != entry.sent)
            fail(ticket, "one_key", fmt::format("{} was sent two keys under {}", tool, entry.scope));
    }
    // What was said to have changed nothing must not begin afterwards. One whose outcome is unknown may: the
    // runtime decides a little before a body's first line whether it is entered.
    const auto made = made_.find(ticket);
    if (made != made_.end() && made->second.ends > 0 && effect != EffectClass::read &&
        made->second.outcome->state() != State::unknown)
        fail(ticket, "entered_after_end", fmt::format("t{} enters {} after its end was told", ticket, tool));
    entries_.push_back(std::move(entry));
    return entries_.size() - 1;
}

void Board::answers(std::size_t index, Ends how, bool applies) {
    static constexpr std::string_view kHow[] = {"a value", "a failure", "not applied",     "unreachable",
                                                "lost",    "throws",    "throws a number", "goes away"};
    {
        const std::lock_guard lock(mutex_);
        Entry& entry = entries_[index];
        line(entry.ticket, fmt::format("answers: {}", kHow[static_cast<std::size_t>(how)]));
        if (entry.returned) return;
        entry.returned = true;
        entry.applies = how == Ends::value || how == Ends::told || how == Ends::exception || applies;
        if (how == Ends::not_applied || how == Ends::unreachable) {
            entry.proven_at = ++now_;
            entry.applies = false;
        }
        --inside_;
    }
    changed_.notify_all();
}

Reconciliation::Verdict Board::happened(const std::string& scope) {
    const std::lock_guard lock(mutex_);
    bool any = false;
    for (const Entry& entry : entries_) {
        if (entry.scope != scope || entry.proven_at != kNever) continue;
        if (!entry.returned) return Reconciliation::Verdict::cannot_tell;
        any = any || entry.applies;
    }
    if (any) return Reconciliation::Verdict::applied;
    for (Entry& entry : entries_) {
        if (entry.scope == scope && entry.proven_at == kNever) entry.proven_at = ++now_;
    }
    return Reconciliation::Verdict::not_applied;
}

void Board::heard_start(const CallId& call) {
    const std::lock_guard lock(mutex_);
    Heard& heard = heard_[call];
    ++heard.starts;
    if (heard.ends > 0 || heard.audit_ends > 0) heard.out_of_order = true;
}

void Board::heard_end(const CallId& call, State state) {
    {
        const std::lock_guard lock(mutex_);
        Heard& heard = heard_[call];
        if (heard.starts == 0) heard.out_of_order = true;
        ++heard.ends;
        heard.state = state;
    }
    changed_.notify_all();
}

void Board::heard_terminal(const CallId& call) {
    const std::lock_guard lock(mutex_);
    ++heard_[call].audit_ends;
}

void Board::heard_refused(std::size_t calls) {
    const std::lock_guard lock(mutex_);
    refused_together_ += calls;
}

std::size_t Board::refused_together() const {
    const std::lock_guard lock(mutex_);
    return refused_together_;
}

void Board::throws() {
    const std::lock_guard lock(mutex_);
    ++thrown_;
}

std::uint64_t Board::thrown() const {
    const std::lock_guard lock(mutex_);
    return thrown_;
}

void Board::violation(Ticket about, std::string_view rule, std::string what) {
    const std::lock_guard lock(mutex_);
    fail(about, rule, std::move(what));
}

void Board::note(Ticket about, std::string what) {
    const std::lock_guard lock(mutex_);
    line(about, std::move(what));
}

void Board::wait_a_moment() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 150us);
}

std::optional<Ticket> Board::overdue(base::MonotonicTime now) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [ticket, made] : made_) {
        if (made.ends == 0 && made.due && *made.due < now) return ticket;
    }
    return std::nullopt;
}

std::size_t Board::open_calls() const {
    const std::lock_guard lock(mutex_);
    return open_;
}

std::size_t Board::open_bodies() const {
    const std::lock_guard lock(mutex_);
    return inside_;
}

bool Board::all_heard() const {
    const std::lock_guard lock(mutex_);
    return std::all_of(heard_.begin(), heard_.end(), [](const auto& one) { return one.second.ends > 0; });
}

std::string Board::open_ones() const {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const auto& [ticket, made] : made_) {
        if (made.ends == 0) text += fmt::format("t{} ({})\n{}", ticket, made.tool, story(ticket));
    }
    for (const Entry& entry : entries_) {
        if (!entry.returned)
            text += fmt::format("body of t{} ({})\n{}", entry.ticket, entry.tool, story(entry.ticket));
    }
    return text;
}

bool Board::entered(Ticket ticket) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(entries_.begin(), entries_.end(),
                       [&](const Entry& entry) { return entry.ticket == ticket; });
}

std::vector<Board::Violation> Board::violations() const {
    const std::lock_guard lock(mutex_);
    return violations_;
}

std::string Board::story_of(Ticket ticket) const {
    const std::lock_guard lock(mutex_);
    return story(ticket);
}

// What happened to this call, to those it belongs to, and to those with its key.
std::string Board::story(Ticket ticket) const {
    const auto found = made_.find(ticket);
    const std::string scope = found == made_.end() ? std::string() : found->second.scope;
    std::string text;
    for (const auto& [about, what] : lines_) {
        const auto other = made_.find(about);
        const bool same_key =
            !scope.empty() && other != made_.end() && other->second.scope == scope && other->second.keyed;
        if (about == 0 || root_of(about) == root_of(ticket) || same_key)
            text += fmt::format("      t{} {}\n", about, what);
    }
    return text;
}

void Board::fail(Ticket about, std::string_view rule, std::string what) {
    constexpr std::size_t kKept = 5;
    if (violations_.size() < kKept) violations_.push_back({std::string(rule), std::move(what), story(about)});
}

void Board::line(Ticket about, std::string what) {
    constexpr std::size_t kKept = 20'000;
    if (lines_.size() < kKept) lines_.emplace_back(about, std::move(what));
}

}  // namespace callgate::hosts
