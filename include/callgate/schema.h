// JSON Schema, compiled: a schema document becomes an immutable program that judges instances.
//
// All of 2020-12 (the default), 2019-09 and draft-07, chosen by `$schema`; no `$ref` ever reaches the
// network. check() says yes or no without heap use once its Scratch is warm; explain() says why not, in
// sentences a model can act on. Both run the same program, and both stop at a step budget: a hostile schema
// or instance costs a bounded amount and yields an error, never a hang.
//
// Threads: a Schema is immutable and may be shared; a Scratch belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <callgate/error.h>
#include <callgate/json.h>

namespace callgate::schema {

enum class Dialect : std::uint8_t { draft7, draft2019_09, draft2020_12 };

/// Bounds on what a schema may cost. Past one of compiling: config_error. Past one of judging:
/// Verdict::over_budget.
struct Limits {
    std::size_t max_schema_nodes = 50'000;  ///< values in the document, resources included
    std::size_t max_subschemas = 10'000;
    std::size_t max_depth = 256;               ///< nesting of subschemas, and of evaluation
    std::size_t max_pattern_bytes = 4'096;     ///< one regular expression
    std::size_t max_pattern_weight = 100'000;  ///< all of them: states and instructions they are compiled to
    std::uint64_t max_steps = 2'000'000;       ///< per validation

    Limits() {}
};

/// Documents a `$ref` may reach besides the schema itself and the built-in metaschemas.
class Resources {
public:
    /// `uri` is absolute, without a fragment. Adding the same uri again replaces the document.
    Result<void> add(std::string_view uri, Value document);

    const std::vector<std::pair<std::string, Value>>& all() const noexcept { return documents_; }

private:
    std::vector<std::pair<std::string, Value>> documents_;
};

/// What happens to members of the top-level object that the schema neither names nor rules on.
enum class UnknownMembers : std::uint8_t {
    as_schema_says,  ///< plain JSON Schema: they are allowed
    reject           ///< refused where the root has `properties` and nothing that could rule on others
};

struct CompileOptions {
    Dialect default_dialect = Dialect::draft2020_12;  ///< used where `$schema` is absent
    bool assert_format = false;                       ///< `format` is an annotation unless set
    bool allow_pcre2 = false;                         ///< look-around and back-references, under match limits
    UnknownMembers unknown_members = UnknownMembers::as_schema_says;
    const Resources* resources = nullptr;  ///< read during compile() only
    Limits limits;

    CompileOptions() {}
};

enum class Verdict : std::uint8_t { valid, invalid, over_budget };

/// What became of a text: the value only where the verdict is valid.
struct Accepted {
    Verdict verdict = Verdict::invalid;
    Value value;
};

/// One reason why an instance is invalid.
struct Violation {
    // Both paths are cut at 4 KiB.
    std::string instance_path;  ///< JSON pointer into the instance
    std::string schema_path;    ///< of the keyword: "#/properties/a/type", after its URI in a resource
    std::string keyword;
    std::string message;  ///< e.g. "Missing required parameter: path"
};

struct Explanation {
    Verdict verdict = Verdict::valid;
    std::vector<Violation> violations;
    bool truncated = false;  ///< more violations exist than were kept
};

/// Memory that check() reuses between calls.
class Scratch {
public:
    Scratch();
    ~Scratch();
    Scratch(Scratch&&) noexcept;
    Scratch& operator=(Scratch&&) noexcept;

    struct State;
    State& state() noexcept { return *state_; }

private:
    std::unique_ptr<State> state_;
};

enum class CoercionMode : std::uint8_t {
    standard,  ///< whole-string numbers, integer to number, JSON text where an object or array is expected,
               ///< null for an absent optional parameter
    full       ///< and "true"/"false" to boolean
};

/// One value that coercion changed.
struct Coercion {
    std::string instance_path;
    /// "string_to_integer", "string_to_number", "string_to_boolean", "json_text" or "null_dropped"
    std::string rule;
    std::string from;  ///< the kind before, e.g. "string"
    std::string to;    ///< the kind after, or "absent"
};

struct Coerced {
    Value value;
    std::vector<Coercion> changes;
};

class Program;

class Schema {
public:
    /// Check `document` against its metaschema and compile it. On failure: config_error, details.reason one
    /// of not_a_schema, unknown_dialect, unresolved_ref, remote_ref, cyclic_ref, bad_pattern, too_large, …;
    /// the message names the place in the schema.
    static Result<Schema> compile(const Value& document, const CompileOptions& options = {});

    /// Yes or no.
    Verdict check(const Value& instance, Scratch& scratch) const;

    /// Parse and judge JSON text without building a Value. An unparsable text is the Result's error.
    Result<Verdict> check_text(std::string_view text, Scratch& scratch,
                               const json::ParseLimits& limits = {}) const;

    /// Parse and judge JSON text; the Value is built only when the verdict is valid. This is how arguments
    /// enter.
    Result<Accepted> accept(std::string_view text, Scratch& scratch, const json::ParseLimits& limits = {},
                            boost::json::storage_ptr memory = {}) const;

    /// Every violation, up to `max_violations`.
    Explanation explain(const Value& instance, std::size_t max_violations = 100) const;

    /// Bring values that do not satisfy their subschema into the type it asks for, where nothing is guessed.
    /// Works on a copy and reports each change; values that are already valid are never touched.
    Coerced coerce(const Value& instance, CoercionMode mode = CoercionMode::standard) const;

    Dialect dialect() const noexcept;

private:
    explicit Schema(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
    std::shared_ptr<const Program> program_;
};

/// The violations as one text for a model: a line each.
std::string to_text(const Explanation& explanation);

}  // namespace callgate::schema
