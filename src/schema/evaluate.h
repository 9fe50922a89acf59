// The engine: runs a program over an instance.
//
// Written once for both forms of instance (Value, cells of a scanned text) and for both questions: yes or no
// (the first failure ends it) and why not (a Recorder gets every failure). Work is charged to the run's
// budget as it happens; when it is used up, everything unwinds at once and the verdict is over_budget.
//
// Threads: one validation on one thread; the program is shared.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/utf8.h"
#include "schema/compare.h"
#include "schema/instance.h"
#include "schema/program.h"
#include "schema/run.h"

namespace callgate::schema {

/// Stands in for a Recorder where nobody asks why.
struct NoRecorder {
    static constexpr bool kRecords = false;
};

/// The members or items of one instance that some keyword has evaluated: a bit set on the run's stack.
struct Marks {
    std::uint32_t offset = kNone;
    std::uint32_t words = 0;

    explicit operator bool() const noexcept { return offset != kNone; }
};

inline std::uint8_t type_of(Kind kind) noexcept {
    constexpr std::uint8_t kBits[] = {type::null, type::boolean, type::integer, type::integer,
                                      type::real, type::string,  type::array,   type::object};
    return kBits[static_cast<std::size_t>(kind)];
}

template <class Node>
bool has_type(Node node, Kind kind, std::uint8_t types) noexcept {
    if ((types & type_of(kind)) != 0) return true;
    return kind == Kind::number && (types & type::integer) != 0 && is_integer(node.number());
}

/// True when the text has at least `min` and at most `max` code points.
inline bool length_within(std::string_view text, std::uint32_t min, std::uint32_t max) noexcept {
    const std::size_t bytes = text.size();
    // A code point has one to four bytes: most strings are settled by that.
    if (bytes < min) return false;
    if (bytes <= max && (bytes + 3) / 4 >= min) return true;
    const std::size_t points = base::count_valid_code_points(text);
    return points >= min && points <= max;
}

template <class Node, class Recorder>
class Evaluator {
public:
    Evaluator(const Program& program, Run& run, Recorder& recorder)
        : program_(program), run_(run), recorder_(recorder) {}

    bool holds(BlockId id, Node node) { return block(id, node, {}); }

private:
    static constexpr bool kRecords = Recorder::kRecords;
    using Quiet = Evaluator<Node, NoRecorder>;
    template <class, class>
    friend class Evaluator;

    // Folds one check into the verdict; true when there is no point in going on.
    static bool failed(bool& ok, bool check) noexcept {
        ok &= check;
        return !check && !kRecords;
    }

    [[gnu::hot]] bool block(BlockId id, Node node, Marks marks) {
        if (id <= kFalse) {
            if (id == kTrue) return true;
            if constexpr (kRecords) recorder_.nothing_allowed();
            return false;
        }
        if (!run_.spend(1)) return false;
        const Block& block = program_.blocks[id];
        const Kind kind = node.kind();
        if (!has_type(node, kind, block.types)) {
            // What else is wrong with a value of the wrong type helps nobody.
            if constexpr (kRecords) recorder_.wrong_type(id, block.types, kind);
            return false;
        }
        if (block.only_types) return true;
        if (!run_.enter()) return false;
        const bool ok = program_.dynamic || block.has_unevaluated ? tracked(id, block, node, kind, marks)
                                                                  : checks(id, block, node, kind, marks);
        run_.leave();
        return ok;
    }

    // The rarer case: the dynamic scope matters, or what is evaluated must be remembered.
    bool tracked(BlockId id, const Block& block, Node node, Kind kind, Marks outer) {
        const bool in_new_scope = program_.dynamic && enter_scope(block.resource);
        const bool ok = marked_checks(id, block, node, kind, outer);
        if (in_new_scope) run_.memory.scope.pop_back();
        return ok;
    }

