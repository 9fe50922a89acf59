// The ledger does not open, or does not do what it was asked, and says why.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <callgate/error.h>

namespace callgate::ledger {

/// ledger_unavailable {reason}.
inline tl::unexpected<Error> refused(std::string_view reason, std::string message) {
    return fail(ErrorCode::ledger_unavailable, std::move(message), {{"reason", reason}});
}

}  // namespace callgate::ledger
