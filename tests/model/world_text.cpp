// A world as bits and as words.
#include <algorithm>

#include <fmt/format.h>

#include "world.h"

namespace callgate::model {

using Kind = Move::Kind;

namespace {

class BitWriter {
public:
    void put(std::uint64_t value, int width) {
        bits_ |= value << at_;
        at_ += width;
    }
    void put(const Belief& belief) {
        put(belief.epochs, 2);
        put(belief.attempts, 1);
        put(belief.passed_on ? 1 : 0, 1);
        put(belief.outdated ? 1 : 0, 1);
        put(belief.row_gone ? 1 : 0, 1);
    }
    std::uint64_t bits() const { return bits_; }

private:
    std::uint64_t bits_ = 0;
    int at_ = 0;
};

class BitReader {
public:
    explicit BitReader(std::uint64_t bits) : bits_(bits) {}
    std::uint8_t take(int width) {
        const std::uint64_t value = bits_ & ((std::uint64_t{1} << width) - 1);
        bits_ >>= width;
        return static_cast<std::uint8_t>(value);
    }
    Belief belief() {
        Belief made;
        made.epochs = take(2);
        made.attempts = take(1);
        made.passed_on = take(1) != 0;
        made.outdated = take(1) != 0;
        made.row_gone = take(1) != 0;
        return made;
    }

private:
    std::uint64_t bits_;
};

std::string_view word(Doing doing) {
    switch (doing) {
        case Doing::nothing: return "idle";
        case Doing::claimed: return "has the claim";
        case Doing::ready: return "dispatched";
        case Doing::waiting: return "sent";
        case Doing::probing: return "asks the probe";
    }
    return "";
}

std::string_view word(NodeStatus status) {
    switch (status) {
        case NodeStatus::alive: return "alive";
        case NodeStatus::zombie: return "zombie";
        case NodeStatus::dead: return "dead";
    }
    return "";
}

std::string_view word(Message message) {
    switch (message) {
        case Message::none: return "";
        case Message::flying: return "on its way";
        case Message::done: return "answered: done";
        case Message::failed: return "answered: failed";
        case Message::refused: return "answered: not applied";
        case Message::silent: return "no answer will come";
    }
    return "";
}

std::string_view word(Kind kind) {
    switch (kind) {
        case Kind::claim: return "claims and dispatches";
        case Kind::claim_only: return "claims";
        case Kind::dispatch: return "dispatches";
        case Kind::send: return "sends";
        case Kind::cannot_send: return "cannot send, and ends it as not applied";
        case Kind::cannot_send_once: return "cannot send, and will try again";
        case Kind::answer_ends: return "settles as answered";
        case Kind::answer_once: return "was answered that it was not applied, and will try again";
        case Kind::time_out: return "waits no longer, and ends it as ambiguous";
        case Kind::time_out_once: return "waits no longer, and goes on";
        case Kind::call_off: return "calls it off before anything is sent";
        case Kind::give_in: return "makes no further attempt";
        case Kind::forget: return "cannot write the end";
        case Kind::late_answer: return "reports a late answer";
        case Kind::probe_applied: return "is told by the probe: applied";
        case Kind::probe_not_applied: return "is told by the probe: not applied";
        case Kind::probe_cannot_tell: return "is told by the probe: cannot tell";
        case Kind::applies: return "'s message has its effect and is answered";
        case Kind::applies_unheard: return "'s message has its effect, and the answer gets lost";
        case Kind::fails: return "'s message is answered: failed";
        case Kind::refuses: return "'s message is answered: not applied";
        case Kind::gets_lost: return "'s message gets lost";
        case Kind::late_applies: return "'s message, given up, has its effect and is answered";
        case Kind::late_fails: return "'s message, given up, is answered: failed";
        case Kind::late_refuses: return "'s message, given up, is answered: not applied";
        case Kind::late_gets_lost: return "'s message, given up, gets lost";
        case Kind::crash: return "dies";
        case Kind::lose_lease: return "is taken for dead, and goes on";
        case Kind::restart: return "starts again";
        case Kind::give_up: return "a dead owner's call is given up";
        case Kind::resolve_applied: return "a person resolves: applied";
        case Kind::resolve_not_applied: return "a person resolves: not applied";
        case Kind::orphan_applies: return "a message that nobody listens to has its effect";
        case Kind::orphan_gets_lost: return "a message that nobody listens to gets lost";
        case Kind::old_orphan_applies: return "a message of a call that is gone has its effect";
        case Kind::old_orphan_gets_lost: return "a message of a call that is gone gets lost";
    }
    return "";
}

bool about_node(Kind kind) {
    return kind < Kind::give_up;
}

bool about_key(Kind kind) {
    return kind != Kind::crash && kind != Kind::lose_lease && kind != Kind::restart;
}

std::string behind(const Belief& belief) {
    if (belief.row_gone) return " (of a row that is gone)";
    if (belief.epochs == 0 && belief.attempts == 0) return "";
    return fmt::format(" ({} epochs, {} attempts behind)", belief.epochs, belief.attempts);
}

}  // namespace

const std::vector<Move>& all_moves() {
    static const std::vector<Move> moves = [] {
        std::vector<Move> all;
        for (int i = 0; i < kMoveKinds; ++i) {
            const auto kind = static_cast<Kind>(i);
            for (std::uint8_t n = 0; n < (about_node(kind) ? kNodes : 1); ++n) {
                for (std::uint8_t k = 0; k < (about_key(kind) ? kKeys : 1); ++k) all.push_back({kind, n, k});
            }
        }
        return all;
    }();
    return moves;
}

std::string to_string(const Move& move) {
    const char node = static_cast<char>('A' + move.node);
    if (!about_key(move.kind)) return fmt::format("{} {}", node, word(move.kind));
    if (!about_node(move.kind)) return fmt::format("key {}: {}", move.key + 1, word(move.kind));
    const std::string_view what = word(move.kind);
    return fmt::format("key {}: {}{}{}", move.key + 1, node, what.starts_with('\'') ? "" : " ", what);
}

Packed World::pack() const {
    Packed packed{};
    for (std::size_t n = 0; n < kNodes; ++n) {
        const Node& node = nodes_[n];
        BitWriter bits;
        bits.put(static_cast<std::uint64_t>(node.status), 2);
        for (std::size_t k = 0; k < kKeys; ++k) {
            bits.put(keys_[k].owner == n ? 1 : 0, 1);
            bits.put(static_cast<std::uint64_t>(node.activities[k].doing), 3);
            bits.put(node.activities[k].belief);
            bits.put(static_cast<std::uint64_t>(node.activities[k].message), 3);
            bits.put(static_cast<std::uint64_t>(node.late[k].message), 3);
            bits.put(node.late[k].belief);
        }
        packed[n] = bits.bits();
    }
    std::sort(packed.begin(), packed.begin() + kNodes);
    BitWriter bits;
    bits.put(faults_left_, 4);
    for (const Key& key : keys_) {
        bits.put(key.has_row ? 1 : 0, 1);
        bits.put(static_cast<std::uint64_t>(key.state), 3);
        bits.put(key.maybe_applied ? 1 : 0, 1);
        bits.put(key.applied, 2);
        bits.put(key.refused_for_good ? 1 : 0, 1);
        bits.put(key.orphans, 2);
        bits.put(key.old_orphans, 2);
        bits.put(key.unproven ? 1 : 0, 1);
    }
    packed[kNodes] = bits.bits();
    return packed;
}

World World::unpack(const Packed& packed, const Settings& settings) {
    World world(settings);
    BitReader bits(packed[kNodes]);
    world.faults_left_ = bits.take(4);
    for (Key& key : world.keys_) {
        key.has_row = bits.take(1) != 0;
        key.state = static_cast<ledger::CallState>(bits.take(3));
        key.maybe_applied = bits.take(1) != 0;
        key.applied = bits.take(2);
        key.refused_for_good = bits.take(1) != 0;
        key.orphans = bits.take(2);
        key.old_orphans = bits.take(2);
        key.unproven = bits.take(1) != 0;
    }
    for (std::size_t n = 0; n < kNodes; ++n) {
        Node& node = world.nodes_[n];
        BitReader own(packed[n]);
        node.status = static_cast<NodeStatus>(own.take(2));
        for (std::size_t k = 0; k < kKeys; ++k) {
            if (own.take(1) != 0) world.keys_[k].owner = static_cast<std::uint8_t>(n);
            node.activities[k].doing = static_cast<Doing>(own.take(3));
            node.activities[k].belief = own.belief();
            node.activities[k].message = static_cast<Message>(own.take(3));
            node.late[k].message = static_cast<Message>(own.take(3));
            node.late[k].belief = own.belief();
        }
    }
    return world;
}

std::string World::describe() const {
    std::string text;
    for (std::size_t k = 0; k < settings_.keys; ++k) {
        const Key& key = keys_[k];
        text += fmt::format("key {} ({}): ", k + 1, callgate::to_string(key.effect));
        if (key.has_row) {
            text += to_string(key.state);
            if (key.owner != kNobody) text += fmt::format(" of {}", static_cast<char>('A' + key.owner));
            if (key.maybe_applied) text += ", maybe applied";
        } else {
            text += "free";
        }
        text += fmt::format(", effects {}", key.applied);
        if (key.orphans + key.old_orphans > 0)
            text += fmt::format(", {} lost to sight", key.orphans + key.old_orphans);
        for (std::size_t n = 0; n < kNodes; ++n) {
            const Activity& activity = nodes_[n].activities[k];
            const Late& late = nodes_[n].late[k];
            if (activity.doing != Doing::nothing) {
                text += fmt::format("; {} {}{}{}{}", static_cast<char>('A' + n), word(activity.doing),
                                    behind(activity.belief), activity.message == Message::none ? "" : ", ",
                                    word(activity.message));
            }
            if (late.message != Message::none) {
                text += fmt::format("; {} gave up{}, {}", static_cast<char>('A' + n), behind(late.belief),
                                    word(late.message));
            }
        }
        text += " | ";
    }
    for (std::size_t n = 0; n < kNodes; ++n) {
        if (nodes_[n].status != NodeStatus::alive)
            text += fmt::format("{} {} ", static_cast<char>('A' + n), word(nodes_[n].status));
    }
    return text;
}

}  // namespace callgate::model
