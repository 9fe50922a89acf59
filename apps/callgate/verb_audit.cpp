#include "verb_audit.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "audit_archive.h"
#include "audit_check.h"
#include "audit_tail.h"
#include "operator_verb.h"
#include "options.h"
#include "program.h"

namespace callgate::cli {

namespace {

struct AuditLine : OperatorLine {
    TailOptions tail;
    std::string which;
    VerifyLine verify;
    ExportLine exported;
    ProveLine prove;
    ArchiveLine archive;
    EraseLine erase;
    bool yes = false;
};

// A terminal gets long lines broken, everything else gets the text as it is.
std::string folded_lines(std::string_view text, const Style& style) {
    if (style.width == 0) return std::string(text);
    std::string out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size() - 1);
        for (const std::string& line : folded(text.substr(0, end), style.width)) out += line + '\n';
        text.remove_prefix(end + 1);
    }
    return out;
}

int checkpoint(OperatorRun& run) {
    const auto answer = run.ask({{"verb", "audit.checkpoint"}});
    if (!answer) return run.give_up(answer.error());
    if (!run.print_json(*answer))
        run.print(folded_lines(printable_lines(text_at(*answer, "checkpoint")), run.style()));
    return 0;
}

int key(OperatorRun& run) {
    const auto answer = run.ask({{"verb", "ledger.stats"}});
    if (!answer) return run.give_up(answer.error());
    const std::string vkey = text_at(value_at(*answer, "audit"), "key");
    if (!run.print_json({{"key", vkey}})) run.print(folded_lines(printable(vkey) + '\n', run.style()));
    return 0;
}

int rotate(OperatorRun& run, bool yes) {
    if (!yes) {
        if (!run.may_ask())
            return run.give_up(Error(ErrorCode::config_error,
                                     "Nobody can be asked: this is not a terminal. Give --yes.",
                                     {{"reason", "usage"}}));
        if (!run.says_yes("Sign with a new key from now on?")) return kNo;
    }
    const auto answer = run.ask({{"verb", "audit.rotate_key"}});
    if (!answer) return run.give_up(answer.error());
    if (!run.print_json(*answer)) run.print(outline(*answer, run.style()));
    return 0;
}

// What the verbs of the group share, while they are added to it.
struct AuditGroup {
    Verb& group;
    const Console& console;
    std::shared_ptr<AuditLine> line;

    // What runs the verb, an OperatorRun at hand.
    void runs(Verb& verb, std::function<int(OperatorRun&)> run) const {
        verb.runs([line = line, &console = console, run = std::move(run)] {
            OperatorRun operator_run(*line, console);
            return run(operator_run);
        });
    }
};

