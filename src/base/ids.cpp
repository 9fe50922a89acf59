#include "base/ids.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/encoding.h"

namespace callgate::base {
namespace {

constexpr std::uint64_t kTimeMask = (std::uint64_t{1} << 48) - 1;

// Within a millisecond ids are counted in the 14 bits after the time, version and variant left out.
constexpr int kCountBits = 14;
constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCountBits) - 1;

// SplitMix64's last step: every bit of the result depends on every bit of the number.
std::uint64_t mix(std::uint64_t number) noexcept {
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
    number = (number ^ number >> 27) * 0x94d049bb133111ebu;
    return number ^ number >> 31;
}

constexpr bool dash_at(std::size_t i) {
    return i == 8 || i == 13 || i == 18 || i == 23;
}

}  // namespace

std::string Uuid::to_string() const {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out(36, '-');
    std::size_t at = 0;
    for (const std::uint8_t byte : bytes) {
        if (dash_at(at)) ++at;
        out[at++] = kDigits[byte >> 4];
        out[at++] = kDigits[byte & 15];
    }
    return out;
}

std::chrono::sys_time<std::chrono::milliseconds> Uuid::time() const noexcept {
    std::int64_t value = 0;
    for (std::size_t i = 0; i < 6; ++i) {
        value = value << 8 | bytes[i];
    }
    return std::chrono::sys_time<std::chrono::milliseconds>(std::chrono::milliseconds(value));
}

Result<Uuid> parse_uuid(std::string_view text) {
    std::string digits;
    if (text.size() == 36) {
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (!dash_at(i)) {
                digits.push_back(text[i]);
            } else if (text[i] != '-') {
                digits.clear();
                break;
            }
        }
    }
    const auto raw = hex_decode(digits);
    if (!raw || raw->size() != 16) {
        return fail(ErrorCode::invalid_arguments,
                    "This is not an id: it must be 36 characters of the form "
                    "01234567-89ab-7cde-8f01-23456789abcd.",
                    {{"reason", "bad_uuid"}});
    }
    Uuid out;
    std::transform(raw->begin(), raw->end(), out.bytes.begin(),
                   [](char c) { return static_cast<std::uint8_t>(c); });
    return out;
}

IdGenerator::IdGenerator(const Clock& clock, Rng& rng) : clock_(clock), seed_(rng.next_u64()) {}

Uuid IdGenerator::next(WallTime wall_now) {
    const auto since_epoch =
        std::chrono::floor<std::chrono::milliseconds>(wall_now.time_since_epoch()).count();
    const auto now = since_epoch < 0 ? 0 : static_cast<std::uint64_t>(since_epoch) & kTimeMask;
    std::uint64_t last = last_.load(std::memory_order_relaxed);
    std::uint64_t mine = 0;
    do {
        mine = std::max(last + 1, now << kCountBits);
    } while (!last_.compare_exchange_weak(last, mine, std::memory_order_relaxed));

    // No other id of this generator has the same time and count, and those of another one have other bits.
    const std::uint64_t count = mine & kCountMask;
    const std::uint64_t mixed = mix(mine ^ seed_);
    const auto put = [](std::uint8_t* to, std::uint64_t number) {  // big-endian
        if constexpr (std::endian::native == std::endian::little) number = __builtin_bswap64(number);
        std::memcpy(to, &number, sizeof number);
    };
    Uuid out;
    put(out.bytes.data(), mine >> kCountBits << 16 | 0x7000 | count >> 2);
    put(out.bytes.data() + 8, std::uint64_t{1} << 63 | (count & 3) << 60 | mixed >> 4);
    return out;
}

}  // namespace callgate::base
