#include "approvals_watch.h"

#include <cstdint>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "approval_report.h"
#include "error_report.h"
#include "lookout.h"

namespace callgate::cli {

namespace {

constexpr std::size_t kMostAtOnce = 1'000;

class Watch {
public:
    // A question at a terminal waits for a line: there Ctrl-C ends the program, as it always does.
    Watch(OperatorRun& run, bool full) : run_(run), full_(full), lookout_(run, !run.may_ask()) {}

    int go() {
        auto fresh = new_ones();
        if (!fresh) return run_.give_up(fresh.error());
        for (;;) {
            // Later on an owner may come and go: the next look may find the ledger again.
            if (fresh) {
                for (const Value& one : *fresh) {
                    if (!tell(one)) return 0;
                }
            }
            lookout_.looked(fresh && !fresh->empty());
            do {
                if (!lookout_.wait()) return 0;
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

    // Those not told yet, oldest first.
    Result<std::vector<Value>> new_ones() {
        std::vector<Value> fresh;
        const auto page =
            run_.ask({{"verb", "approvals.list"}, {"state", "pending"}, {"limit", kMostAtOnce}});
        if (!page) return tl::unexpected(page.error());
        version_ = text_at(*page, "version");
        const Array& list = list_at(*page, "approvals");
        for (auto at = list.rbegin(); at != list.rend(); ++at) {
            if (told_.insert(text_at(*at, "id")).second) fresh.push_back(*at);
        }
        const bool more = fresh.size() == kMostAtOnce && !text_at(*page, "next").empty();
        if (more && !run_.json())
            run_.console().err << fmt::format(
                "Only the newest {} are shown here; callgate approvals list has all.\n", kMostAtOnce);
        return fresh;
    }

    // False: the person has had enough.
    bool tell(const Value& one) {
        if (run_.json()) {
            run_.console().out << json::write(one) << '\n' << std::flush;
            return run_.console().out.good();
        }
        if (!run_.may_ask()) {
            run_.print(line_of(one));
            return run_.console().out.good();
        }
        return decide(text_at(one, "id"));
    }

    static std::string line_of(const Value& one) {
        return fmt::format(
            "{}  {}  {}  asked by {}  {}{}\n", printable(text_at(one, "id")), printable(text_at(one, "tool")),
            printable(text_at(one, "risk")), printable(text_at(one, "requester")),
            clipped(one_line(text_at(one, "arguments_text")), 100), flag_at(one, "arguments_cut") ? "…" : "");
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
            const auto decided = run_.ask({{"verb", "approvals.vote"},
                                           {"id", id},
                                           {"approve", yes},
                                           {"digest", text_at(approval, "digest")}});
            if (!decided) return complain(decided.error());
            run_.print(decision_text(value_at(*decided, "approval"), run_.style()));
            return true;
        }
    }

    bool complain(const Error& error) {
        run_.console().err << error_text(error, std::nullopt, run_.err_style());
        return true;
    }

    OperatorRun& run_;
    const bool full_;
    std::set<std::string> told_;
    std::string version_;
    Lookout lookout_;
};

}  // namespace

int watch_approvals(OperatorRun& run, bool full) {
    return Watch(run, full).go();
}

}  // namespace callgate::cli
