#include "wire/sse.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <system_error>
#include <utility>

namespace callgate::wire {
namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";
// What a line may have before data that is as large as an event may be.
constexpr std::size_t kBeforeData = kMark.size() + std::string_view("data: ").size();

// How long a stream may be asked to wait: more is taken as this.
constexpr std::chrono::milliseconds kLongestRetry{24 * 60 * 60 * 1'000};

void append_field(std::string& out, std::string_view name, std::string_view value) {
    out += name;
    out += ": ";
    std::ranges::remove_copy_if(value, std::back_inserter(out),
                                [](char c) { return c == '\n' || c == '\r' || c == '\0'; });
    out += '\n';
}

// The next line of a text whose lines end in any of the three ways.
std::string_view take_first_line(std::string_view& text, bool& more) {
    const std::size_t end = text.find_first_of("\r\n");
    more = end != std::string_view::npos;
    if (!more) return std::exchange(text, {});
    const std::string_view line = text.substr(0, end);
    const bool both = text[end] == '\r' && end + 1 < text.size() && text[end + 1] == '\n';
    text.remove_prefix(end + (both ? 2 : 1));
    return line;
}

}  // namespace

void SseReader::feed(std::string_view bytes, const Take& take) {
    while (!bytes.empty()) {
        if (std::exchange(after_cr_, false) && bytes.front() == '\n') {
            bytes.remove_prefix(1);
            continue;
        }
        const std::size_t end = bytes.find_first_of("\r\n");
        if (end == std::string_view::npos) {
            keep(bytes);
            return;
        }
        end_line(bytes.substr(0, end), take);
        after_cr_ = bytes[end] == '\r';
        bytes.remove_prefix(end + 1);
    }
}

void SseReader::keep(std::string_view part) {
    if (line_too_long_) return;
    if (line_.size() + part.size() > max_bytes_ + kBeforeData) {
        line_too_long_ = true;
        long_comment_ = begins_comment(part);
        std::string().swap(line_);
        return;
    }
    line_ += part;
}

// Whether the line is one that goes on with this. Of one that is too long more than the mark is there by now.
bool SseReader::begins_comment(std::string_view part) const {
    std::string begin = line_.substr(0, kMark.size() + 1);
    begin += part.substr(0, kMark.size() + 1 - begin.size());
    const bool marked = at_begin_ && begin.starts_with(kMark);
    return begin[marked ? kMark.size() : 0] == ':';
}

// What is too long is so in whatever pieces it came.
void SseReader::end_line(std::string_view last, const Take& take) {
    if (!line_.empty() || line_too_long_ || last.size() > max_bytes_ + kBeforeData) {
        keep(last);
        last = line_;
    }
    if (std::exchange(at_begin_, false) && last.starts_with(kMark)) last.remove_prefix(kMark.size());
    if (std::exchange(line_too_long_, false)) {
        if (!long_comment_) too_large_ = true;  // and not the empty line that ends an event
    } else {
        take_line(last, take);
    }
    line_.clear();
}

void SseReader::take_line(std::string_view line, const Take& take) {
    if (line.empty()) {
        dispatch(take);
        return;
    }
    const std::size_t colon = line.find(':');
    if (colon == 0) return;  // a comment
    std::string_view value;
    if (colon != std::string_view::npos) value = line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    take_field(line.substr(0, colon), value);
}

void SseReader::take_field(std::string_view name, std::string_view value) {
    if (name == "data") {
        if (data_.size() + value.size() > max_bytes_) {
            too_large_ = true;
            std::string().swap(data_);
        }
        if (too_large_) return;
        if (has_data_) data_ += '\n';
        has_data_ = true;
        data_ += value;
    } else if (name == "event") {
        type_ = value;
    } else if (name == "id") {
        if (value.find('\0') == std::string_view::npos) id_ = value;
    } else if (name == "retry") {
        std::int64_t wait = 0;
        const auto digits = std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
        if (value.empty() || !digits) return;
        const auto read = std::from_chars(value.data(), value.data() + value.size(), wait);
        retry_ =
            read.ec == std::errc() ? std::min(std::chrono::milliseconds(wait), kLongestRetry) : kLongestRetry;
    }
}

void SseReader::dispatch(const Take& take) {
    if (too_large_) {
        take({type_.empty() ? "message" : std::string_view(type_), {}, id_, true});
    } else if (has_data_) {
        take({type_.empty() ? "message" : std::string_view(type_), data_, id_, false});
    }
    type_.clear();
    data_.clear();
    has_data_ = false;
    too_large_ = false;
}

void append_event(std::string& out, const SseOut& event) {
    if (!event.type.empty()) append_field(out, "event", event.type);
    if (!event.id.empty()) append_field(out, "id", event.id);
    std::string_view rest = event.data;
    for (bool more = true; more;) append_field(out, "data", take_first_line(rest, more));
    out += '\n';
}

void append_comment(std::string& out, std::string_view text) {
    out += ": ";
    std::ranges::remove_copy_if(text, std::back_inserter(out), [](char c) { return c == '\n' || c == '\r'; });
    out += "\n\n";
}

void append_retry(std::string& out, std::chrono::milliseconds wait) {
    append_field(out, "retry", std::to_string(std::max<std::int64_t>(0, wait.count())));
    out += '\n';
}

}  // namespace callgate::wire
