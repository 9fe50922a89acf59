// The Common Event Format: CEF:0|vendor|product|version|signature|name|severity|extension.
// In the header a backslash and a pipe are escaped, in the extension a backslash and an equals sign; line
// breaks become \n and \r there, and a space in the header.

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/try.h"
#include "base/utf8.h"
#include "ledger/audit/export.h"

namespace callgate::ledger {
namespace {

constexpr std::string_view kPrefix = "CEF:0|Callgate|callgate|1|";

bool is_control(char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// Collectors read text: other bytes are shown in hexadecimal.
std::string printable(std::string_view text) {
    return base::is_valid_utf8(text) ? std::string(text) : "hex:" + base::hex_encode(text);
}

std::string in_header(std::string_view text) {
    std::string out;
    for (const char c : printable(text)) {
        if (c == '|' || c == '\\') out += '\\';
        out += is_control(c) ? ' ' : c;
    }
    return out;
}

void append_value(std::string& out, std::string_view text) {
    for (const char c : printable(text)) {
        if (c == '\n') {
            out += "\\n";
        } else if (c == '\r') {
            out += "\\r";
        } else {
            if (c == '=' || c == '\\') out += '\\';
            out += is_control(c) ? ' ' : c;
        }
    }
}

class Extension {
public:
    explicit Extension(std::string& out) : out_(out) {}
    void put(std::string_view key, std::string_view value) {
        if (value.empty()) return;
        out_ += first_ ? "" : " ";
        first_ = false;
        out_ += key;
        out_ += '=';
        append_value(out_, value);
    }
    void put_labelled(std::string_view key, std::string_view label, std::string_view value) {
        if (value.empty()) return;
        put(std::string(key) + "Label", label);
        put(key, value);
    }

private:
    std::string& out_;
    bool first_ = true;
};

/// 0 to 10, as collectors sort by it.
int severity_of(const EventView& view) {
    const std::string type = view.text(Member::type);
    if (type == "tool_call.unknown") return 8;
    if (type == "approval.tampered") return 9;
    if (type == "gate.denied" || type == "gate.hard_blocked" || type == "audit.gap") return 7;
    if (view.raw(Member::outcome) == "failure") return 5;
    return view.raw(Member::risk) == "critical" || view.raw(Member::risk) == "high" ? 4 : 2;
}

std::string payload_of(std::span<const StoredPayload> payloads, std::string_view field) {
    for (const StoredPayload& payload : payloads)
        if (payload.field == field) return payload.bytes;
    return {};
}

}  // namespace

std::string cef_line(const AuditRow& row, std::span<const StoredPayload> payloads) {
    std::string out(kPrefix);
    EventView view;
    if (const auto fault = scan_event(row.bytes, view)) {
        out += "audit.unreadable|This record is no audit event|10|";
        Extension to(out);
        to.put("externalId", std::to_string(row.sequence));
        to.put("msg", fmt::format("{}, at byte {}", fault->what, fault->at));
        return out + "\n";
    }
    const auto text = [&](Member member) {
        return view.has(member) ? view.text(member) : payload_of(payloads, to_string(member));
    };
    const std::string tool = text(Member::tool);
    out += in_header(text(Member::type)) + "|" +
           in_header(text(Member::type) + (tool.empty() ? "" : " " + tool));
    out += fmt::format("|{}|", severity_of(view));
    Extension to(out);
    to.put("rt", std::to_string(view.number(Member::time) / 1000));
    to.put("externalId", std::to_string(view.sequence()));
    to.put("act", text(Member::action));
    to.put("outcome", text(Member::outcome));
    to.put("reason", text(Member::error));
    to.put("suser", text(Member::principal));
    to.put("destinationServiceName", tool);
    to.put("msg", payload_of(payloads, "detail"));
    to.put_labelled("cs1", "callId", text(Member::call));
    to.put_labelled("cs2", "chain", text(Member::chain));
    to.put_labelled("cs3", "hash", base::to_hex(row.hash));
    to.put_labelled("cs4", "approvalId", text(Member::approval));
    to.put_labelled("cs5", "tenant", text(Member::tenant));
    to.put_labelled("cs6", "trace", text(Member::trace));
    to.put_labelled("flexString1", "risk", text(Member::risk));
    to.put_labelled("flexString2", "stage", text(Member::stage));
    return out + "\n";
}

}  // namespace callgate::ledger
