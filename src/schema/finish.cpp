#include "schema/finish.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "schema/index.h"

namespace callgate::schema {

namespace {

void copy_type_checks(Program& program) {
    for (ObjectRule& rule : program.objects) {
        rule.plain = rule.patterns.count == 0 && rule.property_names == kNone;
        for (Member& member : rule.members) {
            member.types = program.blocks[member.block].types;
            member.only_types = program.blocks[member.block].only_types;
        }
    }
}

// The strings a block allows, where it allows only certain strings.
const Names* only_strings(const Program& program, const Block& block) {
    for (std::uint32_t i = 0; i < block.steps.count; ++i) {
        const Step& step = program.steps[block.steps.first + i];
        if (step.op != Op::check_enum) continue;
        const EnumRule& rule = program.enums[step.a];
        if (rule.others.empty()) return &rule.strings;
    }
    return nullptr;
}

// The strings that `name` must be for the block to hold on an object; nullptr where that is not known.
const Names* required_strings(const Program& program, BlockId id, std::string_view name) {
    const Block& block = program.blocks[id];
    if (block.object_rule == kNone) return nullptr;
    const ObjectRule& rule = program.objects[block.object_rule];
    const std::uint32_t number = rule.names.find(name);
    if (number == Names::kUnknown || !rule.members[number].required) return nullptr;
    return only_strings(program, program.blocks[rule.members[number].block]);
}

std::optional<Discriminator> by_member(const Program& program, const Range& list, std::string_view name) {
    Discriminator found;
    found.member = name;
    for (std::uint32_t branch = 0; branch < list.count; ++branch) {
        const Names* strings = required_strings(program, program.lists[list.first + branch], name);
        if (strings == nullptr) return std::nullopt;
        for (std::uint32_t i = 0; i < strings->size(); ++i) {
            if (found.values.add((*strings)[i]) != found.branch.size())
                return std::nullopt;  // in two branches
            found.branch.push_back(branch);
        }
    }
    return found;
}

void find_discriminators(Program& program) {
    for (Step& step : program.steps) {
        if ((step.op != Op::any_of && step.op != Op::one_of) || step.list.count < 2) continue;
        const Block& first = program.blocks[program.lists[step.list.first]];
        if (first.object_rule == kNone) continue;
        const ObjectRule& rule = program.objects[first.object_rule];
        for (std::uint32_t i = 0; i < rule.members.size(); ++i) {
            if (!rule.members[i].required) continue;
            auto found = by_member(program, step.list, rule.names[i]);
            if (!found) continue;
            step.a = static_cast<std::uint32_t>(program.discriminators.size());
            program.discriminators.push_back(std::move(*found));
            break;
        }
    }
}

// The blocks that are applied to the same instance as this one.
void add_in_place(const Program& program, BlockId id, std::vector<BlockId>& out) {
    const Block& block = program.blocks[id];
    const auto add = [&](BlockId other) {
        if (other != kNone && other > kFalse) out.push_back(other);
    };
    for (std::uint32_t i = 0; i < block.steps.count; ++i) {
        const Step& step = program.steps[block.steps.first + i];
        switch (step.op) {
            case Op::check_enum: break;
            case Op::apply:
            case Op::reject: add(step.a); break;
            case Op::apply_dynamic:
                // Where it leads at run time is bounded by the depth of evaluation.
                add(program.dynamic_refs[step.a].initial);
                break;
            case Op::any_of:
            case Op::one_of:
                for (std::uint32_t k = 0; k < step.list.count; ++k) add(program.lists[step.list.first + k]);
                break;
            case Op::branch:
                add(step.a);
                add(step.b);
                add(step.c);
                break;
        }
    }
    if (block.object_rule == kNone) return;
    const Range dependents = program.objects[block.object_rule].dependents;
    for (std::uint32_t i = 0; i < dependents.count; ++i) add(program.dependents[dependents.first + i].block);
}

Result<void> refuse_cycles(const Program& program) {
    enum class Mark : std::uint8_t { fresh, open, done };
    struct Visit {
        BlockId block;
        std::vector<BlockId> next;
    };
    std::vector<Mark> marks(program.blocks.size(), Mark::fresh);
    std::vector<Visit> path;
    const auto enter = [&](BlockId id) {
        marks[id] = Mark::open;
        path.push_back({id, {}});
        add_in_place(program, id, path.back().next);
    };
    for (BlockId start = 0; start < program.blocks.size(); ++start) {
        if (marks[start] != Mark::fresh) continue;
        enter(start);
        while (!path.empty()) {
            if (path.back().next.empty()) {
                marks[path.back().block] = Mark::done;
                path.pop_back();
                continue;
            }
            const BlockId next = path.back().next.back();
            path.back().next.pop_back();
            if (marks[next] == Mark::open)
                return schema_fault(
                    "cyclic_ref", program.locations[next],
                    "its references lead back to itself without looking at any smaller part of the "
                    "instance, so that checking would never end.");
            if (marks[next] == Mark::fresh) enter(next);
        }
    }
    return {};
}

}  // namespace

Result<void> finish_program(Program& program) {
    copy_type_checks(program);
    find_discriminators(program);
    return refuse_cycles(program);
}

}  // namespace callgate::schema
