#include "ledger/control/message.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace callgate::ledger {
namespace {

std::string head(std::uint32_t length) {
    return {static_cast<char>(length >> 24), static_cast<char>(length >> 16), static_cast<char>(length >> 8),
            static_cast<char>(length)};
}

std::string reason_of(const Error& error) {
    return std::string(error.details.at("reason").as_string());
}

TEST(ControlMessage, IsItsLengthAndThenOneJsonObject) {
    EXPECT_EQ(framed({{"v", 1}}), std::string("\0\0\0\7{\"v\":1}", 11));
}

TEST(ControlMessage, IsReadBackHoweverItsBytesArrive) {
    const Object first{{"v", 1}, {"verb", "approvals.list"}};
    const Object second{{"text", std::string(10'000, 'x')}};
    const std::string bytes = framed(first) + framed(second);
    for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{4096}, bytes.size()}) {
        MessageReader reader(request_limits());
        std::vector<Object> got;
        for (std::size_t at = 0; at < bytes.size(); at += step) {
            reader.add(std::string_view(bytes).substr(at, step));
            for (;;) {
                auto next = reader.next();
                ASSERT_TRUE(next);
                if (!*next) break;
                got.push_back(std::move(**next));
            }
        }
        EXPECT_EQ(got, (std::vector<Object>{first, second})) << "in steps of " << step;
        EXPECT_FALSE(reader.in_message());
    }
}

TEST(ControlMessage, TooLargeAMessageIsRefusedByItsLengthAlone) {
    MessageReader reader(request_limits());
    reader.add(head((4u << 20) + 1));
    const auto refused = reader.next();
    ASSERT_FALSE(refused);
    EXPECT_EQ(reason_of(refused.error()), "message_too_large");
    EXPECT_TRUE(reader.broken());
    reader.add(framed({{"v", 1}}));
    EXPECT_FALSE(reader.next()->has_value()) << "where the next one begins is not known any more";
}

TEST(ControlMessage, AnUnusableOneIsPassedOver) {
    MessageReader reader(request_limits());
    for (const std::string bad : {"", "{", "[1]", "7", "{\"a\":1,\"a\":2}", "{\"a\":\"\xFF\"}", "{} {}"}) {
        reader.add(framed_text(bad));
        const auto refused = reader.next();
        ASSERT_FALSE(refused) << bad;
        EXPECT_EQ(refused.error().code, ErrorCode::invalid_arguments);
        EXPECT_FALSE(refused.error().message.empty());
    }
    reader.add(framed_text(std::string(100, '[') + std::string(100, ']')));
    EXPECT_EQ(reason_of(reader.next().error()), "too_deep");
    reader.add(framed({{"v", 1}}));
    EXPECT_EQ(reader.next().value(), (Object{{"v", 1}}));
    EXPECT_FALSE(reader.broken());
}

TEST(ControlMessage, AnswersCarryAResultOrTheWholeError) {
    EXPECT_EQ(answer_in(good_answer({{"n", 1}})).value(), (Value{{"n", 1}}));
    EXPECT_EQ(answer_in(good_answer(nullptr)).value(), Value(nullptr));
    const Error error(ErrorCode::approval_expired, "Too late.", {{"reason", "expired"}});
    const auto back = answer_in(bad_answer(error));
    ASSERT_FALSE(back);
    EXPECT_EQ(back.error().code, error.code);
    EXPECT_EQ(back.error().message, error.message);
    EXPECT_EQ(back.error().details, error.details);
}

TEST(ControlMessage, PiecesOfTextArriveWhateverTheirBytes) {
    for (const std::string piece : {"", "line\n", "日本", "\xFF\x80 not UTF-8"}) {
        MessageReader reader(answer_limits());
        reader.add(framed(text_message(piece)));
        EXPECT_EQ(text_in(**reader.next()), piece);
    }
    EXPECT_EQ(text_in({{"text", 7}}), std::nullopt);
    EXPECT_EQ(text_in({{"base64", "?"}}), std::nullopt);
    EXPECT_EQ(text_in({{"ok", true}}), std::nullopt);
}

TEST(ControlMessage, WhatIsNoAnswerIsToldSo) {
    for (const Object& bad : {Object{}, Object{{"ok", 1}}, Object{{"ok", true}}, Object{{"ok", false}},
                              Object{{"ok", false}, {"error", "x"}},
                              Object{{"ok", false}, {"error", {{"code", "frobnicated"}, {"message", "x"}}}},
                              Object{{"ok", false}, {"error", {{"code", "denied"}}}}}) {
        const auto answer = answer_in(bad);
        ASSERT_FALSE(answer) << json::write(bad);
        EXPECT_EQ(answer.error().code, ErrorCode::transport);
        EXPECT_EQ(reason_of(answer.error()), "bad_answer");
    }
}

RC_GTEST_PROP(ControlMessage, AnyBytesAreRefusedOrAreMessages, (const std::string& bytes)) {
    MessageReader reader(request_limits());
    reader.add(bytes);
    for (std::size_t steps = 0; steps <= bytes.size(); ++steps) {
        const auto next = reader.next();
        if (next && !*next) break;
        RC_ASSERT(next || !next.error().message.empty());
        RC_ASSERT(steps < bytes.size());
    }
}

}  // namespace
}  // namespace callgate::ledger
