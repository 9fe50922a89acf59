// Stores for secrets that outlive the process or come from elsewhere: an encrypted file, the environment, a
// helper program, and several of them in order.
//
// None can be listed, no error says anything of a value, and a value is in locked memory for as long as it is
// open. A store is given to the runtime in RuntimeOptions::secrets.
//
// Threads: every store may be used from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <callgate/error.h>
#include <callgate/secrets.h>

namespace callgate {

/// What may be known of a secret without knowing it.
struct SecretInfo {
    std::uint32_t version = 0;  ///< the current one
    std::chrono::sys_time<std::chrono::microseconds> set_at{};
    std::optional<std::uint32_t> previous;  ///< the version before, where it is kept
};

struct SecretsFileInfo {
    bool exists = false;
    std::size_t secrets = 0;
    std::size_t records = 0;  ///< with the versions that are kept
    std::string key_id;
};

/// An encrypted file (docs/formats/secrets.md). It shows neither names nor values, and a change by somebody
/// without the key is noticed. Several processes may use and change it at once.
///
/// Errors of all operations: config_error with details {reason, path}, reasons wrong_key, not_a_secrets_file,
/// secrets_version, secrets_damaged, file_locked, those of reading a file; invalid_arguments for a bad name
/// or value; internal where the disk failed, and the old file is still there.
class EncryptedFileSecrets final : public SecretsStore {
public:
    /// The file may be missing; then the store is empty, and the first set() makes it, owned by this user
    /// alone. The key must be there: see make_key_file().
    static Result<std::unique_ptr<EncryptedFileSecrets>> open(std::string path, const KeySource& key);
    ~EncryptedFileSecrets() override;

    /// The new current version; versions before it are dropped.
    Result<std::uint32_t> set(std::string_view connector, std::string_view key, std::string_view value);
    Result<void> put(std::string_view connector, std::string_view key, std::string_view value) override;

    /// Like set(), but there must be a version, and it is kept as the previous one until the next change:
    /// removing the new version brings it back.
    Result<std::uint32_t> rotate(std::string_view connector, std::string_view key, std::string_view value);

    /// All versions, or one. config_error {reason: no_such_secret}, or no_such_version.
    Result<void> remove(std::string_view connector, std::string_view key,
                        std::optional<std::uint32_t> version = {});

    /// Nothing if there is no such secret.
    Result<std::optional<SecretInfo>> check(std::string_view connector, std::string_view key) const;
    /// Opens every record: whatever is asked for later will be there.
    Result<SecretsFileInfo> check() const;

    /// Seals everything again under another key. From then on the old one opens nothing, in any process.
    Result<void> rotate_key(const KeySource& to);

protected:
    Result<Secret> load(std::string_view connector, std::string_view key) const override;

private:
    struct State;
    explicit EncryptedFileSecrets(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// Makes a key file, readable by this user alone, unless there is one already, which must then be usable.
Result<void> make_key_file(const std::string& path);

/// For development: secrets in environment variables.
///
/// The variable of connector `google-drive` and key `client_secret` is
/// CALLGATE_SECRET_GOOGLE_DRIVE__CLIENT_SECRET: letters in upper case, `-`, `.` and `_` as one underscore,
/// two underscores between connector and key. Names with other characters, with two of these in a row or at
/// an end, have no variable.
///
/// All variables that begin so are taken over when the store is made, and removed from the environment, so
/// that child processes do not inherit them: make it at the start, before other threads, and once.
class EnvironmentSecrets final : public SecretsStore {
public:
    EnvironmentSecrets();
    ~EnvironmentSecrets() override;

    /// The variable of a secret, or nothing where there is none.
    static std::optional<std::string> variable(std::string_view connector, std::string_view key);

protected:
    Result<Secret> load(std::string_view connector, std::string_view key) const override;

private:
    struct State;
    std::unique_ptr<State> state_;
};

struct ExecSecretsOptions {
    std::vector<std::string> command;  ///< the program and its arguments; started without a shell
    std::chrono::milliseconds timeout{10'000};
    std::chrono::milliseconds keep{30'000};  ///< how long an answer is used again; 0 to 60,000

    ExecSecretsOptions() = default;
    explicit ExecSecretsOptions(std::vector<std::string> command_) : command(std::move(command_)) {}
};

/// Secrets that a program hands out. It is started for each one, reads {"connector": …, "key": …} and the end
/// of file from its standard input, and writes the value to its standard output; one line end after it is
/// dropped. Exit code 0: that is the value; 3: there is no such secret; anything else is a failure. What it
/// writes to standard error goes nowhere.
///
/// Errors: config_error {reason}: no_such_secret; helper_failed {exit}, helper_timeout, helper_output (too
/// long, too short or nothing), or those of starting a process.
class ExecSecrets final : public SecretsStore {
public:
    /// config_error {reason: bad_helper} for options out of range.
    static Result<std::unique_ptr<ExecSecrets>> make(ExecSecretsOptions options);
    ~ExecSecrets() override;

    /// The program is asked again the next time; an answer that is under way is not kept either.
    void revoke(std::string_view connector, std::string_view key);
    void revoke_all();

protected:
    Result<Secret> load(std::string_view connector, std::string_view key) const override;

private:
    struct State;
    explicit ExecSecrets(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// Asks stores in order. The first that has the secret gives it; one that fails ends the search, so that a
/// broken store is never silently replaced by the next.
class SecretsChain final : public SecretsStore {
public:
    explicit SecretsChain(std::vector<std::shared_ptr<SecretsStore>> stores);

    /// Goes to the first store that keeps values.
    Result<void> put(std::string_view connector, std::string_view key, std::string_view value) override;

protected:
    Result<Secret> load(std::string_view connector, std::string_view key) const override;

private:
    std::vector<std::shared_ptr<SecretsStore>> stores_;
};

/// For programs that hold secrets, at their start: no core dumps, and no other process of this user may look
/// into this one's memory. Nothing in the library calls it. `internal` if the kernel refuses.
Result<void> harden_process();

}  // namespace callgate
