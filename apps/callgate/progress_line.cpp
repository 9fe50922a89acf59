#include "progress_line.h"

#include <algorithm>
#include <ostream>
#include <string>

#include <fmt/format.h>

namespace callgate::cli {

namespace {

constexpr std::size_t kLongestLine = 200;

}  // namespace

std::string to_text(const Progress& progress) {
    std::string text = progress.tool + ":";
    if (!progress.message.empty()) text += " " + progress.message;
    if (progress.done && progress.total && *progress.total > 0) {
        text += fmt::format(" ({:g} of {:g}, {:.0f} %)", *progress.done, *progress.total,
                            *progress.done / *progress.total * 100);
    } else if (progress.done) {
        text += fmt::format(" ({:g})", *progress.done);
    }
    return one_line(text);
}

void ProgressLine::show(const Progress& progress) {
    if (!terminal_.is_terminal) {
        stream_ << clipped(to_text(progress), kLongestLine) << '\n' << std::flush;
        return;
    }
    // One column less than there are: some terminals go to the next line after the last.
    const std::size_t width = std::max<std::size_t>(terminal_.width != 0 ? terminal_.width : kUsualWidth, 2);
    const std::string line = clipped(to_text(progress), width - 1);
    const std::size_t columns = columns_of(line);
    stream_ << '\r' << padded(line, shown_) << std::flush;
    shown_ = columns;
}

void ProgressLine::clear() {
    if (shown_ == 0) return;
    stream_ << '\r' << std::string(shown_, ' ') << '\r' << std::flush;
    shown_ = 0;
}

}  // namespace callgate::cli
