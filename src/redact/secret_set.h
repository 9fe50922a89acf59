// The secret values that must not appear anywhere, and the forms in which they may try.
//
// Recognised are: the value itself; base64 in either alphabet, at any offset inside a larger encoded text,
// padded or not; hexadecimal in either case; each of these broken into lines; and the value with any of its
// characters written as a JSON escape or percent-encoded (forms' `+` for a space included). Values are kept
// in memory that is wiped on release.
//
// Threads: a SecretSet may be used from any thread; a SecretIndex is immutable and may be shared.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include <callgate/error.h>

#include "base/cleansing.h"
#include "base/mutex.h"
#include "redact/automaton.h"

namespace callgate::redact {

/// What the searches need, built from a set of values.
class SecretIndex {
public:
    explicit SecretIndex(std::span<const base::SecretBytes> values);

    const Automaton& all() const noexcept { return all_; }        ///< the values and their encodings
    const Automaton& values() const noexcept { return values_; }  ///< the values alone

    bool empty() const noexcept { return values_.empty(); }
    bool some_have_spaces() const noexcept { return some_have_spaces_; }
    bool some_are_digits() const noexcept { return some_are_digits_; }

private:
    Automaton all_;
    Automaton values_;
    bool some_have_spaces_ = false;
    bool some_are_digits_ = false;
};

class SecretSet {
public:
    /// Shorter values would turn up by chance and shred the output.
    static constexpr std::size_t kMinBytes = 8;
    static constexpr std::size_t kMaxBytes = 64u << 10;
    /// Over all values; the index takes up to some 400 bytes for each of these.
    static constexpr std::size_t kMaxTotalBytes = 256u << 10;

    /// invalid_arguments with details {reason: secret_too_short, secret_too_long or too_many_secrets, …}; the
    /// value itself is in no message. Adding a value again changes nothing.
    Result<void> add(std::string_view value);

    std::size_t size() const;

    /// The index over what has been added so far; built when first asked for after a change.
    std::shared_ptr<const SecretIndex> index() const;

private:
    mutable base::Mutex mutex_;
    std::vector<base::SecretBytes> values_ CALLGATE_GUARDED_BY(mutex_);
    std::size_t total_bytes_ CALLGATE_GUARDED_BY(mutex_) = 0;
    mutable std::shared_ptr<const SecretIndex> index_ CALLGATE_GUARDED_BY(mutex_);
};

}  // namespace callgate::redact
