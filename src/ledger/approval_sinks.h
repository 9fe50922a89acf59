// Who wants to know what happens to approvals, as a ledger keeps them, and what there is to tell.
//
// Threads: may be used from any thread; tell() by one at a time, which is what keeps the order.
#pragma once

#include <memory>
#include <vector>

#include <callgate/approvals.h>

#include "base/mutex.h"
#include "ledger/ledger.h"

namespace callgate::ledger {

/// What a decision about an approval was, by what it was before and is now.
ApprovalChange change_of(const Approval& approval, ApprovalState before);

class ApprovalSinks {
public:
    void add(std::weak_ptr<ApprovalSink> sink);
    void tell(const std::vector<ApprovalChange>& changes);

private:
    base::Mutex mutex_;
    std::vector<std::weak_ptr<ApprovalSink>> sinks_ CALLGATE_GUARDED_BY(mutex_);
};

}  // namespace callgate::ledger
