#include "schema/regex_dfa.h"

#include <algorithm>
#include <bit>
#include <span>

#include "schema/regex_nfa.h"

namespace callgate::schema {
namespace {

constexpr std::size_t kMaxNfaStates = 4'096;
constexpr std::size_t kMaxTableEntries = 32 * 1'024;  // 64 KiB
constexpr std::size_t kMaxWork = 400'000;             // look-ups while building: about a millisecond

}  // namespace

/// Subset construction. A DFA state is the set of NFA states the text so far can lead to; a new attempt to
/// match starts at every byte, because matching is a search.
class DfaBuilder {
public:
    DfaBuilder(const Nfa& nfa, std::size_t max_states)
        : nfa_(nfa),
          words_((nfa.states.size() + 63) / 64),
          max_states_(max_states),
          set_(words_),
          seen_(words_) {}

    std::optional<Dfa> run();

private:
    using State = std::uint32_t;
    static constexpr State kNo = 0;
    static constexpr State kYes = 1;
    static constexpr State kUnsure = 2;
    static constexpr State kFirst = 3;
    static constexpr std::uint16_t kNoSlot = 0xFFFF;

    void find_columns();
    void clear();
    void follow(std::uint32_t nfa_state, bool at_begin, bool at_end);
    State state_of_set();
    State lookup(std::span<const std::uint64_t> members);
    void grow_index();
    bool matches_at_end(State state);
    void settle_loops();
    void find_lead();
    std::span<const std::uint64_t> members_of(State state) const {
        return std::span(members_).subspan((state - kFirst) * words_, words_);
    }
    static std::uint64_t hash(std::span<const std::uint64_t> members) {
        std::uint64_t h = 0x9E3779B97F4A7C15;
        for (const std::uint64_t word : members) h = (h ^ word) * 0xD6E8FEB86659FD93, h ^= h >> 32;
        return h;
    }

