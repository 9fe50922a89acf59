#include "verb_secrets.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <callgate/secret_stores.h>

#include "base/try.h"
#include "error_report.h"
#include "operator_verb.h"
#include "options.h"
#include "os/file_ops.h"
#include "os/files.h"
#include "os/state_directory.h"
#include "os/system_error.h"
#include "program.h"
#include "redact/secret_set.h"
#include "secret_prompt.h"
#include "tool/iso_time.h"

namespace callgate::cli {

namespace {

constexpr int kAbsent = 1;
constexpr std::size_t kLongestName = 80;

struct SecretsLine {
    std::string connector;
    std::string key;
    std::optional<std::uint32_t> only_version;
    std::string new_key_file;
    std::string file;
    std::string key_file;
    std::string key_env;
    std::string key_credential;
    bool json = false;
    std::string color = "auto";
};

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

bool exists(const std::string& path) {
    os::RealFileOps files;
    const auto info = files.stat(path);
    return info || os::error_number(info.error()) != ENOENT;
}

// Each for its owner alone. That one is there already is no error; what follows tells if it is unusable.
void make_directories(const std::string& path) {
    os::RealFileOps files;
    for (std::size_t at = path.find('/', 1); at != path.npos; at = path.find('/', at + 1))
        static_cast<void>(files.mkdir(path.substr(0, at)));
}

// One of the verbs at work.
class SecretsRun {
public:
    SecretsRun(const SecretsLine& line, const Console& console)
        : line_(line),
          console_(console),
          color_(color_mode(line.color)),
          style_(console.out_terminal.style(color_)) {}

    int set() {
        return answer(prepare().and_then([this] { return try_set(); }));
    }
    int rotate() {
        return answer(prepare().and_then([this] { return try_rotate(); }));
    }
    int remove() {
        return answer(prepare().and_then([this] { return try_remove(); }));
    }
    int check() {
        return answer(prepare().and_then([this] { return try_check(); }));
    }
    int rotate_key() {
        return answer(prepare().and_then([this] { return try_rotate_key(); }));
    }

private:
    using Store = std::unique_ptr<EncryptedFileSecrets>;

    Result<void> prepare() {
#ifndef __SANITIZE_ADDRESS__  // which looks into its own memory for leaks
        CALLGATE_TRY(harden_process());
#endif
        path_ = line_.file.empty() ? variable("CALLGATE_SECRETS") : line_.file;
        if (path_.empty()) {
            const std::string state = os::state_directory();
            if (state.empty())
                return fail(ErrorCode::config_error,
                            "There is nowhere to keep secrets: this user has no home directory. Give --file "
                            "PATH.",
                            {{"reason", "usage"}});
            path_ = state + "/callgate/secrets";
            own_directory_ = true;
        }
        if (!line_.key_env.empty()) {
            key_ = KeySource::environment(line_.key_env);
        } else if (!line_.key_credential.empty()) {
            key_ = KeySource::credential(line_.key_credential);
        } else {
            key_ = KeySource::file(line_.key_file.empty() ? path_ + ".key" : line_.key_file);
        }
        return {};
    }

    Result<Store> open() {
        if (exists(path_)) return EncryptedFileSecrets::open(path_, key_);
        return fail(ErrorCode::config_error,
                    fmt::format("There is no secrets file {} yet. Put a secret in with: callgate secrets set "
                                "CONNECTOR KEY",
                                path_),
                    {{"reason", "no_secrets_file"}, {"path", path_}});
    }

    // For the first secret. A file that is there never gets another key.
    Result<Store> make() {
        if (own_directory_) make_directories(path_);
        if (key_.kind == KeySource::Kind::file) {
            key_made_ = !exists(key_.name);
            CALLGATE_TRY(make_key_file(key_.name));
        }
        return EncryptedFileSecrets::open(path_, key_);
    }

    Result<base::LockedBytes> read_value() const {
        return read_secret(fmt::format("Value of {} (not shown): ", subject()), redact::SecretSet::kMaxBytes,
                           console_);
    }

