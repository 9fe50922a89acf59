#include "mcp/uri_template.h"

#include <string>

#include <gtest/gtest.h>

#include "base/must.h"
#include "mcp/uri.h"

namespace callgate::mcp {
namespace {

std::string matched(std::string_view pattern, std::string_view uri) {
    const auto found = must(UriTemplate::parse(pattern)).match(uri);
    if (!found) return "-";
    std::string all;
    for (const auto& [name, value] : *found) {
        all += (all.empty() ? "" : " ") + name + "=" + value;
    }
    return all;
}

TEST(UriTemplate, GivesItsVariablesDecoded) {
    EXPECT_EQ(matched("file:///docs/{name}", "file:///docs/a%20b"), "name=a b");
    EXPECT_EQ(matched("shop://{shelf}/{book}.{kind}", "shop://maps/atlas.v2.pdf"),
              "book=atlas kind=v2.pdf shelf=maps");
    EXPECT_EQ(matched("file:///{+path}", "file:///a/b%3Fc"), "path=a/b?c");
    EXPECT_EQ(matched("x://{a}/{a}", "x://1/1"), "a=1");
    EXPECT_EQ(matched("x://{a}/{a}", "x://1/2"), "-");
    EXPECT_EQ(matched("x://{a}", "x://"), "-");
    EXPECT_EQ(matched("x://{a}", "x://1/2"), "-");
}

TEST(UriTemplate, AnEncodedBoundaryIsNoWayAroundIt) {
    for (const char* uri :
         {"file:///docs/..%2F..%2Fetc%2Fpasswd", "file:///docs/..%5Cwindows", "file:///docs/a%00.txt",
          "file:///docs/.", "file:///docs/..", "file:///docs/%2E%2E"})
        EXPECT_EQ(matched("file:///docs/{name}", uri), "-") << uri;
    EXPECT_EQ(matched("file:///docs/{name}", "file:///docs/..."), "name=...");
    EXPECT_EQ(matched("file:///docs/{name}", "file:///docs/..a"), "name=..a");
    EXPECT_EQ(matched("file:///{+path}", "file:///a%2Fb"), "-") << "a slash there stands as it is";
    EXPECT_EQ(matched("file:///{+path}", "file:///a%00"), "-");
    EXPECT_EQ(matched("file:///{+path}", "file:///../a"), "path=../a") << "for the reader to judge";
}

TEST(UriTemplate, WhatCannotBeDecodedInOneWayIsTriedInTheNext) {
    // With the shortest text for `a`, `b` would begin in the middle of an encoded byte.
    EXPECT_EQ(matched("x://{a}2{b}", "x://y%25z2w"), "a=y%z b=w");
    EXPECT_EQ(matched("x://{a}2{b}", "x://y%2"), "-");
}

TEST(UriTemplate, LongUrisEndEarly) {
    const std::string longest = "x://" + std::string(kMaxUriBytes - 4, 'a');
    EXPECT_NE(matched("x://{a}", longest), "-");
    EXPECT_EQ(matched("x://{a}", longest + "a"), "-");
    // Every way to divide it fails: it would be many millions of them.
    EXPECT_EQ(matched("x://{a}a{b}a{c}a{d}!", longest), "-");
    EXPECT_EQ(matched("x://{+a}/{+b}/{+c}", "x://" + std::string(8'000, '/') + "%"), "-");
}

TEST(UriTemplate, IsRefusedWhereItCouldNeverMatch) {
    EXPECT_FALSE(UriTemplate::parse("docs://%61/{name}"));
    EXPECT_FALSE(UriTemplate::parse("docs://caf%c3%a9/{name}"));
    EXPECT_TRUE(UriTemplate::parse("docs://caf%C3%A9/{name}"));
    EXPECT_FALSE(UriTemplate::parse("x://" + std::string(kMaxUriBytes, 'a')));
}

TEST(Uri, HasOneNormalForm) {
    EXPECT_EQ(normal_uri("docs://%73ecret%2fa%2F%7e%E4%"), "docs://secret%2Fa%2F~%E4%");
    EXPECT_FALSE(is_normal_uri("docs://%73ecret"));
    EXPECT_FALSE(is_normal_uri("docs://a%2fb"));
    EXPECT_FALSE(is_normal_uri("docs://a%7E"));
    for (const char* normal : {"docs://secret", "docs://a%2Fb", "docs://100%", "docs://%zz", "docs://%4"}) {
        EXPECT_TRUE(is_normal_uri(normal)) << normal;
        EXPECT_EQ(normal_uri(normal), normal);
    }
}

}  // namespace
}  // namespace callgate::mcp
