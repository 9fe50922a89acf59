// Addresses of machines, and rules about which of them may be connected to.
//
// A rule is asked about an address and never about a name: what a name means changes between two looks at it,
// and somebody else decides what it means. Who connects asks about the very address that it then connects to.
//
// Threads: plain values; all functions may be called from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace callgate::net {

struct IpAddress {
    std::array<std::uint8_t, 16> bytes{};  ///< in the order of the network; of IPv4 the first four
    std::uint32_t scope = 0;               ///< of a link-local address of IPv6: the interface
    bool six = false;

    IpAddress() {}
    /// "127.0.0.1" of four decimal numbers, "::1"; neither brackets nor a scope.
    static std::optional<IpAddress> parse(std::string_view text);
    std::string text() const;
    friend bool operator==(const IpAddress&, const IpAddress&) = default;
};

/// Of this machine alone: 127.0.0.0/8, ::1, and the former written as IPv6.
bool is_loopback(const IpAddress& address) noexcept;
/// Reachable from everywhere, as far as its number says: none of the ranges that IANA's registries of special
/// purposes keep from the Internet (loopback, private, link-local, shared by carriers, multicast,
/// documentation, benchmarks, reserved, ...), and no address of IPv6 that only carries one of IPv4 (mapped,
/// compatible, NAT64, 6to4, Teredo), whatever it carries: where such a one leads is decided by somebody else.
bool is_public(const IpAddress& address) noexcept;

/// Whether this address may be connected to. Empty: any may. Asked on a loop thread: it must neither block
/// nor throw. `is_public` and `is_loopback` are rules.
using AddressRule = std::function<bool(const IpAddress&)>;

}  // namespace callgate::net
