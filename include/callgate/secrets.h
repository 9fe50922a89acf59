// Secrets, handed out only to a running tool and only for the length of one function call.
//
// A tool asks by connector and key and gets a Secret that wipes itself; from then on the value is masked
// wherever it turns up in this call: results, errors, progress, logs, telemetry, audit, stored outcomes.
// There is no way to list what a store holds, and a Secret cannot be copied or printed.
//
// Threads: a SecretsStore may be used from any thread; a Secret belongs to one.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

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

protected:
    virtual Result<Secret> load(std::string_view connector, std::string_view key) const = 0;
};

/// Secrets held in memory. Values below 8 bytes are refused: masking them would shred everything else.
class MemorySecrets final : public SecretsStore {
public:
    MemorySecrets();
    ~MemorySecrets() override;

    Result<void> set(std::string_view connector, std::string_view key, std::string_view value);
    void remove(std::string_view connector, std::string_view key);

protected:
    Result<Secret> load(std::string_view connector, std::string_view key) const override;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace callgate