void add_tail(const AuditGroup& audit) {
    AuditLine& given = *audit.line;
    Verb& tailing = audit.group.add("tail", "the last events, oldest first, and new ones as they come");
    tailing.option("-n,--lines", "N", "how many: 20 by default", given.tail.lines).between(1, 1'000);
    tailing.flag("--follow", "go on with new ones as they come, until Ctrl-C; with --json, one on each line",
                 given.tail.follow);
    tailing.option("--type", "T", "only events of this type, such as approval.vote", given.tail.type);
    tailing.option("--call", "ID", "only events of this call; its beginning or its end", given.tail.call)
        .completed_by(Completes::call);
    add_operator_options(tailing, given);
    tailing.exits(0, "shown").exits(2, "wrong usage, or no ledger");
    tailing.example("callgate audit tail -n 50 --type gate.denied")
        .example("callgate audit tail --follow --json");
    audit.runs(tailing, [&given](OperatorRun& run) { return tail_events(run, given.tail); });
}

void add_show(const AuditGroup& audit) {
    AuditLine& given = *audit.line;
    Verb& showing = audit.group.add("show", "one event with its hash and its payloads, or those of one call");
    showing
        .argument(
            "WHICH",
            "an event's number, or a call's id; of the id its beginning or its end, with a letter in it",
            given.which)
        .required()
        .completed_by(Completes::call);
    add_operator_options(showing, given);
    showing.exits(0, "shown").exits(1, "there is no such event").exits(2, "wrong usage, or no ledger");
    showing.example("callgate audit show 4711")
        .example("callgate audit show 01975f2e-7c1a-7000-8000-0123456789ab");
    audit.runs(showing, [&given](OperatorRun& run) { return show_event(run, given.which); });
}

void add_verify(const AuditGroup& audit) {
    AuditLine& given = *audit.line;
    Verb& verifying = audit.group.add("verify", "is the log what was recorded?");
    verifying.option("--key", "VKEY",
                     "a public key that you pinned, from callgate audit key; repeatable. Without one the "
                     "log's own keys are believed, and the answer says so",
                     given.verify.keys);
    verifying
        .option(
            "--witness", "FILE",
            "what a witness saw of the log: what callgate audit checkpoint printed, with --json or without, "
            "and you kept, or the anchor file that the log's owner writes",
            given.verify.witness)
        .completed_by(Completes::file);
    verifying
        .option("--segment", "FILE", "first a segment that was archived; repeatable, oldest first",
                given.verify.segments)
        .completed_by(Completes::file);
    verifying
        .option("--from-export", "FILE", "verify an export instead of a ledger; - reads standard input",
                given.verify.from_export)
        .completed_by(Completes::file);
    add_operator_options(verifying, given);
    verifying.text(
        "Every event, hash, payload, checkpoint and signature is checked; the first that is wrong is named. "
        "Without a witness nobody can tell a log that was cut off, or made anew by who holds the key, from a "
        "whole one: the verdict is then \"unwitnessed\". A witness that saw nothing of this log, or only of "
        "what was archived since, is an error, and lines of its file that cannot be read are counted.");
    verifying.exits(0, "nothing is wrong")
        .exits(1, "something is; or Ctrl-C")
        .exits(2, "wrong usage, no ledger, a log or file that cannot be read, or a witness of nothing");
    verifying.example("callgate audit verify --key \"$vkey\" \\\n      --witness /mnt/witness/audit.notes")
        .example("callgate audit verify --from-export audit.jsonl");
    audit.runs(verifying, [&given](OperatorRun& run) { return verify_log(run, given.verify); });
}

void add_export(const AuditGroup& audit) {
    AuditLine& given = *audit.line;
    Verb& exporting = audit.group.add("export", "the log as a file that others can read and verify");
    exporting
        .option("--format", "F", "jsonl (default): everything, can be verified; cef: for log collectors",
                given.exported.format)
        .one_of({"jsonl", "cef"});
    exporting
        .option("--from", "SEQ", "from this event on: 1 by default. Only a whole log can be verified",
                given.exported.from)
        .positive();
    exporting.option("--to", "SEQ", "up to this event: the last by default", given.exported.to).positive();
    exporting
        .option("-o,--output", "FILE", "where to: standard output by default. The file must not exist",
                given.exported.output)
        .completed_by(Completes::file);
    add_operator_options(exporting, given, "errors as JSON, and with --output a JSON report");
    exporting.exits(0, "exported")
        .exits(1, "Ctrl-C")
        .exits(2, "wrong usage, no ledger, or a file that cannot be made");
    exporting.example("callgate audit export -o audit.jsonl")
        .example("callgate audit export --format cef --from 1000 | logger -t callgate");
    audit.runs(exporting, [&given](OperatorRun& run) { return export_log(run, given.exported); });
}

void add_prove(const AuditGroup& audit) {
    AuditLine& given = *audit.line;
    Verb& proving = audit.group.add("prove", "that an event is in the log, to somebody who does not have it");
    proving.usage("[options] SEQ").usage("[options] --from SIZE --to SIZE").usage("--check FILE --key VKEY");
    proving.argument("SEQ", "the event's number", given.prove.sequence).positive();
    proving
        .option("--from", "SIZE", "with --to: that the log of one checkpoint is the beginning of another's",
                given.prove.from)
        .positive();
    proving.option("--to", "SIZE", "the larger checkpoint's number of events", given.prove.to).positive();
    proving
        .option("--check", "FILE", "check such a proof, without a ledger; - reads standard input",
                given.prove.check)
        .completed_by(Completes::file);
    proving.option("--key", "VKEY", "for --check: the public key that you pinned; repeatable",
                   given.prove.keys);
    add_operator_options(proving, given, "errors as JSON, too; a proof is JSON always");
    proving.exits(0, "proven")
        .exits(1, "it does not hold, or there is no such event or checkpoint")
        .exits(2, "wrong usage, or no ledger");
    proving.example("callgate audit prove 4711 > proof.json")
        .example("callgate audit prove --check proof.json --key \"$vkey\"");
    audit.runs(proving, [&given](OperatorRun& run) { return prove(run, given.prove); });
}

void add_checkpoint(const AuditGroup& audit) {
    AuditLine& given = *audit.line;
    Verb& signing = audit.group.add("checkpoint", "sign the log as it is now");
    add_operator_options(signing, given);
    signing.text(
        "Keep what is printed where who can write to the ledger cannot: callgate audit verify --witness FILE "
        "tells later whether the log still begins like this. One file may hold many, one after the other. "
        "Send it to a file to keep it; a terminal gets long lines folded.");
    signing.exits(0, "signed").exits(2, "wrong usage, or no ledger");
    signing.example("callgate audit checkpoint >> /mnt/witness/audit.notes");
    audit.runs(signing, checkpoint);
}

void add_key(const AuditGroup& audit) {
    AuditLine& given = *audit.line;
    Verb& naming = audit.group.add("key", "the public key that signs the log: pin it elsewhere");
    add_operator_options(naming, given);
    naming.text(
        "Keep it where who can write to the ledger cannot: callgate audit verify --key holds the log to it.");
    naming.exits(0, "shown").exits(2, "wrong usage, or no ledger");
    naming.example("callgate audit key > pinned.vkey");
    audit.runs(naming, key);
}

void add_rotate_key(const AuditGroup& audit) {
    AuditLine& given = *audit.line;
    Verb& rotating = audit.group.add("rotate-key", "sign with a new key from now on");
    rotating.flag("--yes", "do not ask", given.yes);
    add_operator_options(rotating, given);
    rotating.text(
        "The log names both keys, and the old one signs the new one's first checkpoint: whoever pinned the "
        "old key can follow. The old private key is gone afterwards.");
    rotating.exits(0, "done")
        .exits(1, "you said no, or it is not your ledger")
        .exits(2, "wrong usage, or no ledger");
    rotating.example("callgate audit rotate-key --yes");
    audit.runs(rotating, [&given](OperatorRun& run) { return rotate(run, given.yes); });
}

void add_archive(const AuditGroup& audit) {
    AuditLine& given = *audit.line;
    Verb& archiving = audit.group.add("archive", "move the log's beginning out of the ledger, into files");
    archiving
        .option("--to", "DIR", "where the segments go: by default segments/ in the ledger's directory",
                given.archive.directory)
        .completed_by(Completes::directory);
    archiving.option("--keep", "N", "leave the last N events, as they are now, in the ledger: 0 by default",
                     given.archive.keep);
    archiving
        .option("--older-than", "DAYS", "archive only events that are older", given.archive.older_than_days)
        .between(0, 36'500);
    archiving.option("--at-least", "N", "do nothing for fewer events: rotate by size", given.archive.at_least)
        .positive();
    archiving
        .option("--max-events", "N",
                "events in one segment at most: 1000000 by default; too few to reach the next checkpoint are "
                "refused",
                given.archive.max_events)
        .positive();
    archiving.flag("--yes", "do not ask", given.archive.yes);
    add_operator_options(archiving, given);
    archiving.text(
        "Each segment ends with a signed checkpoint. It is written, read again and verified before anything "
        "is removed from the ledger, which then gives the space back. The next segment, and the ledger "
        "itself, go on from that checkpoint: callgate audit verify --segment FILE verifies all in a row. "
        "Payloads stay sealed in a segment; keep the ledger's key as long as you want to read them.");
    archiving.exits(0, "done, or there is nothing to archive")
        .exits(1, "you said no, Ctrl-C while it works, it is not your ledger, or the log is broken")
        .exits(2, "wrong usage, no ledger, or a file that cannot be made");
    archiving.example("callgate audit archive --older-than 30 --yes")
        .example("callgate audit archive --at-least 100000 --to /mnt/archive --yes");
    audit.runs(archiving, [&given](OperatorRun& run) { return archive_log(run, given.archive); });
}

void add_segments(const AuditGroup& audit) {
    AuditLine& given = *audit.line;
    Verb& segments = audit.group.add("segments", "what was archived, and where");
    add_operator_options(segments, given);
    segments.exits(0, "shown").exits(2, "wrong usage, or no ledger");
    segments.example("callgate audit segments");
    audit.runs(segments, list_segments);
}

void add_erase(const AuditGroup& audit) {
    AuditLine& given = *audit.line;
    Verb& erasing = audit.group.add("erase", "remove for good what a call's events say in words");
    erasing.argument("CALL", "the call's id; its beginning or its end", given.erase.call)
        .required()
        .completed_by(Completes::call);
    erasing
        .option("--segment", "FILE", "in a segment that was archived, instead of in the ledger",
                given.erase.segment)
        .completed_by(Completes::file);
    erasing.flag("--yes", "do not ask", given.erase.yes);
    add_operator_options(erasing, given);
    erasing.text(
        "The log stays whole. From the log, arguments, results and sentences are removed with their salts, "
        "so that nothing can be guessed from what is left; who, which tool, when and how it ended stay. "
        "That it was done is on the record. What the ledger itself keeps of the call for a while stays: the "
        "outcome that a repeated key is answered with, for a day (key_ttl), an unknown one until it is "
        "resolved, and its approvals with arguments and reasons, for a day after they ended; callgate calls "
        "show and callgate approvals show still show them. callgate ledger gc removes at once what is due. "
        "Copies elsewhere, such as exports and backups, are not touched.");
    erasing.exits(0, "erased")
        .exits(1, "you said no, it is not your ledger, or there was nothing to erase")
        .exits(2, "wrong usage, no ledger, or a file that cannot be read");
    erasing.example("callgate audit erase 01975f2e-7c1a-7000-8000-0123456789ab --yes");
    audit.runs(erasing, [&given](OperatorRun& run) { return erase_payloads(run, given.erase); });
}

}  // namespace

void add_audit(Verb& program, const Console& console) {
    const AuditGroup audit{
        program.add("audit", "the record of everything, and whether it is what was recorded"), console,
        std::make_shared<AuditLine>()};
    // In the order of the help.
    add_tail(audit);
    add_show(audit);
    add_verify(audit);
    add_export(audit);
    add_prove(audit);
    add_checkpoint(audit);
    add_key(audit);
    add_rotate_key(audit);
    add_archive(audit);
    add_segments(audit);
    add_erase(audit);
}

}  // namespace callgate::cli
