#include "wire/line_reader.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace callgate::wire {
namespace {

/// Every line, "<too long>" for those that are.
std::vector<std::string> lines_of(std::string_view bytes, std::size_t step, std::size_t most = 1'000) {
    std::vector<std::string> lines;
    const auto take = [&](const LineReader::Line& line) {
        lines.emplace_back(line.too_long ? "<too long>" : line.text);
    };
    LineReader reader(most);
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        reader.feed(bytes.substr(at, step), take);
        EXPECT_LE(reader.kept(), most + 1);
    }
    reader.finish(take);
    return lines;
}

TEST(LineReader, LinesEndWithOrWithoutACarriageReturnAndEmptyOnesAreLeftOut) {
    for (const std::size_t step : {1u, 2u, 3u, 100u}) {
        EXPECT_EQ(lines_of("{\"a\":1}\n\n{\"b\":2}\r\n\r\nlast", step),
                  (std::vector<std::string>{"{\"a\":1}", "{\"b\":2}", "last"}));
    }
    EXPECT_TRUE(lines_of("", 1).empty());
    EXPECT_TRUE(lines_of("\n\r\n", 1).empty());
}

TEST(LineReader, ALineThatIsTooLongIsReportedOnceAndTheNextIsRead) {
    for (const std::size_t step : {1u, 3u, 100u}) {
        EXPECT_EQ(lines_of("12345\n123456\nabcde\r\n" + std::string(50, 'x') + "\nend", step, 5),
                  (std::vector<std::string>{"12345", "<too long>", "abcde", "<too long>", "end"}));
        EXPECT_EQ(lines_of("123456", step, 5), (std::vector<std::string>{"<too long>"}));
    }
}

TEST(LineWriter, TextWithLineEndsInItStaysOneLine) {
    std::string out = "1\n";
    append_line(out, "{\n\"a\":\r\n1}");
    append_line(out, "{}\r");
    EXPECT_EQ(out, "1\n{\"a\":1}\n{}\n");
}

RC_GTEST_PROP(LineReader, ReadsWhatWasWrittenHoweverItIsCut, ()) {
    const auto texts = *rc::gen::container<std::vector<std::string>>(
        rc::gen::container<std::string>(rc::gen::inRange(' ', '~')));
    const auto step = *rc::gen::inRange<std::size_t>(1, 20);
    std::string bytes;
    std::vector<std::string> wanted;
    for (const std::string& text : texts) {
        append_line(bytes, text);
        if (!text.empty()) wanted.push_back(text);
    }
    RC_ASSERT(lines_of(bytes, step, 10'000) == wanted);
}

}  // namespace
}  // namespace callgate::wire
