// Walks a value and writes it: the one loop behind write(), write_pretty() and canonical().
//
// No recursion: a value that a program built a million levels deep is written like any other. A style says
// what differs:
//
//     struct Style {
//         struct Members { … };                            where it is in an object that is being written
//         Members open(const Object& object);              at the first of its members; not empty
//         bool next(Members& at);                          to the next; false after the last
//         std::string_view key(const Members& at) const;
//         const Value* value(const Members& at) const;
//         void put_double(TextSink& sink, double number);
//         static constexpr bool kPretty;                   a line for each value, indented
//     };
//
// Threads: a writer belongs to one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <boost/container/small_vector.hpp>

#include <callgate/json.h>

#include "json/text.h"

namespace callgate::json {

template <class Style>
class ValueWriter {
public:
    explicit ValueWriter(std::string& out) : sink_(out) {}

    void write(const Value& root) {
        const Value* value = &root;
        do {
            value = open(*value);
            if (value == nullptr) value = next();
        } while (value != nullptr);
        sink_.finish();
    }

private:
    /// Below this depth lines are indented no further, or the indentation of a very deep value would be
    /// quadratic.
    static constexpr std::size_t kMaxIndent = 128;

    /// A container being written: an array if `element` is there, else an object.
    struct Frame {
        const Value* element;
        const Value* element_end;
        typename Style::Members members;
    };

    /// Writes a scalar or an empty container whole (null), or opens a container and returns its first value.
    const Value* open(const Value& value) {
        switch (value.kind()) {
            case boost::json::kind::null: sink_.put_token("null"); return nullptr;
            case boost::json::kind::bool_:
                sink_.put_token(value.get_bool() ? "true" : "false");
                return nullptr;
            case boost::json::kind::int64: sink_.put_integer(value.get_int64()); return nullptr;
            case boost::json::kind::uint64: sink_.put_integer(value.get_uint64()); return nullptr;
            case boost::json::kind::double_: style_.put_double(sink_, value.get_double()); return nullptr;
            case boost::json::kind::string: sink_.put_string(value.get_string()); return nullptr;
            case boost::json::kind::array: {
                const Array& array = value.get_array();
                sink_.put('[');
                if (array.empty()) {
                    sink_.put(']');
                    return nullptr;
                }
                open_.push_back({array.begin(), array.end(), {}});
                new_line();
                return array.begin();
            }
            case boost::json::kind::object: {
                const Object& object = value.get_object();
                sink_.put('{');
                if (object.empty()) {
                    sink_.put('}');
                    return nullptr;
                }
                open_.push_back({nullptr, nullptr, style_.open(object)});
                new_line();
                return member(open_.back().members);
            }
        }
        return nullptr;
    }

    /// The value after the one just finished, closing the containers that end there; null at the very end.
    const Value* next() {
        while (!open_.empty()) {
            Frame& frame = open_.back();
            if (frame.element == nullptr) {
                if (style_.next(frame.members)) {
                    sink_.put(',');
                    new_line();
                    return member(frame.members);
                }
                close('}');
            } else {
                if (++frame.element != frame.element_end) {
                    sink_.put(',');
                    new_line();
                    return frame.element;
                }
                close(']');
            }
        }
        return nullptr;
    }

    const Value* member(const typename Style::Members& at) {
        sink_.put_key(style_.key(at));
        if constexpr (Style::kPretty) sink_.put(' ');
        return style_.value(at);
    }

    void close(char bracket) {
        open_.pop_back();
        new_line();
        sink_.put(bracket);
    }

    void new_line() {
        if constexpr (Style::kPretty) {
            sink_.put('\n');
            sink_.put_repeated(' ', 2 * std::min(open_.size(), kMaxIndent));
        }
    }

    TextSink sink_;
    Style style_;
    boost::container::small_vector<Frame, 16> open_;
};

}  // namespace callgate::json
