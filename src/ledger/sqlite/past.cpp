#include "ledger/sqlite/past.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/shell_word.h"
#include "base/try.h"
#include "ledger/audit/anchor.h"
#include "ledger/audit/proof.h"

namespace callgate::ledger {

namespace {

/// Whether the audit has this event, with this hash. One that was archived and is not known any more is not
/// believed: nothing is archived before its mark is past it for good.
Result<bool> goes_on_from(AuditReader& audit, std::uint64_t size, const MarkRecord& mark) {
    if (mark.end.events > size) return false;
    if (mark.end.events == 0) return true;
    CALLGATE_TRY_ASSIGN(auto hash, audit.hashes(mark.end.events, mark.end.events + 1));
    return !hash.empty() && hash.front() == mark.end.hash;
}

Result<bool> goes_on_from(AuditReader& audit, std::uint64_t size, const Checkpoint& anchored) {
    if (anchored.size > size) return false;
    if (const auto root = root_at(audit, anchored.size)) return *root == anchored.root;
    // Nothing is archived before its anchor is past it, either. Of what is there it may be damaged, which is
    // for others to find.
    CALLGATE_TRY_ASSIGN(auto head, audit.archived());
    const auto archived = head ? parse_checkpoint(head->note) : fail(ErrorCode::audit_failure, "");
    return !archived || anchored.size >= archived->checkpoint.size;
}

}  // namespace

Result<Past> judge_past(os::FileOps& files, AuditReader& audit, const PastQuestion& question) {
    Past past;
    CALLGATE_TRY_ASSIGN(auto size, audit.size());
    past.end = {size, empty_head(audit.chain_id()).hash};
    if (size != 0) {
        CALLGATE_TRY_ASSIGN(auto last, audit.hashes(size, size + 1));
        if (!last.empty()) past.end.hash = last.front();
    }
    std::string marks = question.mark_directory;
    auto mark = HeadMark::look(files, marks, audit.chain_id());
    if (mark && !*mark && !question.mark_was_in.empty() && question.mark_was_in != marks) {
        marks = question.mark_was_in;
        mark = HeadMark::look(files, marks, audit.chain_id());
        past.mark_elsewhere = mark && *mark;
    }
    if (!mark) return tl::unexpected(std::move(mark.error()));
    past.mark = *mark;
    const auto behind = [&](std::uint64_t seen, std::string by, std::string witness) {
        past.verdict = Past::Verdict::rolled_back;
        past.seen = seen;
        past.seen_by = std::move(by);
        past.witness = std::move(witness);
        return past;
    };
    if (past.mark) {
        CALLGATE_TRY_ASSIGN(auto goes_on, goes_on_from(audit, size, *past.mark));
        if (!goes_on) return behind(past.mark->end.events, "mark", marks + "/" + audit.chain_id());
    }
    if (!question.anchor_file.empty()) {
        // Where it cannot be read now, the mark has been asked, and the witnesses' standing tells of it.
        const auto anchored =
            last_anchored(files, question.anchor_file, audit_origin(audit.chain_id())).value_or(std::nullopt);
        if (anchored) {
            CALLGATE_TRY_ASSIGN(auto goes_on, goes_on_from(audit, size, *anchored));
            if (!goes_on) return behind(anchored->size, "anchor", question.anchor_file);
        }
    }
    if (!past.mark) {
        past.verdict = question.mark_was_in.empty() ? Past::Verdict::unmarked : Past::Verdict::moved;
    } else if (!past.mark->place.is(question.place)) {
        past.verdict = Past::Verdict::moved;
    }
    return past;
}

Error refusal_of(const Past& past, const PastQuestion& question) {
    if (past.verdict == Past::Verdict::moved) {
        return Error(
            ErrorCode::ledger_unavailable,
            fmt::format(
                "The ledger in '{0}' {1}. If it was moved, and nobody uses another copy of it, say so: "
                "callgate ledger restore --moved --ledger {2}. If it is an older copy, leave out "
                "--moved. Nothing was changed.",
                question.ledger_directory,
                past.mark ? "was in another directory when it was used last"
                          : fmt::format("has no mark any more in '{}'", question.mark_directory),
                base::shell_quoted(question.ledger_directory)),
            {{"reason", "moved"}, {"directory", question.ledger_directory}, {"events", past.end.events}});
    }
    const std::string found = past.seen > past.end.events
                                  ? fmt::format("it ends with event {}, and its {} '{}' has seen {}",
                                                past.end.events, past.seen_by, past.witness, past.seen)
                                  : fmt::format("its event {} is not the one that its {} '{}' has seen",
                                                past.seen, past.seen_by, past.witness);
    return Error(
        ErrorCode::ledger_unavailable,
        fmt::format(
            "The ledger in '{0}' has lost what it once answered: {1}. An older copy was put in its "
            "place, or a part of its log is gone. Put the newest ledger.db and ledger.db-wal back. "
            "Where there are none, accept the loss: callgate ledger restore --ledger {3}{2}. "
            "Nothing was changed.",
            question.ledger_directory, found,
            question.anchor_file.empty() ? "" : " --anchor " + base::shell_quoted(question.anchor_file),
            base::shell_quoted(question.ledger_directory)),
        {{"reason", "rolled_back"},
         {"directory", question.ledger_directory},
         {"events", past.end.events},
         {"seen", past.seen},
         {"seen_by", past.seen_by},
         {"witness", past.witness}});
}

}  // namespace callgate::ledger
