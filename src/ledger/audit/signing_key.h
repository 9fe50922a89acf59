// The keys that sign the audit's checkpoints: Ed25519, in the text forms of signed notes (C2SP signed-note).
//
// A key has a name, and with it an id of four bytes, SHA-256(name || LF || 0x01 || public key) cut short, by
// which a signature is found. The public text form ("vkey") is name+id+base64(0x01 || public key); it is what
// an operator pins, and what the audit's own events name. The private one begins "PRIVATE+KEY+" and holds the
// seed instead; it stands in a file that its owner alone can read, and in memory that neither a core dump nor
// the swap device gets.
//
// Threads: keys are immutable and may be used from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <callgate/error.h>

#include "base/rng.h"

namespace callgate::ledger {

using Signature = std::array<std::uint8_t, 64>;

/// 1 to 128 printable ASCII characters, neither space nor '+'.
bool is_key_name(std::string_view name) noexcept;

class VerifyingKey {
public:
    using Bytes = std::array<std::uint8_t, 32>;

    VerifyingKey(std::string name, const Bytes& key);
    /// invalid_arguments {reason: bad_key} for anything but a vkey whose id is right.
    static Result<VerifyingKey> parse(std::string_view vkey);

    const std::string& name() const noexcept { return name_; }
    std::uint32_t id() const noexcept { return id_; }
    const Bytes& bytes() const noexcept { return key_; }
    std::string vkey() const;

    bool verifies(std::string_view text, const Signature& signature) const;

    bool operator==(const VerifyingKey& other) const noexcept {
        return name_ == other.name_ && key_ == other.key_;
    }

private:
    struct Handle;

    std::string name_;
    Bytes key_;
    std::uint32_t id_;
    std::shared_ptr<const Handle> handle_;  // null: no point of the curve, so it verifies nothing
};

class SigningKey {
public:
    static SigningKey generate(std::string name, base::Rng& rng);
    /// invalid_arguments {reason: bad_key}; the message never holds any of the text.
    static Result<SigningKey> parse(std::string_view private_text);

    const VerifyingKey& verifying_key() const noexcept { return public_; }
    Signature sign(std::string_view text) const;
    /// A secret: for the key file alone.
    std::string private_text() const;

private:
    struct Secret;
    SigningKey(std::shared_ptr<const Secret> secret, VerifyingKey key);
    static SigningKey from_seed(std::string name, std::string_view seed);

    std::shared_ptr<const Secret> secret_;
    VerifyingKey public_;
};

}  // namespace callgate::ledger
