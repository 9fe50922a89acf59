// Ids as people read and write them: by their end in lists, and whole, by their beginning or by their end on
// a command line.
//
// Ids that were made in the same moment begin alike, and end differently: so lists show ends. What is given
// must fit one id only; where it fits several, they are named and nothing is done.
//
// Threads: short_ids() is pure; the rest runs on the thread of its OperatorRun.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/error.h>
#include <callgate/json.h>

#include "operator_verb.h"

namespace callgate::cli {

constexpr std::size_t kShortestGiven = 4;
constexpr std::size_t kShortId = 8;

/// The end of each that no other of them has, of kShortId characters or more. With a letter in it, so that it
/// is never taken for a number.
std::vector<std::string> short_ids(std::span<const std::string> ids);

/// The same of one member of each row, for a table; where the style has no width, the ids as they are.
std::vector<std::string> ids_for_table(const Array& rows, std::string_view member, const Style& style);

/// An approval: its own id, or that of the call that asked. A call: of the recorded ones, of those that wait
/// for approval, and of the newest that left only events.
enum class IdOf : std::uint8_t { approval, call };

/// The whole id. What cannot be a part of an id is returned as it is: the ledger says that there is none.
/// config_error {reason: short_id | ambiguous_id, candidates}, denied {reason: not_found}.
Result<std::string> whole_id(OperatorRun& run, const std::string& given, IdOf what);

/// The same for the value of an option: one that fits nothing is wrong usage, config_error {reason: not_found
/// | usage}, and no answer about something that is asked for.
Result<std::string> id_for_option(OperatorRun& run, const std::string& given, IdOf what,
                                  std::string_view option);

}  // namespace callgate::cli
