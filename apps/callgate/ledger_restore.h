// `callgate ledger restore`: the way in for a ledger that is refused as rolled_back or moved. Only while
// nobody owns it.
//
// Threads: one thread.
#pragma once

#include <string>

#include "operator_verb.h"

namespace callgate::cli {

struct RestoreLine {
    bool moved = false;
    bool accept_new_keys = false;
    bool anyway = false;
    bool yes = false;
    std::string because;
    std::string export_file;
    std::string anchor_file;
    std::string mark_dir;

    void describe(Verb& verb, OperatorLine& line);
};

int restore_ledger(const OperatorLine& line, const RestoreLine& asked, const Console& console);

}  // namespace callgate::cli
