#include "json/pointer.h"

#include <algorithm>
#include <charconv>

namespace callgate::json {

namespace {

/// The escape's character, or nothing when no escape stands at `tilde`.
std::optional<char> escaped_char(std::string_view text, std::size_t tilde) noexcept {
    if (tilde + 1 == text.size()) return std::nullopt;
    if (text[tilde + 1] == '0') return '~';
    if (text[tilde + 1] == '1') return '/';
    return std::nullopt;
}

/// Unescapes into `out`, which has room for all of `token`. Returns the length, or nothing for a bad escape.
std::optional<std::size_t> unescape(std::string_view token, char* out) noexcept {
    std::size_t length = 0;
    for (std::size_t i = 0; i < token.size(); ++i) {
        char c = token[i];
        if (c == '~') {
            const auto real = escaped_char(token, i);
            if (!real) return std::nullopt;
            c = *real;
            ++i;
        }
        out[length++] = c;
    }
    return length;
}

const Value* step(const Value& value, std::string_view token) noexcept {
    if (const Object* object = value.if_object()) return object->if_contains(token);
    if (const Array* array = value.if_array()) {
        const auto index = array_index(token);
        return index ? array->if_contains(*index) : nullptr;
    }
    return nullptr;
}

const Value* step_escaped(const Value& value, std::string_view token) {
    constexpr std::size_t kInPlace = 256;
    if (token.size() <= kInPlace) {
        char room[kInPlace];
        const auto length = unescape(token, room);
        return length ? step(value, {room, *length}) : nullptr;
    }
    std::string room(token.size(), '\0');
    const auto length = unescape(token, room.data());
    return length ? step(value, {room.data(), *length}) : nullptr;
}

/// Whether every "~" of a pointer's text begins an escape; if not, `bad` is where.
bool escapes_are_valid(std::string_view text, std::size_t& bad) noexcept {
    for (bad = text.find('~'); bad != std::string_view::npos; bad = text.find('~', bad + 2))
        if (!escaped_char(text, bad)) return false;
    return true;
}

tl::unexpected<Error> bad_pointer(std::string message, std::size_t byte) {
    return fail(ErrorCode::invalid_arguments, std::move(message),
                {{"reason", "bad_pointer"}, {"byte", byte}});
}

}  // namespace

Result<Pointer> Pointer::parse(std::string_view text) {
    if (text.size() > kMaxBytes) {
        return bad_pointer("This JSON pointer is " + std::to_string(text.size()) +
                               " bytes long, more than the limit of " + std::to_string(kMaxBytes) +
                               ": point to a place nearer to the root.",
                           kMaxBytes);
    }
    Pointer pointer;
    if (text.empty()) return pointer;
    if (text.front() != '/')
        return bad_pointer(
            "A JSON pointer must be empty or begin with '/', and this one does not: put '/' before "
            "its first name.",
            0);
    std::size_t bad = 0;
    if (!escapes_are_valid(text, bad)) {
        return bad_pointer("In a JSON pointer '~' must be followed by 0 or 1, and the one at byte " +
                               std::to_string(bad) + " is not: write '~0' for '~' and '~1' for '/'.",
                           bad);
    }
    std::size_t begin = 1;
    for (;;) {
        const std::size_t end = std::min(text.find('/', begin), text.size());
        const std::string_view token = text.substr(begin, end - begin);
        std::string& plain = pointer.tokens_.emplace_back(token.size(), '\0');
        plain.resize(*unescape(token, plain.data()));
        if (end == text.size()) return pointer;
        begin = end + 1;
    }
}

std::string Pointer::escape(std::string_view token) {
    std::string text;
    text.reserve(token.size());
    append_token(text, token);
    text.erase(0, 1);
    return text;
}

Pointer& Pointer::push(std::string_view token) {
    tokens_.emplace_back(token);
    return *this;
}

std::string Pointer::to_string() const {
    std::string text;
    for (const std::string& token : tokens_) append_token(text, token);
    return text;
}

const Value* find(const Value& root, const Pointer& pointer) {
    const Value* value = &root;
    for (const std::string& token : pointer.tokens()) {
        value = step(*value, token);
        if (value == nullptr) return nullptr;
    }
    return value;
}

const Value* find(const Value& root, std::string_view pointer_text) {
    const Value* value = &root;
    std::size_t at = 0;
    while (at != pointer_text.size()) {
        if (pointer_text[at] != '/') return nullptr;
        const std::size_t begin = at + 1;
        bool escaped = false;
        for (at = begin; at != pointer_text.size() && pointer_text[at] != '/'; ++at)
            escaped = escaped || pointer_text[at] == '~';
        const std::string_view token = pointer_text.substr(begin, at - begin);
        value = escaped ? step_escaped(*value, token) : step(*value, token);
        if (value == nullptr) return nullptr;
    }
    return value;
}

std::optional<std::size_t> array_index(std::string_view token) noexcept {
    std::size_t index = 0;
    const char* const end = token.data() + token.size();
    const auto [stop, error] = std::from_chars(token.data(), end, index);
    if (error != std::errc() || stop != end) return std::nullopt;
    if (token.size() > 1 && token.front() == '0') return std::nullopt;
    return index;
}

void append_token(std::string& pointer_text, std::string_view token) {
    pointer_text += '/';
    for (;;) {
        const std::size_t plain = std::min(token.find_first_of("~/"), token.size());
        pointer_text += token.substr(0, plain);
        if (plain == token.size()) return;
        pointer_text += token[plain] == '~' ? "~0" : "~1";
        token.remove_prefix(plain + 1);
    }
}

void append_index(std::string& pointer_text, std::size_t index) {
    char digits[24];
    digits[0] = '/';
    pointer_text.append(digits, std::to_chars(digits + 1, digits + sizeof digits, index).ptr);
}

}  // namespace callgate::json
