#include "schema/coerce.h"

#include <string>
#include <utility>
#include <vector>

#include "json/pointer.h"
#include "schema/evaluate.h"
#include "schema/run.h"

namespace callgate::schema {

namespace {

std::string kind_name(const Value& value) {
    if (value.is_int64() || value.is_uint64()) return "integer";
    if (value.is_double()) return "number";
    if (value.is_bool()) return "boolean";
    if (value.is_null()) return "null";
    if (value.is_string()) return "string";
    return value.is_array() ? "array" : "object";
}

class Coercer {
public:
    Coercer(const Program& program, CoercionMode mode)
        : program_(program), mode_(mode), run_(scratch_.state(), program.limits.max_steps) {}

    std::vector<Coercion> changes;

    void visit(BlockId id, Value& value) {
        if (id <= kFalse || !run_.enter()) return;
        if (!holds(id, value) && !run_.over()) mend(program_.blocks[id], value);
        run_.leave();
    }

private:
    bool holds(BlockId id, const Value& value) {
        NoRecorder silent;
        return Evaluator<ValueNode, NoRecorder>(program_, run_, silent).holds(id, ValueNode(value));
    }

    static bool fits(const Value& value, std::uint8_t types) {
        const ValueNode node(value);
        return has_type(node, node.kind(), types);
    }

    void mend(const Block& block, Value& value) {
        if (!fits(value, block.types) && value.is_string()) convert(block.types, value);
        if (value.is_object() && block.object_rule != kNone)
            members(program_.objects[block.object_rule], value);
        if (value.is_array() && block.array_rule != kNone) items(program_.arrays[block.array_rule], value);
        for (std::uint32_t i = 0; i < block.steps.count; ++i)
            step(program_.steps[block.steps.first + i], value);
    }

    void convert(std::uint8_t types, Value& value) {
        const std::string_view text = value.get_string();
        const bool full = mode_ == CoercionMode::full;
        if (full && (types & type::boolean) != 0 && (text == "true" || text == "false")) {
            replace(value, Value(text == "true"), "string_to_boolean");
            return;
        }
        if (text.empty()) return;
        const char first = text.front();
        const bool numeric = (types & type::number) != 0 && (first == '-' || (first >= '0' && first <= '9'));
        const bool nested =
            ((types & type::object) != 0 && first == '{') || ((types & type::array) != 0 && first == '[');
        // JSON allows space behind the value; the whole string must be the number.
        if ((!numeric && !nested) || (numeric && (text.back() < '0' || text.back() > '9'))) return;
        auto parsed = json::parse(text);
        if (!parsed || !fits(*parsed, types)) return;
        std::string_view rule = "json_text";
        if (numeric) rule = (types & type::real) != 0 ? "string_to_number" : "string_to_integer";
        replace(value, std::move(*parsed), rule);
    }

    void replace(Value& value, Value better, std::string_view rule) {
        changes.push_back({path_, std::string(rule), kind_name(value), kind_name(better)});
        value = std::move(better);
    }

    void members(const ObjectRule& rule, Value& value) {
        Object& object = value.get_object();
        std::vector<std::string> dropped;
        for (auto& entry : object) {
            const std::string_view key = entry.key();
            const std::size_t mark = path_.size();
            json::append_token(path_, key);
            bool known = false;
            if (const std::uint32_t number = rule.names.find(key); number != Names::kUnknown) {
                const Member& member = rule.members[number];
                known = member.declared;
                if (entry.value().is_null() && member.declared && !member.required &&
                    !holds(member.block, entry.value())) {
                    changes.push_back({path_, "null_dropped", "null", "absent"});
                    dropped.emplace_back(key);
                } else {
                    visit(member.block, entry.value());
                }
            }
            for (std::uint32_t i = 0; i < rule.patterns.count; ++i) {
                const PatternMember& pattern = program_.pattern_members[rule.patterns.first + i];
                if (program_.patterns[pattern.pattern].search(key) != RegexMatch::yes) continue;
                known = true;
                visit(pattern.block, entry.value());
            }
            if (!known) visit(rule.additional, entry.value());
            path_.resize(mark);
        }
        // Key order is part of what the model wrote: erase() would move the last member into the gap.
        for (const std::string& key : dropped) object.stable_erase(key);
    }

    void items(const ArrayRule& rule, Value& value) {
        Array& array = value.get_array();
        for (std::size_t i = 0; i < array.size(); ++i) {
            const std::size_t mark = path_.size();
            json::append_index(path_, i);
            visit(i < rule.prefix.count ? program_.lists[rule.prefix.first + i] : rule.items, array[i]);
            path_.resize(mark);
        }
    }

    void step(const Step& step, Value& value) {
        switch (step.op) {
            case Op::apply: visit(step.a, value); break;
            case Op::apply_dynamic: visit(program_.dynamic_refs[step.a].initial, value); break;
            case Op::any_of:
            case Op::one_of: choose(step, value); break;
            case Op::branch: visit(holds(step.a, value) ? step.b : step.c, value); break;
            case Op::check_enum:
            case Op::reject: break;
        }
    }

    // The first alternative that a coerced copy satisfies wins; if none, nothing is changed.
    void choose(const Step& step, Value& value) {
        for (std::uint32_t i = 0; i < step.list.count; ++i) {
            if (holds(program_.lists[step.list.first + i], value)) return;
        }
        const std::size_t mark = changes.size();
        for (std::uint32_t i = 0; i < step.list.count && !run_.over(); ++i) {
            const BlockId id = program_.lists[step.list.first + i];
            Value copy = value;
            visit(id, copy);
            if (holds(id, copy)) {
                value = std::move(copy);
                return;
            }
            changes.resize(mark);
        }
    }

    const Program& program_;
    const CoercionMode mode_;
    Scratch scratch_;
    Run run_;
    std::string path_;
};

}  // namespace

Coerced coerce_instance(const Program& program, const Value& instance, CoercionMode mode) {
    Coerced result{instance, {}};
    Coercer coercer(program, mode);
    coercer.visit(program.root, result.value);
    result.changes = std::move(coercer.changes);
    return result;
}

}  // namespace callgate::schema
