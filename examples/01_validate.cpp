// Check a model's arguments against a tool's schema, say what is wrong, and mend what is plainly meant.
#include <iostream>

#include <callgate/json.h>
#include <callgate/schema.h>

namespace cg = callgate;

int main() {
    const auto document = cg::json::parse(R"({
        "type": "object",
        "properties": {"path": {"type": "string"}, "lines": {"type": "integer", "minimum": 1}},
        "required": ["path"]
    })");
    const auto schema = cg::schema::Schema::compile(document.value());
    if (!schema) {
        std::cerr << schema.error().message << '\n';
        return 2;
    }

    const auto arguments = cg::json::parse(R"({"path": "notes.txt", "lines": "20"})");
    cg::schema::Scratch scratch;  // keep it between calls: then checking needs no memory
    if (schema->check(arguments.value(), scratch) != cg::schema::Verdict::valid)
        std::cout << cg::schema::to_text(schema->explain(arguments.value())) << '\n';

    const auto mended = schema->coerce(arguments.value());
    std::cout << cg::json::write(mended.value) << '\n';
    return schema->check(mended.value, scratch) == cg::schema::Verdict::valid ? 0 : 1;
}
