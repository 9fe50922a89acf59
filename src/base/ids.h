// Identifiers: UUID version 7 (RFC 9562), which sort by the time they were made.
//
// The ids of one IdGenerator strictly increase, within a millisecond and when the clock steps back too, so
// that an index over them grows at its end. Making one takes no lock. Ids are unique, not secret.
//
// Threads: Uuid is a plain value; an IdGenerator may be used from any thread.
#pragma once

#include <array>
#include <atomic>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include <callgate/error.h>

#include "base/clock.h"
#include "base/rng.h"

namespace callgate::base {

struct Uuid {
    std::array<std::uint8_t, 16> bytes{};

    /// 36 lower-case characters: 8-4-4-4-12.
    std::string to_string() const;
    int version() const noexcept { return bytes[6] >> 4; }
    /// When it was made; meaningful for version 7 only.
    std::chrono::sys_time<std::chrono::milliseconds> time() const noexcept;

    auto operator<=>(const Uuid&) const = default;
};

/// The 8-4-4-4-12 form in either case, any version. Anything else: invalid_arguments.
Result<Uuid> parse_uuid(std::string_view text);

class IdGenerator {
public:
    /// The clock must outlive the generator.
    IdGenerator(const Clock& clock, Rng& rng);

    Uuid next() { return next(clock_.wall_now()); }
    /// For who has just read the clock.
    [[gnu::hot]] Uuid next(WallTime now);

private:
    const Clock& clock_;
    const std::uint64_t seed_;
    std::atomic<std::uint64_t> last_{0};  // time and count of the last id
};

}  // namespace callgate::base