    const Nfa& nfa_;
    std::size_t words_;
    std::size_t max_states_;
    std::size_t work_ = 0;
    std::vector<std::uint64_t> set_;   ///< the set being made: states that wait for a byte or the end
    std::vector<std::uint64_t> seen_;  ///< also the states passed through on the way
    std::vector<std::uint32_t> stack_;
    std::vector<std::uint64_t> members_;
    std::vector<State> index_;  ///< open addressing over hash(); 0 is free
    std::vector<std::uint64_t> restart_;
    std::vector<std::uint16_t> slots_;  ///< by column and shape
    std::size_t column_count_ = 0;
    State count_ = kFirst;
    bool set_matches_ = false;
    bool set_unsure_ = false;
    bool restart_matches_ = false;
    Dfa dfa_;
};

// Bytes that no state of the automaton tells apart share a column.
void DfaBuilder::find_columns() {
    std::array<bool, 257> starts{};
    starts[0] = true;
    for (const ByteRange& range : nfa_.ranges) {
        starts[range.low] = true;
        starts[range.high + 1u] = true;
    }
    // Separate stretches may still behave alike, as the two of [a-z0-9] do: their slots tell.
    const std::size_t shapes = nfa_.shapes.size();
    std::vector<std::uint16_t> slots(shapes);
    std::size_t column = 0;
    for (unsigned byte = 0; byte < 256; ++byte) {
        if (starts[byte]) {
            for (std::size_t i = 0; i < shapes; ++i) {
                const auto ranges =
                    std::span(nfa_.ranges).subspan(nfa_.shapes[i].first, nfa_.shapes[i].count);
                slots[i] = kNoSlot;
                for (const ByteRange& range : ranges) {
                    if (byte >= range.low && byte <= range.high) slots[i] = range.slot;
                }
                work_ += ranges.size();
            }
            column = 0;
            while (column < column_count_ &&
                   !std::equal(slots.begin(), slots.end(),
                               slots_.begin() + static_cast<std::ptrdiff_t>(column * shapes))) {
                ++column;
            }
            if (column == column_count_) {
                ++column_count_;
                slots_.insert(slots_.end(), slots.begin(), slots.end());
            }
        }
        dfa_.columns_[byte] = static_cast<std::uint8_t>(column);
    }
}

void DfaBuilder::clear() {
    std::fill(set_.begin(), set_.end(), 0);
    std::fill(seen_.begin(), seen_.end(), 0);
    set_matches_ = false;
    set_unsure_ = false;
}

void DfaBuilder::follow(std::uint32_t nfa_state, bool at_begin, bool at_end) {
    stack_.push_back(nfa_state);
    while (!stack_.empty()) {
        const std::uint32_t id = stack_.back();
        stack_.pop_back();
        ++work_;
        const std::uint64_t bit = std::uint64_t{1} << (id % 64);
        if ((seen_[id / 64] & bit) != 0) {
            continue;
        }
        seen_[id / 64] |= bit;
        const NfaState& state = nfa_.states[id];
        switch (state.kind) {
            case NfaKind::split:
                stack_.push_back(state.out);
                stack_.push_back(state.other);
                break;
            case NfaKind::begin:
                if (at_begin) stack_.push_back(state.out);
                break;
            case NfaKind::end:
                set_[id / 64] |= bit;
                if (at_end) stack_.push_back(state.out);
                break;
            case NfaKind::match: set_matches_ = true; break;
            case NfaKind::unsure: set_unsure_ = true; break;
            case NfaKind::bytes: set_[id / 64] |= bit; break;
        }
    }
}

void DfaBuilder::grow_index() {
    std::vector<State> old = std::move(index_);
    index_.assign(std::max<std::size_t>(64, old.size() * 2), 0);
    for (const State state : old) {
        if (state == 0) continue;
        std::size_t at = hash(members_of(state)) % index_.size();
        while (index_[at] != 0) at = (at + 1) % index_.size();
        index_[at] = state;
    }
}

DfaBuilder::State DfaBuilder::lookup(std::span<const std::uint64_t> members) {
    if (count_ * 2 >= index_.size()) {
        grow_index();
    }
    std::size_t at = hash(members) % index_.size();
    for (; index_[at] != 0; at = (at + 1) % index_.size()) {
        const auto known = members_of(index_[at]);
        if (std::equal(known.begin(), known.end(), members.begin())) {
            return index_[at];
        }
    }
    index_[at] = count_;
    members_.insert(members_.end(), members.begin(), members.end());
    return count_++;
}

/// The DFA state for the set at hand.
DfaBuilder::State DfaBuilder::state_of_set() {
    if (set_matches_) {
        return kYes;
    }
    if (set_unsure_) {
        dfa_.can_be_unsure_ = true;
        return kUnsure;
    }
    if (std::all_of(set_.begin(), set_.end(), [](std::uint64_t word) { return word == 0; })) {
        return kNo;
    }
    return lookup(set_);
}

bool DfaBuilder::matches_at_end(State state) {
    // The first state stands at the start of the text as well, where ^ holds.
    const bool at_begin = state == kFirst;
    clear();
    const auto members = members_of(state);
    for (std::size_t word = 0; word < words_; ++word) {
        for (std::uint64_t bits = members[word]; bits != 0; bits &= bits - 1) {
            const std::size_t id = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
            if (nfa_.states[id].kind == NfaKind::end) {
                follow(static_cast<std::uint32_t>(id), at_begin, true);
            }
        }
    }
    return set_matches_;
}

// A state that is never left gives its answer at once.
void DfaBuilder::settle_loops() {
    const std::uint32_t stride = dfa_.stride_;
    std::vector<std::uint16_t>& table = dfa_.table_;
    for (State state = kFirst; state < count_; ++state) {
        const std::uint32_t row = state * stride;
        bool stays = true;
        for (std::uint32_t column = 0; column < dfa_.end_column_; ++column) {
            stays = stays && table[row + column] == row;
        }
        if (!stays) continue;
        const std::uint16_t answer = table[row + dfa_.end_column_];
        for (std::size_t i = kFirst * stride; i < table.size(); ++i) {
            if (table[i] == row) table[i] = answer;
        }
        if (dfa_.start_ == row) dfa_.start_ = answer;
    }
}

void DfaBuilder::find_lead() {
    if (dfa_.start_ < dfa_.settled_) return;
    int leaving = 0;
    for (unsigned byte = 0; byte < 256; ++byte) {
        if (dfa_.table_[dfa_.start_ + dfa_.columns_[byte]] != dfa_.start_) {
            ++leaving;
            dfa_.lead_ = static_cast<int>(byte);
        }
    }
    if (leaving != 1) dfa_.lead_ = -1;
}

std::optional<Dfa> DfaBuilder::run() {
    find_columns();
    const auto columns = static_cast<std::uint32_t>(column_count_);
    const std::uint32_t stride = columns + 1;
    dfa_.stride_ = stride;
    dfa_.end_column_ = columns;
    dfa_.settled_ = kFirst * stride;

    clear();
    follow(nfa_.start, false, false);
    restart_ = set_;
    restart_matches_ = set_matches_;

    clear();
    follow(nfa_.start, true, false);
    const State start = state_of_set();
    dfa_.table_.resize(kFirst * stride);
    dfa_.start_ = start * stride;
    const bool has_begin = std::any_of(nfa_.states.begin(), nfa_.states.end(),
                                       [](const NfaState& state) { return state.kind == NfaKind::begin; });
    if (has_begin) {
        // A later state with the same members is a state of its own, since ^ no longer holds there.
        std::fill(index_.begin(), index_.end(), 0);
    }

    for (State state = kFirst; state < count_; ++state) {
        if (count_ - kFirst > max_states_ || count_ * stride > kMaxTableEntries) {
            return std::nullopt;
        }
        for (std::uint32_t column = 0; column < columns; ++column) {
            work_ += words_;
            if (work_ > kMaxWork) {
                return std::nullopt;
            }
            const std::uint16_t* const slots = slots_.data() + column * nfa_.shapes.size();
            clear();
            const auto members = members_of(state);
            for (std::size_t word = 0; word < words_; ++word) {
                for (std::uint64_t bits = members[word]; bits != 0; bits &= bits - 1) {
                    const NfaState& from =
                        nfa_.states[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
                    ++work_;
                    if (from.kind == NfaKind::bytes && slots[from.other] != kNoSlot) {
                        follow(nfa_.outs[from.out + slots[from.other]], false, false);
                    }
                }
                set_[word] |= restart_[word];
            }
            set_matches_ = set_matches_ || restart_matches_;
            dfa_.table_.push_back(static_cast<std::uint16_t>(state_of_set() * stride));
        }
        dfa_.table_.push_back(static_cast<std::uint16_t>(matches_at_end(state) ? stride : 0));
    }
    settle_loops();
    find_lead();
    dfa_.table_.shrink_to_fit();
    return std::move(dfa_);
}

std::optional<Dfa> Dfa::build(const Ast& ast, std::size_t max_states) {
    const auto nfa = build_nfa(ast, kMaxNfaStates);
    if (!nfa) {
        return std::nullopt;
    }
    return DfaBuilder(*nfa, max_states).run();
}

}  // namespace callgate::schema
