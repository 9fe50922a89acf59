#include "redact/key_rules.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace callgate::redact {
namespace {

constexpr bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}

constexpr bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

constexpr bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Bytes of other scripts belong to words.
constexpr bool is_word(char c) {
    return is_upper(c) || is_lower(c) || is_digit(c) || (static_cast<unsigned char>(c) & 0x80) != 0;
}

constexpr std::array<std::string_view, 14> kWords{
    "auth",       "authorization", "bearer",   "cookie", "credential", "jwt",   "passcode",
    "passphrase", "passwd",        "password", "pwd",    "secret",     "token", "setcookie"};

// Two words written as one, also when the name separates them (`private_key_pem`).
constexpr std::array<std::string_view, 11> kJoined{"accesskey",  "apikey",     "authkey",    "encryptionkey",
                                                   "masterkey",  "passkey",    "privatekey", "secretkey",
                                                   "servicekey", "signingkey", "sshkey"};

// A word that ends so is a secret whatever stands before it: `dbpassword`, `githubtoken`, `myapikey`.
constexpr std::array<std::string_view, 9> kEndings{
    "password", "passwd", "passphrase", "pwd", "secret", "credential", "token", "apikey", "privatekey"};

// Keys that identify, order or publish rather than open.
constexpr std::array<std::string_view, 13> kHarmlessKeys{
    "cache",     "dedup",   "deduplication", "foreign", "group", "hash",  "idempotency",
    "partition", "primary", "public",        "routing", "sort",  "unique"};

constexpr std::array<std::string_view, 14> kQuantities{"budget", "bytes", "count",   "length", "limit",
                                                       "ms",     "quota", "seconds", "size",   "timeout",
                                                       "tokens", "total", "ttl",     "usage"};

// Before `tokens` these make it a number of tokens, even when it arrives as text.
constexpr std::array<std::string_view, 13> kTokenAmounts{
    "max",   "maximum", "min",  "num",    "total",     "prompt",   "completion",
    "input", "output",  "used", "cached", "reasoning", "remaining"};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

std::string_view singular(std::string_view word) {
    if (word.size() > 1 && word.back() == 's') {
        word.remove_suffix(1);
    }
    return word;
}

bool is_secret_word(std::string_view word) {
    const auto one = singular(word);
    const auto matches = [](std::string_view w) {
        return contains(kWords, w) || contains(kJoined, w) ||
               std::any_of(kEndings.begin(), kEndings.end(),
                           [w](auto ending) { return w.ends_with(ending); });
    };
    return matches(word) || matches(one);
}

using Segments = std::vector<std::string>;

// Lower case, trailing digits dropped (`password2`), empty and purely numeric segments left out.
void add_segment(Segments& out, std::string_view raw) {
    while (!raw.empty() && is_digit(raw.back())) {
        raw.remove_suffix(1);
    }
    if (raw.empty()) {
        return;
    }
    std::string word(raw);
    std::transform(word.begin(), word.end(), word.begin(),
                   [](char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; });
    out.push_back(std::move(word));
}

bool camel_border(std::string_view name, std::size_t i) {
    if (!is_upper(name[i])) {
        return false;
    }
    const char before = name[i - 1];
    // "apiKey" before K; "APIKey" before the K of Key, not inside API.
    return is_lower(before) || is_digit(before) ||
           (is_upper(before) && i + 1 < name.size() && is_lower(name[i + 1]));
}

Segments split(std::string_view name, bool camel) {
    Segments out;
    std::size_t start = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (!is_word(name[i])) {
            add_segment(out, name.substr(start, i - start));
            start = i + 1;
        } else if (camel && i > start && camel_border(name, i)) {
            add_segment(out, name.substr(start, i - start));
            start = i;
        }
    }
    add_segment(out, name.substr(start));
    return out;
}

bool announces_secret(const Segments& segments) {
    for (std::size_t i = 0; i < segments.size(); ++i) {
        if (is_secret_word(segments[i])) {
            return true;
        }
        if (i + 1 < segments.size()) {
            const std::string pair = segments[i] + segments[i + 1];
            if (contains(kJoined, singular(pair)) || contains(kWords, singular(pair))) {
                return true;
            }
        }
    }
    if (segments.empty() || singular(segments.back()) != "key") {
        return false;
    }
    return segments.size() == 1 || !contains(kHarmlessKeys, segments[segments.size() - 2]);
}

bool counts_tokens(const Segments& segments) {
    return segments.size() > 1 && segments.back() == "tokens" &&
           std::any_of(segments.begin(), segments.end() - 1,
                       [](const auto& s) { return contains(kTokenAmounts, s); });
}

// Every sensitive name has one of these among its letters. Nearly all names have not, and are then known to
// be plain without cutting them into words.
bool begins_tell_tale(std::string_view letters) {
    switch (letters.front()) {
        case 'a': return letters.starts_with("auth");
        case 'b': return letters.starts_with("bearer");
        case 'c': return letters.starts_with("cookie") || letters.starts_with("credential");
        case 'j': return letters.starts_with("jwt");
        case 'k': return letters.starts_with("key");
        case 'p': return letters.starts_with("pass") || letters.starts_with("pwd");
        case 's': return letters.starts_with("secret");
        case 't': return letters.starts_with("token");
        default: return false;
    }
}

bool is_plain_at_a_glance(std::string_view name) {
    constexpr std::size_t kShortest = 3;
    std::array<char, 48> letters;
    std::size_t count = 0;
    if (name.size() < kShortest) return true;
    if (name.size() > letters.size()) return false;
    for (const char c : name) {
        const auto lower = static_cast<char>(c | 0x20);
        if (is_lower(lower)) {
            letters[count++] = lower;
        } else if ((static_cast<unsigned char>(c) & 0x80) != 0) {
            return false;
        }
    }
    for (std::size_t i = 0; i + kShortest <= count; ++i) {
        if (begins_tell_tale({letters.data() + i, count - i})) return false;
    }
    return true;
}

}  // namespace

KeyKind classify_key(std::string_view name) {
    return is_plain_at_a_glance(name) ? KeyKind::plain : classify_key_in_full(name);
}

KeyKind classify_key_in_full(std::string_view name) {
    const auto segments = split(name, true);
    if (counts_tokens(segments)) {
        return KeyKind::plain;
    }
    // Without camelCase too: "ToKeN" has borders where no word ends.
    if (!announces_secret(segments) && !announces_secret(split(name, false))) {
        return KeyKind::plain;
    }
    return !segments.empty() && contains(kQuantities, segments.back()) ? KeyKind::quantity
                                                                       : KeyKind::sensitive;
}

}  // namespace callgate::redact
