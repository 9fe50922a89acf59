// The operators' verbs: what is asked of a ledger, and what is answered. The same object answers over the
// control socket while a process owns the ledger, and inside a program that owns it only to ask.
//
// A decision is recorded in the name of who asks, as the operating system knows them, and a yes must repeat
// the digest of what was shown: nobody approves what they did not see. docs/formats/control.md lists the
// verbs.
//
// Threads: may be used from any thread, also for several verbs at once; all may block.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <callgate/error.h>
#include <callgate/json.h>

#include "base/clock.h"
#include "ledger/control/control_user.h"
#include "ledger/decisions.h"
#include "ledger/ledger.h"
#include "ledger/operations.h"

namespace callgate::ledger {

/// What a verb tells before it answers. Either may be missing; false: stop.
struct Meanwhile {
    WorkProgress progress;
    std::function<bool(std::string_view)> text;  ///< the next piece of a long text

    Meanwhile() = default;
    explicit Meanwhile(WorkProgress on_progress) : progress(std::move(on_progress)) {}
};

class ControlService {
public:
    /// All must outlive this. `told` hears of each decision once it is on the record.
    ControlService(Ledger& ledger, Operations& operations, const base::Clock& clock, EventSink sink = {});

    /// The verb's result. On failure what the ledger said, or invalid_arguments {reason: bad_request |
    /// unknown_verb | version}, denied {reason: owner_only | not_allowed | digest_mismatch | not_found …}.
    Result<Value> answer(const Object& request, const ControlUser& user, const Meanwhile& meanwhile = {});

    /// Quick ones should not have to wait behind one that reads the whole ledger, or one that writes.
    enum class Takes : std::uint8_t { a_moment, a_write, long_work };
    static Takes takes(const Object& request) noexcept;

private:
    Ledger& ledger_;
    Operations& operations_;
    const base::Clock& clock_;
    const EventSink sink_;
    const std::string incarnation_;  // tells one owner from the next
};

}  // namespace callgate::ledger