    bool marked_checks(BlockId id, const Block& block, Node node, Kind kind, Marks outer) {
        const bool tracks = (kind == Kind::object && block.unevaluated_members != kNone) ||
                            (kind == Kind::array && block.unevaluated_items != kNone);
        if (!tracks) return checks(id, block, node, kind, outer);
        const Marks marks = push_marks(node, kind);
        bool ok = checks(id, block, node, kind, marks);
        if (ok || kRecords) {
            ok &= kind == Kind::object ? unevaluated_members(id, block, node, marks)
                                       : unevaluated_items(id, block, node, marks);
        }
        if (outer) merge(outer, marks);
        pop_marks(marks);
        return ok;
    }

    bool checks(BlockId id, const Block& block, Node node, Kind kind, Marks marks) {
        bool ok = true;
        if (failed(ok, rule(id, block, node, kind, marks))) return false;
        for (std::uint32_t i = 0; i < block.steps.count; ++i) {
            if (failed(ok, step(id, program_.steps[block.steps.first + i], node, kind, marks))) return false;
        }
        return ok;
    }

    [[gnu::hot]] bool rule(BlockId id, const Block& block, Node node, Kind kind, Marks marks) {
        switch (kind) {
            case Kind::string:
                return block.string_rule == kNone ||
                       string(id, program_.strings[block.string_rule], node.string());
            case Kind::int64:
            case Kind::uint64:
            case Kind::number:
                return block.number_rule == kNone ||
                       number(id, program_.numbers[block.number_rule], node.number());
            case Kind::array:
                return block.array_rule == kNone || array(id, program_.arrays[block.array_rule], node, marks);
            case Kind::object:
                return block.object_rule == kNone ||
                       object(id, program_.objects[block.object_rule], node, marks);
            default: return true;
        }
    }

    // ---- one rule per instance type

    bool string(BlockId id, const StringRule& rule, std::string_view text) {
        bool ok = true;
        if (!run_.spend(text.size() / 64)) return false;
        if (!length_within(text, rule.min_length, rule.max_length)) {
            if constexpr (!kRecords) return false;
            if constexpr (kRecords) recorder_.wrong_length(id, rule, text);
            ok = false;
        }
        if (rule.pattern != kNone && !matches(rule.pattern, text)) {
            if constexpr (!kRecords) return false;
            if constexpr (kRecords) recorder_.no_match(id, rule.pattern);
            ok = false;
        }
        if (rule.has_format && !matches_format(rule.format, text)) {
            if constexpr (kRecords) recorder_.wrong_format(id, rule.format);
            ok = false;
        }
        return ok;
    }

    bool matches(std::uint32_t pattern, std::string_view text) {
        if (!run_.spend(text.size() / 16 + 1)) return false;
        const RegexMatch match = program_.patterns[pattern].search(text);
        if (match == RegexMatch::over_limit) run_.stop();
        return match == RegexMatch::yes;
    }

    bool number(BlockId id, const NumberRule& rule, const Number& value) {
        bool ok = true;
        const auto check = [&](bool holds, std::string_view keyword, const Number& bound) {
            if constexpr (kRecords) {
                if (!holds) recorder_.out_of_bounds(id, keyword, bound);
            }
            return failed(ok, holds);
        };
        if (rule.has_minimum && check(compare(value, rule.minimum) >= 0, "minimum", rule.minimum))
            return false;
        if (rule.has_maximum && check(compare(value, rule.maximum) <= 0, "maximum", rule.maximum))
            return false;
        if (rule.has_above && check(compare(value, rule.above) > 0, "exclusiveMinimum", rule.above))
            return false;
        if (rule.has_below && check(compare(value, rule.below) < 0, "exclusiveMaximum", rule.below))
            return false;
        if (rule.has_divisor && check(rule.divisor.divides(value), "multipleOf", rule.divisor.value))
            return false;
        return ok;
    }

