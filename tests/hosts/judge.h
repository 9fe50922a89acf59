// The promises, held against what really happened. Called when nothing runs any more.
#pragma once

#include "host.h"

namespace callgate::hosts {

/// Of every call: one end, what it says of its effect, what observers heard.
void judge(Board& board);
/// Of a key that was tried again when all was over.
void judge_key(Board& board, const KeyPlan& plan, Ticket ticket, const Outcome& outcome);

}  // namespace callgate::hosts
