#include "schema/uri.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schema/format_test_cases.h"

namespace callgate::schema {
namespace {

std::string join(const UriParts& parts) {
    std::string out;
    if (parts.has_scheme) out.append(parts.scheme).append(":");
    if (parts.has_authority) out.append("//").append(parts.authority);
    out += parts.path;
    if (parts.has_query) out.append("?").append(parts.query);
    if (parts.has_fragment) out.append("#").append(parts.fragment);
    return out;
}

// RFC 3986 section 5.2.4, letter by letter, with no thought for speed.
std::string slow_remove_dot_segments(std::string input) {
    std::string output;
    const auto drop_last = [&output] {
        const std::size_t slash = output.rfind('/');
        output.erase(slash == std::string::npos ? 0 : slash);
    };
    while (!input.empty()) {
        if (input.starts_with("../")) {
            input.erase(0, 3);
        } else if (input.starts_with("./")) {
            input.erase(0, 2);
        } else if (input.starts_with("/./")) {
            input.erase(0, 2);
        } else if (input == "/.") {
            input = "/";
        } else if (input.starts_with("/../")) {
            input.erase(0, 3);
            drop_last();
        } else if (input == "/..") {
            input = "/";
            drop_last();
        } else if (input == "." || input == "..") {
            input.clear();
        } else {
            const std::size_t end = std::min(input.find('/', 1), input.size());
            output += input.substr(0, end);
            input.erase(0, end);
        }
    }
    return output;
}

rc::Gen<std::string> pieces_of(std::vector<std::string> pieces) {
    return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(std::move(pieces))),
                        [](const std::vector<std::string>& parts) {
                            std::string out;
                            for (const std::string& part : parts) out += part;
                            return out;
                        });
}

TEST(SplitUri, gives_the_five_components) {
    const UriParts parts = split_uri("https://u@h.example:8/a/b?x=1?y#z#w");
    EXPECT_EQ(parts.scheme, "https");
    EXPECT_EQ(parts.authority, "u@h.example:8");
    EXPECT_EQ(parts.path, "/a/b");
    EXPECT_EQ(parts.query, "x=1?y");
    EXPECT_EQ(parts.fragment, "z#w");
}

TEST(SplitUri, tells_an_empty_component_from_a_missing_one) {
    const UriParts empty = split_uri("file:///?#");
    EXPECT_TRUE(empty.has_authority && empty.has_query && empty.has_fragment);
    EXPECT_EQ(empty.path, "/");
    const UriParts missing = split_uri("urn:isbn:12");
    EXPECT_TRUE(missing.has_scheme);
    EXPECT_FALSE(missing.has_authority || missing.has_query || missing.has_fragment);
    EXPECT_EQ(missing.path, "isbn:12");
}

TEST(SplitUri, sees_no_scheme_behind_a_slash_a_query_or_a_fragment) {
    EXPECT_FALSE(split_uri("a/b:c").has_scheme);
    EXPECT_FALSE(split_uri("?b:c").has_scheme);
    EXPECT_FALSE(split_uri("#b:c").has_scheme);
    EXPECT_FALSE(split_uri(":c").has_scheme);
}

RC_GTEST_PROP(SplitUri, loses_no_byte, ()) {
    const std::string text = *text_of("ab:/?#@%[]. ");
    RC_ASSERT(join(split_uri(text)) == text);
}

TEST(ResolveReference, follows_the_examples_of_rfc_3986_section_5_4) {
    constexpr std::string_view kBase = "http://a/b/c/d;p?q";
    const std::vector<std::pair<std::string_view, std::string_view>> examples = {
        {"g:h", "g:h"},
        {"g", "http://a/b/c/g"},
        {"./g", "http://a/b/c/g"},
        {"g/", "http://a/b/c/g/"},
        {"/g", "http://a/g"},
        {"//g", "http://g"},
        {"?y", "http://a/b/c/d;p?y"},
        {"g?y", "http://a/b/c/g?y"},
        {"#s", "http://a/b/c/d;p?q#s"},
        {"g#s", "http://a/b/c/g#s"},
        {"g?y#s", "http://a/b/c/g?y#s"},
        {";x", "http://a/b/c/;x"},
        {"", "http://a/b/c/d;p?q"},
        {".", "http://a/b/c/"},
        {"./", "http://a/b/c/"},
        {"..", "http://a/b/"},
        {"../g", "http://a/b/g"},
        {"../..", "http://a/"},
        {"../../g", "http://a/g"},
        {"../../../../g", "http://a/g"},
        {"/./g", "http://a/g"},
        {"/../g", "http://a/g"},
        {"g.", "http://a/b/c/g."},
        {"..g", "http://a/b/c/..g"},
        {"./../g", "http://a/b/g"},
        {"./g/.", "http://a/b/c/g/"},
        {"g;x=1/../y", "http://a/b/c/y"},
        {"g?y/../x", "http://a/b/c/g?y/../x"},
        {"g#s/../x", "http://a/b/c/g#s/../x"},
        {"http:g", "http:g"},
    };
    for (const auto& [reference, wanted] : examples) EXPECT_EQ(resolve_reference(kBase, reference), wanted);
}