    std::string subject() const {
        return fmt::format("{} of {}", clipped(line_.key, kLongestName),
                           clipped(line_.connector, kLongestName));
    }

    Object json_head() const { return {{"connector", line_.connector}, {"key", line_.key}}; }

    int say(std::string_view sentence, Object facts) const {
        facts["file"] = path_;
        facts["error"] = nullptr;
        if (line_.json) {
            console_.out << json::write_pretty(facts) << '\n';
        } else {
            console_.out << done_text(sentence, style_);
        }
        return 0;
    }

    // Beside the answer: each sentence begins a line.
    void note(std::string_view first, std::string_view second) const {
        const Style style = console_.err_terminal.style(color_);
        console_.err << indented(first, 2, style) << indented(second, 2, style);
    }

    Result<int> try_set() {
        // Reports what is wrong with an existing file before anybody types.
        CALLGATE_TRY_ASSIGN(Store existing, exists(path_) ? open() : Store());
        CALLGATE_TRY_ASSIGN(const auto value, read_value());
        CALLGATE_TRY_ASSIGN(const Store store, existing ? std::move(existing) : make());
        CALLGATE_TRY_ASSIGN(const auto version, store->set(line_.connector, line_.key, value.view()));
        Object facts = json_head();
        facts["version"] = version;
        facts["key_made"] = key_made_;
        say(fmt::format("{}: version {} is set", style_.bold(subject()), version), std::move(facts));
        if (key_made_ && !line_.json)
            note(fmt::format("The key was made: {}", printable(key_.name)),
                 "Keep a copy of it elsewhere; without it the secrets are lost.");
        return 0;
    }

    Result<int> try_rotate() {
        CALLGATE_TRY_ASSIGN(auto store, open());
        CALLGATE_TRY_ASSIGN(const auto before, store->check(line_.connector, line_.key));
        // Nobody types a value for nothing: without one to replace, the store says so.
        CALLGATE_TRY_ASSIGN(auto value,
                            before ? read_value() : base::LockedBytes(redact::SecretSet::kMinBytes));
        CALLGATE_TRY_ASSIGN(const auto version, store->rotate(line_.connector, line_.key, value.view()));
        Object facts = json_head();
        facts["version"] = version;
        facts["previous"] = version - 1;
        return say(fmt::format("{}: version {} is current, version {} is kept", style_.bold(subject()),
                               version, version - 1),
                   std::move(facts));
    }

    Result<int> try_remove() {
        CALLGATE_TRY_ASSIGN(auto store, open());
        CALLGATE_TRY(store->remove(line_.connector, line_.key, line_.only_version));
        CALLGATE_TRY_ASSIGN(const auto left, store->check(line_.connector, line_.key));
        Object facts = json_head();
        facts["version"] = left ? Value(left->version) : Value();
        return say(left ? fmt::format("{}: version {} is removed, version {} is current",
                                      style_.bold(subject()), *line_.only_version, left->version)
                        : fmt::format("{}: removed", style_.bold(subject())),
                   std::move(facts));
    }

    Result<int> try_check() {
        if (line_.connector.empty()) return check_file();
        if (line_.key.empty())
            return fail(ErrorCode::config_error,
                        "Give both CONNECTOR and KEY, or neither. See callgate secrets check --help.",
                        {{"reason", "usage"}});
        std::optional<SecretInfo> info;
        if (exists(path_)) {
            CALLGATE_TRY_ASSIGN(const auto store, open());
            CALLGATE_TRY_ASSIGN(info, store->check(line_.connector, line_.key));
        }
        Object facts = json_head();
        facts["present"] = info.has_value();
        facts["version"] = info ? Value(info->version) : Value();
        facts["set_at"] = info ? Value(iso_utc(info->set_at)) : Value();
        facts["previous"] = info && info->previous ? Value(*info->previous) : Value();
        if (info) {
            std::string sentence = fmt::format("{}: version {}, set {}", style_.bold(subject()),
                                               info->version, iso_utc(info->set_at));
            if (info->previous) sentence += fmt::format("; version {} is kept", *info->previous);
            return say(sentence, std::move(facts));
        }
        if (line_.json) {
            say("", std::move(facts));
        } else {
            console_.out << fmt::format("{} {}: there is none\n", style_.red("✗"), style_.bold(subject()));
        }
        return kAbsent;
    }

