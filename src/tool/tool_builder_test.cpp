// What is said of a tool or a parameter one word after the other: nothing is copied, nothing dangles.
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include <callgate/registry.h>
#include <callgate/typed.h>

#include "tool/tool_entry.h"

namespace callgate {
namespace {

using namespace std::chrono_literals;

/// A callable that counts its copies.
struct Copied {
    int* copies;

    explicit Copied(int& count) : copies(&count) {}
    Copied(const Copied& other) : copies(other.copies) { ++*copies; }
    Copied(Copied&& other) noexcept = default;
    int operator()(int a) const { return a; }
};

const std::string kLong(200, 'x');

Tool described() {
    return schema_tool(ToolDefinition("act", kLong, Object{{"type", "object"}, {"description", kLong}}),
                       [](const Object&, CallContext&) -> ToolReturn { return ToolResult(); });
}

TEST(ToolBuilder, CopiesNothingOnTheWayIntoTheRegistry) {
    int copies = 0;
    Registry registry;
    registry.add_or_throw(tool("echo", "", Copied(copies), param("a").minimum(1))
                              .risk(Risk::low)
                              .effect(EffectClass::read)
                              .timeout(1s)
                              .run_inline());
    EXPECT_EQ(copies, 0);

    Tool made = described();
    const void* const text = made.definition.description.data();
    const void* const schema = &made.definition.input_schema.get_object().begin()->value();
    Tool said = std::move(made)
                    .version("2")
                    .scopes({"a"})
                    .risk(Risk::high)
                    .risk("undo", Risk::low)
                    .effect(EffectClass::keyed)
                    .timeout(1s)
                    .retries(RetryPolicy(1))
                    .limits({})
                    .connector("mail")
                    .target("/to")
                    .resource_key("/to")
                    .capability("notification")
                    .open_arguments()
                    .read_only();
    EXPECT_EQ(said.definition.description.data(), text) << "moved, with all it holds";
    EXPECT_EQ(&said.definition.input_schema.get_object().begin()->value(), schema);
    registry.add_or_throw(std::move(said));
    EXPECT_EQ(registry.find("act")->definition().description.data(), text);
}

TEST(ToolBuilder, OfATemporaryGivesAToolThatStays) {
    EXPECT_TRUE((std::is_same_v<decltype(described().risk(Risk::low)), Tool>));
    EXPECT_TRUE((std::is_same_v<decltype(param("a").minimum(1)), Param>));
    const auto& kept = described().risk(Risk::high).connector(kLong);
    EXPECT_EQ(kept.contract.connector_id, kLong);
    auto&& also = param(kLong).max_length(5);
    EXPECT_EQ(also.name(), kLong);
}

template <class T>
concept BoundByReference =
    requires(T&& made, void (&take)(T&)) { take(std::forward<T>(made).risk(Risk::low)); };

TEST(ToolBuilder, OfANamedToolChangesIt) {
    EXPECT_FALSE(BoundByReference<Tool>) << "auto& tool = make().risk(...) does not compile";
    Tool tool = described();
    Tool& same = tool.risk(Risk::critical).effect(EffectClass::keyed);
    EXPECT_EQ(&same, &tool);
    EXPECT_EQ(tool.contract.risk, Risk::critical);
    Param limit = param("limit");
    limit.default_to(5).maximum(10);
    EXPECT_EQ(*limit.fallback(), Value(5));
}

TEST(ToolBuilder, SaysTheSameEitherWay) {
    Tool named = described();
    named.version("1")
        .output(Object{{"type", "object"}})
        .run_inline()
        .preview([](const Object&, CallContext&) -> Result<Preview> { return Preview("p"); });
    named.probe([](std::string_view, const Object&, CallContext&) { return Reconciliation(); });
    const Tool moved =
        described()
            .version("1")
            .output(Object{{"type", "object"}})
            .run_inline()
            .preview([](const Object&, CallContext&) -> Result<Preview> { return Preview("p"); })
            .probe([](std::string_view, const Object&, CallContext&) { return Reconciliation(); });
    for (const Tool* tool : {&static_cast<const Tool&>(named), &moved}) {
        EXPECT_EQ(tool->version(), "1");
        EXPECT_TRUE(tool->definition.output_schema);
        EXPECT_EQ(tool->body->mode(), RunMode::inlined);
        EXPECT_TRUE(tool->body->has_preview() && tool->body->has_probe());
    }
    const Param one = param("a").min_length(1).pattern("a+").format("email").one_of({"a", "b"});
    Param other("a");
    other.min_length(1).pattern("a+").format("email").one_of({"a", "b"});
    EXPECT_EQ(one.schema(Object()), other.schema(Object()));
}

}  // namespace
}  // namespace callgate