    bool array(BlockId id, const ArrayRule& rule, Node node, Marks marks) {
        const std::uint32_t size = node.array_size();
        bool ok = true;
        if (size < rule.min_items || size > rule.max_items) {
            if constexpr (!kRecords) return false;
            if constexpr (kRecords) recorder_.wrong_size(id, rule, size);
            ok = false;
        }
        if (rule.prefix.count != 0 || rule.has_items) {
            if (failed(ok, items(rule, node, size, marks))) return false;
        }
        if (rule.contains != kNone && failed(ok, contains(id, rule, node, marks))) return false;
        if (rule.unique && size > 1 && failed(ok, unique(id, node, size))) return false;
        return ok;
    }

    bool items(const ArrayRule& rule, Node node, std::uint32_t size, Marks marks) {
        const Block& rest = program_.blocks[rule.items];
        const bool plain = !kRecords && rest.only_types;
        bool ok = true;
        std::uint32_t i = 0;
        if (!run_.spend(size)) return false;
        for (auto at = node.items(); !at.done(); at.next(), ++i) {
            const bool in_prefix = i < rule.prefix.count;
            if (!in_prefix && (!rule.has_items || rule.items == kTrue)) break;
            const Node item = at.item();
            if (plain && !in_prefix) {
                if (!has_type(item, item.kind(), rest.types)) return false;
                continue;
            }
            if constexpr (kRecords) recorder_.push(i);
            const bool fits = block(in_prefix ? program_.lists[rule.prefix.first + i] : rule.items, item, {});
            if constexpr (kRecords) recorder_.pop();
            if (failed(ok, fits)) return false;
        }
        if (marks) mark_first(marks, rule.has_items ? size : std::min(size, rule.prefix.count));
        return ok;
    }

    bool contains(BlockId id, const ArrayRule& rule, Node node, Marks marks) {
        Quiet quiet = hush();
        const bool every = marks && rule.contains_evaluates;
        std::uint32_t found = 0;
        std::uint32_t i = 0;
        for (auto at = node.items(); !at.done(); at.next(), ++i) {
            // Enough is enough, unless each match must be marked or counted against a maximum.
            if (!every && rule.max_contains == kNone && found >= rule.min_contains) break;
            if (!quiet.block(rule.contains, at.item(), {})) continue;
            ++found;
            if (every) mark(marks, i);
        }
        if (found >= rule.min_contains && found <= rule.max_contains) return true;
        if constexpr (kRecords) recorder_.wrong_contains(id, rule, found);
        return false;
    }

    bool unique(BlockId id, Node node, std::uint32_t size) {
        auto& hashes = run_.memory.hashes;
        const std::size_t base = hashes.size();
        if (!run_.spend(size)) return false;
        std::uint32_t i = 0;
        const auto seed = reinterpret_cast<std::uintptr_t>(&program_);
        for (auto at = node.items(); !at.done(); at.next(), ++i)
            hashes.push_back({hash_node(at.item(), seed, run_), at.item().raw(), i});
        const auto first = hashes.begin() + static_cast<std::ptrdiff_t>(base);
        std::sort(first, hashes.end(), [](const auto& a, const auto& b) {
            return a.hash != b.hash ? a.hash < b.hash : a.index < b.index;
        });
        bool ok = !run_.over();
        for (auto a = first; ok && a != hashes.end(); ++a) {
            for (auto b = a + 1; ok && b != hashes.end() && b->hash == a->hash; ++b) {
                if (!run_.spend(1)) {
                    ok = false;
                } else if (equal_nodes(Node::from_raw(a->node), Node::from_raw(b->node), run_)) {
                    if constexpr (kRecords) recorder_.not_unique(id, a->index, b->index);
                    ok = false;
                }
            }
        }
        hashes.resize(base);
        return ok;
    }

