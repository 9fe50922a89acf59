#include "ledger_watcher.h"

#include <algorithm>
#include <chrono>
#include <iostream>

#include <poll.h>
#include <unistd.h>

namespace callgate::cli {

namespace {

constexpr std::chrono::milliseconds kPause{500};
constexpr unsigned kMostPauses = 8;

// A pipe that nobody reads any more shows at the next write only, and that may be a long time off.
bool reader_went_away(const std::ostream& out) {
    if (!out.good()) return true;
    if (&out != &std::cout) return false;
    pollfd pipe{STDOUT_FILENO, 0, 0};
    return ::poll(&pipe, 1, 0) > 0 && (pipe.revents & POLLERR) != 0;
}

}  // namespace

LedgerWatcher::LedgerWatcher(OperatorRun& run, bool from_now) : run_(run) {
    if (from_now) interrupt_.emplace();
}

bool LedgerWatcher::asks() {
    const bool ended = interrupt_ && interrupt_->requested();
    interrupt_.reset();
    return !ended;
}

bool LedgerWatcher::wait() {
    if (!interrupt_) interrupt_.emplace();
    for (unsigned waited = 1;; ++waited) {
        if (reader_went_away(run_.console().out) || interrupt_->wait_for(kPause)) return false;
        if (run_.has_owner_to_ask()) return true;
        if (waited >= pauses_ && run_.marks() != marks_) return true;
    }
}

void LedgerWatcher::looked(bool found_news) {
    if (run_.has_owner_to_ask()) {
        pauses_ = 1;
        return;
    }
    // Nobody owns it: whoever wants it may have it.
    const bool served_others = run_.let_go();
    marks_ = served_others ? LedgerMarks() : run_.marks();
    pauses_ = found_news ? 1 : std::min(pauses_ * 2, kMostPauses);
}

}  // namespace callgate::cli