TEST(ResolveReference, keeps_an_opaque_base_for_fragments_and_queries) {
    EXPECT_EQ(resolve_reference("urn:example:tools:add", "#/$defs/x"), "urn:example:tools:add#/$defs/x");
    EXPECT_EQ(resolve_reference("urn:example:tools:add#old", "#new"), "urn:example:tools:add#new");
    EXPECT_EQ(resolve_reference("urn:example:tools:add", ""), "urn:example:tools:add");
    EXPECT_EQ(resolve_reference("urn:example:tools:add", "?+v=2"), "urn:example:tools:add?+v=2");
    EXPECT_EQ(resolve_reference("tag:example.com,2020:x", "#a"), "tag:example.com,2020:x#a");
    EXPECT_EQ(resolve_reference("urn:example:tools:add", "urn:example:other#a"), "urn:example:other#a");
}

TEST(ResolveReference, drops_the_base_fragment_and_its_query_when_the_path_changes) {
    EXPECT_EQ(resolve_reference("http://h/a?q#f", ""), "http://h/a?q");
    EXPECT_EQ(resolve_reference("http://h/a?q#f", "b"), "http://h/b");
    EXPECT_EQ(resolve_reference("http://h?q", "b"), "http://h/b");
}

TEST(ResolveReference, works_against_a_base_without_a_scheme) {
    EXPECT_EQ(resolve_reference("", "a.json#b"), "a.json#b");
    EXPECT_EQ(resolve_reference("dir/a.json", "b.json"), "dir/b.json");
    EXPECT_EQ(resolve_reference("/dir/a.json", "../b.json"), "/b.json");
}

TEST(ResolveReference, never_turns_a_path_into_an_authority_or_a_scheme) {
    EXPECT_EQ(resolve_reference("x:/a", "/.//evil"), "x:/.//evil");
    EXPECT_EQ(resolve_reference("", "./javascript:x"), "./javascript:x");
}

RC_GTEST_PROP(ResolveReference, removes_dot_segments_as_the_rfc_spells_it_out, ()) {
    const std::string path = *pieces_of({"/", "a", ".", "..", "/..", "/.", "b/"});
    RC_ASSERT(resolve_reference("http://h/x", "http://g/" + path) ==
              "http://g" + slow_remove_dot_segments("/" + path));
    RC_PRE(!path.empty() && !path.starts_with('/'));
    RC_ASSERT(resolve_reference("http://h/a/b/c", path) ==
              "http://h" + slow_remove_dot_segments("/a/b/" + path));
}

RC_GTEST_PROP(ResolveReference, is_stable_once_resolved, ()) {
    const std::string base =
        *rc::gen::element<std::string>("http://h/a/b?q", "urn:a:b", "file:///x/", "x:/y");
    const std::string reference = *pieces_of({"/", "a", ".", "..", ":", "?", "#", "b/", "//"});
    const std::string once = resolve_reference(base, reference);
    RC_ASSERT(split_uri(once).has_scheme);
    RC_ASSERT(resolve_reference(base, once) == once);
}

TEST(SplitFragment, cuts_at_the_first_number_sign) {
    using Pair = std::pair<std::string_view, std::string_view>;
    EXPECT_EQ(split_fragment("urn:a#/b#c"), Pair("urn:a", "/b#c"));
    EXPECT_EQ(split_fragment("urn:a#"), Pair("urn:a", ""));
    EXPECT_EQ(split_fragment("urn:a"), Pair("urn:a", ""));
    EXPECT_EQ(split_fragment("#x"), Pair("", "x"));
}

