// Secrets masked in text that arrives in pieces.
//
// Every byte that belongs to any form of any secret is replaced; a run of such bytes becomes one marker. What
// comes out does not depend on where the pieces were cut: text that could be the beginning of a secret is
// held back until it is clear. Usually that is nothing or a few bytes; at most it is the longest form of the
// longest secret.
//
// Threads: belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/cleansing.h"
#include "redact/secret_set.h"

namespace callgate::redact {

inline constexpr std::string_view kMarker = "[REDACTED]";

class StreamRedactor {
public:
    /// Without an index nothing is masked.
    explicit StreamRedactor(std::shared_ptr<const SecretIndex> secrets);

    /// Appends to `out` what is certain by now.
    void feed(std::string_view piece, std::string& out);
    /// The text is complete: appends the rest and is ready for another text.
    void flush(std::string& out);

    std::size_t held_bytes() const noexcept { return text_.size(); }
    /// Whether anything has been masked so far.
    bool found() const noexcept { return found_; }

private:
    // One way of reading the text: as it is, or with one kind of escape undone. Positions count from the
    // start of the text.
    struct Lane {
        std::size_t position = 0;
        Automaton::State state = Automaton::kRoot;
        bool spill_next = false;          // the next byte holds bits of the secret that just ended
        std::vector<std::size_t> starts;  // ring: where each decoded byte began
        std::size_t decoded = 0;
    };
    struct Span {
        std::size_t begin;
        std::size_t end;
    };

    void search(bool complete);
    template <class Reading>
    void run(Lane& lane, const Automaton& automaton, const Reading& reading, bool complete);
    template <class Reading>
    void note_match(Lane& lane, const Automaton& automaton, const Reading& reading, std::size_t end);
    void cover(std::size_t begin, std::size_t end);
    std::size_t started(const Lane& lane, const Automaton& automaton) const;
    std::size_t certain() const;
    void emit(std::size_t end, std::string& out);
    char at(std::size_t position) const { return text_[position - offset_]; }

    std::shared_ptr<const SecretIndex> secrets_;
    base::SecretBytes text_;  // what is held back
    std::size_t offset_ = 0;  // position of its first byte
    Lane plain_;
    Lane json_;
    Lane percent_;
    Lane form_;
    Lane unwrapped_;
    std::vector<Span> spans_;
    bool masked_before_ = false;  // the byte before text_ was masked
    bool found_ = false;
};

}  // namespace callgate::redact
