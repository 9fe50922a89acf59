#include "verb_audit.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "audit_archive.h"
#include "audit_check.h"
#include "audit_tail.h"
#include "operator_verb.h"
#include "program.h"

namespace callgate::cli {

namespace {

constexpr std::string_view kHelp =
    R"(callgate audit: the record of everything, and whether it is still what was recorded

Usage: callgate audit VERB [options]

Verbs
  tail        the last events; with --follow, new ones as they come
  show        one event, or those of one call
  verify      is the log what was recorded?
  export      the log as a file that others can read and verify
  prove       that an event is in the log, to somebody who does not have it
  checkpoint  sign the log as it is now
  key         the public key that signs the log: pin it elsewhere
  rotate-key  sign with a new key from now on
  archive     take the log's beginning out of the ledger, into files
  segments    what was archived, and where
  erase       take away for good what a call's events say in words

Options
  -h, --help  this text; after a verb, that verb's
)";

constexpr std::string_view kTailHelp =
    R"(callgate audit tail: the last events, oldest first

Usage: callgate audit tail [options]

  -n, --lines N        how many: 20 by default
  --follow             go on with new ones as they come, until Ctrl-C
  --type T             only events of this type, such as approval.vote
  --call ID            only events of this call
  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on standard output; with --follow, one on each line
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Exit codes
  0  shown             2  wrong usage, or no ledger

Examples
  callgate audit tail -n 50 --type gate.denied
  callgate audit tail --follow --json
)";

constexpr std::string_view kShowHelp =
    R"(callgate audit show: one event with its hash and its payloads, or those of one call

Usage: callgate audit show [options] WHICH

  WHICH                an event's number, or a call's id
  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Exit codes
  0  shown             1  there is no such event
  2  wrong usage, or no ledger

Examples
  callgate audit show 4711
  callgate audit show 01975f2e-7c1a-7000-8000-0123456789ab
)";

constexpr std::string_view kVerifyHelp =
    R"(callgate audit verify: is the log what was recorded?

Usage: callgate audit verify [options]

  --key VKEY           a public key that you pinned, as callgate audit key told it; repeatable.
                       Without one the log's own keys are believed, and the answer says so
  --witness FILE       what a witness saw of the log: the file that checkpoints were anchored in
  --segment FILE       first a segment that was archived; repeatable, oldest first
  --from-export FILE   verify an export instead of a ledger; - reads standard input
  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Every event, hash, payload, checkpoint and signature is checked; the first that is wrong is
named. Without a witness nobody can tell a log that was cut off, or made anew by who holds the
key, from a whole one: the verdict is then "unwitnessed".

Exit codes
  0  nothing is wrong  1  something is; or Ctrl-C
  2  wrong usage, no ledger, or a log or file that cannot be read

Examples
  callgate audit verify --key "$vkey" --witness /mnt/witness/audit.notes
  callgate audit verify --from-export audit.jsonl
)";

constexpr std::string_view kExportHelp =
    R"(callgate audit export: the log as a file that others can read and verify

Usage: callgate audit export [options]

  --format F           jsonl (default): everything, can be verified; cef: for log collectors
  --from SEQ           from this event on: 1 by default. Only a whole log can be verified
  --to SEQ             up to this event: the last by default
  -o, --output FILE    where to: standard output by default. The file must not exist
  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               errors as JSON, and with --output a JSON report
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Exit codes
  0  exported          1  Ctrl-C
  2  wrong usage, no ledger, or a file that cannot be made

Examples
  callgate audit export -o audit.jsonl
  callgate audit export --format cef --from 1000 | logger -t callgate
)";

constexpr std::string_view kProveHelp =
    R"(callgate audit prove: that an event is in the log, to somebody who does not have it

Usage: callgate audit prove [options] SEQ
       callgate audit prove [options] --from SIZE --to SIZE
       callgate audit prove --check FILE --key VKEY

  SEQ                  the event's number
  --from SIZE          with --to: that the log of one checkpoint is the beginning of another's
  --to SIZE            the larger checkpoint's number of events
  --check FILE         check such a proof, without a ledger; - reads standard input
  --key VKEY           for --check: the public key that you pinned; repeatable
  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               errors as JSON, too; a proof is JSON always
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Exit codes
  0  proven            1  it does not hold, or there is no such event or checkpoint
  2  wrong usage, or no ledger

Examples
  callgate audit prove 4711 > proof.json
  callgate audit prove --check proof.json --key "$vkey"
)";

constexpr std::string_view kCheckpointHelp =
    R"(callgate audit checkpoint: sign the log as it is now

Usage: callgate audit checkpoint [options]

  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

What is printed can be kept anywhere else: it tells later whether the log still begins like this.

Exit codes
  0  signed            2  wrong usage, or no ledger

Examples
  callgate audit checkpoint >> /mnt/elsewhere/checkpoints
)";

constexpr std::string_view kKeyHelp =
    R"(callgate audit key: the public key that signs the log

Usage: callgate audit key [options]

  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Keep it where who can write to the ledger cannot: callgate audit verify --key holds the log to it.

Exit codes
  0  told              2  wrong usage, or no ledger

Examples
  callgate audit key > pinned.vkey
)";

constexpr std::string_view kRotateHelp =
    R"(callgate audit rotate-key: sign with a new key from now on

Usage: callgate audit rotate-key [options]

  --yes                do not ask
  --ledger DIR         where the ledger is: by default $CALLGATE_LEDGER, else
                       $XDG_STATE_HOME/callgate, else ~/.local/state/callgate
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

