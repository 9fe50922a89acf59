#include "base/ids.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/encoding.h"

namespace callgate::base {
namespace {

constexpr std::uint64_t kLowRange = std::uint64_t{1} << 62;
constexpr std::uint32_t kHighRange = 1u << 12;
constexpr std::uint64_t kTimeMask = (std::uint64_t{1} << 48) - 1;

constexpr bool dash_at(std::size_t i) {
    return i == 8 || i == 13 || i == 18 || i == 23;
}

}  // namespace

std::string Uuid::to_string() const {
    std::string out;
    out.reserve(36);
    const std::string digits =
        hex_encode(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    for (const char c : digits) {
        if (dash_at(out.size())) {
            out.push_back('-');
        }
        out.push_back(c);
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

void IdGenerator::draw() {
    // The top bit starts as 0: room for many steps within this millisecond.
    high_ = static_cast<std::uint32_t>(rng_.next_u64() % (kHighRange / 2));
    low_ = rng_.next_u64() % kLowRange;
    step_ = rng_.next_u64();
}

Uuid IdGenerator::next(WallTime wall_now) {
    const std::lock_guard lock(mutex_);
    const auto since_epoch =
        std::chrono::floor<std::chrono::milliseconds>(wall_now.time_since_epoch()).count();
    const auto now = since_epoch < 0 ? 0 : static_cast<std::uint64_t>(since_epoch) & kTimeMask;
    if (!started_ || now > milliseconds_) {
        started_ = true;
        milliseconds_ = now;
        draw();
    } else {
        // Unique and not secret: the distance to the next id need only be hard to guess by accident.
        step_ = step_ * 6364136223846793005u + 1442695040888963407u;
        low_ += 1 + (step_ >> 32);
        if (low_ >= kLowRange) {
            low_ -= kLowRange;
            if (++high_ == kHighRange) {
                ++milliseconds_;
                draw();
            }
        }
    }

    const auto put = [](std::uint8_t* to, std::uint64_t number) {  // big-endian
        if constexpr (std::endian::native == std::endian::little) number = __builtin_bswap64(number);
        std::memcpy(to, &number, sizeof number);
    };
    Uuid out;
    put(out.bytes.data(), milliseconds_ << 16 | 0x7000 | high_);
    put(out.bytes.data() + 8, std::uint64_t{1} << 63 | low_);
    return out;
}

}  // namespace callgate::base
