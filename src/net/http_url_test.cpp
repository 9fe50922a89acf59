#include "net/http_url.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/must.h"

namespace callgate::net {
namespace {

TEST(HttpUrl, IsReadIntoItsParts) {
    const HttpUrl url = must(parse_url("HTTPS://MCP.Example.com:8443/a/b?c=d#e"));
    EXPECT_TRUE(url.secure);
    EXPECT_FALSE(url.literal);
    EXPECT_EQ(url.host, "mcp.example.com");
    EXPECT_EQ(url.port, 8443);
    EXPECT_EQ(url.target, "/a/b?c=d");
    EXPECT_EQ(url.authority(), "mcp.example.com:8443");
    EXPECT_EQ(url.origin(), "https://mcp.example.com:8443");
    EXPECT_EQ(must(parse_url("http://localhost")).text(), "http://localhost/");
    EXPECT_EQ(must(parse_url("http://localhost:80?x")).text(), "http://localhost/?x");
    EXPECT_EQ(must(parse_url("https://localhost:443/")).authority(), "localhost");
    EXPECT_EQ(must(parse_url("http://xn--mnchen-3ya.de/")).host, "xn--mnchen-3ya.de");
}

TEST(HttpUrl, AddressesStandForThemselves) {
    const HttpUrl six = must(parse_url("http://[0:0::1]:8080/"));
    EXPECT_TRUE(six.literal);
    EXPECT_EQ(six.host, "::1");
    EXPECT_EQ(six.authority(), "[::1]:8080");
    EXPECT_TRUE(must(parse_url("http://127.0.0.1/")).literal);
}

TEST(HttpUrl, WhatCanBeReadInTwoWaysIsRefused) {
    for (const std::string bad : {"",
                                  "localhost",
                                  "//localhost/",
                                  "ftp://a/",
                                  "file:///etc/passwd",
                                  "unix:/run/x",
                                  "http:",
                                  "http:/a",
                                  "http:a",
                                  "http://",
                                  "http:///x",
                                  "http://?x",
                                  "http://user@a/",
                                  "http://user:pass@a/",
                                  "http://a@b@c/",
                                  "http://a b/",
                                  "http://a/b c",
                                  "http://a/\r\nX: y",
                                  "http://a\t/",
                                  "http://a/\x7f",
                                  "http://a\\@b/",
                                  "http://a/\\b",
                                  "http://m\xc3\xbcnchen.de/",
                                  "http://a/\xc3\xbc",
                                  "http://a%2eb/",
                                  "http://a..b/",
                                  "http://.a/",
                                  "http://a./",
                                  "http://127.1/",
                                  "http://0177.0.0.1/",
                                  "http://0x7f000001/",
                                  "http://2130706433/",
                                  "http://1.2.3.4.5/",
                                  "http://1.2.3.256/",
                                  "http://a.0x10/",
                                  "http://[::1/",
                                  "http://::1/",
                                  "http://[127.0.0.1]/",
                                  "http://[fe80::1%25eth0]/",
                                  "http://[::1]x/",
                                  "http://[]/",
                                  "http://a:/",
                                  "http://a:0/",
                                  "http://a:65536/",
                                  "http://a:+80/",
                                  "http://a:80x/",
                                  "http://a:8 0/",
                                  "http://a:80:80/",
                                  "http://a,b/",
                                  "http://a;b/",
                                  "http://a!b/"}) {
        const auto url = parse_url(bad);
        ASSERT_FALSE(url) << bad;
        EXPECT_EQ(url.error().details.at("reason").get_string(), "bad_url") << bad;
    }
    EXPECT_FALSE(parse_url("http://" + std::string(64, 'a') + ".de/"));
    EXPECT_FALSE(parse_url("http://a/" + std::string(HttpUrl::kMostBytes, 'a')));
    EXPECT_FALSE(parse_url(std::string_view("http://a/\0b", 11)));
}

TEST(HttpUrl, ReferencesAreResolvedAsRfc3986Says) {
    const HttpUrl base = must(parse_url("http://a/b/c/d;p?q"));
    const auto resolved = [&](const char* reference) { return must(resolve_url(base, reference)).text(); };
    EXPECT_EQ(resolved("g"), "http://a/b/c/g");
    EXPECT_EQ(resolved("./g"), "http://a/b/c/g");
    EXPECT_EQ(resolved("g/"), "http://a/b/c/g/");
    EXPECT_EQ(resolved("/g"), "http://a/g");
    EXPECT_EQ(resolved("//g"), "http://g/");
    EXPECT_EQ(resolved("?y"), "http://a/b/c/d;p?y");
    EXPECT_EQ(resolved("g?y"), "http://a/b/c/g?y");
    EXPECT_EQ(resolved("#s"), "http://a/b/c/d;p?q");
    EXPECT_EQ(resolved("g#s"), "http://a/b/c/g");
    EXPECT_EQ(resolved(";x"), "http://a/b/c/;x");
    EXPECT_EQ(resolved(""), "http://a/b/c/d;p?q");
    EXPECT_EQ(resolved("."), "http://a/b/c/");
    EXPECT_EQ(resolved(".."), "http://a/b/");
    EXPECT_EQ(resolved("../g"), "http://a/b/g");
    EXPECT_EQ(resolved("../.."), "http://a/");
    EXPECT_EQ(resolved("../../../g"), "http://a/g");
    EXPECT_EQ(resolved("/./g"), "http://a/g");
    EXPECT_EQ(resolved("/../g"), "http://a/g");
    EXPECT_EQ(resolved("g."), "http://a/b/c/g.");
    EXPECT_EQ(resolved("..g"), "http://a/b/c/..g");
    EXPECT_EQ(resolved("./../g"), "http://a/b/g");
    EXPECT_EQ(resolved("g;x=1/../y"), "http://a/b/c/y");
    EXPECT_EQ(resolved("g?y/../x"), "http://a/b/c/g?y/../x");
    EXPECT_EQ(resolved("https://b/x"), "https://b/x");
    EXPECT_EQ(must(resolve_url(must(parse_url("https://a/sse")), "//b:1/x")).text(), "https://b:1/x");
    for (const char* bad : {"javascript:alert(1)", "//user@g", "//[::1", "a b", "\\\\g"})
        EXPECT_FALSE(resolve_url(base, bad)) << bad;
}

RC_GTEST_PROP(HttpUrl, WhatIsReadIsWrittenSoThatItIsReadTheSame, ()) {
    const auto text =
        *rc::gen::container<std::string>(rc::gen::elementOf(std::string("htps:/[]1.a@?#%\\ \n0x")));
    const std::string whole = "http://" + text;
    const auto url = parse_url(whole);
    if (!url) return;
    RC_ASSERT(parse_url(url->text()).value() == *url);
    RC_ASSERT(url->host.find_first_of("@\\/?# \n[]") == std::string::npos);
    RC_ASSERT(url->target.starts_with('/'));
}

}  // namespace
}  // namespace callgate::net