The log names both keys, and the old one signs the new one's first checkpoint: whoever pinned the
old key can follow. The old private key is gone afterwards.

Exit codes
  0  done              1  you said no, or it is not your ledger
  2  wrong usage, or no ledger

Examples
  callgate audit rotate-key --yes
)";

struct CommandLine : OperatorLine {
    TailOptions tail;
    std::string which;
    VerifyLine verify;
    ExportLine exported;
    ProveLine prove;
    ArchiveLine archive;
    EraseLine erase;
    bool yes = false;
};

int checkpoint(const CommandLine& line, const Console& console) {
    OperatorRun run(line, console);
    const auto answer = run.ask({{"verb", "audit.checkpoint"}});
    if (!answer) return run.give_up(answer.error());
    if (!run.print_json(*answer)) run.print(printable_lines(text_at(*answer, "checkpoint")));
    return 0;
}

int key(const CommandLine& line, const Console& console) {
    OperatorRun run(line, console);
    const auto answer = run.ask({{"verb", "ledger.stats"}});
    if (!answer) return run.give_up(answer.error());
    const std::string vkey = text_at(value_at(*answer, "audit"), "key");
    if (!run.print_json({{"key", vkey}})) run.print(printable(vkey) + '\n');
    return 0;
}

int rotate(const CommandLine& line, const Console& console) {
    OperatorRun run(line, console);
    if (!line.yes) {
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

}  // namespace

void add_audit(CLI::App& app, const Console& console, std::function<int()>& chosen) {
    auto line = std::make_shared<CommandLine>();
    VerbGroup verbs(app, "audit", kHelp, *line, chosen);

    CLI::App& tailing = verbs.add("tail", kTailHelp, [line, &console] {
        OperatorRun run(*line, console);
        return tail_events(run, line->tail);
    });
    tailing.add_option("-n,--lines", line->tail.lines)->check(CLI::Range(1u, 1'000u));
    tailing.add_flag("--follow", line->tail.follow);
    tailing.add_option("--type", line->tail.type);
    tailing.add_option("--call", line->tail.call);

    CLI::App& showing = verbs.add("show", kShowHelp, [line, &console] {
        OperatorRun run(*line, console);
        return show_event(run, line->which);
    });
    showing.add_option("WHICH", line->which)->required();

    CLI::App& verifying = verbs.add("verify", kVerifyHelp, [line, &console] {
        OperatorRun run(*line, console);
        return verify_log(run, line->verify);
    });
    verifying.add_option("--key", line->verify.keys)->allow_extra_args(false);
    verifying.add_option("--witness", line->verify.witness);
    verifying.add_option("--from-export", line->verify.from_export)->allow_extra_args(false);
    verifying.add_option("--segment", line->verify.segments)->allow_extra_args(false);

    CLI::App& exporting = verbs.add("export", kExportHelp, [line, &console] {
        OperatorRun run(*line, console);
        return export_log(run, line->exported);
    });
    exporting.add_option("--format", line->exported.format)->check(CLI::IsMember({"jsonl", "cef"}));
    exporting.add_option("--from", line->exported.from)->check(CLI::PositiveNumber);
    exporting.add_option("--to", line->exported.to)->check(CLI::PositiveNumber);
    exporting.add_option("-o,--output", line->exported.output);

    CLI::App& proving = verbs.add("prove", kProveHelp, [line, &console] {
        OperatorRun run(*line, console);
        return prove(run, line->prove);
    });
    proving.add_option("SEQ", line->prove.sequence)->check(CLI::PositiveNumber);
    proving.add_option("--from", line->prove.from)->check(CLI::PositiveNumber);
    proving.add_option("--to", line->prove.to)->check(CLI::PositiveNumber);
    proving.add_option("--check", line->prove.check);
    proving.add_option("--key", line->prove.keys)->allow_extra_args(false);

    verbs.add("checkpoint", kCheckpointHelp, [line, &console] { return checkpoint(*line, console); });
    verbs.add("key", kKeyHelp, [line, &console] { return key(*line, console); });
    verbs.add("rotate-key", kRotateHelp, [line, &console] { return rotate(*line, console); })
        .add_flag("--yes", line->yes);

    CLI::App& archiving = verbs.add("archive", kArchiveHelp, [line, &console] {
        OperatorRun run(*line, console);
        return archive_log(run, line->archive);
    });
    archiving.add_option("--to", line->archive.directory);
    archiving.add_option("--keep", line->archive.keep);
    archiving.add_option("--older-than", line->archive.older_than_days)->check(CLI::Range(0u, 36'500u));
    archiving.add_option("--at-least", line->archive.at_least)->check(CLI::PositiveNumber);
    archiving.add_option("--max-events", line->archive.max_events)->check(CLI::PositiveNumber);
    archiving.add_flag("--yes", line->archive.yes);
    verbs.add("segments", kSegmentsHelp, [line, &console] {
        OperatorRun run(*line, console);
        return list_segments(run);
    });
    CLI::App& erasing = verbs.add("erase", kEraseHelp, [line, &console] {
        OperatorRun run(*line, console);
        return erase_payloads(run, line->erase);
    });
    erasing.add_option("CALL", line->erase.call)->required();
    erasing.add_option("--segment", line->erase.segment);
    erasing.add_flag("--yes", line->erase.yes);
}

}  // namespace callgate::cli
