// Checking an argument object needs no heap once its Scratch is warm, finding a tool by name none at all, and
// listing tools no more than the list: counted at operator new.
#include <cstddef>
#include <string>

#include <gtest/gtest.h>

#include <callgate/definitions.h>
#include <callgate/json.h>
#include <callgate/registry.h>
#include <callgate/schema.h>

#include "counting_new.h"
#include "tool/exposed_names.h"

namespace callgate::schema {
namespace {

// Every part of the engine that keeps something: marks, the dynamic scope, hashes, patterns, name lookups.
const char* const kSchema = R"({
    "$id": "https://example.com/root", "$dynamicAnchor": "node", "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": "^[a-z]{2,8}-[0-9]+$"},
        "tags": {"type": "array", "uniqueItems": true, "items": {"type": "string", "minLength": 1}},
        "shape": {"oneOf": [
            {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}}},
            {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "square"}, "a": {"multipleOf": 0.5}}}]},
        "children": {"type": "array", "items": {"$dynamicRef": "#node"}}},
    "patternProperties": {"^x-": {"type": ["string", "null"]}},
    "if": {"required": ["shape"]}, "then": {"required": ["id"]},
    "unevaluatedProperties": false,
    "$defs": {"other": {"$id": "other", "$dynamicAnchor": "node"}}})";

const char* const kGood = R"({"id": "item-12", "tags": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"],
    "shape": {"kind": "square", "a": 2.5}, "x-note": null, "children": [{"id": "sub-1", "children": []}]})";
const char* const kBad = R"({"id": "item-12", "tags": ["a", "b", "a"], "unknown": [1, 2, {"deep": true}]})";

TEST(Allocations, CheckingNeedsNoHeapOnceTheScratchIsWarm) {
    const auto schema = Schema::compile(json::parse(kSchema).value());
    ASSERT_TRUE(schema) << schema.error().message;
    const Value good = json::parse(kGood).value();
    const Value bad = json::parse(kBad).value();
    const std::string good_text = kGood;
    const std::string bad_text = kBad;
    Scratch scratch;
    const auto round = [&] {
        return schema->check(good, scratch) == Verdict::valid &&
               schema->check(bad, scratch) == Verdict::invalid &&
               schema->check_text(good_text, scratch).value() == Verdict::valid &&
               schema->check_text(bad_text, scratch).value() == Verdict::invalid;
    };
    ASSERT_TRUE(round());
    const std::size_t before = allocation_count();
    bool right = true;
    for (int i = 0; i < 1'000; ++i) right &= round();
    EXPECT_TRUE(right);
    EXPECT_EQ(allocation_count() - before, 0u);
}

TEST(Allocations, AcceptingNeedsNoHeapWithAWarmArena) {
    const auto schema = Schema::compile(json::parse(kSchema).value());
    ASSERT_TRUE(schema);
    Scratch scratch;
    json::Arena arena;
    const auto round = [&] {
        arena.reset();
        const auto accepted = schema->accept(kGood, scratch, {}, &arena);
        return accepted && accepted->verdict == Verdict::valid;
    };
    ASSERT_TRUE(round());
    const std::size_t before = allocation_count();
    bool right = true;
    for (int i = 0; i < 1'000; ++i) right &= round();
    EXPECT_TRUE(right);
    EXPECT_EQ(allocation_count() - before, 0u);
}

TEST(Allocations, AreSeenByThisTest) {
    const std::size_t before = allocation_count();
    const Value made = json::parse(kGood).value();
    EXPECT_GT(allocation_count() - before, 10u);
}

TEST(Allocations, FindingAToolByAnyOfItsNamesNeedsNoHeap) {
    ExposedNames names;
    const std::string far = "files/" + std::string(180, 'x');
    for (const std::string& canonical :
         {std::string("files/a_rather_long_name"), far, std::string("native_tool")})
        ASSERT_TRUE(names.add(canonical));
    const std::string qualified = "files__" + std::string(180, 'x');
    const std::string fitted = names.shown(far, name_rules(DefinitionForm::openai)).value();
    const auto round = [&] {
        return names.find("files/a_rather_long_name") && names.find("a_rather_long_name") &&
               names.find("mcp__files__a_rather_long_name") && names.find(far) && names.find(qualified) &&
               names.find(fitted) && names.find("native_tool") && !names.find("files__no_such_tool_at_all");
    };
    const std::size_t before = allocation_count();
    EXPECT_TRUE(round());
    EXPECT_EQ(allocation_count() - before, 0u);
}

TEST(Allocations, ListingASnapshotCopiesNoDefinitions) {
    Registry registry;
    std::vector<Tool> tools;
    for (int i = 0; i < 2'000; ++i) {
        ToolDefinition definition(
            "files/tool_number_" + std::to_string(i), "Does one of many things.",
            json::parse(R"({"type":"object","properties":{"path":{"type":"string"}}})").value());
        tools.push_back(schema_tool(std::move(definition), nullptr));
    }
    ASSERT_TRUE(registry.sync("files", std::move(tools)));
    const NameRules rules = name_rules(DefinitionForm::openai);
    const Context caller;
    const auto allocated_by = [](const auto& list) {
        const std::size_t before = allocation_count();
        EXPECT_EQ(list(), 2'000u);
        return allocation_count() - before;
    };
    const auto all = [&] {
        const RegistrySnapshot snapshot = registry.snapshot();
        std::size_t described = 0;
        for (const ListedTool& tool : snapshot.tools()) {
            if (!tool.definition->description.empty()) ++described;
        }
        return described;
    };
    const auto shown = [&] {
        const RegistrySnapshot snapshot = registry.snapshot(rules);
        return snapshot.visible_to(caller)->size();
    };
    EXPECT_LE(allocated_by(all), 3u) << "made for this revision: what copies share, and two lists in it";
    EXPECT_EQ(allocated_by(all), 0u);
    EXPECT_GE(allocated_by(shown), 1'000u) << "the longer names, once for a revision";
    EXPECT_EQ(allocated_by(shown), 1u) << "the list";
    EXPECT_GE(allocated_by([&] { return registry.definitions().size(); }), 2'000u) << "copies are counted";
}

}  // namespace
}  // namespace callgate::schema
