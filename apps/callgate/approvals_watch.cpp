#include "approvals_watch.h"

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "approval_report.h"
#include "base/try.h"
#include "error_report.h"
#include "ledger_watcher.h"
#include "vote_signer.h"

namespace callgate::cli {

namespace {

constexpr std::size_t kAtOnce = 1'000;

class Watch {
public:
    Watch(OperatorRun& run, bool full)
        : run_(run),
          full_(full),
          asks_(run.may_ask() && run.console().person_sees_out),
          signer_(run),
          watcher_(run, !asks_) {}

    int go() {
        if (!asks_ && run_.may_ask())
            run_.console().err
                << "Requests are only listed, as standard output is not this terminal. To decide:\n"
                   "callgate approvals approve ID\n"
                << std::flush;
        auto fresh = new_ones();
        if (!fresh) return run_.give_up(fresh.error());
        for (;;) {
            // Later on an owner may come and go: the next look may find the ledger again.
            if (fresh) {
                for (const Fresh& one : *fresh) {
                    if (!tell(one)) return 0;
                }
            }
            // While a person was asked, others may have come: only a look that finds nothing is followed by
            // waiting for a change.
            const bool found = fresh && !fresh->empty();
            if (found && asks_) {
                fresh = new_ones();
                continue;
            }
            if (asks_ && !std::exchange(said_, true))
                run_.console().err << "Waiting for requests; Ctrl-C ends it.\n" << std::flush;
            watcher_.looked(found);
            do {
                if (!watcher_.wait()) return 0;
            } while (!changed());
            fresh = new_ones();
        }
    }

private:
    bool changed() {
        if (!run_.has_owner_to_ask()) return true;
        const auto now = run_.ask({{"verb", "approvals.version"}});
        return !now || text_at(*now, "version") != version_;
    }

    // One that is not announced yet, and the line that announces it where nobody is asked.
    struct Fresh {
        std::string id;
        std::string line;
    };

    // All of them, oldest first.
    Result<std::vector<Fresh>> new_ones() {
        std::vector<Fresh> fresh;
        std::string before;
        for (;;) {
            Object request{{"verb", "approvals.list"}, {"state", "pending"}, {"limit", kAtOnce}};
            if (!before.empty()) request["before"] = before;
            CALLGATE_TRY_ASSIGN(const auto page, run_.ask(request));
            if (before.empty()) version_ = text_at(page, "version");
            bool any_told = false;
            for (const Value& one : list_at(page, "approvals")) {
                const std::string id = text_at(one, "id");
                if (announced_.contains(id)) {
                    any_told = true;
                } else {
                    fresh.push_back({id, asks_ ? "" : line_of(one)});
                }
            }
            before = text_at(page, "next");
            // New ones come before those already announced: after a page with one of those, nothing is new.
            if (any_told || before.empty()) break;
        }
        std::ranges::reverse(fresh);
        return fresh;
    }

    // False: the person has had enough.
    bool tell(const Fresh& one) {
        announced_.insert(one.id);
        if (asks_) return watcher_.asks() && decide(one.id);
        run_.print(one.line);
        return run_.console().out.good();
    }

    std::string line_of(const Value& one) const {
        if (run_.json()) return json::write(one) + '\n';
        const std::string line = fmt::format(
            "{}  {}  {}  asked by {}  {}{}", printable(text_at(one, "id")), printable(text_at(one, "tool")),
            printable(text_at(one, "risk")), printable(text_at(one, "requester")),
            printable(one_line(text_at(one, "arguments_text"))), flag_at(one, "arguments_cut") ? "…" : "");
        const std::size_t width = run_.style().width;
        return (width == 0 ? line : clipped(line, width)) + '\n';
    }

    bool decide(const std::string& id) {
        const auto shown = run_.ask({{"verb", "approvals.show"}, {"id", id}});
        if (!shown) return complain(shown.error());
        const Value& approval = value_at(*shown, "approval");
        if (text_at(approval, "state") != "pending") return true;
        run_.print(approval_text(approval, full_, run_.style()));
        // A person thinks for as long as they like: others may use the ledger meanwhile.
        if (!run_.has_owner_to_ask()) run_.let_go();
        for (;;) {
            const auto answer = run_.ask_person("[a]pprove, [d]eny, [s]kip, [q]uit?");
            if (!answer || *answer == "q" || *answer == "quit") return false;
            if (*answer == "s" || *answer == "skip") return true;
            const bool yes = *answer == "a" || *answer == "approve";
            if (!yes && *answer != "d" && *answer != "deny") continue;
            Object request{{"verb", "approvals.vote"},
                           {"id", id},
                           {"approve", yes},
                           {"digest", text_at(approval, "digest")}};
            if (yes) {
                if (auto ready = signer_.sign(request, *shown); !ready) return complain(ready.error());
            }
            const auto decided = run_.ask(request);
            if (!decided) {
                if (!yes)
                    run_.console().err
                        << error_text(decided.error(), std::nullopt, run_.err_style())
                        << standing_approval_hint(decided.error(), run_.same_ledger(), run_.err_style());
                return yes ? complain(decided.error()) : true;
            }
            run_.print(decision_text(value_at(*decided, "approval"), run_.same_ledger(), run_.style()));
            return true;
        }
    }

    bool complain(const Error& error) {
        run_.console().err << error_text(error, std::nullopt, run_.err_style());
        return true;
    }

    OperatorRun& run_;
    const bool full_;
    const bool asks_;  // a person sees what is decided, and can answer
    std::set<std::string> announced_;
    std::string version_;
    bool said_ = false;  // that it waits
    VoteSigner signer_;  // asks for the passphrase once
    LedgerWatcher watcher_;
};

}  // namespace

int watch_approvals(OperatorRun& run, bool full) {
    return Watch(run, full).go();
}

}  // namespace callgate::cli
