#include "wire/sse.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace callgate::wire {
namespace {

/// Every event as "type|data|id", "<too large>" for those that are.
std::vector<std::string> events_of(SseReader& reader, std::string_view bytes, std::size_t step) {
    std::vector<std::string> events;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        reader.feed(bytes.substr(at, step), [&](const SseEvent& event) {
            events.push_back(event.too_large ? "<too large>"
                                             : std::string(event.type) + "|" + std::string(event.data) + "|" +
                                                   std::string(event.id));
        });
    }
    return events;
}
std::vector<std::string> events_of(std::string_view bytes, std::size_t step, std::size_t most = 1'000) {
    SseReader reader(most);
    return events_of(reader, bytes, step);
}

using Events = std::vector<std::string>;

TEST(Sse, EventsAreReadHoweverTheyAreCutAndTheirLinesEnd) {
    for (const std::string end : {"\n", "\r\n", "\r"}) {
        std::string bytes;
        for (const char* line :
             {"\xEF\xBB\xBF"
              "data: first",
              "", ": a comment", "event: ping", "id: 7", "data:second", "data:  with a space",
              "unknown: field", "data", "", "id: 8", "", "data: no end"})
            bytes += line + end;
        for (const std::size_t step : {1u, 2u, 3u, 7u, 1'000u}) {
            SseReader reader(1'000);
            EXPECT_EQ(events_of(reader, bytes, step),
                      (Events{"message|first|", "ping|second\n with a space\n|7"}));
            EXPECT_EQ(reader.last_id(), "8") << "an event without data has an id all the same";
        }
    }
}

TEST(Sse, AnIdWithNulIsNoneAndRetryIsANumber) {
    SseReader reader(1'000);
    const std::string bytes("id: a\ndata: 1\n\nid: b\0c\nretry: 1x\nretry: 2500\ndata: 2\n\n", 54);
    EXPECT_EQ(events_of(reader, bytes, 5), (Events{"message|1|a", "message|2|a"}));
    EXPECT_EQ(reader.retry(), std::chrono::milliseconds(2'500));
    events_of(reader, "retry: 99999999999999999999\n\n", 4);
    EXPECT_EQ(reader.retry(), std::chrono::hours(24));
}

TEST(Sse, AnEventThatIsTooLargeIsReportedOnceAndTheNextIsRead) {
    const std::string large(50, 'x');
    for (const std::size_t step : {1u, 3u, 1'000u}) {
        EXPECT_EQ(events_of("data: " + large + "\ndata: more\n\ndata: ok\n\n", step, 20),
                  (Events{"<too large>", "message|ok|"}));
        EXPECT_EQ(events_of("data: 1234567890\ndata: 12345678901\n\ndata: ok\n\n", step, 20),
                  (Events{"<too large>", "message|ok|"}));
    }
}

TEST(Sse, ALineThatIsTooLongIsSoInWhateverPiecesItComes) {
    const std::string fits(20, 'x');
    for (const std::size_t step : {1u, 3u, 1'000u}) {
        EXPECT_EQ(events_of("data: " + fits + "\n\n", step, 20), (Events{"message|" + fits + "|"}));
        EXPECT_EQ(events_of("data: " + fits + "x\n\n", step, 20), Events{"<too large>"});
        EXPECT_EQ(events_of("unknown: " + fits + fits + "\ndata: 1\n\n", step, 20), Events{"<too large>"});
        EXPECT_EQ(events_of("id: " + fits + fits + "\ndata: 1\n\ndata: 2\n\n", step, 20),
                  (Events{"<too large>", "message|2|"}));
        EXPECT_EQ(events_of(":" + fits + fits + "\ndata: 1\n\n", step, 20), Events{"message|1|"});
        EXPECT_EQ(events_of("\xEF\xBB\xBF:" + fits + fits + "\ndata: 1\n\n", step, 0), Events{"<too large>"});
        EXPECT_EQ(events_of("\xEF\xBB\xBF:" + fits + fits + "\ndata: 1\n\n", step, 20), Events{"message|1|"});
    }
}

TEST(Sse, NoFieldBreaksOutOfItsLine) {
    std::string out;
    append_event(out, {"one\r\ntwo\rthree\n", "a\nb", "1\r\ndata: forged"});
    EXPECT_EQ(out, "event: ab\nid: 1data: forged\ndata: one\ndata: two\ndata: three\ndata: \n\n");
    out.clear();
    append_comment(out, "still\n\nhere");
    append_retry(out, std::chrono::milliseconds(-5));
    EXPECT_EQ(out, ": stillhere\n\nretry: 0\n\n");
    EXPECT_TRUE(events_of(out, 1).empty());
}

RC_GTEST_PROP(Sse, WhatIsWrittenIsReadHoweverItIsCut, ()) {
    const auto texts = *rc::gen::container<std::vector<std::string>>(
        rc::gen::container<std::string>(rc::gen::oneOf(rc::gen::inRange(' ', '~'), rc::gen::just('\n'))));
    const auto step = *rc::gen::inRange<std::size_t>(1, 20);
    std::string bytes;
    Events wanted;
    for (const std::string& text : texts) {
        append_event(bytes, {text, "m", "i"});
        wanted.push_back("m|" + text + "|i");
    }
    RC_ASSERT(events_of(bytes, step, 100'000) == wanted);
}

}  // namespace
}  // namespace callgate::wire
