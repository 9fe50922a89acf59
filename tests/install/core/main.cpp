#include <callgate/json.h>
#include <callgate/schema.h>

int main() {
    const auto document = callgate::json::parse(R"({"type": "object", "required": ["path"]})").value();
    const auto schema = callgate::schema::Schema::compile(document).value();
    const auto arguments = callgate::json::parse(R"({"path": "a.txt"})").value();
    callgate::schema::Scratch scratch;
    return schema.check(arguments, scratch) == callgate::schema::Verdict::valid ? 0 : 1;
}
