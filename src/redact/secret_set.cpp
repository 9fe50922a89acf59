#include "redact/secret_set.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace callgate::redact {
namespace {

using base::SecretBytes;

// The helpers of base/encoding return std::string, which nothing wipes; these write where it is wiped.

SecretBytes to_hex(std::string_view value, std::string_view digits) {
    SecretBytes out;
    out.reserve(value.size() * 2);
    for (const char c : value) {
        const auto byte = static_cast<unsigned char>(c);
        out.push_back(digits[byte >> 4]);
        out.push_back(digits[byte & 15]);
    }
    return out;
}

// The characters that `value` alone determines when `offset` unknown bytes (0 to 2) precede it in its group
// of three. A character that it shares with its neighbours is marked by the spill flags.
Pattern to_base64(std::string_view value, std::size_t offset, std::string_view letters) {
    const std::size_t first_bit = 8 * offset;
    const std::size_t end_bit = first_bit + 8 * value.size();
    const std::size_t first = (first_bit + 5) / 6;
    const std::size_t end = end_bit / 6;
    Pattern out;
    out.bytes.reserve(end - first);
    for (std::size_t i = first; i < end; ++i) {
        unsigned digit = 0;
        for (std::size_t bit = 6 * i; bit < 6 * i + 6; ++bit) {
            const std::size_t at = bit - first_bit;
            const unsigned byte = static_cast<unsigned char>(value[at / 8]);
            digit = digit << 1 | (byte >> (7 - at % 8) & 1u);
        }
        out.bytes.push_back(letters[digit]);
    }
    out.spills_left = first_bit % 6 != 0;
    out.spills_right = end_bit % 6 != 0;
    return out;
}

void add_encodings(std::vector<Pattern>& out, std::string_view value) {
    constexpr std::string_view kAlphabets[] = {
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"};
    for (const auto alphabet : kAlphabets) {
        for (std::size_t offset = 0; offset < 3; ++offset) {
            out.push_back(to_base64(value, offset, alphabet));
        }
    }
    for (const std::string_view digits : {"0123456789abcdef", "0123456789ABCDEF"}) {
        out.push_back(Pattern{to_hex(value, digits), false, false});
    }
}

}  // namespace

SecretIndex::SecretIndex(std::span<const SecretBytes> values) {
    std::vector<Pattern> plain;
    std::vector<Pattern> patterns;
    for (const auto& value : values) {
        const auto text = base::view(value);
        plain.push_back(Pattern{value, false, false});
        add_encodings(patterns, text);
        some_have_spaces_ = some_have_spaces_ || text.find(' ') != std::string_view::npos;
        some_are_digits_ = some_are_digits_ ||
                           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    }
    values_ = Automaton(plain);
    std::move(plain.begin(), plain.end(), std::back_inserter(patterns));
    all_ = Automaton(patterns);
}

Result<void> SecretSet::add(std::string_view value) {
    if (value.size() < kMinBytes) {
        return fail(
            ErrorCode::invalid_arguments,
            fmt::format("A secret needs at least {} bytes, this one has {}: shorter ones turn up by chance "
                        "and would be masked in innocent text. Use a longer secret.",
                        kMinBytes, value.size()),
            {{"reason", "secret_too_short"}, {"bytes", value.size()}, {"min", kMinBytes}});
    }
    if (value.size() > kMaxBytes) {
        return fail(
            ErrorCode::invalid_arguments,
            fmt::format("A secret may have at most {} bytes, this one has {}.", kMaxBytes, value.size()),
            {{"reason", "secret_too_long"}, {"bytes", value.size()}, {"max", kMaxBytes}});
    }
    const base::MutexLock lock(mutex_);
    const bool known = std::any_of(values_.begin(), values_.end(),
                                   [value](const auto& other) { return base::view(other) == value; });
    if (known) {
        return {};
    }
    if (total_bytes_ + value.size() > kMaxTotalBytes) {
        return fail(
            ErrorCode::invalid_arguments,
            fmt::format("All secrets together may have at most {} bytes; {} are in use and this one has {} "
                        "more.",
                        kMaxTotalBytes, total_bytes_, value.size()),
            {{"reason", "too_many_secrets"}, {"bytes", total_bytes_}, {"max", kMaxTotalBytes}});
    }
    values_.push_back(base::to_secret(value));
    total_bytes_ += value.size();
    index_.reset();
    return {};
}

std::size_t SecretSet::size() const {
    const base::MutexLock lock(mutex_);
    return values_.size();
}

std::shared_ptr<const SecretIndex> SecretSet::index() const {
    const base::MutexLock lock(mutex_);
    if (!index_) {
        index_ = std::make_shared<const SecretIndex>(values_);
    }
    return index_;
}

}  // namespace callgate::redact