    Result<int> check_file() {
        CALLGATE_TRY_ASSIGN(const auto store, open());
        CALLGATE_TRY_ASSIGN(const auto info, store->check());
        return say(fmt::format("{}: {} secret{}, all open with the key {}", printable(path_), info.secrets,
                               info.secrets == 1 ? "" : "s", info.key_id),
                   {{"secrets", info.secrets}, {"records", info.records}, {"key_id", info.key_id}});
    }

    Result<int> try_rotate_key() {
        CALLGATE_TRY_ASSIGN(auto store, open());
        key_made_ = !exists(line_.new_key_file);
        CALLGATE_TRY(make_key_file(line_.new_key_file));
        CALLGATE_TRY(store->rotate_key(KeySource::file(line_.new_key_file)));
        CALLGATE_TRY_ASSIGN(const auto info, store->check());
        say(fmt::format("{}: {} secret{}, sealed with the key {} now", printable(path_), info.secrets,
                        info.secrets == 1 ? "" : "s", info.key_id),
            {{"secrets", info.secrets}, {"key_id", info.key_id}, {"key_made", key_made_}});
        if (!line_.json)
            note(fmt::format("Use --key-file {} from now on, or put it in the place of the old key.",
                             printable(line_.new_key_file)),
                 "Keep a copy of it elsewhere.");
        return 0;
    }

    int answer(const Result<int>& exit_code) const {
        if (exit_code) return *exit_code;
        print_error(exit_code.error(), std::nullopt, line_.json, color_, console_);
        const Value* const reason = exit_code.error().details.if_contains("reason");
        const bool absent =
            reason != nullptr &&
            (*reason == "no_such_secret" || *reason == "no_such_version" || *reason == "no_secrets_file");
        if (reason != nullptr && *reason == "called_off") return kCalledOff;
        return absent ? kAbsent : kUnusable;
    }

    const SecretsLine& line_;
    const Console& console_;
    const ColorMode color_;
    const Style style_;
    std::string path_;
    KeySource key_;
    bool own_directory_ = false;
    bool key_made_ = false;
};

// What the verbs have in common, in front of and behind what is their own.
struct Shared {
    std::shared_ptr<SecretsLine> line = std::make_shared<SecretsLine>();

