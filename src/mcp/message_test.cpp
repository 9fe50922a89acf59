#include "mcp/message.h"

#include <gtest/gtest.h>

namespace callgate::mcp {
namespace {

std::string refusal_of(std::string_view text) {
    const ReadMessages read = read_messages(text, {});
    const auto* bad = std::get_if<BadMessage>(&read.all.at(0));
    return bad == nullptr ? "fine" : json::write(bad->id) + " " + std::to_string(bad->fault.code);
}

TEST(Message, ABadRequestIsAnsweredWithItsId) {
    EXPECT_EQ(refusal_of(R"({"jsonrpc":"2.0","id":7,"method":"ping"})"), "fine");
    EXPECT_EQ(refusal_of(R"({"id":7,"method":"ping"})"), "7 -32600");
    EXPECT_EQ(refusal_of(R"({"jsonrpc":"2.0","id":7,"method":1})"), "7 -32600");
    EXPECT_EQ(refusal_of(R"({"jsonrpc":"2.0","id":7,"method":"ping","params":[]})"), "7 -32602");
}

TEST(Message, ABadResponseIsNotAnsweredWithItsId) {
    EXPECT_EQ(refusal_of(R"({"jsonrpc":"2.0","id":7,"result":{}})"), "fine");
    EXPECT_EQ(refusal_of(R"({"jsonrpc":"2.0","id":7,"result":{},"error":{}})"), "null -32600");
    EXPECT_EQ(refusal_of(R"({"jsonrpc":"2.0","id":7})"), "null -32600");
    EXPECT_EQ(refusal_of(R"({"jsonrpc":"2.0","id":7,"error":"no"})"), "null -32600");
    EXPECT_EQ(refusal_of(R"({"id":7,"result":{}})"), "null -32600");
}

TEST(Message, AResponseIsWrittenOutOfItsParts) {
    EXPECT_EQ(response_text(7, {"{", "\"a\":1", "}"}), R"({"jsonrpc":"2.0","id":7,"result":{"a":1}})");
}

}  // namespace
}  // namespace callgate::mcp
