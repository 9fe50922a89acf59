// For tests: schemas and instances as JSON text, judged in every way there is.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <callgate/json.h>
#include <callgate/schema.h>

namespace callgate::schema {

inline Value json_of(std::string_view text) {
    auto value = json::parse(text, json::ParseLimits(64u << 20, 1'000, 10'000'000));
    EXPECT_TRUE(value) << text.substr(0, 200) << ": " << (value ? "" : value.error().message);
    return value ? std::move(*value) : Value();
}

inline Schema schema_of(std::string_view text, const CompileOptions& options = {}) {
    auto schema = Schema::compile(json_of(text), options);
    if (!schema) throw std::runtime_error(schema.error().message);
    return std::move(*schema);
}

/// The verdict, after making sure that all ways to ask agree.
inline Verdict verdict_of(const Schema& schema, std::string_view instance) {
    Scratch scratch;
    const Value value = json_of(instance);
    const Verdict verdict = schema.check(value, scratch);
    const auto from_text =
        schema.check_text(instance, scratch, json::ParseLimits(64u << 20, 1'000, 10'000'000));
    EXPECT_TRUE(from_text && *from_text == verdict) << instance.substr(0, 200);
    const Explanation explanation = schema.explain(value);
    EXPECT_EQ(explanation.verdict, verdict) << instance.substr(0, 200);
    EXPECT_EQ(explanation.violations.empty(), verdict == Verdict::valid);
    return verdict;
}

inline bool accepts(const Schema& schema, std::string_view instance) {
    return verdict_of(schema, instance) == Verdict::valid;
}

/// The sentences, one a line.
inline std::string complaints(const Schema& schema, std::string_view instance) {
    return to_text(schema.explain(json_of(instance)));
}

}  // namespace callgate::schema
