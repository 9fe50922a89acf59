#include "net/address.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace callgate::net {
namespace {

TEST(Address, IsReadFromItsUsualFormAlone) {
    EXPECT_EQ(IpAddress::parse("127.0.0.1")->text(), "127.0.0.1");
    EXPECT_EQ(IpAddress::parse("0:0:0:0:0:0:0:1")->text(), "::1");
    for (const char* other : {"", "127.1", "0177.0.0.1", "0x7f.0.0.1", "2130706433", "127.0.0.1.",
                              " 127.0.0.1", "[::1]", "fe80::1%eth0", "::1 ", "1.2.3.256"})
        EXPECT_FALSE(IpAddress::parse(other)) << other;
    EXPECT_FALSE(IpAddress::parse(std::string_view("127.0.0.1\0x", 11)));
}

TEST(Address, WhatIsNotReachableFromEverywhereIsNotPublic) {
    const std::vector<std::string> inside = {"0.0.0.0",
                                             "0.1.2.3",
                                             "10.0.0.1",
                                             "10.255.255.255",
                                             "100.64.0.1",
                                             "100.127.255.255",
                                             "127.0.0.1",
                                             "127.255.255.255",
                                             "169.254.169.254",
                                             "172.16.0.1",
                                             "172.31.255.255",
                                             "192.0.0.1",
                                             "192.0.2.1",
                                             "192.88.99.1",
                                             "192.168.0.1",
                                             "198.18.0.1",
                                             "198.19.255.255",
                                             "198.51.100.7",
                                             "203.0.113.9",
                                             "224.0.0.1",
                                             "239.255.255.255",
                                             "240.0.0.1",
                                             "255.255.255.255",
                                             "::",
                                             "::1",
                                             "::ffff:8.8.8.8",
                                             "::ffff:10.0.0.1",
                                             "::8.8.8.8",
                                             "64:ff9b::8.8.8.8",
                                             "64:ff9b:1::1",
                                             "100::1",
                                             "2001::1",
                                             "2001:2::1",
                                             "2001:db8::1",
                                             "2002:a00:1::1",
                                             "3fff::1",
                                             "fc00::1",
                                             "fd00:ec2::254",
                                             "fe80::1",
                                             "fec0::1",
                                             "ff02::1",
                                             "5f00::1",
                                             "::ffff:127.0.0.1",
                                             "::ffff:0:127.0.0.1"};
    for (const std::string& address : inside)
        EXPECT_FALSE(is_public(IpAddress::parse(address).value())) << address;
    for (const char* outside : {"1.1.1.1",
                                "8.8.8.8",
                                "9.255.255.255",
                                "11.0.0.0",
                                "100.63.255.255",
                                "100.128.0.0",
                                "126.0.0.1",
                                "128.0.0.1",
                                "169.253.0.1",
                                "172.15.0.1",
                                "172.32.0.1",
                                "192.0.1.1",
                                "192.167.0.1",
                                "198.17.0.1",
                                "198.20.0.1",
                                "223.255.255.255",
                                "2001:200::1",
                                "2001:4860:4860::8888",
                                "2606:4700:4700::1111",
                                "3ffe::1"})
        EXPECT_TRUE(is_public(IpAddress::parse(outside).value())) << outside;
}

TEST(Address, LoopbackIsThisMachineAlone) {
    for (const char* here : {"127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"})
        EXPECT_TRUE(is_loopback(IpAddress::parse(here).value())) << here;
    for (const char* there : {"0.0.0.0", "128.0.0.1", "10.0.0.1", "::", "::2", "::ffff:10.0.0.1", "100::1"})
        EXPECT_FALSE(is_loopback(IpAddress::parse(there).value())) << there;
}

}  // namespace
}  // namespace callgate::net
