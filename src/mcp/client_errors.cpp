#include "mcp/client_errors.h"

#include <utility>

#include <fmt/format.h>

#include "mcp/members.h"
#include "mcp/message.h"

namespace callgate::mcp {
namespace {

constexpr std::size_t kMaxErrorText = 4'096;

int code_of(const Object& error) {
    const Value* code = error.if_contains("code");
    return code != nullptr && code->is_int64() && code->get_int64() >= INT32_MIN &&
                   code->get_int64() <= INT32_MAX
               ? static_cast<int>(code->get_int64())
               : 0;
}

bool not_understood(int code) {
    return code == codes::kParse || code == codes::kInvalidRequest || code == codes::kMethodNotFound ||
           code == codes::kInvalidParams;
}

ErrorCode meaning_of(int code) {
    switch (code) {
        case codes::kInvalidParams: return ErrorCode::invalid_arguments;
        case codes::kMethodNotFound: return ErrorCode::no_implementation;
        case codes::kResourceNotFound: return ErrorCode::not_found;
        default: return ErrorCode::tool_error;
    }
}

// Cut at a character's beginning.
std::string cut(std::string_view text) {
    if (text.size() <= kMaxErrorText) return std::string(text);
    std::size_t end = kMaxErrorText;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
    return std::string(text.substr(0, end)) + "…";
}

}  // namespace

ClientFailure failure_of(const Object& error, bool begun, int status) {
    ClientFailure failure;
    failure.code = code_of(error);
    failure.status = status;
    const std::string_view said = string_member(error, "message");
    failure.error =
        Error(meaning_of(failure.code),
              said.empty() ? fmt::format("The server answered with error {}.", failure.code) : cut(said),
              {{"reason", "server_error"}, {"rpc_code", failure.code}});
    if (const Value* data = error.if_contains("data")) failure.data = *data;
    failure.applied = not_understood(failure.code) && !begun ? Applied::no : Applied::answered;
    return failure;
}

ClientFailure failure_of(TransportLoss loss) {
    ClientFailure failure;
    failure.error = std::move(loss.error);
    failure.applied = loss.may_have_arrived ? Applied::maybe : Applied::no;
    failure.status = loss.status;
    return failure;
}

ClientFailure bad_result(std::string message, std::string_view reason) {
    ClientFailure failure;
    failure.error = Error(ErrorCode::output_invalid, std::move(message), {{"reason", reason}});
    return failure;
}

ClientFailure not_sent(Error error) {
    ClientFailure failure;
    failure.error = std::move(error);
    failure.applied = Applied::no;
    return failure;
}

}  // namespace callgate::mcp
