// The texts a verb is given: files, and standard input as "-".
//
// Nothing larger than the limit is kept in memory. Errors name the file and say what to do.
//
// Threads: all functions may be called from any thread; standard input has one reader.
#pragma once

#include <cstddef>
#include <string>

#include <callgate/error.h>

namespace callgate::cli {

constexpr const char* kStandardInput = "-";

/// How a path is called in a message.
std::string input_name(const std::string& path);

/// The whole text. On failure: `code`, details {reason, path, …} with the reasons of os::read_file.
Result<std::string> read_input(const std::string& path, std::size_t max_bytes, ErrorCode code);

}  // namespace callgate::cli
