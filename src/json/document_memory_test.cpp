#include "json/document_memory.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <callgate/json.h>

#include "json/test_value.h"

namespace callgate::json {
namespace {

struct Document {
    DocumentMemory::Made memory = DocumentMemory::make();
    Value value;

    explicit Document(std::string_view text) : value(*parse(text, {}, memory.storage)) {
        memory.document->seal();
    }
    bool holds(const void* content) const { return memory.document->holds(content); }
};

TEST(DocumentMemory, HoldsASmallDocumentByItself) {
    const Document document(R"({"name":"a name that is longer than a value","list":[1,2,3]})");
    const Value& value = document.value;
    EXPECT_TRUE(document.holds(value.get_object().begin()));
    EXPECT_TRUE(document.holds(value.at("name").get_string().data()));
    EXPECT_TRUE(document.holds(value.at("list").get_array().data()));
}

TEST(DocumentMemory, WhatHasNoRoomIsOnTheHeap) {
    const std::string text(10 * DocumentMemory::kRoom, 'x');
    const Document document(write(Value(Object{{"small", Array{1, 2}}, {"large", text}})));
    const Value& value = document.value;
    EXPECT_FALSE(document.holds(value.at("large").get_string().data()));
    EXPECT_EQ(value.at("large").get_string(), text);
    EXPECT_EQ(write(value.at("small")), "[1,2]");
}

TEST(DocumentMemory, WhatIsAddedAfterItWasReadIsOnTheHeap) {
    Document document(R"({"list":[]})");
    Array& list = document.value.at("list").get_array();
    list.emplace_back(1);
    EXPECT_FALSE(document.holds(list.data()));
    const Value copy = document.value;
    EXPECT_EQ(copy.storage(), document.value.storage());
    EXPECT_FALSE(document.holds(copy.get_object().begin()));
    EXPECT_EQ(write(copy), R"({"list":[1]})");
}

TEST(DocumentMemory, LivesAsLongAsOneOfItsValues) {
    auto whole = std::make_optional<Document>(R"({"keep":{"text":"longer than a value itself"},"drop":[1]})");
    const Value kept = std::move(whole->value.at("keep"));
    whole.reset();
    EXPECT_EQ(write(kept), R"({"text":"longer than a value itself"})");
}

RC_GTEST_PROP(DocumentMemory, AnyDocumentIsReadAsWithOtherMemory, ()) {
    const std::string text = write(*any_value());
    RC_ASSERT(write(Document(text).value) == text);
}

}  // namespace
}  // namespace callgate::json
