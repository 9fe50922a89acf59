#include "redact/stream_redactor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "redact/reading.h"

namespace callgate::redact {
namespace {

constexpr bool is_base64(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/' || c == '-' || c == '_';
}

// Where the next escape is; asked for positions that only grow.
class EscapeFinder {
public:
    template <class Reading>
    std::size_t find(std::string_view text, std::size_t from) {
        std::size_t nearest = text.size();
        for (std::size_t i = 0; i < Reading::kEscapes.size(); ++i) {
            if (next_[i] <= from) {
                next_[i] = std::min(text.find(Reading::kEscapes[i], from), text.size()) + 1;
            }
            nearest = std::min(nearest, next_[i] - 1);
        }
        return nearest;
    }

private:
    std::array<std::size_t, 2> next_{};  // one past it
};

}  // namespace

StreamRedactor::StreamRedactor(std::shared_ptr<const SecretIndex> secrets) : secrets_(std::move(secrets)) {}

void StreamRedactor::feed(std::string_view piece, std::string& out) {
    if (!secrets_ || secrets_->empty()) {
        out.append(piece);
        return;
    }
    text_.insert(text_.end(), piece.begin(), piece.end());
    search(false);
    emit(certain(), out);
}

void StreamRedactor::flush(std::string& out) {
    if (secrets_ && !secrets_->empty()) {
        search(true);
        emit(offset_ + text_.size(), out);
    }
    const bool found = found_;
    *this = StreamRedactor(std::move(secrets_));
    found_ = found;
}

void StreamRedactor::search(bool complete) {
    run(plain_, secrets_->all(), PlainReading(), complete);
    run(json_, secrets_->values(), JsonReading(), complete);
    run(percent_, secrets_->values(), PercentReading<false>(), complete);
    if (secrets_->some_have_spaces()) {
        run(form_, secrets_->values(), PercentReading<true>(), complete);
    }
    run(unwrapped_, secrets_->all(), UnwrappedReading(), complete);
}

template <class Reading>
void StreamRedactor::run(Lane& lane, const Automaton& automaton, const Reading& reading, bool complete) {
    const std::string_view text = base::view(text_);
    const std::size_t end = offset_ + text.size();
    [[maybe_unused]] EscapeFinder escapes;
    while (lane.position < end) {
        if (lane.state == Automaton::kRoot && !lane.spill_next) {
            std::size_t at = lane.position - offset_;
            if constexpr (Reading::kLiteral) {
                at = automaton.skip(text, at);
            } else {
                // What holds no escape is found by the plain lane; only the surroundings of escapes matter
                // here.
                const std::size_t escape = escapes.template find<Reading>(text, at);
                at = std::max(at, escape - std::min(escape, automaton.longest()));
                at = automaton.skip(text.substr(0, escape), at);
            }
            lane.position = offset_ + at;
            if (lane.position >= end) {
                break;
            }
        }
        if (std::exchange(lane.spill_next, false) && is_base64(at(lane.position))) {
            cover(lane.position, lane.position + 1);
        }
        const Unit unit = reading.read(text.substr(lane.position - offset_), complete);
        if (unit.raw == 0) {
            break;
        }
        for (std::size_t i = 0; i < unit.count; ++i) {
            lane.state = automaton.next(lane.state, unit.bytes[i]);
            if constexpr (!Reading::kLiteral) {
                if (lane.starts.empty()) {
                    lane.starts.resize(std::bit_ceil(automaton.longest() + 1));
                }
                lane.starts[lane.decoded++ & (lane.starts.size() - 1)] = lane.position;
            }
            if (automaton.matches(lane.state)) {
                note_match(lane, automaton, reading, lane.position + unit.raw);
            }
        }
        lane.position += unit.raw;
    }
}

template <class Reading>
void StreamRedactor::note_match(Lane& lane, const Automaton& automaton, const Reading&, std::size_t end) {
    const auto start_of = [&](std::size_t length) {
        if constexpr (Reading::kLiteral) {
            return end - length;
        } else {
            return lane.starts[(lane.decoded - length) & (lane.starts.size() - 1)];
        }
    };
    std::size_t begin = start_of(automaton.longest_match(lane.state));
    if (const auto length = automaton.longest_left_spill(lane.state); length != 0) {
        const std::size_t first = start_of(length);
        if (first > offset_ && is_base64(at(first - 1))) {
            begin = std::min(begin, first - 1);
        }
    }
    lane.spill_next = lane.spill_next || automaton.spills_right(lane.state);
    cover(begin, end);
}

void StreamRedactor::cover(std::size_t begin, std::size_t end) {
    if (!spans_.empty() && begin <= spans_.back().end && end >= spans_.back().begin) {
        spans_.back().begin = std::min(spans_.back().begin, begin);
        spans_.back().end = std::max(spans_.back().end, end);
    } else {
        spans_.push_back(Span{begin, end});
    }
}

std::size_t StreamRedactor::started(const Lane& lane, const Automaton& automaton) const {
    const auto depth = automaton.depth(lane.state);
    if (depth == 0 || lane.starts.empty()) {
        return lane.position - depth;
    }
    return lane.starts[(lane.decoded - depth) & (lane.starts.size() - 1)];
}

// The first position that a later match may still reach.
std::size_t StreamRedactor::certain() const {
    std::size_t encoded = std::min(started(plain_, secrets_->all()), started(unwrapped_, secrets_->all()));
    if (encoded > offset_ && is_base64(at(encoded - 1))) {
        --encoded;
    }
    std::size_t out =
        std::min({encoded, started(json_, secrets_->values()), started(percent_, secrets_->values())});
    if (secrets_->some_have_spaces()) {
        out = std::min(out, started(form_, secrets_->values()));
    }
    return out;
}

void StreamRedactor::emit(std::size_t end, std::string& out) {
    std::sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
    const std::string_view text = base::view(text_);
    std::size_t position = offset_;
    std::size_t kept = 0;
    for (const auto& span : spans_) {
        const std::size_t stop = std::min(span.end, end);
        if (span.begin < end && stop > position) {
            if (span.begin > position) {
                out.append(text.substr(position - offset_, span.begin - position));
                masked_before_ = false;
            }
            if (!std::exchange(masked_before_, true)) {
                out.append(kMarker);
            }
            found_ = true;
            position = stop;
        }
        if (span.end > end) {
            spans_[kept++] = span;
        }
    }
    spans_.resize(kept);
    if (position < end) {
        out.append(text.substr(position - offset_, end - position));
        masked_before_ = false;
    }
    text_.erase(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(end - offset_));
    offset_ = end;
}

}  // namespace callgate::redact