    void names(Verb& verb) const {
        verb.argument("CONNECTOR", "whose tools may use it, such as github", line->connector).required();
        verb.argument("KEY", "its name there, such as token", line->key).required();
    }
    // `which`: "the key", "the old key".
    void file(Verb& verb, const std::string& which, std::string_view made = {}) const {
        verb.heading("The file");
        verb.option("--file", "PATH",
                    "$CALLGATE_SECRETS, or else callgate/secrets in $XDG_STATE_HOME or ~/.local/state",
                    line->file)
            .not_empty()
            .completed_by(Completes::file);
        verb.option("--key-file", "PATH",
                    fmt::format("{}; PATH.key beside the file by default{}", which, made), line->key_file)
            .not_empty()
            .completed_by(Completes::file);
        verb.option("--key-env", "NAME", which + " is in this variable, as 64 hexadecimal digits or base64",
                    line->key_env)
            .not_empty()
            .excludes("--key-file");
        verb.option("--key-credential", "N", which + " is the systemd credential N", line->key_credential)
            .not_empty()
            .excludes("--key-file")
            .excludes("--key-env");
        verb.heading("Output");
        add_output_options(verb, line->json, line->color);
    }
    void runs(Verb& verb, const Console& console, int (SecretsRun::*run)()) const {
        verb.runs([line = line, &console, run] { return (SecretsRun(*line, console).*run)(); });
    }
};

}  // namespace

void add_secrets(Verb& program, const Console& console) {
    Verb& group = program.add("secrets", "what tools log in with, in an encrypted file");
    group.text(
        "A secret has two names: the connector whose tools may use it, and a key, such as github token. "
        "Values are typed without echo or sent to standard input, never given as arguments. No verb shows a "
        "value, and none lists what there is.");
    group.example("callgate secrets set github token").example("callgate secrets check github token");

    Verb& setting = group.add("set", "put a secret into the encrypted file, or replace it");
    const Shared set;
    set.names(setting);
    setting.text(
        "The value is asked for on a terminal, without echo; otherwise standard input is the value, except "
        "for one line end. It has 8 bytes to 64 KiB. Versions before it are dropped.");
    set.file(setting, "the key", ", made with the first secret");
    setting.exits(0, "it is set")
        .exits(2, "it is not: wrong usage, value, key or file")
        .exits(kCalledOff, kCalledOffMeaning);
    setting.example("callgate secrets set github token")
        .example("gh auth token | callgate secrets set github token")
        .example("callgate secrets set deploy ssh_key < ~/.ssh/deploy_ed25519");
    set.runs(setting, console, &SecretsRun::set);

    Verb& rotating = group.add("rotate", "replace a secret, and keep the version before as a way back");
    const Shared rotate;
    rotate.names(rotating);
    rotating.text(
        "The value comes as for set. The new version is used from now on; the one before is kept until the "
        "next change. To go back: callgate secrets remove CONNECTOR KEY --only-version N, where N is the new "
        "version.");
    rotate.file(rotating, "the key");
    rotating.exits(0, "it is replaced")
        .exits(1, "there is no such secret")
        .exits(2, "wrong usage, value, key or file")
        .exits(kCalledOff, kCalledOffMeaning);
    rotating.example("callgate secrets rotate github token")
        .example("new-token | callgate secrets rotate github token --json");
    rotate.runs(rotating, console, &SecretsRun::rotate);

    Verb& removing = group.add("remove", "take a secret out of the file, or its newest version");
    const Shared remove;
    remove.names(removing);
    removing
        .option("--only-version", "N",
                "take out this version alone: the newest to go back to the one before, or the one before to "
                "be rid of it",
                remove.line->only_version)
        .between(1, 0xffffffffu);
    remove.file(removing, "the key");
    removing.exits(0, "it is gone")
        .exits(1, "there is no such secret or version")
        .exits(2, "wrong usage, key or file");
    removing.example("callgate secrets remove github token")
        .example("callgate secrets remove github token --only-version 4");
    remove.runs(removing, console, &SecretsRun::remove);

    Verb& checking = group.add("check", "is it there, and since when; or is the whole file sound?");
    const Shared check;
    checking.usage("[options] [CONNECTOR KEY]");
    checking.argument("CONNECTOR", "whose tools may use it", check.line->connector);
    checking.argument("KEY", "its name there; without names every record is opened, and none is named",
                      check.line->key);
    check.file(checking, "the key");
    checking.exits(0, "it is there, or all is sound")
        .exits(1, "there is no such secret, or no file yet")
        .exits(2, "wrong usage or key, or the file is damaged");
    checking.example("callgate secrets check github token").example("callgate secrets check --json");
    check.runs(checking, console, &SecretsRun::check);

    Verb& sealing = group.add("rotate-key", "seal everything anew with another key");
    const Shared seal;
    sealing.usage("[options] --new-key-file PATH");
    sealing.option("--new-key-file", "PATH", "the new key; made if it is not there", seal.line->new_key_file)
        .required()
        .not_empty()
        .completed_by(Completes::file);
    sealing.text(
        "The file is replaced in one step: until then the old key opens it, from then on only the new one. "
        "Programs that use the file have to be started again with the new key.");
    seal.file(sealing, "the old key");
    sealing.exits(0, "done")
        .exits(1, "there is no file yet")
        .exits(2, "wrong usage, key or file; the old key still holds");
    sealing.example("callgate secrets rotate-key --new-key-file ~/keys/callgate-2027");
    seal.runs(sealing, console, &SecretsRun::rotate_key);
}

}  // namespace callgate::cli
