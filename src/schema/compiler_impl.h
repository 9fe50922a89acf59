// The compiler's inside: what its two sources share. compiler.cpp finds its way through the document,
// compiler_keywords.cpp reads the keywords of one subschema.
//
// Threads: one compile on one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "schema/compiler.h"
#include "schema/index.h"
#include "schema/keywords.h"
#include "schema/program.h"

namespace callgate::schema {

/// One compile of one document.
class Compiler {
public:
    explicit Compiler(const CompileOptions& options) : options_(options), index_(options) {}

    Result<std::shared_ptr<const Program>> run(const Value& document, CheckMetaschema check);

private:
    using Status = Result<void>;

    // One subschema being compiled.
    struct Work {
        Work(const Object& object, const Place& where, const Resource& home)
            : schema(object), place(where), resource(home) {
            for (const auto& entry : object) present |= bit_of(entry.key());
        }

        const Object& schema;
        const Place& place;
        const Resource& resource;
        Block block;
        std::vector<Step> steps;
        /// A bit per name that is there: most keywords are not, and most questions end here.
        std::uint64_t present = 0;

        static constexpr std::uint64_t bit_of(std::string_view name) noexcept {
            if (name.size() < 2) return 1;
            return std::uint64_t{1} << ((name.size() * 11 + static_cast<unsigned char>(name[1]) * 5u +
                                         static_cast<unsigned char>(name.back()) * 3u) &
                                        63);
        }

        const Value* get(std::string_view name) const {
            if ((present & bit_of(name)) == 0) return nullptr;
            const Value* value = schema.if_contains(name);
            if (value == nullptr) return nullptr;
            const Keyword* keyword = find_keyword(name, resource.dialect);
            const bool active = keyword != nullptr &&
                                (resource.vocabularies & static_cast<std::uint8_t>(keyword->vocabulary)) != 0;
            return active ? value : nullptr;
        }
    };

    Result<BlockId> block_for(const Value& schema);
    Result<const Value*> follow_plain_refs(const Value& schema);
    Status compile_block(BlockId id, const Value& schema);

    Status references(Work& work);
    Status dynamic_reference(Work& work, std::string_view reference, bool recursive);
    Status types(Work& work);
    Status enums(Work& work);
    Status combinators(Work& work);
    Status strings(Work& work);
    Status numbers(Work& work);
    Status arrays(Work& work);
    Status objects(Work& work);
    Status members(Work& work, ObjectRule& rule, bool& used);
    Status dependents(Work& work, ObjectRule& rule, bool& used);
    Status unevaluated(Work& work);
    void close_root(const Object& schema);

    Status sub(const Work& work, std::string_view keyword, BlockId& out, bool* found = nullptr);
    Result<BlockId> sub_at(const Work& work, const Value& schema, std::string_view keyword);
    Result<Range> sub_list(const Work& work, const Value& list, std::string_view keyword);
    Status count(const Work& work, std::string_view keyword, std::uint32_t& out, bool* found = nullptr);
    Status bound(const Work& work, std::string_view keyword, bool& has, Number& out);
    Result<std::uint32_t> pattern(const Work& work, std::string_view keyword, std::string_view text);
    Result<std::vector<std::string>> name_list(const Work& work, const Value& value,
                                               std::string_view keyword);

    static tl::unexpected<Error> misshapen(const Work& work, std::string_view keyword,
                                           std::string_view expected) {
        return schema_fault("not_a_schema", work.place.location,
                            fmt::format("{} must be {}.", keyword, expected));
    }

    const CompileOptions& options_;
    Index index_;
    std::shared_ptr<Program> program_ = std::make_shared<Program>();
    std::unordered_map<const Value*, BlockId> known_;
    std::vector<std::pair<BlockId, const Value*>> todo_;
    std::unordered_map<std::string, std::uint32_t> known_patterns_;
    std::size_t pattern_weight_ = 0;
    std::unordered_map<const Value*, const Value*> followed_;  ///< where plain references end
};

std::uint32_t end_of(const auto& list) {
    return static_cast<std::uint32_t>(list.size());
}

}  // namespace callgate::schema
