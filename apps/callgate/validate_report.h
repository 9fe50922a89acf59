// What `callgate validate` found out, and its two renderings: for people and for programs.
//
// Threads: plain values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <callgate/error.h>
#include <callgate/json.h>
#include <callgate/schema.h>

#include "error_report.h"
#include "excerpt.h"
#include "terminal.h"
#include "tool_file.h"

namespace callgate::cli {

/// The values are the exit codes.
enum class ValidateOutcome : std::uint8_t { valid = 0, invalid = 1, unusable = 2 };

struct ValidateReport {
    ValidateOutcome outcome = ValidateOutcome::unusable;
    std::string tool_path;
    std::optional<ToolInFile> tool;
    std::optional<schema::Dialect> dialect;
    bool has_arguments = false;
    std::vector<schema::Violation> violations;
    bool truncated = false;  ///< there are more violations than those
    std::vector<schema::Coercion> coercions;
    std::optional<Value> coerced;      ///< the arguments after coercion, where it was asked for
    std::optional<Error> error;        ///< set exactly when the outcome is unusable
    std::optional<Excerpt> excerpt;    ///< of the text the error speaks of
    std::vector<ValidateReport> each;  ///< of a list of tools without a call: one for each
    std::vector<std::string> notes;    ///< about such a list as a whole
};

/// "2020-12", "2019-09", "draft-07": as --draft takes them.
std::string_view dialect_name(schema::Dialect dialect) noexcept;

/// {valid, tool, form, dialect, violations, truncated, coercions, error} and, as it applies, parameters,
/// compact, notes (schema alone), arguments (after coercion) or tools and notes (of a list: the
/// same of each, and about the whole).
Value to_json(const ValidateReport& report);

/// The same members for an error that came before anything was looked at.
Value to_json(const Error& error);

/// For people, several lines.
std::string to_text(const ValidateReport& report, const Style& style);

}  // namespace callgate::cli
