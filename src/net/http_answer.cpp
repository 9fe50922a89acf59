#include "net/http_answer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include <fmt/format.h>

#include "net/http_head.h"
#include "net/out_queue.h"
#include "wire/header_value.h"

namespace callgate::net {
namespace {

bool is_our_own(std::string_view name) noexcept {
    switch (name.size()) {
        case 4: return same_ignoring_case(name, "date");
        case 10: return same_ignoring_case(name, "connection") || same_ignoring_case(name, "keep-alive");
        case 14: return same_ignoring_case(name, "content-length");
        case 17: return same_ignoring_case(name, "transfer-encoding");
        default: return false;
    }
}

void append_number(std::string& out, std::size_t number) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    out.append(digits.data(), end.ptr);
}

}  // namespace

std::string_view status_text(int status) noexcept {
    switch (status) {
        case 100: return "Continue";
        case 200: return "OK";
        case 201: return "Created";
        case 202: return "Accepted";
        case 204: return "No Content";
        case 301: return "Moved Permanently";
        case 302: return "Found";
        case 303: return "See Other";
        case 304: return "Not Modified";
        case 307: return "Temporary Redirect";
        case 308: return "Permanent Redirect";
        case 400: return "Bad Request";
        case 401: return "Unauthorized";
        case 403: return "Forbidden";
        case 404: return "Not Found";
        case 405: return "Method Not Allowed";
        case 406: return "Not Acceptable";
        case 408: return "Request Timeout";
        case 409: return "Conflict";
        case 410: return "Gone";
        case 411: return "Length Required";
        case 412: return "Precondition Failed";
        case 413: return "Content Too Large";
        case 414: return "URI Too Long";
        case 415: return "Unsupported Media Type";
        case 417: return "Expectation Failed";
        case 421: return "Misdirected Request";
        case 422: return "Unprocessable Content";
        case 425: return "Too Early";
        case 426: return "Upgrade Required";
        case 428: return "Precondition Required";
        case 429: return "Too Many Requests";
        case 431: return "Request Header Fields Too Large";
        case 500: return "Internal Server Error";
        case 501: return "Not Implemented";
        case 502: return "Bad Gateway";
        case 503: return "Service Unavailable";
        case 504: return "Gateway Timeout";
        case 505: return "HTTP Version Not Supported";
        default: return "";
    }
}

bool has_body(int status) noexcept {
    return status >= 200 && status != 204 && status != 304;
}

void append_head(std::string& out, int status, const HttpHeaders& headers, const HttpFraming& framing,
                 std::string_view date) {
    // With room for a small body, which is joined to it.
    std::size_t room = 128 + std::min(framing.size.value_or(0), OutQueue::kJoined);
    for (const auto& [name, value] : headers) room += name.size() + value.size() + 4;
    out.reserve(out.size() + room);
    out += "HTTP/1.1 ";
    append_number(out, static_cast<std::size_t>(status < 100 || status > 999 ? 500 : status));
    out += ' ';
    out += status_text(status);
    out += "\r\n";
    out += date;
    for (const auto& [name, value] : headers) {
        if (!wire::is_token(name) || !wire::is_value(value) || is_our_own(name)) continue;
        out += name;
        out += ": ";
        out += value;
        out += "\r\n";
    }
    if (!framing.content_type.empty()) {
        out += "Content-Type: ";
        out += framing.content_type;
        out += "\r\n";
    }
    if (framing.chunked) out += "Transfer-Encoding: chunked\r\n";
    if (framing.size) {
        out += "Content-Length: ";
        append_number(out, *framing.size);
        out += "\r\n";
    }
    if (framing.close) {
        out += "Connection: close\r\n";
    } else if (framing.keep_alive) {
        out += "Connection: keep-alive\r\n";
    }
    out += "\r\n";
}

std::string_view HttpDate::line() {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (now.tv_sec == second_) return line_;
    second_ = now.tv_sec;
    std::tm parts{};
    ::gmtime_r(&now.tv_sec, &parts);
    constexpr std::array<const char*, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    constexpr std::array<const char*, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    line_ = fmt::format("Date: {}, {:02} {} {} {:02}:{:02}:{:02} GMT\r\n",
                        kDays.at(static_cast<std::size_t>(parts.tm_wday)), parts.tm_mday,
                        kMonths.at(static_cast<std::size_t>(parts.tm_mon)), parts.tm_year + 1900,
                        parts.tm_hour, parts.tm_min, parts.tm_sec);
    return line_;
}

}  // namespace callgate::net
