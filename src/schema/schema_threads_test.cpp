#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "schema/schema_testing.h"

namespace callgate::schema {
namespace {

TEST(SchemaThreads, OneSchemaServesManyThreads) {
    const Schema schema =
        schema_of(R"({"type":"object","properties":{"id":{"type":"string","pattern":"^[a-z]+\\p{L}*$"},
        "items":{"type":"array","uniqueItems":true}},"unevaluatedProperties":false})");
    std::vector<std::thread> threads;
    std::vector<int> right(4, 0);
    for (std::size_t t = 0; t < right.size(); ++t) {
        threads.emplace_back([&, t] {
            Scratch scratch;
            const Value bad = Object{{"id", "A"}};
            for (int i = 0; i < 200; ++i) {
                const auto good = schema.accept(R"({"id":"abcé","items":[1,2,"3"]})", scratch);
                right[t] += good && good->verdict == Verdict::valid;
                right[t] += schema.check(bad, scratch) == Verdict::invalid;
                right[t] += schema.explain(bad).violations.size() == 1;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(right, std::vector<int>(4, 600));
}

TEST(SchemaThreads, SchemasAreCompiledSideBySide) {
    std::vector<std::thread> threads;
    std::vector<int> made(4, 0);
    for (std::size_t t = 0; t < made.size(); ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 20; ++i)
                made[t] += Schema::compile(Object{{"type", "string"}, {"maxLength", i}}).has_value();
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(made, std::vector<int>(4, 20));
}

}  // namespace
}  // namespace callgate::schema
