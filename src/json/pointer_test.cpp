#include "json/pointer.h"

#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/test_value.h"

namespace callgate::json {
namespace {

Value rfc_document() {
    return *parse(
        R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8})");
}

/// What is found, by text and by parsed pointer, as text; "nothing" when nothing is.
std::string found(const Value& root, std::string_view pointer) {
    const Value* by_text = find(root, pointer);
    const Result<Pointer> parsed = Pointer::parse(pointer);
    EXPECT_EQ(by_text, parsed ? find(root, *parsed) : nullptr) << pointer;
    return by_text == nullptr ? "nothing" : write(*by_text);
}

void expect_bad(std::string_view text, std::size_t byte) {
    const Result<Pointer> parsed = Pointer::parse(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_arguments);
    EXPECT_EQ(parsed.error().details.at("reason"), "bad_pointer");
    EXPECT_EQ(parsed.error().details.at("byte").to_number<std::size_t>(), byte);
    EXPECT_FALSE(parsed.error().message.empty());
}

TEST(Pointer, finds_the_places_of_rfc_6901) {
    const Value root = rfc_document();
    EXPECT_EQ(find(root, ""), &root);
    EXPECT_EQ(found(root, "/foo"), R"(["bar","baz"])");
    EXPECT_EQ(found(root, "/foo/0"), R"("bar")");
    EXPECT_EQ(found(root, "/"), "0");
    EXPECT_EQ(found(root, "/a~1b"), "1");
    EXPECT_EQ(found(root, "/c%d"), "2");
    EXPECT_EQ(found(root, "/e^f"), "3");
    EXPECT_EQ(found(root, "/g|h"), "4");
    EXPECT_EQ(found(root, "/i\\j"), "5");
    EXPECT_EQ(found(root, "/k\"l"), "6");
    EXPECT_EQ(found(root, "/ "), "7");
    EXPECT_EQ(found(root, "/m~0n"), "8");
}

TEST(Pointer, finds_nothing_where_nothing_is) {
    const Value root = rfc_document();
    for (const auto* pointer : {"/bar", "/foo/2", "/foo/bar", "//x", "/foo/0/0", "/foo/", "/ /0", "/foo/0/"})
        EXPECT_EQ(found(root, pointer), "nothing") << pointer;
    EXPECT_EQ(found(Value(5), "/0"), "nothing");
}

TEST(Pointer, takes_array_positions_strictly) {
    const Value root = {10, 11, 12};
    EXPECT_EQ(found(root, "/0"), "10");
    EXPECT_EQ(found(root, "/2"), "12");
    for (const auto* pointer : {"/00", "/01", "/-", "/-1", "/+1", "/1.0", "/ 1", "/1 ", "/1e0", "/0x1", "/",
                                "/３", "/18446744073709551616", "/99999999999999999999999999"})
        EXPECT_EQ(found(root, pointer), "nothing") << pointer;
    EXPECT_EQ(found(Value{{"01", "a"}, {"-", "b"}}, "/01"), "\"a\"");
    EXPECT_EQ(found(Value{{"01", "a"}, {"-", "b"}}, "/-"), "\"b\"");

    EXPECT_EQ(array_index("0"), 0u);
    EXPECT_EQ(array_index("18446744073709551615"), std::numeric_limits<std::size_t>::max());
    EXPECT_EQ(array_index(""), std::nullopt);
}

TEST(Pointer, tells_tilde_escapes_apart) {
    const Value root = {{"~1", "tilde one"}, {"/", "slash"}, {"~", "tilde"}, {"~01", "tilde zero one"}};
    EXPECT_EQ(found(root, "/~01"), "\"tilde one\"");
    EXPECT_EQ(found(root, "/~1"), "\"slash\"");
    EXPECT_EQ(found(root, "/~0"), "\"tilde\"");
    EXPECT_EQ(found(root, "/~001"), "\"tilde zero one\"");
    const std::string long_key = std::string(1000, 'x') + "/~";
    EXPECT_EQ(found(Value{{long_key, 1}}, "/" + Pointer::escape(long_key)), "1");
}

TEST(Pointer, refuses_what_is_no_pointer_and_says_where) {
    expect_bad("foo", 0);
    expect_bad("0", 0);
    expect_bad("#/foo", 0);
    expect_bad("/a/b~", 4);
    expect_bad("/~2", 1);
    expect_bad("/ok/~0~1/~a", 9);
    expect_bad("/a~/b", 2);
    expect_bad("/~~0", 1);
    const std::string too_long = "/" + std::string(Pointer::kMaxBytes, 'a');
    expect_bad(too_long, Pointer::kMaxBytes);
    EXPECT_TRUE(Pointer::parse(std::string_view(too_long).substr(0, Pointer::kMaxBytes)).has_value());

    const Value root = {{"~", 1}, {"a~", {{"b", 2}}}, {"foo", 3}};
    for (const auto* text : {"foo", "/~", "/a~/b", "/~2"}) EXPECT_EQ(find(root, text), nullptr) << text;
}

TEST(Pointer, is_put_together_from_tokens) {
    Pointer pointer;
    EXPECT_TRUE(pointer.empty());
    EXPECT_EQ(pointer.to_string(), "");
    pointer.push("a/b").push("12").push("").push("~x");
    EXPECT_EQ(pointer.to_string(), "/a~1b/12//~0x");
    EXPECT_EQ(pointer.tokens(), (std::vector<std::string>{"a/b", "12", "", "~x"}));
    EXPECT_EQ(*Pointer::parse(pointer.to_string()), pointer);
}

TEST(Pointer, grows_as_text_for_error_paths) {
    std::string text;
    append_token(text, "steps");
    append_index(text, 0);
    append_token(text, "~/~");
    append_token(text, "");
    append_index(text, std::numeric_limits<std::size_t>::max());
    EXPECT_EQ(text, "/steps/0/~0~1~0//18446744073709551615");
    EXPECT_EQ(Pointer::escape("a~/b"), "a~0~1b");
}

RC_GTEST_PROP(Pointer, text_and_tokens_are_two_forms_of_the_same, ()) {
    const auto tokens = *rc::gen::container<std::vector<std::string>>(any_text());
    Pointer pointer;
    for (const std::string& token : tokens) pointer.push(token);
    const Result<Pointer> back = Pointer::parse(pointer.to_string());
    RC_ASSERT(back.has_value());
    RC_ASSERT(back->tokens() == tokens);
}

void check_all_places(const Value& root, const Value& here, const std::string& path) {
    RC_ASSERT(find(root, path) == &here);
    RC_ASSERT(find(root, *Pointer::parse(path)) == &here);
    if (const Array* array = here.if_array()) {
        for (std::size_t i = 0; i < array->size(); ++i) {
            std::string next = path;
            append_index(next, i);
            check_all_places(root, (*array)[i], next);
        }
    } else if (const Object* object = here.if_object()) {
        for (const auto& member : *object) {
            std::string next = path;
            append_token(next, member.key());
            check_all_places(root, member.value(), next);
        }
    }
}

RC_GTEST_PROP(Pointer, reaches_every_place_of_a_document, ()) {
    const Value root = *any_value();
    check_all_places(root, root, "");
}

RC_GTEST_PROP(Pointer, text_and_parsed_pointer_find_the_same, ()) {
    const Value root = *any_value();
    const auto pieces = *rc::gen::container<std::vector<std::string>>(
        rc::gen::element<std::string>("/", "~0", "~1", "~", "0", "1", "a", "é", "-"));
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    const Result<Pointer> parsed = Pointer::parse(text);
    if (parsed) RC_ASSERT(parsed->to_string() == text);
    RC_ASSERT(find(root, text) == (parsed ? find(root, *parsed) : nullptr));
}

}  // namespace
}  // namespace callgate::json
