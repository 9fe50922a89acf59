// A way to cut, a limit, and bytes: cutting never changes which lines are read, and no line is longer than it
// may be.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "require.h"
#include "wire/line_reader.h"

using namespace callgate;

namespace {

std::vector<std::string> lines_of(std::string_view bytes, std::size_t step, std::size_t most) {
    std::vector<std::string> lines;
    const auto take = [&](const wire::LineReader::Line& line) {
        require(line.text.size() <= most, "no line is longer than it may be");
        require(line.text.find('\n') == std::string_view::npos, "a line is one line");
        lines.emplace_back(line.too_long ? "<too long>" : line.text);
    };
    wire::LineReader reader(most);
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        reader.feed(bytes.substr(at, step), take);
        require(reader.kept() <= most + 1, "what is kept is bounded");
    }
    reader.finish(take);
    return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::size_t step = 1 + data[0] % 32;
    const std::size_t most = data[1];
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
    require(lines_of(bytes, step, most) == lines_of(bytes, bytes.size() + 1, most),
            "cutting changes nothing");
    return 0;
}
