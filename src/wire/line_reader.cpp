#include "wire/line_reader.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace callgate::wire {

void LineReader::feed(std::string_view bytes, const Take& take) {
    for (;;) {
        const std::size_t end = bytes.find('\n');
        if (end == std::string_view::npos) break;
        end_line(bytes.substr(0, end), take);
        bytes.remove_prefix(end + 1);
    }
    keep(bytes);
}

void LineReader::finish(const Take& take) {
    end_line({}, take);
}

// One byte more than the limit is kept: it may be the "\r" of the end.
void LineReader::keep(std::string_view part) {
    if (skipping_) return;
    if (rest_.size() + part.size() > max_bytes_ + 1) {
        skipping_ = true;
        std::string().swap(rest_);
        return;
    }
    rest_ += part;
}

void LineReader::end_line(std::string_view last, const Take& take) {
    if (!rest_.empty() || skipping_) {
        keep(last);
        last = rest_;
    }
    if (!last.empty() && last.back() == '\r') last.remove_suffix(1);
    if (std::exchange(skipping_, false) || last.size() > max_bytes_) {
        take({{}, true});
    } else if (!last.empty()) {
        take({last, false});
    }
    rest_.clear();
}

void append_line(std::string& out, std::string_view json) {
    if (json.find('\n') == std::string_view::npos && json.find('\r') == std::string_view::npos) {
        out += json;
    } else {
        std::ranges::remove_copy_if(json, std::back_inserter(out),
                                    [](char c) { return c == '\n' || c == '\r'; });
    }
    out += '\n';
}

}  // namespace callgate::wire
