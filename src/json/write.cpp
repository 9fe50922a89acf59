// Text from a value, with its members in their own order.
#include <callgate/json.h>

#include "json/value_writer.h"

namespace callgate::json {

namespace {

enum class Layout { compact, pretty };

template <Layout layout>
struct AsItIs {
    struct Members {
        const boost::json::key_value_pair* at = nullptr;
        const boost::json::key_value_pair* end = nullptr;
    };
    static constexpr bool kPretty = layout == Layout::pretty;

    static Members open(const Object& object) { return {object.begin(), object.end()}; }
    static bool next(Members& members) { return ++members.at != members.end; }
    static std::string_view key(const Members& members) { return members.at->key(); }
    static const Value* value(const Members& members) { return &members.at->value(); }
    static void put_double(TextSink& sink, double number) { sink.put_double(number); }
};

}  // namespace

void write(const Value& value, std::string& out) {
    ValueWriter<AsItIs<Layout::compact>>(out).write(value);
}

std::string write(const Value& value) {
    std::string out;
    write(value, out);
    return out;
}

std::string write_pretty(const Value& value) {
    std::string out;
    ValueWriter<AsItIs<Layout::pretty>>(out).write(value);
    return out;
}

}  // namespace callgate::json
