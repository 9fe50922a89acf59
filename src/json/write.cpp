// Text from a value. No recursion: a value that a program built a million levels deep is written like any
// other.
#include <callgate/json.h>

#include <algorithm>

#include <boost/container/small_vector.hpp>

#include "json/text.h"

namespace callgate::json {

namespace {

/// Below this depth lines are indented no further, or the indentation of a very deep value would be
/// quadratic.
constexpr std::size_t kMaxIndent = 128;

enum class Layout { compact, pretty };

template <Layout layout>
class Writer {
public:
    explicit Writer(std::string& out) : sink_(out) {}

    void write(const Value& root) {
        const Value* value = &root;
        do {
            value = open(*value);
            if (value == nullptr) value = next();
        } while (value != nullptr);
        sink_.finish();
    }

private:
    /// A container being written: `member` or `element` is the one in work.
    struct Frame {
        const boost::json::key_value_pair* member;
        const boost::json::key_value_pair* member_end;
        const Value* element;
        const Value* element_end;
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
            case boost::json::kind::double_: sink_.put_double(value.get_double()); return nullptr;
            case boost::json::kind::string: sink_.put_string(value.get_string()); return nullptr;
            case boost::json::kind::array: {
                const Array& array = value.get_array();
                sink_.put('[');
                if (array.empty()) {
                    sink_.put(']');
                    return nullptr;
                }
                open_.push_back({nullptr, nullptr, array.begin(), array.end()});
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
                open_.push_back({object.begin(), object.end(), nullptr, nullptr});
                new_line();
                return key(*object.begin());
            }
        }
        return nullptr;
    }

    /// The value after the one just finished, closing the containers that end there; null at the very end.
    const Value* next() {
        while (!open_.empty()) {
            Frame& frame = open_.back();
            if (frame.member != nullptr) {
                if (++frame.member != frame.member_end) {
                    sink_.put(',');
                    new_line();
                    return key(*frame.member);
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

    const Value* key(const boost::json::key_value_pair& member) {
        sink_.put_key(member.key());
        if constexpr (layout == Layout::pretty) sink_.put(' ');
        return &member.value();
    }

    void close(char bracket) {
        open_.pop_back();
        new_line();
        sink_.put(bracket);
    }

    void new_line() {
        if constexpr (layout == Layout::pretty) {
            sink_.put('\n');
            sink_.put_repeated(' ', 2 * std::min(open_.size(), kMaxIndent));
        }
    }

    TextSink sink_;
    boost::container::small_vector<Frame, 16> open_;
};

}  // namespace

void write(const Value& value, std::string& out) {
    Writer<Layout::compact>(out).write(value);
}

std::string write(const Value& value) {
    std::string out;
    write(value, out);
    return out;
}

std::string write_pretty(const Value& value) {
    std::string out;
    Writer<Layout::pretty>(out).write(value);
    return out;
}

}  // namespace callgate::json
