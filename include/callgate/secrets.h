// Secrets, handed out only to a running tool and only for the length of one function call.
//
// A tool asks by connector and key and gets a Secret that wipes itself; from then on the value is masked
// wherever it turns up in this call: results, errors, progress, logs, telemetry, audit, stored outcomes.
// There is no way to list what a store holds, and a Secret cannot be copied or printed.
//
// Threads: a SecretsStore may be used from any thread; a Secret belongs to one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <callgate/error.h>

namespace callgate {

class Secret {
public:
    explicit Secret(std::string_view value);
    ~Secret();
    Secret(Secret&&) noexcept;
    Secret& operator=(Secret&&) noexcept;
    Secret(const Secret&) = delete;
    Secret& operator=(const Secret&) = delete;

    /// Valid while the Secret lives. Do not copy it into anything that outlives the call.
    std::string_view expose() const noexcept;
    std::size_t size() const noexcept;

private:
    struct Bytes;
    std::unique_ptr<Bytes> bytes_;
};

/// Where secrets come from. Implementations say nothing of a value in their errors.
class SecretsStore {
public:
    virtual ~SecretsStore() = default;

    /// Calls `use` with the value and wipes it afterwards. config_error {reason: "no_such_secret"} if there
    /// is none; what `use` throws passes through, after the wipe.
    Result<void> with_secret(std::string_view connector, std::string_view key,
                             const std::function<void(const Secret&)>& use) const;

    /// Keeps a value that the runtime itself obtained, such as a token, in the place of the one before.
    /// config_error {reason: "read_only_store"} where values come from elsewhere.
    virtual Result<void> put(std::string_view connector, std::string_view key, std::string_view value);

protected:
    virtual Result<Secret> load(std::string_view connector, std::string_view key) const = 0;
};

/// Secrets held in memory. Values below 8 bytes are refused: masking them would shred everything else.
class MemorySecrets final : public SecretsStore {
public:
    MemorySecrets();
    ~MemorySecrets() override;

    Result<void> set(std::string_view connector, std::string_view key, std::string_view value);
    Result<void> put(std::string_view connector, std::string_view key, std::string_view value) override;
    void remove(std::string_view connector, std::string_view key);

protected:
    Result<Secret> load(std::string_view connector, std::string_view key) const override;

private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Where the key comes from that seals what is kept on the disk: 32 bytes, written as 64 hexadecimal digits,
/// as base64, or (in files) as they are.
struct KeySource {
    enum class Kind : std::uint8_t {
        file,         ///< a file that belongs to this user and that nobody else may read
        environment,  ///< a variable, wiped and unset when it is read: so it can be read once, at the start
        credential,   ///< a file in $CREDENTIALS_DIRECTORY, as systemd's LoadCredential= makes it
    };

    Kind kind = Kind::file;
    std::string name;  ///< path, variable or credential

    KeySource() = default;
    KeySource(Kind kind_, std::string name_) : kind(kind_), name(std::move(name_)) {}
    static KeySource file(std::string path) { return {Kind::file, std::move(path)}; }
    static KeySource environment(std::string variable) { return {Kind::environment, std::move(variable)}; }
    static KeySource credential(std::string name) { return {Kind::credential, std::move(name)}; }
};

}  // namespace callgate
