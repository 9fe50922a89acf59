// What a running tool says of itself: one line that is written over on a terminal, a line each elsewhere.
//
// Threads: show() and clear() one at a time.
#pragma once

#include <cstddef>
#include <iosfwd>

#include <callgate/context.h>

#include "terminal.h"

namespace callgate::cli {

class ProgressLine {
public:
    ProgressLine(std::ostream& stream, const Terminal& terminal) : stream_(stream), terminal_(terminal) {}

    void show(const Progress& progress);
    /// Takes the line away, so that something else can stand there.
    void clear();

private:
    std::ostream& stream_;
    const Terminal terminal_;
    std::size_t shown_ = 0;  // columns of the line on the terminal
};

/// "count: counted to 3 (3 of 10, 30 %)"
std::string to_text(const Progress& progress);

}  // namespace callgate::cli
