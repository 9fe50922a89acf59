// Witnesses: where checkpoints are put out of reach of whoever may change the log. Without one, who holds the
// signing key can rewrite the whole log, and a log that was cut short looks like one that was always short.
//
// A checkpoint goes to a witness only after it is durable in the log itself: otherwise a crash between the
// two would look like a log that was cut.
//
// Threads: a witness belongs to one thread at a time; submit() may block.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/error.h>

#include "ledger/audit/checkpoint.h"
#include "os/file_ops.h"
#include "os/process.h"

namespace callgate::ledger {

class Witness {
public:
    virtual ~Witness() = default;
    /// A signed checkpoint. On an error it may have been taken or not; sending it again does no harm.
    virtual Result<void> submit(std::string_view note) = 0;
};

/// A file that only grows, best on another machine's disk or with `chattr +a`: one line per checkpoint, of
/// the same form as in an export (export.h). Nothing in it is ever changed: a line that a crash cut short
/// stays, and is passed over.
class AnchorFile final : public Witness {
public:
    /// `files` must outlive this.
    AnchorFile(os::FileOps& files, std::string path) : files_(files), path_(std::move(path)) {}

    /// Durable when it returns. audit_failure {reason: anchor_unwritable, path, errno}.
    Result<void> submit(std::string_view note) override;

private:
    Result<void> append(std::string_view note);

    os::FileOps& files_;
    std::string path_;
    bool clean_ = false;  // the file is known to end with a whole line
};

/// What somebody kept of a log's checkpoints.
struct WitnessNotes {
    std::vector<std::string> notes;
    std::uint64_t unreadable = 0;  ///< lines that belong to none of them: cut short, or something else
};
/// Reads the lines of an anchor file, signed notes as they are, and what `callgate audit checkpoint --json`
/// prints, one after the other, in any mixture and with empty lines anywhere between them. What is none of
/// these is counted and passed over, line by line.
WitnessNotes read_witness(std::string_view text);
/// The same of a file. Errors as os::read_file; a file that is missing is an error, an empty one is not.
Result<WitnessNotes> read_witness_file(os::FileOps& files, const std::string& path,
                                       std::size_t max_bytes = 256u << 20);

/// The checkpoint that was put last into an anchor file for the log of this origin; nothing where there is
/// none, or no such file. Reads from the file's end, at most `max_bytes`.
Result<std::optional<Checkpoint>> last_anchored(os::FileOps& files, const std::string& path,
                                                std::string_view origin, std::uint64_t max_bytes = 64u << 20);

/// A command that is given the note on its standard input, once per checkpoint, and says with exit code 0
/// that it has it. Never through a shell.
class WitnessCommand final : public Witness {
public:
    /// `launcher` must outlive this.
    WitnessCommand(os::ProcessLauncher& launcher, std::vector<std::string> argv,
                   std::chrono::milliseconds timeout)
        : launcher_(launcher), argv_(std::move(argv)), timeout_(timeout) {}

    /// transport {reason: witness_refused | witness_timed_out, command}, and launch()'s errors.
    Result<void> submit(std::string_view note) override;

private:
    os::ProcessLauncher& launcher_;
    std::vector<std::string> argv_;
    std::chrono::milliseconds timeout_;
};

}  // namespace callgate::ledger
