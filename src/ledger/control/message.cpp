#include "ledger/control/message.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/error_table.h"
#include "base/utf8.h"

namespace callgate::ledger {
namespace {

constexpr std::size_t kMaxRequestBytes = 4u << 20;
constexpr std::size_t kMaxAnswerBytes = 16u << 20;
// An answer holds a call's arguments a few levels down, and an array of rows holds many values.
constexpr std::size_t kAnswerDepth = 80;
constexpr std::size_t kAnswerNodes = 1'000'000;

std::size_t length_in(std::string_view head) noexcept {
    std::size_t length = 0;
    for (const char c : head.substr(0, kMessageHead)) length = length << 8 | static_cast<unsigned char>(c);
    return length;
}

tl::unexpected<Error> bad(std::string message, std::string_view reason) {
    return fail(ErrorCode::transport, std::move(message), {{"reason", reason}});
}

tl::unexpected<Error> not_an_answer() {
    return bad("What came over the control socket is no answer. Both ends must be of the same version.",
               "bad_answer");
}

}  // namespace

json::ParseLimits request_limits() noexcept {
    json::ParseLimits limits;
    limits.max_bytes = kMaxRequestBytes;
    return limits;
}

json::ParseLimits answer_limits() noexcept {
    return {kMaxAnswerBytes, kAnswerDepth, kAnswerNodes};
}

std::string framed(const Object& message) {
    return framed_text(json::write(message));
}

std::string framed_text(std::string_view json) {
    std::string out;
    out.reserve(kMessageHead + json.size());
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(json.size() >> shift & 0xFF);
    return out += json;
}

Result<std::optional<Object>> MessageReader::next() {
    if (broken_ || buffer_.size() < kMessageHead) return std::nullopt;
    const std::size_t length = length_in(buffer_);
    if (length > limits_.max_bytes) {
        broken_ = true;
        buffer_.clear();
        return fail(ErrorCode::invalid_arguments,
                    fmt::format("The message has {} bytes; at most {} are taken.", length, limits_.max_bytes),
                    {{"reason", "message_too_large"}, {"bytes", length}, {"max", limits_.max_bytes}});
    }
    if (buffer_.size() - kMessageHead < length) return std::nullopt;
    auto parsed = json::parse(std::string_view(buffer_).substr(kMessageHead, length), limits_);
    buffer_.erase(0, kMessageHead + length);
    if (buffer_.empty()) buffer_.shrink_to_fit();
    if (!parsed) {
        parsed.error().message = "The message is not usable JSON: " + parsed.error().message;
        return tl::unexpected(std::move(parsed.error()));
    }
    if (!parsed->is_object())
        return fail(ErrorCode::invalid_arguments, "The message must be one JSON object.",
                    {{"reason", "not_an_object"}});
    return std::optional<Object>(std::move(parsed->get_object()));
}

Object good_answer(Value result) {
    return {{"ok", true}, {"result", std::move(result)}};
}

Object bad_answer(const Error& error) {
    return {
        {"ok", false},
        {"error", {{"code", to_string(error.code)}, {"message", error.message}, {"details", error.details}}}};
}

Object progress_message(std::uint64_t done, std::uint64_t total) {
    return {{"progress", {{"done", done}, {"total", total}}}};
}

Object text_message(std::string_view piece) {
    if (base::is_valid_utf8(piece)) return {{"text", piece}};
    return {{"base64", base::base64_encode(piece)}};
}

std::optional<std::string> text_in(const Object& message) {
    if (const Value* text = message.if_contains("text"); text != nullptr && text->is_string())
        return std::string(text->get_string());
    if (const Value* bytes = message.if_contains("base64"); bytes != nullptr && bytes->is_string())
        return base::base64_decode(bytes->get_string());
    return std::nullopt;
}

Result<Value> answer_in(Object message) {
    const Value* ok = message.if_contains("ok");
    if (ok == nullptr || !ok->is_bool()) return not_an_answer();
    if (ok->get_bool()) {
        Value* result = message.if_contains("result");
        if (result == nullptr) return not_an_answer();
        return std::move(*result);
    }
    const Value* error = message.if_contains("error");
    if (error == nullptr || !error->is_object()) return not_an_answer();
    const Value* code = error->get_object().if_contains("code");
    const Value* text = error->get_object().if_contains("message");
    const Value* details = error->get_object().if_contains("details");
    if (code == nullptr || !code->is_string() || text == nullptr || !text->is_string())
        return not_an_answer();
    const auto known = base::error_code_from_string(code->get_string());
    if (!known) return not_an_answer();
    return fail(*known, std::string(text->get_string()),
                details != nullptr && details->is_object() ? details->get_object() : Object());
}

}  // namespace callgate::ledger
