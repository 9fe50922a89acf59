#include "schema/format_net.h"

#include <arpa/inet.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schema/format_test_cases.h"

namespace callgate::schema {
namespace {

TEST(HostnameFormat, is_rfc_1123_section_2_1) {
    const std::string label(63, 'a');
    const std::string longest = label + "." + label + "." + label + "." + label.substr(2);
    ASSERT_EQ(longest.size(), 253u);
    EXPECT_TRUE(is_hostname(longest)) << "RFC 1035 section 3.1";
    EXPECT_FALSE(is_hostname(longest + "a")) << "RFC 1035 section 3.1";
    EXPECT_FALSE(is_hostname(label + "a")) << "RFC 1035 section 2.3.4";
    expect_all(true, is_hostname,
               {{"a", ""},
                {"LOCALHOST", "case is free"},
                {"3com.example", "a digit may come first"},
                {"a-b--c.d", "inner hyphens"},
                {"xn--bcher-kva.example", "A-label"},
                {"XN--BCHER-KVA.example", "A-label in upper case"}});
    expect_all(false, is_hostname,
               {{"", ""},
                {".", ""},
                {"a.", "no final dot"},
                {".a", ""},
                {"a..b", ""},
                {"-a", ""},
                {"a-", ""},
                {"a.-b", ""},
                {"a_b", ""},
                {"a b", ""},
                {"bücher.example", "ASCII"},
                {"a\u3002b", "ASCII"},
                {"xn--", "empty A-label"},
                {"xn--a", "no punycode"},
                {"xn--abc-", "decodes to ASCII"},
                {"xn--Bcher-kva8445foa", "decodes to upper case or unassigned"},
                {"a:80", "no port"}});
}

TEST(Ipv4Format, is_the_dotted_quad_of_rfc_2673) {
    expect_all(true, is_ipv4, {{"0.0.0.0", "3.2"}, {"255.255.255.255", "3.2"}, {"1.20.199.249", "3.2"}});
    expect_all(false, is_ipv4,
               {{"", "3.2"},
                {"1.2.3", "four octets"},
                {"1.2.3.4.5", "four octets"},
                {"1.2.3.256", "octet"},
                {"1.2.3.1000", "octet"},
                {"01.2.3.4", "no leading zero"},
                {"1.2.3.4 ", "nothing follows"},
                {"1..3.4", "octet"},
                {"１.2.3.4", "ASCII digits"},
                {"1.2.3.", "octet"},
                {"0x1.2.3.4", "decimal"}});
}

TEST(Ipv6Format, is_rfc_4291_section_2_2) {
    expect_all(true, is_ipv6,
               {{"::", "2"},
                {"::1", "2"},
                {"1::", "2"},
                {"2001:DB8:0:0:8:800:200c:417a", "1"},
                {"1:2:3:4:5:6:7::", "2 one group"},
                {"::2:3:4:5:6:7:8", "2 one group"},
                {"::13.1.68.3", "3"},
                {"1:2:3:4:5:6:1.2.3.4", "3"},
                {"1::5:6:1.2.3.4", "3"}});
    expect_all(false, is_ipv6,
               {{"", ""},
                {":", ""},
                {":::", ""},
                {"1", ""},
                {"1:2:3:4:5:6:7", "1 eight groups"},
                {"1:2:3:4:5:6:7:8:9", "1 eight groups"},
                {"1::2::3", "2 once"},
                {"1:2:3:4::5:6:7:8", "2 a group at least"},
                {"12345::", "1 four digits"},
                {"g::", "1 hexadecimal"},
                {":1:2:3:4:5:6:7", ""},
                {"1:2:3:4:5:6:7:", ""},
                {"1.2.3.4", "3"},
                {"1.2.3.4::", "3 only at the end"},
                {"::1.2.3", "3"},
                {"::01.2.3.4", "3"},
                {"1:2:3:4:5:6:7:1.2.3.4", "3 two groups"},
                {"fe80::1%eth0", "no zone id"},
                {"[::1]", "no brackets"},
                {"::1/64", "no prefix"}});
}

bool libc_says(int family, const std::string& text) {
    std::array<unsigned char, sizeof(in6_addr)> address{};
    return inet_pton(family, text.c_str(), address.data()) == 1;
}

RC_GTEST_PROP(Ipv4Format, agrees_with_inet_pton_on_every_mutation, ()) {
    const auto octet = [] { return std::to_string(*rc::gen::inRange(0, 300)); };
    const std::string text = octet() + "." + octet() + "." + octet() + "." + octet();
    RC_ASSERT(is_ipv4(text) == libc_says(AF_INET, text));
    for_each_mutation(text, "0123456789. x:", [](const std::string& changed) {
        if (is_ipv4(changed) != libc_says(AF_INET, changed)) RC_FAIL(changed);
    });
}

RC_GTEST_PROP(Ipv6Format, agrees_with_inet_pton_on_every_mutation, ()) {
    const auto parts = *rc::gen::container<std::vector<std::string>>(
        *rc::gen::inRange<std::size_t>(0, 20),
        rc::gen::weightedElement<std::string>(
            {{6, ":"}, {2, "::"}, {3, "1"}, {2, "ab"}, {1, "00f"}, {1, "FFFF"}, {1, "1.2.3.4"}}));
    std::string text;
    for (const std::string& part : parts) text += part;
    RC_ASSERT(is_ipv6(text) == libc_says(AF_INET6, text));
    for_each_mutation(text, "0aF:.g ", [](const std::string& changed) {
        if (is_ipv6(changed) != libc_says(AF_INET6, changed)) RC_FAIL(changed);
    });
}

RC_GTEST_PROP(Ipv6Format, accepts_what_inet_ntop_writes, ()) {
    const auto bytes =
        *rc::gen::container<std::array<unsigned char, 16>>(rc::gen::weightedOneOf<unsigned char>(
            {{3, rc::gen::just<unsigned char>(0)}, {1, rc::gen::arbitrary<unsigned char>()}}));
    std::array<char, INET6_ADDRSTRLEN> text{};
    RC_ASSERT(inet_ntop(AF_INET6, bytes.data(), text.data(), text.size()) != nullptr);
    RC_ASSERT(is_ipv6(text.data()));
}

}  // namespace
}  // namespace callgate::schema
