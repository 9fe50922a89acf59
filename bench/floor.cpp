#include "floor.h"

#include <cstdlib>

namespace callgate::bench {

Value add_schema() {
    return Object{{"type", "object"},
                  {"properties", {{"a", {{"type", "integer"}}}, {"b", {{"type", "integer"}}}}},
                  {"required", {"a", "b"}},
                  {"additionalProperties", false}};
}

Floor::Floor()
    : schema_(schema::Schema::compile(add_schema()).value()),
      add_([](std::int64_t a, std::int64_t b) { return a + b; }) {}

std::string Floor::call(std::string_view arguments) {
    std::string out;
    {
        const boost::json::storage_ptr memory(&arena_);
        const auto accepted = schema_.accept(arguments, scratch_, {}, memory);
        if (!accepted || accepted->verdict != schema::Verdict::valid) std::abort();
        const Object& object = accepted->value.get_object();
        const std::int64_t sum = add_(object.at("a").as_int64(), object.at("b").as_int64());
        const Value result(Object(
            {{"content", {Object({{"type", "text"}, {"text", std::to_string(sum)}}, memory)}}}, memory));
        json::write(result, out);
    }
    arena_.reset();
    return out;
}

}  // namespace callgate::bench
