#include "secrets/key_source.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include "base/encoding.h"
#include "base/failpoint.h"
#include "base/locked_bytes.h"
#include "base/try.h"
#include "os/file_lock.h"
#include "os/files.h"
#include "os/system_error.h"

namespace callgate::secrets {
namespace {

using base::LockedBytes;
using base::SealKey;

constexpr std::size_t kMaxKeyText = 256;
constexpr std::chrono::seconds kKeyFileTurn{10};

tl::unexpected<Error> unusable(std::string_view reason, const KeySource& source, std::string message) {
    constexpr std::string_view kinds[] = {"file", "environment", "credential"};
    return fail(ErrorCode::config_error, std::move(message),
                {{"reason", reason},
                 {"source", kinds[static_cast<std::size_t>(source.kind)]},
                 {"name", source.name}});
}

/// The 32 bytes that the text stands for.
std::optional<LockedBytes> decoded(std::string_view text) {
    if (text.size() == SealKey::kBytes) return LockedBytes(text);
    while (text.ends_with('\n') || text.ends_with('\r') || text.ends_with(' ')) text.remove_suffix(1);
    std::optional<std::string> bytes;
    if (text.size() == 2 * SealKey::kBytes) {
        bytes = base::hex_decode(text);
    } else {
        while (text.ends_with('=')) text.remove_suffix(1);
        for (const auto alphabet : {base::Base64Alphabet::standard, base::Base64Alphabet::url}) {
            if (!bytes) bytes = base::base64_decode(text, alphabet, base::Base64Padding::without);
        }
    }
    if (!bytes) return std::nullopt;
    std::optional<LockedBytes> out;
    if (bytes->size() == SealKey::kBytes) out.emplace(*bytes);
    OPENSSL_cleanse(bytes->data(), bytes->size());
    return out;
}

Result<SealKey> key_from(std::string_view text, const KeySource& source, std::string_view what) {
    if (auto bytes = decoded(text)) return SealKey::from_bytes(std::move(*bytes));
    return unusable("key_text", source,
                    fmt::format("{} holds no key: it has {} bytes, and a key is 32 bytes, written as 64 "
                                "hexadecimal digits or as base64. Make one with: openssl rand -hex 32",
                                what, text.size()));
}

bool is_link(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_symlink(path, ignored);
}

tl::unexpected<Error> unreadable(const KeySource& source, const std::string& path, const Error& error) {
    const int number = os::error_number(error);
    if (number == ENOENT && is_link(path))
        return unusable("key_missing", source,
                        fmt::format("The key file {} is a symbolic link that leads to no file. Is the disk "
                                    "with the key there?",
                                    path));
    if (number == ENOENT || number == ENOTDIR)
        return unusable("key_missing", source, fmt::format("There is no key file {}. Check the path.", path));
    return unusable("key_unreadable", source,
                    fmt::format("The key file {} cannot be read: {}.", path, os::errno_text(number)));
}

// systemd gives a credential to its service by an access list, which shows as permission for the group.
Result<void> check_private(const os::FileInfo& info, const KeySource& source, const std::string& path) {
    const bool credential = source.kind == KeySource::Kind::credential;
    if (info.kind != os::FileKind::regular)
        return unusable("key_unreadable", source,
                        fmt::format("The key file {} is no regular file. Give the path of a file.", path));
    if (const mode_t others = credential ? 0007 : 0077; (info.permissions & others) != 0)
        return unusable("key_permission", source,
                        fmt::format("The key file {} is open to other users (mode {:04o}), who may have read "
                                    "the key. Consider it known, or if not: chmod 600 {}",
                                    path, info.permissions, path));
    if (!credential && info.owner != ::geteuid())
        return unusable("key_owner", source,
                        fmt::format("The key file {} belongs to user {}, and this process runs as user {}. "
                                    "Make it belong to the user who runs this.",
                                    path, info.owner, ::geteuid()));
    return {};
}

Result<SealKey> from_file(os::FileOps& files, const KeySource& source, const std::string& path) {
    // Looked at before it is opened, since opening a pipe would wait; and after, since it may be another one.
    const auto before = os::uninterrupted([&] { return files.stat(path); });
    if (!before) return unreadable(source, path, before.error());
    CALLGATE_TRY(check_private(*before, source, path));
    const auto fd = os::uninterrupted([&] { return files.open(path, os::OpenMode::read); });
    if (!fd) return unreadable(source, path, fd.error());
    const auto info = os::uninterrupted([&] { return files.stat(*fd); });
    if (!info) return unreadable(source, path, info.error());
    CALLGATE_TRY(check_private(*info, source, path));

    LockedBytes text(kMaxKeyText);
    std::size_t size = 0;
    while (size < text.size()) {
        const auto got = os::uninterrupted([&] { return files.read(*fd, text.bytes().subspan(size)); });
        if (!got) return unreadable(source, path, got.error());
        if (*got == 0) break;
        size += *got;
    }
    text.shrink(size);
    return key_from(text.view(), source, fmt::format("The key file {}", path));
}

Result<SealKey> from_environment(const KeySource& source) {
    char* const text = source.name.empty() ? nullptr : std::getenv(source.name.c_str());
    if (text == nullptr)
        return unusable("key_missing", source,
                        fmt::format("The environment variable {} is not set, and should hold the key. It is "
                                    "unset when it is read, so it can be read once.",
                                    source.name));
    auto key = key_from(text, source, fmt::format("The environment variable {}", source.name));
    // Where the process's own environment can be seen, too: it is the same memory.
    ::explicit_bzero(text, std::strlen(text));
    ::unsetenv(source.name.c_str());
    return key;
}

Result<SealKey> from_credential(os::FileOps& files, const KeySource& source) {
    if (source.name.empty() || source.name == "." || source.name == ".." ||
        source.name.find('/') != std::string::npos)
        return unusable("key_source", source,
                        fmt::format("'{}' is no name of a credential. Give the name that stands in "
                                    "LoadCredential=, without a path.",
                                    source.name));
    const char* const directory = std::getenv("CREDENTIALS_DIRECTORY");
    if (directory == nullptr || *directory == '\0')
        return unusable("key_missing", source,
                        fmt::format("There is no credential {}: CREDENTIALS_DIRECTORY is not set. Start this "
                                    "as a systemd service with LoadCredential={}:FILE.",
                                    source.name, source.name));
    return from_file(files, source, fmt::format("{}/{}", directory, source.name));
}

bool is_missing(const Result<SealKey>& key) {
    return !key && key.error().details.at("reason") == "key_missing";
}

// 64 digits and the end of the line, in locked memory.
LockedBytes written(const LockedBytes& key) {
    constexpr std::string_view digits = "0123456789abcdef";
    LockedBytes out(2 * key.size() + 1);
    char* to = out.bytes().data();
    for (const char c : key.view()) {
        *to++ = digits[static_cast<unsigned char>(c) >> 4];
        *to++ = digits[static_cast<unsigned char>(c) & 15];
    }
    *to = '\n';
    return out;
}

}  // namespace

Result<SealKey> load_key(os::FileOps& files, const KeySource& source) {
    switch (source.kind) {
        case KeySource::Kind::environment: return from_environment(source);
        case KeySource::Kind::credential: return from_credential(files, source);
        case KeySource::Kind::file: break;
    }
    return from_file(files, source, source.name);
}

Result<SealKey> load_or_create_key(os::FileOps& files, base::Rng& rng, const std::string& path) {
    const KeySource source = KeySource::file(path);
    // Where a link leads nowhere, the disk with the key is away: a new one would hide that.
    if (auto key = load_key(files, source); !is_missing(key) || is_link(path)) return key;
    CALLGATE_TRY_ASSIGN(const auto turn, os::FileLock::take(files, path, kKeyFileTurn));
    if (auto key = load_key(files, source); !is_missing(key)) return key;

    LockedBytes bytes(SealKey::kBytes);
    rng.fill(std::as_writable_bytes(bytes.bytes()));
    CALLGATE_FAILPOINT_RETURN("secrets.before_key_write");
    CALLGATE_TRY(os::write_file_atomically(files, rng, path, written(bytes).view()));
    CALLGATE_FAILPOINT_RETURN("secrets.after_key_write");
    return SealKey::from_bytes(std::move(bytes));
}

}  // namespace callgate::secrets