    bool object(BlockId id, const ObjectRule& rule, Node node, Marks marks) {
        const std::uint32_t size = node.object_size();
        bool ok = true;
        if (size < rule.min_members || size > rule.max_members) {
            if constexpr (!kRecords) return false;
            if constexpr (kRecords) recorder_.wrong_size(id, rule, size);
            ok = false;
        }
        if (!kRecords && size < rule.required) return false;
        if (!run_.spend(size)) return false;
        std::uint32_t required = 0;
        if (!kRecords && rule.plain && !marks) {
            if (!plain_members(rule, node, required)) return false;
        } else {
            std::uint32_t i = 0;
            for (auto at = node.members(); !at.done(); at.next(), ++i) {
                if constexpr (kRecords) recorder_.push(at.key());
                bool evaluated = false;
                const bool fits = member(id, rule, at, required, evaluated);
                if constexpr (kRecords) recorder_.pop();
                if (failed(ok, fits)) return false;
                if (marks && evaluated) mark(marks, i);
            }
        }
        if (required != rule.required) {
            if constexpr (!kRecords) return false;
            if constexpr (kRecords) report_missing(id, rule, node);
            ok = false;
        }
        if (rule.dependents.count != 0 && failed(ok, dependents(id, rule, node, marks))) return false;
        return ok;
    }

    // The common case on its own: one lookup and mostly one type test per member.
    [[gnu::hot]] bool plain_members(const ObjectRule& rule, Node node, std::uint32_t& required) {
        for (auto at = node.members(); !at.done(); at.next()) {
            const std::uint32_t number = at.number_in(rule.names);
            const Node value = at.value();
            if (number == Names::kUnknown) {
                if (rule.additional != kTrue && !block(rule.additional, value, {})) return false;
                continue;
            }
            const Member& known = rule.members[number];
            required += known.required;
            if (known.only_types) {
                if (!has_type(value, value.kind(), known.types)) return false;
            } else if (!block(known.block, value, {})) {
                return false;
            }
            if (!known.declared && rule.additional != kTrue && !block(rule.additional, value, {}))
                return false;
        }
        return true;
    }

    bool member(BlockId id, const ObjectRule& rule, const typename Node::Members& at, std::uint32_t& required,
                bool& evaluated) {
        bool ok = true;
        const std::string_view key = at.key();
        const Node value = at.value();
        if (const std::uint32_t number = at.number_in(rule.names); number != Names::kUnknown) {
            const Member& known = rule.members[number];
            required += known.required;
            evaluated = known.declared;
            if (!kRecords && known.only_types) {
                if (!has_type(value, value.kind(), known.types)) return false;
            } else if (failed(ok, block(known.block, value, {}))) {
                return false;
            }
        }
        for (std::uint32_t i = 0; i < rule.patterns.count; ++i) {
            const PatternMember& pattern = program_.pattern_members[rule.patterns.first + i];
            if (!matches(pattern.pattern, key)) continue;
            evaluated = true;
            if (failed(ok, block(pattern.block, value, {}))) return false;
        }
        if (!evaluated && rule.has_additional) {
            evaluated = true;
            if (kRecords && rule.additional == kFalse) {
                if constexpr (kRecords) recorder_.unknown_member(id, rule, key);
                ok = false;
            } else if (failed(ok, block(rule.additional, value, {}))) {
                return false;
            }
        }
        if (rule.property_names != kNone && failed(ok, name_fits(id, rule.property_names, key))) return false;
        return ok;
    }

    bool name_fits(BlockId id, BlockId names, std::string_view key) {
        json::Cell cell{};
        cell.kind = Kind::string;
        cell.size = static_cast<std::uint32_t>(key.size());
        cell.text = key.data();
        NoRecorder silent;
        if (Evaluator<TapeNode, NoRecorder>(program_, run_, silent).block(names, TapeNode(&cell), {}))
            return true;
        if constexpr (kRecords) recorder_.bad_name(id, key);
        return false;
    }

    void report_missing(BlockId id, const ObjectRule& rule, Node node) {
        for (std::uint32_t i = 0; i < rule.members.size(); ++i) {
            if (!rule.members[i].required || node.find(rule.names[i], [](Node) {})) continue;
            recorder_.missing(id, "required", rule.names[i], {});
        }
    }

