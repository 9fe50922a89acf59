#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <callgate/schema.h>

#include "base/utf8.h"
#include "json/pointer.h"
#include "schema/evaluate.h"
#include "schema/explain.h"
#include "schema/program.h"
#include "schema/similar.h"

namespace callgate::schema {

namespace {

// Lists and values in a sentence are cut to stay readable.
constexpr std::size_t kShownValues = 20;
constexpr std::size_t kShownBytes = 120;
constexpr std::size_t kLongestPath = 4'096;

std::string_view type_name(Kind kind) {
    switch (kind) {
        case Kind::null: return "null";
        case Kind::boolean: return "boolean";
        case Kind::int64:
        case Kind::uint64: return "integer";
        case Kind::number: return "number";
        case Kind::string: return "string";
        case Kind::array: return "array";
        case Kind::object: break;
    }
    return "object";
}

std::string type_names(std::uint8_t types) {
    std::vector<std::string_view> names;
    if ((types & type::string) != 0) names.emplace_back("string");
    if ((types & type::real) != 0) {
        names.emplace_back("number");
    } else if ((types & type::integer) != 0) {
        names.emplace_back("integer");
    }
    if ((types & type::boolean) != 0) names.emplace_back("boolean");
    if ((types & type::object) != 0) names.emplace_back("object");
    if ((types & type::array) != 0) names.emplace_back("array");
    if ((types & type::null) != 0) names.emplace_back("null");
    return fmt::format("{}", fmt::join(names, " or "));
}

std::string shortened(std::string text) {
    if (text.size() <= kShownBytes) return text;
    return std::string(base::truncate_to_bytes(text, kShownBytes)) + "…";
}

std::string values_of(const EnumRule& rule) {
    std::string list;
    std::size_t shown = 0;
    const std::size_t total = rule.strings.size() + rule.others.size();
    const auto add = [&](const std::string& text) {
        if (shown++ != 0) list += ", ";
        list += shortened(text);
    };
    for (std::uint32_t i = 0; i < rule.strings.size() && shown < kShownValues; ++i)
        add(std::string(rule.strings[i]));
    for (std::size_t i = 0; i < rule.others.size() && shown < kShownValues; ++i)
        add(json::write(rule.others[i]));
    if (shown < total) list += fmt::format(" (and {} more)", total - shown);
    return list;
}

std::string times(std::uint32_t count, std::string_view noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

class Recorder {
public:
    static constexpr bool kRecords = true;

    Recorder(const Program& program, std::size_t most, std::string_view noun)
        : program_(program), most_(most), noun_(noun) {}

    std::vector<Violation> violations;
    bool truncated = false;

    void push(std::string_view key) { path_.emplace_back(key); }
    void push(std::uint32_t index) { path_.emplace_back(index); }
    void pop() { path_.pop_back(); }

    void nothing_allowed() { add(kFalse, "false", fmt::format("{} is not allowed", subject())); }

    void wrong_type(BlockId id, std::uint8_t types, Kind kind) {
        add(id, "type", fmt::format("{} expected {}, got {}", subject(), type_names(types), type_name(kind)));
    }

    void wrong_length(BlockId id, const StringRule& rule, std::string_view text) {
        const bool too_short = !length_within(text, rule.min_length, kNone);
        const std::uint32_t bound = too_short ? rule.min_length : rule.max_length;
        add(id, too_short ? "minLength" : "maxLength",
            fmt::format("{} must have at {} {}", subject(), too_short ? "least" : "most",
                        times(bound, "character")));
    }

    void no_match(BlockId id, std::uint32_t pattern) {
        add(id, "pattern",
            fmt::format("{} must match the pattern {}", subject(),
                        shortened(program_.pattern_texts[pattern])));
    }

    void wrong_format(BlockId id, Format format) {
        add(id, "format", fmt::format("{} must be a valid {}", subject(), format_name(format)));
    }

    void out_of_bounds(BlockId id, std::string_view keyword, const Number& bound) {
        std::string_view relation = "at least";
        if (keyword == "maximum") relation = "at most";
        if (keyword == "exclusiveMinimum") relation = "greater than";
        if (keyword == "exclusiveMaximum") relation = "less than";
        if (keyword == "multipleOf") relation = "a multiple of";
        add(id, keyword, fmt::format("{} must be {} {}", subject(), relation, schema::to_text(bound)));
    }

    void wrong_size(BlockId id, const ArrayRule& rule, std::uint32_t size) {
        const bool few = size < rule.min_items;
        add(id, few ? "minItems" : "maxItems",
            fmt::format("{} must have at {} {}, got {}", subject(), few ? "least" : "most",
                        times(few ? rule.min_items : rule.max_items, "item"), size));
    }

    void wrong_size(BlockId id, const ObjectRule& rule, std::uint32_t size) {
        const bool few = size < rule.min_members;
        const std::uint32_t bound = few ? rule.min_members : rule.max_members;
        add(id, few ? "minProperties" : "maxProperties",
            fmt::format("{} must have at {} {} member{}, got {}", subject(), few ? "least" : "most", bound,
                        bound == 1 ? "" : "s", size));
    }

    void wrong_contains(BlockId id, const ArrayRule& rule, std::uint32_t found) {
        const bool few = found < rule.min_contains;
        add(id, few ? (rule.min_contains == 1 ? "contains" : "minContains") : "maxContains",
            fmt::format("{} must have at {} {} of the required kind, got {}", subject(),
                        few ? "least" : "most", times(few ? rule.min_contains : rule.max_contains, "item"),
                        found));
    }

    void not_unique(BlockId id, std::uint32_t first, std::uint32_t second) {
        add(id, "uniqueItems",
            fmt::format("{} must not repeat an item: items {} and {} are equal", subject(), first, second));
    }

    void unknown_member(BlockId id, const ObjectRule& rule, std::string_view key) {
        std::string message = fmt::format("Unknown parameter: {}", name());
        std::vector<std::string_view> known;
        for (std::uint32_t i = 0; i < rule.members.size(); ++i) {
            if (rule.members[i].declared) known.push_back(rule.names[i]);
        }
        if (const auto nearest = nearest_name(key, known))
            message += fmt::format(". Did you mean '{}'?", *nearest);
        add(id, "additionalProperties", std::move(message));
    }

    void bad_name(BlockId id, std::string_view key) {
        add(id, "propertyNames",
            fmt::format("Parameter name '{}' is not allowed here", shortened(std::string(key))));
    }

    void missing(BlockId id, std::string_view keyword, std::string_view member, std::string_view because) {
        push(member);
        std::string message = fmt::format("Missing required parameter: {}", name());
        pop();
        if (!because.empty()) message += fmt::format(" (needed because '{}' is given)", because);
        add(id, keyword, std::move(message));
    }

    void rejected(BlockId id) { add(id, "not", fmt::format("{} has a value that is ruled out", subject())); }

    void not_listed(BlockId id, const EnumRule& rule) {
        if (rule.is_const) {
            add(id, "const", fmt::format("{} must be: {}", subject(), values_of(rule)));
        } else {
            add(id, "enum", fmt::format("{} must be one of: {}", subject(), values_of(rule)));
        }
    }

    // None of the alternatives holds. If the value's type fits none, that is the reason; otherwise the one
    // that comes closest is explained.
    template <class E, class Node>
    void no_alternative(E& evaluator, BlockId id, const Step& step, Node node) {
        std::uint8_t types = 0;
        bool typed = false;
        for (std::uint32_t i = 0; i < step.list.count; ++i) {
            const Block& block = program_.blocks[program_.lists[step.list.first + i]];
            types |= block.types;
            typed |= has_type(node, node.kind(), block.types);
        }
        if (!typed && types != 0) {
            wrong_type(id, types, node.kind());
            return;
        }
        std::vector<Violation> before = std::exchange(violations, {});
        std::vector<Violation> closest;
        std::uint32_t which = 0;
        const std::string here = pointer();
        std::size_t best = SIZE_MAX;
        for (std::uint32_t i = 0; i < step.list.count; ++i) {
            violations.clear();
            evaluator.holds(program_.lists[step.list.first + i], node);
            const bool shallow = std::ranges::any_of(violations, [&](const Violation& violation) {
                return violation.instance_path == here && violation.keyword == "type";
            });
            const std::size_t score = violations.size() + (shallow ? 1'000 : 0);
            if (score >= best) continue;
            best = score;
            which = i;
            closest = violations;
        }
        violations = std::move(before);
        add(id, step.keyword,
            fmt::format("{} fits none of the {} allowed forms; the closest is form {}", subject(),
                        step.list.count, which + 1));
        for (Violation& violation : closest) keep(std::move(violation));
    }

    void several_alternatives(BlockId id, const Step& step) {
        add(id, step.keyword,
            fmt::format("{} fits more than one of the {} allowed forms; make it fit exactly one", subject(),
                        step.list.count));
    }

    void unknown_alternative(BlockId id, const Step& step, const Discriminator& discriminator) {
        push(discriminator.member);
        std::string values;
        for (std::uint32_t i = 0; i < discriminator.values.size() && i < kShownValues; ++i) {
            if (i != 0) values += ", ";
            values += shortened(std::string(discriminator.values[i]));
        }
        add(id, step.keyword, fmt::format("{} must be one of: {}", subject(), values));
        pop();
    }

    void unevaluated_member(BlockId id, std::string_view) {
        add(id, "unevaluatedProperties", fmt::format("Unknown parameter: {}", name()));
    }

    void unevaluated_item(BlockId id, std::uint32_t) {
        add(id, "unevaluatedItems", fmt::format("{} is one item too many", subject()));
    }

private:
    using Token = std::variant<std::string_view, std::uint32_t>;

    // "options.retries", "items[2].name": how the value is called in a sentence.
    std::string name() const {
        std::string text;
        for (const Token& token : path_) {
            if (const auto* index = std::get_if<std::uint32_t>(&token)) {
                text += fmt::format("[{}]", *index);
            } else {
                if (!text.empty()) text += '.';
                text += std::get<std::string_view>(token);
            }
        }
        return shortened(std::move(text));
    }

    std::string subject() const {
        return path_.empty() ? "The value" : fmt::format("{} '{}'", noun_, name());
    }

    std::string pointer() const {
        std::string text;
        for (const Token& token : path_) {
            if (const auto* index = std::get_if<std::uint32_t>(&token)) {
                json::append_index(text, *index);
            } else {
                json::append_token(text, std::get<std::string_view>(token));
            }
        }
        return text;
    }

    void add(BlockId id, std::string_view keyword, std::string message) {
        std::string where = program_.locations[id];
        if (id != kFalse) json::append_token(where, keyword);
        keep({pointer(), std::move(where), std::string(keyword), std::move(message)});
    }

    // Bounded in number and in bytes: a path may be as long as the message it leads through.
    void keep(Violation violation) {
        violation.instance_path = base::truncate_to_bytes(violation.instance_path, kLongestPath);
        violation.schema_path = base::truncate_to_bytes(violation.schema_path, kLongestPath);
        if (violations.size() >= most_) {
            truncated = true;
            return;
        }
        violations.push_back(std::move(violation));
    }

    const Program& program_;
    const std::size_t most_;
    const std::string_view noun_;
    std::vector<Token> path_;
};

}  // namespace

Explanation explain_instance(const Program& program, const Value& instance, std::size_t max_violations,
                             std::string_view noun) {
    Explanation explanation;
    Scratch scratch;
    bool too_deep = false;
    {
        Run run(scratch.state(), program.limits.max_steps);
        NoRecorder silent;
        const bool held =
            Evaluator<ValueNode, NoRecorder>(program, run, silent).holds(program.root, ValueNode(instance));
        explanation.verdict = run.verdict(held);
        too_deep = run.too_deep();
    }
    if (explanation.verdict == Verdict::valid) return explanation;
    if (explanation.verdict == Verdict::over_budget) {
        explanation.violations.push_back(
            {"", "#", "budget",
             too_deep
                 ? fmt::format("The value or the schema is nested too deep to check: more than {} levels.",
                               kDeepestEvaluation)
                 : fmt::format(
                       "The value is too costly to check: it needs more than {} steps. Send a smaller value.",
                       program.limits.max_steps)});
        return explanation;
    }
    Recorder recorder(program, std::max<std::size_t>(max_violations, 1), noun);
    Run run(scratch.state(), program.limits.max_steps);
    Evaluator<ValueNode, Recorder>(program, run, recorder).holds(program.root, ValueNode(instance));
    explanation.violations = std::move(recorder.violations);
    explanation.truncated = recorder.truncated || run.over();
    if (explanation.violations.empty())
        explanation.violations.push_back(
            {"", "#", "", "The value is not valid; the reasons are too many to list"});
    return explanation;
}

std::string to_text(const Explanation& explanation) {
    std::string text;
    for (const Violation& violation : explanation.violations) {
        if (!text.empty()) text += '\n';
        text += violation.message;
    }
    if (explanation.truncated) text += "\n(there are more)";
    return text;
}

}  // namespace callgate::schema
