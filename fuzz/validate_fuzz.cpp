// A schema and an instance, separated by a line break: every way to ask gives the same answer, coercion never
// turns a valid value into anything else, and nothing passes the step budget unnoticed.
#include <cstdint>
#include <string_view>

#include <callgate/schema.h>

#include "require.h"

using namespace callgate;
using schema::Verdict;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
    const std::size_t split = input.find('\n');
    if (split == std::string_view::npos) return 0;
    const std::string_view text = input.substr(split + 1);
    const auto document = json::parse(input.substr(0, split));
    const auto instance = json::parse(text);
    if (!document || !instance) return 0;
    schema::CompileOptions options;
    options.default_dialect = static_cast<schema::Dialect>(data[0] % 3);
    options.assert_format = (data[0] & 4) != 0;
    options.limits.max_steps = 20'000;
    const auto compiled = schema::Schema::compile(*document, options);
    if (!compiled) return 0;

    schema::Scratch scratch;
    const Verdict verdict = compiled->check(*instance, scratch);
    const auto from_text = compiled->check_text(text, scratch);
    require(from_text && *from_text == verdict, "the text and the value get the same verdict");
    const auto explanation = compiled->explain(*instance);
    require(explanation.verdict == verdict, "explaining agrees with checking");
    require(explanation.violations.empty() == (verdict == Verdict::valid), "what is invalid has a reason");
    const auto accepted = compiled->accept(text, scratch);
    require(accepted && accepted->verdict == verdict, "accepting agrees with checking");
    if (verdict == Verdict::valid) {
        require(json::write(accepted->value) == json::write(*instance), "what is accepted is what was sent");
        const auto coerced = compiled->coerce(*instance, schema::CoercionMode::full);
        require(coerced.changes.empty(), "a valid value is not coerced");
    }
    return 0;
}
