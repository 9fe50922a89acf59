// Short stories with an end that is known: what a host does step by step, and what must come of it whatever
// strangers do meanwhile. Each uses tools of its own. An episode that is interfered with (the runtime ends,
// the time runs out, a thread is not to be had) judges nothing.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "host.h"

namespace callgate::hosts {

/// A schema that any object satisfies.
inline Value anything() {
    return Object{{"type", "object"}};
}

/// One of all, with tickets from `first` to `first` + 19.
void play_episode(Host& host, Ticket first, Dice& dice);

class Episode {
public:
    Episode(Host& of, Runtime& over, Ticket from, Dice& drawn)
        : host(of), runtime(over), first(from), dice(drawn) {}

    Host& host;
    Runtime& runtime;
    const Ticket first;
    Dice& dice;

    /// A name that no other episode has.
    std::string name(std::string_view what) const;
    /// False: it could not be registered, and the episode is off.
    bool add(Tool tool);
    /// With a deadline that does not come by itself.
    Context context() const;
    /// This was promised otherwise.
    void broken(std::string_view rule, const std::string& what) const;
    /// The runtime ends, or the call did not get where it was to be judged.
    bool interfered(const Outcome& outcome) const;

    // Limits (episodes_limits.cpp).
    void concurrent();
    void rate();
    void resource();
    void scopes();
    void places_in_turn();
    // Keys and words (episodes_words.cpp).
    void key_of_another_request();
    void one_winner();
    void batch_keys();
    void reserved_suffix();
    void no_time_limit();
    void empty_principal();
    void not_a_number();
    void thrown_things();
    void defaults();
    // Approvals (episodes_approvals.cpp).
    void approval_used_once();
    void approval_of_other_arguments();
    void approval_refused();
    void approval_of_another_body();
    void hooks_once();
    void approvals_capped();
    void stale_approval();
    void rule_by_content();
    // Nested (episodes_nested.cpp).
    void parents_deadline();
    void nesting();
    void held_resource();
    void called_off_by_slot();
    // Questions (episodes_asking.cpp).
    void asking();

private:
    bool is_operator() const { return first < outer_ticket(1, 0); }
    void reload(const std::vector<Rule>& rules);
};

/// Counts what is inside at once and how often it was entered; shared with bodies.
struct Crowd {
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    std::atomic<int> entered{0};
    void enter() {
        ++entered;
        const int now = ++inside;
        int seen = most;
        while (seen < now && !most.compare_exchange_weak(seen, now)) {
        }
    }
    void leave() { --inside; }
};

/// An inline tool that counts its entries.
Tool counting_tool(const std::string& name, std::shared_ptr<Crowd> counts);
/// An async tool that answers after so many steps.
Tool slow_tool(Host& host, const std::string& name, std::shared_ptr<Crowd> counts, std::uint64_t steps);

}  // namespace callgate::hosts
