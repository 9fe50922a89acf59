// `callgate validate TOOL.json [ARGS.json|-]`: is this tool's schema sound, and would this call be accepted?
// The same for a list of tools, and a whole call that names one of them.
//
// Exit codes: 0 valid, 1 invalid, 2 unusable input. Verdicts go to standard output, errors to standard error;
// with --json exactly one JSON document goes to standard output, whatever happens.
//
// Threads: one thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <callgate/schema.h>

#include "terminal.h"
#include "validate_report.h"

namespace callgate::cli {

class Verb;

struct ValidateOptions {
    std::string tool;
    std::string arguments;  ///< empty: the schema alone is checked
    bool bare_schema = false;
    bool whole_call = false;  ///< `arguments` is a call that names its tool; always so with a list of tools
    bool open = false;
    bool assert_format = false;
    bool pcre2 = false;
    std::optional<schema::CoercionMode> coerce;
    schema::Dialect default_dialect = schema::Dialect::draft2020_12;
    std::vector<std::string> resources;  ///< URI=FILE
    json::ParseLimits limits;            ///< of the arguments; bytes of the files too
    std::size_t max_errors = 100;
};

/// The work without the output.
ValidateReport validate(const ValidateOptions& options);

/// Adds it to the program. `console` must outlive the program.
void add_validate(Verb& program, const Console& console);

}  // namespace callgate::cli
