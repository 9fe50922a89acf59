#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "json/tape.h"
#include "json/tape_fault.h"

namespace callgate::json {

Error Tape::error(std::string_view text) const {
    const auto before = text.substr(0, fault_byte_);
    const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
    const auto line_start = before.rfind('\n');
    const auto column = line_start == std::string_view::npos ? fault_byte_ + 1 : fault_byte_ - line_start;

    std::string_view reason;
    std::string what;
    switch (fault_) {
        case Fault::none: return Error(ErrorCode::internal, "No JSON text was refused.");
        case Fault::too_large:
            return Error(
                ErrorCode::invalid_arguments,
                fmt::format("The JSON text has {} bytes, the limit is {}. Send less, or raise the limit.",
                            text.size(), std::min(limits_.max_bytes, kLargestText)),
                {{"reason", "too_large"}, {"bytes", text.size()}, {"limit", limits_.max_bytes}});
        case Fault::too_deep:
            reason = "too_deep";
            what = fmt::format("arrays and objects are nested more than {} deep",
                               std::min(limits_.max_depth, kDeepest));
            break;
        case Fault::too_many_nodes:
            reason = "too_many_nodes";
            what = fmt::format("the document has more than {} values", limits_.max_nodes);
            break;
        case Fault::unexpected_end:
            reason = "unexpected_end";
            what = "the text ends before the document does";
            break;
        case Fault::unexpected_character: {
            reason = "unexpected_character";
            const auto c = static_cast<unsigned char>(text[fault_byte_]);
            what = c > 0x20 && c < 0x7F ? fmt::format("unexpected character '{}'", static_cast<char>(c))
                                        : fmt::format("unexpected byte 0x{:02X}", c);
            if (text.substr(fault_byte_, 3) == "NaN" || text.substr(fault_byte_, 3) == "Inf")
                what += "; JSON has no NaN or Infinity";
            break;
        }
        case Fault::byte_order_mark:
            reason = "byte_order_mark";
            what = "the text begins with a byte order mark or other non-JSON bytes; send plain UTF-8";
            break;
        case Fault::control_character:
            reason = "control_character";
            what = fmt::format(
                "control character 0x{:02X} inside a string; write it as an escape such as \\n or \\u{:04x}",
                static_cast<unsigned char>(text[fault_byte_]), static_cast<unsigned char>(text[fault_byte_]));
            break;
        case Fault::bad_escape:
            reason = "bad_escape";
            what = "unknown escape in a string; JSON has \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\uXXXX";
            break;
        case Fault::bad_surrogate:
            reason = "bad_surrogate";
            what = "a \\u escape is half of a surrogate pair; it names no character";
            break;
        case Fault::bad_utf8:
            reason = "bad_utf8";
            what = "the bytes are not valid UTF-8";
            break;
        case Fault::bad_number:
            reason = "bad_number";
            what = "malformed number; leading zeros, a bare '.' or sign are not JSON";
            break;
        case Fault::number_out_of_range:
            reason = "number_out_of_range";
            what = "the number is too large for a double";
            break;
        case Fault::inexact_integer:
            reason = "inexact_integer";
            what =
                "the integer has more than 64 bits and no double is exactly this number; send it as a string";
            break;
        case Fault::duplicate_key:
            reason = "duplicate_key";
            what = "the object already has this key";
            break;
        case Fault::trailing_text:
            reason = "trailing_text";
            what = "text follows the document";
            break;
    }
    return Error(
        ErrorCode::invalid_arguments,
        fmt::format("Not valid JSON: {} (line {}, column {}, byte {}).", what, line, column, fault_byte_),
        {{"reason", reason}, {"line", line}, {"column", column}, {"byte", fault_byte_}});
}

}  // namespace callgate::json
