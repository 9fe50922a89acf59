#include "net/address.h"

#include <algorithm>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace callgate::net {
namespace {

struct Range {
    std::array<std::uint8_t, 4> begin;
    unsigned bits;
};

// What the registries of special purposes keep from the Internet; of IPv6, within 2000::/3, which is all that
// is handed out.
constexpr std::array<Range, 15> kNotPublicFour{{
    {{0, 0, 0, 0}, 8},
    {{10, 0, 0, 0}, 8},
    {{100, 64, 0, 0}, 10},  // shared by a carrier's customers
    {{127, 0, 0, 0}, 8},
    {{169, 254, 0, 0}, 16},  // link-local, and where clouds serve credentials
    {{172, 16, 0, 0}, 12},
    {{192, 0, 0, 0}, 24},
    {{192, 0, 2, 0}, 24},
    {{192, 88, 99, 0}, 24},  // relays of 6to4
    {{192, 168, 0, 0}, 16},
    {{198, 18, 0, 0}, 15},
    {{198, 51, 100, 0}, 24},
    {{203, 0, 113, 0}, 24},
    {{224, 0, 0, 0}, 4},
    {{240, 0, 0, 0}, 4},
}};
constexpr std::array<Range, 4> kNotPublicSix{{
    {{0x20, 0x01, 0x00, 0x00}, 23},  // Teredo and others
    {{0x20, 0x01, 0x0d, 0xb8}, 32},
    {{0x20, 0x02, 0x00, 0x00}, 16},  // 6to4
    {{0x3f, 0xff, 0x00, 0x00}, 20},
}};

std::uint32_t first_four(const std::uint8_t* bytes) noexcept {
    return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 |
           bytes[3];
}

bool is_in(std::uint32_t number, const Range& range) noexcept {
    return (number ^ first_four(range.begin.data())) >> (32 - range.bits) == 0;
}

bool is_mapped(const IpAddress& address) noexcept {
    constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return std::equal(kMapped.begin(), kMapped.end(), address.bytes.begin());
}

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
    const std::string copy(text);
    IpAddress address;
    // What stands behind a zero byte is not seen by the system.
    if (copy.find('\0') != std::string::npos) return std::nullopt;
    if (::inet_pton(AF_INET, copy.c_str(), address.bytes.data()) == 1) return address;
    address.six = true;
    if (::inet_pton(AF_INET6, copy.c_str(), address.bytes.data()) == 1) return address;
    return std::nullopt;
}

std::string IpAddress::text() const {
    std::array<char, INET6_ADDRSTRLEN> text{};
    ::inet_ntop(six ? AF_INET6 : AF_INET, bytes.data(), text.data(), text.size());
    return text.data();
}

bool is_loopback(const IpAddress& address) noexcept {
    if (!address.six) return address.bytes[0] == 127;
    if (is_mapped(address)) return address.bytes[12] == 127;
    return address.bytes[15] == 1 && std::all_of(address.bytes.begin(), address.bytes.end() - 1,
                                                 [](std::uint8_t byte) { return byte == 0; });
}

bool is_public(const IpAddress& address) noexcept {
    const std::uint32_t number = first_four(address.bytes.data());
    const auto here = [number](const Range& range) { return is_in(number, range); };
    if (!address.six) return std::ranges::none_of(kNotPublicFour, here);
    return is_in(number, {{0x20, 0, 0, 0}, 3}) && std::ranges::none_of(kNotPublicSix, here);
}

}  // namespace callgate::net
