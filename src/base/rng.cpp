#include "base/rng.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include <sys/random.h>

namespace callgate::base {

std::uint64_t Rng::next_u64() {
    std::array<std::byte, 8> bytes;
    fill(bytes);
    std::uint64_t value = 0;
    for (const auto byte : bytes) {
        value = value << 8 | std::to_integer<std::uint64_t>(byte);
    }
    return value;
}

std::uint64_t Rng::below(std::uint64_t bound) {
    if (bound == 0) {
        return 0;
    }
    // Values under 2^64 mod bound are drawn again; they would make the small results more likely.
    const std::uint64_t excess = (0 - bound) % bound;
    for (;;) {
        const std::uint64_t value = next_u64();
        if (value >= excess) {
            return value % bound;
        }
    }
}

void SystemRng::fill(std::span<std::byte> out) {
    while (!out.empty()) {
        const ssize_t got = ::getrandom(out.data(), out.size(), 0);
        if (got < 0) {
            if (errno == EINTR) {
                continue;
            }
            throw std::system_error(errno, std::generic_category(), "getrandom");
        }
        out = out.subspan(static_cast<std::size_t>(got));
    }
}

void DrawnAhead::fill(std::span<std::byte> out) {
    if (out.size() > bytes_.size()) {
        from_.fill(out);
        return;
    }
    if (out.size() > left_) {
        from_.fill(bytes_);
        left_ = bytes_.size();
    }
    std::copy_n(bytes_.end() - static_cast<std::ptrdiff_t>(left_), out.size(), out.begin());
    left_ -= out.size();
}

void SeededRng::fill(std::span<std::byte> out) {
    const MutexLock lock(mutex_);
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
        if (i % 8 == 0) {
            // SplitMix64.
            state_ += 0x9e3779b97f4a7c15;
            word = state_;
            word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
            word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
            word ^= word >> 31;
        }
        out[i] = static_cast<std::byte>(word & 0xff);
        word >>= 8;
    }
}

}  // namespace callgate::base
