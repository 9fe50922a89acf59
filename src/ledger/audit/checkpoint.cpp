#include "ledger/audit/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "base/encoding.h"
#include "ledger/audit/event.h"

namespace callgate::ledger {
namespace {

constexpr std::string_view kOriginPrefix = "callgate/audit/";
constexpr std::size_t kIdBytes = 4;
constexpr std::size_t kMaxSignature = 512;

tl::unexpected<Error> bad_checkpoint(int line, std::string_view what) {
    return fail(ErrorCode::invalid_arguments,
                fmt::format("This is not a signed checkpoint of an audit log: line {} {}.", line, what),
                {{"reason", "bad_checkpoint"}, {"line", line}});
}

/// The next line without its line feed; nothing where none ends.
std::optional<std::string_view> next_line(std::string_view& text) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    return line;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
    std::uint64_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || end != text.data() + text.size() || size > kMaxAuditInteger)
        return std::nullopt;
    return std::to_string(size) == text ? std::optional(size) : std::nullopt;
}

std::optional<NoteSignature> parse_signature(std::string_view line) {
    if (!line.starts_with(kSignaturePrefix)) return std::nullopt;
    line.remove_prefix(kSignaturePrefix.size());
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || !is_key_name(line.substr(0, space))) return std::nullopt;
    const auto bytes = base::base64_decode(line.substr(space + 1));
    if (!bytes || bytes->size() <= kIdBytes || bytes->size() > kIdBytes + kMaxSignature) return std::nullopt;
    NoteSignature signature;
    signature.key_name = line.substr(0, space);
    for (std::size_t i = 0; i < kIdBytes; ++i)
        signature.key_id = signature.key_id << 8 | static_cast<unsigned char>((*bytes)[i]);
    signature.bytes = bytes->substr(kIdBytes);
    return signature;
}

}  // namespace

std::string audit_origin(std::string_view chain_id) {
    return std::string(kOriginPrefix) + std::string(chain_id);
}

std::string Checkpoint::body() const {
    return fmt::format("{}\n{}\n{}\n", origin, size, base::base64_encode(view_of(root)));
}

bool SignedCheckpoint::signed_by(const VerifyingKey& key) const {
    return std::any_of(signatures.begin(), signatures.end(), [&](const NoteSignature& signature) {
        Signature bytes{};
        if (signature.key_name != key.name() || signature.key_id != key.id() ||
            signature.bytes.size() != bytes.size())
            return false;
        std::transform(signature.bytes.begin(), signature.bytes.end(), bytes.begin(),
                       [](char c) { return static_cast<std::uint8_t>(c); });
        return key.verifies(checkpoint.body(), bytes);
    });
}

std::string sign_checkpoint(const Checkpoint& checkpoint, std::span<const SigningKey> keys) {
    if (keys.empty()) throw std::invalid_argument("a checkpoint needs a key");
    const std::string body = checkpoint.body();
    std::string note = body + "\n";
    for (const SigningKey& key : keys) {
        const std::uint32_t id = key.verifying_key().id();
        std::string bytes;
        for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<char>(id >> shift & 0xff));
        const Signature signature = key.sign(body);
        bytes.append(signature.begin(), signature.end());
        note += fmt::format("{}{} {}\n", kSignaturePrefix, key.verifying_key().name(),
                            base::base64_encode(bytes));
    }
    return note;
}

Result<SignedCheckpoint> parse_checkpoint(std::string_view note) {
    if (note.size() > kMaxNoteBytes)
        return bad_checkpoint(1, fmt::format("begins a text of more than {} bytes", kMaxNoteBytes));
    SignedCheckpoint out;
    const auto origin = next_line(note);
    if (!origin || !is_key_name(*origin)) return bad_checkpoint(1, "must be the origin of a log");
    out.checkpoint.origin = *origin;
    const auto size_line = next_line(note);
    const auto size = size_line ? parse_size(*size_line) : std::nullopt;
    if (!size) return bad_checkpoint(2, "must be the number of events, below 2^53");
    out.checkpoint.size = *size;
    const auto root_line = next_line(note);
    const auto root = root_line ? base::base64_decode(*root_line) : std::nullopt;
    if (!root || root->size() != out.checkpoint.root.size())
        return bad_checkpoint(3, "must be a root hash of 32 bytes in base64");
    std::transform(root->begin(), root->end(), out.checkpoint.root.begin(),
                   [](char c) { return static_cast<std::uint8_t>(c); });
    if (const auto empty = next_line(note); !empty || !empty->empty())
        return bad_checkpoint(4, "must be empty");
    for (int line = 5; !note.empty(); ++line) {
        const auto text = next_line(note);
        auto signature = text ? parse_signature(*text) : std::nullopt;
        if (!signature)
            return bad_checkpoint(line, "must be a signature: an em dash, a key's name and base64");
        if (out.signatures.size() == kMaxNoteSignatures)
            return bad_checkpoint(
                line, fmt::format("is signature number {}, one too many", kMaxNoteSignatures + 1));
        out.signatures.push_back(std::move(*signature));
    }
    if (out.signatures.empty()) return bad_checkpoint(5, "must be a signature; there is none");
    return out;
}

}  // namespace callgate::ledger
