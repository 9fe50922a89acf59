// The messages on control.sock: four bytes of length, the highest first, then that many bytes of JSON, one
// object. docs/formats/control.md has the whole protocol.
//
// The length is judged before anything is kept, and memory grows only as bytes arrive: a peer that promises
// much and sends little costs little. The text is parsed strictly, within limits.
//
// Threads: a MessageReader belongs to one thread at a time; the functions may be called from any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <callgate/error.h>
#include <callgate/json.h>

namespace callgate::ledger {

inline constexpr int kControlVersion = 1;
inline constexpr const char* kControlSocket = "control.sock";  ///< in the ledger's directory
inline constexpr std::size_t kMessageHead = 4;
/// Reasons of errors after which the same may be asked again, of the next owner: nothing was begun.
inline constexpr const char* kOwnerEnds = "owner_ends";  ///< told by an owner that stops
inline constexpr const char* kNotTaken = "not_taken";    ///< it went away before it had read the request

/// What a request may be: as much as a call's arguments.
json::ParseLimits request_limits() noexcept;
/// What an answer may be: an approval with the largest arguments, and what is said about them.
json::ParseLimits answer_limits() noexcept;

/// A message with its length before it. Nothing that is sent is larger than the limits of who reads it: that
/// is the sender's care.
std::string framed(const Object& message);
/// The same of a text that was written already.
std::string framed_text(std::string_view json);

class MessageReader {
public:
    explicit MessageReader(const json::ParseLimits& limits) : limits_(limits) {}

    void add(std::string_view bytes) { buffer_.append(bytes); }

    /// The next whole message, or nothing until more bytes have come. On failure: invalid_arguments, with the
    /// reasons of json::parse, or not_an_object; the message is passed over and the next can be read. Only
    /// after message_too_large nothing that follows can be told apart: broken().
    Result<std::optional<Object>> next();

    bool broken() const noexcept { return broken_; }
    /// Some of a message has come, and not all of it.
    bool in_message() const noexcept { return !buffer_.empty(); }

private:
    const json::ParseLimits limits_;
    std::string buffer_;
    bool broken_ = false;
};

/// {"ok": true, "result": …}
Object good_answer(Value result);
/// {"ok": false, "error": {code, message, details}}
Object bad_answer(const Error& error);
/// {"progress": {done, total}}
Object progress_message(std::uint64_t done, std::uint64_t total);
/// {"text": …}: a piece of a long text. Bytes that are not UTF-8, which a damaged log may have, go as
/// {"base64": …}.
Object text_message(std::string_view piece);
/// The piece in such a message; nothing if it is none.
std::optional<std::string> text_in(const Object& message);

/// What an answer says. An answer that is none, or an error without a known code, is `transport`
/// {reason: bad_answer}.
Result<Value> answer_in(Object message);

}  // namespace callgate::ledger