    bool dependents(BlockId id, const ObjectRule& rule, Node node, Marks marks) {
        bool ok = true;
        for (std::uint32_t i = 0; i < rule.dependents.count; ++i) {
            const Dependent& dependent = program_.dependents[rule.dependents.first + i];
            if (!run_.spend(1 + dependent.required.size())) return false;
            if (!node.find(dependent.name, [](Node) {})) continue;
            for (const std::string& name : dependent.required) {
                if (node.find(name, [](Node) {})) continue;
                if constexpr (!kRecords) return false;
                if constexpr (kRecords) recorder_.missing(id, dependent.keyword, name, dependent.name);
                ok = false;
            }
            if (failed(ok, block(dependent.block, node, marks))) return false;
        }
        return ok;
    }

    // ---- steps that apply to any instance

    bool step(BlockId id, const Step& step, Node node, Kind kind, Marks marks) {
        switch (step.op) {
            case Op::check_enum: return listed(id, step, node, kind);
            case Op::apply: return block(step.a, node, marks);
            case Op::apply_dynamic: return block(dynamic_target(program_.dynamic_refs[step.a]), node, marks);
            case Op::any_of:
            case Op::one_of: return alternatives(id, step, node, kind, marks);
            case Op::reject:
                if (!hush().block(step.a, node, {})) return !run_.over();
                if constexpr (kRecords) recorder_.rejected(id);
                return false;
            case Op::branch: return branch(step, node, kind, marks);
        }
        return true;
    }

    bool listed(BlockId id, const Step& step, Node node, Kind kind) {
        const EnumRule& rule = program_.enums[step.a];
        bool found = false;
        if (kind == Kind::string) {
            found = rule.strings.find(node.string()) != Names::kUnknown;
        } else {
            if (!run_.spend(rule.others.size())) return false;
            for (const Value& allowed : rule.others) {
                if (equal_nodes(node, ValueNode(allowed), run_)) {
                    found = true;
                    break;
                }
            }
        }
        if constexpr (kRecords) {
            if (!found) recorder_.not_listed(id, rule);
        }
        return found;
    }

    bool alternatives(BlockId id, const Step& step, Node node, Kind kind, Marks marks) {
        const bool exactly_one = step.op == Op::one_of;
        if (step.a != kNone && kind == Kind::object) return discriminated(id, step, node, marks);
        std::uint32_t held = 0;
        for (std::uint32_t i = 0; i < step.list.count; ++i) {
            if (!attempt(program_.lists[step.list.first + i], node, kind, marks)) continue;
            ++held;
            if (exactly_one ? held > 1 : !marks) break;
        }
        if (run_.over()) return false;
        if (exactly_one ? held == 1 : held > 0) return true;
        if constexpr (kRecords) {
            if (held == 0) {
                recorder_.no_alternative(*this, id, step, node);
            } else {
                recorder_.several_alternatives(id, step);
            }
        }
        return false;
    }

    // A member's constant says which alternative is meant; no other can hold.
    bool discriminated(BlockId id, const Step& step, Node node, Marks marks) {
        const Discriminator& discriminator = program_.discriminators[step.a];
        std::uint32_t value = Names::kUnknown;
        node.find(discriminator.member, [&](Node given) {
            if (given.kind() == Kind::string) value = discriminator.values.find(given.string());
        });
        if (value == Names::kUnknown) {
            if constexpr (kRecords) recorder_.unknown_alternative(id, step, discriminator);
            return false;
        }
        return block(program_.lists[step.list.first + discriminator.branch[value]], node, marks);
    }

    // Evaluates a block that may fail: what it marked counts only if it holds.
    bool attempt(BlockId id, Node node, Kind kind, Marks marks) {
        if (!marks) return hush().block(id, node, {});
        const Marks own = push_marks(node, kind);
        const bool held = hush().block(id, node, own);
        if (held) merge(marks, own);
        pop_marks(own);
        return held;
    }

