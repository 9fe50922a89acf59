#include "schema/metacheck.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "schema/compiler.h"
#include "schema/explain.h"
#include "schema/metaschema.h"

namespace callgate::schema {

namespace {

std::shared_ptr<const Program> compile_metaschema(Dialect dialect) {
    auto compiled = compile_program(flat_metaschema(dialect), {}, CheckMetaschema::no);
    return compiled ? std::move(*compiled) : nullptr;
}

const Program* metaschema(Dialect dialect) {
    static const std::array<std::shared_ptr<const Program>, 3> all = {
        compile_metaschema(Dialect::draft7), compile_metaschema(Dialect::draft2019_09),
        compile_metaschema(Dialect::draft2020_12)};
    return all[static_cast<std::size_t>(dialect)].get();
}

}  // namespace

Result<void> check_against_metaschema(const Resource& resource) {
    const Object* schema = resource.root->if_object();
    if (schema == nullptr) return {};
    const Value* named = schema->if_contains("$schema");
    if (named != nullptr && named->is_string() && !dialect_by_uri(named->get_string())) return {};
    const Program* program = metaschema(resource.dialect);
    if (program == nullptr) return fail(ErrorCode::internal, "A built-in metaschema does not compile.");
    const Explanation explanation = explain_instance(*program, *resource.root, 10, "Keyword");
    if (explanation.verdict == Verdict::valid) return {};

    // "None of the forms fits" stands before the reasons; the first reason says more.
    const auto reason = std::ranges::find_if(explanation.violations, [](const Violation& violation) {
        return violation.keyword != "anyOf" && violation.keyword != "oneOf";
    });
    const Violation& first =
        reason != explanation.violations.end() ? *reason : explanation.violations.front();
    Error error(ErrorCode::config_error,
                fmt::format("Not a valid JSON Schema ({}): at '{}': {}", dialect_uri(resource.dialect),
                            first.instance_path, first.message),
                {{"reason", "not_a_schema"}, {"schema_path", "#" + first.instance_path}});
    Array all;
    for (const Violation& violation : explanation.violations)
        all.push_back({{"schema_path", "#" + violation.instance_path}, {"message", violation.message}});
    error.details["violations"] = std::move(all);
    return tl::unexpected<Error>(std::move(error));
}

}  // namespace callgate::schema
