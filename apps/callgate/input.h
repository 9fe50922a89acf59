// The texts a verb is given: files, and standard input as "-".
//
// Nothing larger than the limit is kept in memory. Errors name the file and say what to do; the place of a
// fault in a text is kept, to be shown.
//
// Threads: all functions may be called from any thread; standard input has one reader.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <callgate/error.h>
#include <callgate/json.h>

#include "excerpt.h"

namespace callgate::cli {

constexpr const char* kStandardInput = "-";

/// How a path is called in a message.
std::string input_name(const std::string& path);

/// Whether the verb has --max-bytes.
enum class Limit : bool { fixed, can_be_raised };

/// The whole text. On failure: `code`, details {reason, path, …} with the reasons of os::read_file.
Result<std::string> read_input(const std::string& path, std::size_t max_bytes, ErrorCode code, Limit limit);

/// The document in it. On failure as read_input, or with the reasons of json::parse; then `excerpt` is what
/// the error speaks of.
Result<Value> read_json(const std::string& path, const json::ParseLimits& limits, ErrorCode code, Limit limit,
                        std::optional<Excerpt>& excerpt);

/// The error as one about this input.
tl::unexpected<Error> about(Error error, const std::string& name);

}  // namespace callgate::cli
