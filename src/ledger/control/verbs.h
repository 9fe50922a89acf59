// The verbs by subject: each file has its own list, and service.cpp looks through all of them.
//
// Threads: immutable lists; a verb runs on the thread that asks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <callgate/error.h>
#include <callgate/json.h>

#include "base/clock.h"
#include "ledger/control/control_user.h"
#include "ledger/control/request_reader.h"
#include "ledger/control/service.h"
#include "ledger/decisions.h"
#include "ledger/ledger.h"
#include "ledger/operations.h"

namespace callgate::ledger {

/// One request, and what is needed to answer it.
struct VerbRequest {
    RequestReader members;
    const ControlUser& user;
    Meanwhile meanwhile;  ///< both are there
    Ledger& ledger;
    Operations& operations;
    const base::Clock& clock;
    const EventSink& sink;
    const std::string& incarnation;
};

struct Verb {
    /// `writes`: it may have to wait for the disk, so that those which only read do not wait behind it.
    enum class Length : std::uint8_t { quick, writes, lengthy };
    /// `process`: of those whose ledger it is, only the user that the process runs as, and root.
    enum class For : std::uint8_t { everyone, owner, process };

    std::string_view name;
    Result<Value> (*run)(VerbRequest&);
    Length length = Length::quick;
    For whom = For::everyone;
};

std::span<const Verb> approval_verbs() noexcept;
std::span<const Verb> call_verbs() noexcept;
std::span<const Verb> ledger_verbs() noexcept;
std::span<const Verb> audit_verbs() noexcept;

// What several of them share.

inline constexpr std::size_t kUsualPage = 50;
inline constexpr std::size_t kLargestPage = 1'000;
inline constexpr std::size_t kLongestReason = 2'000;
inline constexpr std::size_t kLongestPath = 4'096;

tl::unexpected<Error> no_such(std::string_view what, std::string_view id);

/// By its own id, or by that of a call that asked for it.
Result<Approval> find_approval(VerbRequest& request, std::string_view id);

/// A report, or why there is none.
Result<Value> as_answer(Result<Object> report);

/// The enumerator that a member names, one of those up to `last`; nothing if it is not there.
template <class Enum>
std::optional<Enum> choice(RequestReader& members, std::string_view name, Enum last) {
    const std::string word = members.text_or(name, {});
    if (word.empty()) return std::nullopt;
    std::string names;
    for (int i = 0; i <= static_cast<int>(last); ++i) {
        const auto one = static_cast<Enum>(i);
        if (to_string(one) == word) return one;
        if (!names.empty()) names += ", ";
        names += to_string(one);
    }
    members.refuse(name, "must be one of " + names);
    return std::nullopt;
}

/// Pages are asked for with one row more than wanted, which tells whether there is a next one: the id to ask
/// for it with, or null.
template <class Row, class IdOf>
Value cut_to_page(std::vector<Row>& rows, std::size_t limit, IdOf id_of) {
    if (rows.size() <= limit) return nullptr;
    rows.resize(limit);
    return Value(id_of(rows.back()));
}

}  // namespace callgate::ledger