TEST(PercentDecode, leaves_what_is_no_triplet) {
    EXPECT_EQ(percent_decode("/a%25b%7e%C3%a9"), "/a%b~é");
    EXPECT_EQ(percent_decode("%"), "%");
    EXPECT_EQ(percent_decode("%4"), "%4");
    EXPECT_EQ(percent_decode("%g1%%41"), "%g1%A");
    EXPECT_EQ(percent_decode("a+b"), "a+b");
}

RC_GTEST_PROP(PercentDecode, undoes_encoding, (const std::string& bytes)) {
    constexpr std::string_view kHex = "0123456789aBcDeF";
    std::string encoded;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        encoded += '%';
        encoded += kHex[byte >> 4];
        encoded += kHex[byte & 15u];
    }
    RC_ASSERT(percent_decode(encoded) == bytes);
}

TEST(UriFormat, accepts_what_rfc_3986_defines) {
    expect_all(true, is_uri,
               {
                   {"https://example.com", "3.3 path-abempty"},
                   {"a:", "3 hier-part may be path-empty"},
                   {"a+b-c.9:x", "3.1 scheme"},
                   {"HTTP://EXAMPLE.COM/%C3%A9", "6.2.2.1 case is free"},
                   {"ftp://user:pa%3Ass@h:21/x", "3.2.1 userinfo"},
                   {"http://h:/", "3.2.3 port may be empty"},
                   {"http:///x", "3.2.2 reg-name may be empty"},
                   {"http://[2001:db8::a:1]:8080/", "3.2.2 IPv6address"},
                   {"http://[::ffff:10.0.0.7]/", "3.2.2 IPv6address with ls32 as IPv4address"},
                   {"http://[vA.x:y]/", "3.2.2 IPvFuture"},
                   {"http://300.1.2.3/", "3.2.2 a reg-name, if no IPv4address"},
                   {"mailto:a@b", "3.3 pchar has @"},
                   {"x:a//b", "3.3 path-rootless may have empty segments"},
                   {"x:/", "3.3 path-absolute"},
                   {"x:?a/b?c#d/e?f", "3.4, 3.5 query and fragment have / and ?"},
                   {"data:text/plain;base64,SGk=", "3.3 sub-delims"},
               });
}

TEST(UriFormat, refuses_what_rfc_3986_does_not_define) {
    expect_all(false, is_uri,
               {
                   {"", "3 scheme is required"},
                   {"example.com", "3 scheme is required"},
                   {"//example.com", "3 scheme is required"},
                   {"#a", "3 scheme is required"},
                   {":x", "3.1 scheme has at least a letter"},
                   {"9p://h", "3.1 scheme starts with a letter"},
                   {"a_b:x", "3.1 no underscore in a scheme"},
                   {"é:x", "3.1 scheme is ASCII"},
                   {"http://a b/", "2 no space"},
                   {"http://h/\x7f", "2 no controls"},
                   {std::string_view("http://h/\0", 10), "2 no NUL"},
                   {"http://h/a|b", "2 no bar"},
                   {"http://h/%", "2.1 percent-encoding"},
                   {"http://h/%4", "2.1 percent-encoding"},
                   {"http://h/%4x", "2.1 percent-encoding"},
                   {"http://h/é", "2 ASCII only"},
                   {"http://h/[x]", "3.3 no brackets in a path"},
                   {"http://h/?[x]", "3.4 no brackets in a query"},
                   {"http://h/#a#b", "3.5 one number sign"},
                   {"http://h:8a/", "3.2.3 port is digits"},
                   {"http://h:1:2/", "3.2.3 one port"},
                   {"http://a@b@c/", "3.2 one at sign"},
                   {"http://[::1/", "3.2.2 closing bracket"},
                   {"http://::1]/", "3.2.2 opening bracket"},
                   {"http://[::1]x/", "3.2.2 nothing behind the bracket but a port"},
                   {"http://[1.2.3.4]/", "3.2.2 no IPv4 in brackets"},
                   {"http://[fe80::1%25eth0]/", "3.2.2 no zone id"},
                   {"http://[v.x]/", "3.2.2 IPvFuture has a version"},
                   {"http://[v1.]/", "3.2.2 IPvFuture has an address"},
                   {"http://[vg.x]/", "3.2.2 IPvFuture's version is hexadecimal"},
                   {"http://[]/", "3.2.2 no empty literal"},
               });
}

