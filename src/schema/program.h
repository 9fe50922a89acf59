// What a schema is compiled to: flat arrays of blocks and rules, linked by index.
//
// A block is one subschema. It holds the types it allows, at most one rule per instance type (strings,
// numbers, arrays, objects), and the steps that apply to any instance: enum, references, combinators.
// Evaluating a block touches only the rule of the instance's own type. Reading this header is reading what
// the engine can do.
//
// Threads: immutable once compiled.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <callgate/schema.h>

#include "schema/format.h"
#include "schema/names.h"
#include "schema/number.h"
#include "schema/regex.h"

namespace callgate::schema {

using BlockId = std::uint32_t;

constexpr BlockId kTrue = 0;   ///< accepts everything
constexpr BlockId kFalse = 1;  ///< accepts nothing
constexpr std::uint32_t kNone = 0xFFFF'FFFF;

/// Instance types as bits. An integer written as 1.0 has the bit of a real.
namespace type {
constexpr std::uint8_t null = 1, boolean = 2, integer = 4, real = 8, string = 16, array = 32, object = 64;
constexpr std::uint8_t number = integer | real, all = 0x7F;
}  // namespace type

struct Range {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
};

struct StringRule {
    std::uint32_t min_length = 0;
    std::uint32_t max_length = kNone;
    std::uint32_t pattern = kNone;  ///< into Program::patterns
    bool has_format = false;
    Format format{};
};

struct NumberRule {
    bool has_minimum = false, has_maximum = false, has_above = false, has_below = false, has_divisor = false;
    Number minimum, maximum, above, below;  ///< `above` and `below` are the exclusive bounds
    Divisor divisor;
};

struct ArrayRule {
    std::uint32_t min_items = 0;
    std::uint32_t max_items = kNone;
    Range prefix;  ///< into Program::lists: a block per leading item
    BlockId items = kTrue;
    bool has_items = false;  ///< the remaining items count as evaluated
    bool unique = false;
    bool contains_evaluates = false;  ///< since 2020-12 matching items count as evaluated
    BlockId contains = kNone;
    std::uint32_t min_contains = 1;
    std::uint32_t max_contains = kNone;
};

/// A name that `properties` or `required` mentions.
struct Member {
    BlockId block = kTrue;
    std::uint8_t types = type::all;  ///< of the block, so that a plain type check needs no call
    bool only_types = true;          ///< the types are all the block checks
    bool declared = false;           ///< in `properties`
    bool required = false;
};

struct PatternMember {
    std::uint32_t pattern;
    BlockId block;
};

/// What the presence of a member asks for.
struct Dependent {
    std::string name;
    std::vector<std::string> required;
    BlockId block = kTrue;
    std::string_view keyword;
};

struct ObjectRule {
    bool plain = false;  ///< members are judged by their names alone: no patterns, no propertyNames
    std::uint32_t min_members = 0;
    std::uint32_t max_members = kNone;
    Names names;
    std::vector<Member> members;  ///< by number of the name
    std::uint32_t required = 0;   ///< how many members are required
    Range patterns;               ///< into Program::pattern_members
    BlockId additional = kTrue;   ///< kFalse also by UnknownMembers::reject
    bool has_additional = false;
    bool has_properties = false;
    BlockId property_names = kNone;
    Range dependents;  ///< into Program::dependents
};

/// `enum` and `const`: strings by table, the rest by comparison.
struct EnumRule {
    Names strings;
    std::vector<Value> others;
    bool is_const = false;
};

/// A member whose constant tells the alternatives of a oneOf or anyOf apart: only one of them can hold.
struct Discriminator {
    std::string member;
    Names values;
    std::vector<std::uint32_t> branch;  ///< by number of the value
};

enum class Op : std::uint8_t {
    check_enum,     ///< a: into enums
    apply,          ///< a: block (`allOf` member, `$ref`)
    apply_dynamic,  ///< a: into dynamic_refs
    any_of,         ///< list: blocks; a: discriminator or kNone
    one_of,         ///< likewise
    reject,         ///< a: block that must not hold
    branch,         ///< a: if, b: then or kNone, c: else or kNone
};

struct Step {
    Op op;
    std::uint32_t a = kNone;
    std::uint32_t b = kNone;
    std::uint32_t c = kNone;
    Range list;
    std::string_view keyword;  ///< for explanations
};

struct DynamicRef {
    BlockId initial;
    std::vector<std::pair<std::uint32_t, BlockId>> targets;  ///< per resource that has the dynamic anchor
};

struct Block {
    std::uint8_t types = type::all;
    bool only_types = true;  ///< only `types` are checked
    bool has_unevaluated = false;
    std::uint32_t string_rule = kNone, number_rule = kNone, array_rule = kNone, object_rule = kNone;
    Range steps;
    BlockId unevaluated_items = kNone, unevaluated_members = kNone;
    std::uint32_t resource = 0;
};

class Program {
public:
    Dialect dialect = Dialect::draft2020_12;
    Limits limits;
    bool dynamic = false;  ///< the dynamic scope matters
    BlockId root = kTrue;

    std::vector<Block> blocks;
    std::vector<Step> steps;
    std::vector<BlockId> lists;
    std::vector<StringRule> strings;
    std::vector<NumberRule> numbers;
    std::vector<ArrayRule> arrays;
    std::vector<ObjectRule> objects;
    std::vector<PatternMember> pattern_members;
    std::vector<Dependent> dependents;
    std::vector<EnumRule> enums;
    std::vector<Discriminator> discriminators;
    std::vector<DynamicRef> dynamic_refs;
    std::vector<Regex> patterns;
    std::vector<std::string> pattern_texts;
    std::vector<std::string> locations;  ///< per block, for explanations
};

}  // namespace callgate::schema