    bool branch(const Step& step, Node node, Kind kind, Marks marks) {
        const bool taken = attempt(step.a, node, kind, marks);
        if (run_.over()) return false;
        const BlockId next = taken ? step.b : step.c;
        return next == kNone || block(next, node, marks);
    }

    // ---- what no keyword has evaluated

    bool unevaluated_members(BlockId id, const Block& rules, Node node, Marks marks) {
        bool ok = true;
        std::uint32_t i = 0;
        for (auto at = node.members(); !at.done(); at.next(), ++i) {
            if (marked(marks, i)) continue;
            if constexpr (kRecords) recorder_.push(at.key());
            bool fits = true;
            if (kRecords && rules.unevaluated_members == kFalse) {
                if constexpr (kRecords) recorder_.unevaluated_member(id, at.key());
                fits = false;
            } else {
                fits = block(rules.unevaluated_members, at.value(), {});
            }
            if constexpr (kRecords) recorder_.pop();
            if (failed(ok, fits)) return false;
            mark(marks, i);
        }
        return ok;
    }

    bool unevaluated_items(BlockId id, const Block& rules, Node node, Marks marks) {
        bool ok = true;
        std::uint32_t i = 0;
        for (auto at = node.items(); !at.done(); at.next(), ++i) {
            if (marked(marks, i)) continue;
            if constexpr (kRecords) recorder_.push(i);
            bool fits = true;
            if (kRecords && rules.unevaluated_items == kFalse) {
                if constexpr (kRecords) recorder_.unevaluated_item(id, i);
                fits = false;
            } else {
                fits = block(rules.unevaluated_items, at.item(), {});
            }
            if constexpr (kRecords) recorder_.pop();
            if (failed(ok, fits)) return false;
            mark(marks, i);
        }
        return ok;
    }

    // ---- the run's stacks

    Quiet hush() {
        static NoRecorder silent;
        return Quiet(program_, run_, silent);
    }

    bool enter_scope(std::uint32_t resource) {
        auto& scope = run_.memory.scope;
        if (!scope.empty() && scope.back() == resource) return false;
        scope.push_back(resource);
        return true;
    }

    BlockId dynamic_target(const DynamicRef& reference) const {
        for (const std::uint32_t resource : run_.memory.scope) {
            for (const auto& [owner, target] : reference.targets) {
                if (owner == resource) return target;
            }
        }
        return reference.initial;
    }

    Marks push_marks(Node node, Kind kind) {
        std::uint32_t size = 0;
        if (kind == Kind::object) size = node.object_size();
        if (kind == Kind::array) size = node.array_size();
        auto& marks = run_.memory.marks;
        const Marks pushed{static_cast<std::uint32_t>(marks.size()), (size + 63) / 64};
        run_.spend(pushed.words);
        marks.resize(marks.size() + pushed.words, 0);
        return pushed;
    }
    void pop_marks(Marks popped) { run_.memory.marks.resize(popped.offset); }

    void mark(Marks marks, std::uint32_t i) noexcept {
        run_.memory.marks[marks.offset + i / 64] |= std::uint64_t{1} << (i % 64);
    }
    bool marked(Marks marks, std::uint32_t i) const noexcept {
        return (run_.memory.marks[marks.offset + i / 64] >> (i % 64) & 1) != 0;
    }
    void mark_first(Marks marks, std::uint32_t count) noexcept {
        for (std::uint32_t i = 0; i < count; ++i) mark(marks, i);
    }
    void merge(Marks into, Marks from) noexcept {
        auto& words = run_.memory.marks;
        for (std::uint32_t i = 0; i < into.words; ++i) words[into.offset + i] |= words[from.offset + i];
    }

    const Program& program_;
    Run& run_;
    Recorder& recorder_;
};

}  // namespace callgate::schema