TEST(UriReferenceFormat, also_accepts_relative_references) {
    expect_all(true, is_uri_reference,
               {
                   {"", "4.2 path-empty"},
                   {"a/b:c", "4.2 a colon after the first segment"},
                   {"./a:b", "4.2 dot segment before a colon"},
                   {"//h/x", "4.2 network-path reference"},
                   {"/a//b", "4.2 absolute-path reference"},
                   {"?x", "4.2 query only"},
                   {"#", "4.4 same-document reference"},
                   {"urn:a", "4.1 a URI"},
               });
    expect_all(false, is_uri_reference,
               {
                   {":a", "4.2 path-noscheme"},
                   {"1a:b", "4.2 path-noscheme"},
                   {"a b", "2 no space"},
                   {"\\\\host\\share", "2 no backslash"},
                   {"//[::1", "3.2.2 closing bracket"},
                   {"/é", "2 ASCII only"},
               });
}

TEST(IriFormat, adds_the_characters_of_rfc_3987) {
    expect_all(true, is_iri,
               {
                   {"http://bücher.example/straße?q=日本#ü", "2.2 ucschar everywhere"},
                   {"http://ü:ö@h/", "2.2 iuserinfo"},
                   {"x:\U00020000", "2.2 ucschar beyond the first plane"},
                   {"x:?\uE000\U00100000", "2.2 iprivate in the query"},
               });
    expect_all(false, is_iri,
               {
                   {"x:\uE000", "2.2 iprivate only in the query"},
                   {"x:#\uE000", "2.2 iprivate only in the query"},
                   {"x:\uFFFE", "2.2 no noncharacters"},
                   {"x:\uFDD0", "2.2 no noncharacters"},
                   {"x:\U0001FFFF", "2.2 no noncharacters"},
                   {"x:\u0085", "2.2 no C1 controls"},
                   {"x:\U000E0001", "2.2 no tag characters"},
                   {"x:a\u202Eb", "4.1 no bidirectional formatting characters"},
                   {"ü:x", "2.2 scheme is ASCII"},
                   {"http://[v1.ü]/", "2.2 IPvFuture is ASCII"},
                   {"ü", "2.2 scheme is required"},
                   {"x:\xFF", "not UTF-8"},
                   {"x:\xC3", "not UTF-8"},
               });
    expect_all(true, is_iri_reference, {{"ü/ö?ä#ß", "2.2 irelative-ref"}, {"", "2.2 ipath-empty"}});
    expect_all(false, is_iri_reference, {{"ü ö", "2.2 no space"}, {"ü:ö", "2.2 ipath-noscheme"}});
}

RC_GTEST_PROP(UriFormat, agrees_with_its_wider_relatives, ()) {
    const std::string text = *text_of("aZ09:/?#@%[]v.-_! ~AF");
    RC_ASSERT(is_uri(text) == (is_uri_reference(text) && split_uri(text).has_scheme));
    RC_ASSERT(is_iri(text) == is_uri(text));
    RC_ASSERT(is_iri_reference(text) == is_uri_reference(text));
}

RC_GTEST_PROP(UriFormat, stays_valid_when_resolved, ()) {
    const std::string reference = *text_of("a:/?#@.-_%41");
    RC_PRE(is_uri_reference(reference));
    RC_ASSERT(is_uri(resolve_reference("http://h/a/b?q", reference)));
    RC_ASSERT(is_uri(resolve_reference("urn:x:y", reference)));
}

RC_GTEST_PROP(Uri, takes_any_bytes, (const std::string& base, const std::string& reference)) {
    RC_ASSERT(join(split_uri(reference)) == reference);
    RC_ASSERT(percent_decode(reference).size() <= reference.size());
    RC_ASSERT(resolve_reference(base, reference).size() <= base.size() + reference.size() + 4);
    static_cast<void>(is_iri_reference(reference));
}

TEST(Uri, handles_a_megabyte_of_the_worst_input) {
    constexpr std::size_t kBytes = 1'000'000;
    std::string up;
    std::string down;
    while (up.size() < kBytes / 2) {
        up += "../";
        down += "aa/";
    }
    EXPECT_EQ(resolve_reference("http://h/" + down, up + "x"), "http://h/x");
    EXPECT_TRUE(is_uri_reference(up));
    EXPECT_FALSE(is_uri("http://" + std::string(kBytes, '@')));
    EXPECT_FALSE(is_uri("http://[" + std::string(kBytes, ':') + "]"));
    EXPECT_EQ(percent_decode(std::string(kBytes, '%')).size(), kBytes);
}

}  // namespace
}  // namespace callgate::schema
