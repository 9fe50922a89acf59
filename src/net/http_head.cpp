#include "net/http_head.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>

namespace callgate::net {
namespace {
namespace http = boost::beast::http;
using boost::beast::error_code;

// Beast's parser without its containers: fields stay where they are in the head's bytes.
class HeadParser final : public http::basic_parser<true> {
public:
    explicit HeadParser(HttpHead& head) : head_(head) {
        skip(true);  // bodies are read elsewhere
        header_limit(std::numeric_limits<std::uint32_t>::max());
    }

    std::optional<HttpRefusal> judge() {
        error_code error;
        put(boost::asio::buffer(std::as_const(head_.bytes)), error);
        if (refusal_) return std::move(refusal_);
        if (error) return malformed(error);
        head_.keeps_alive = keep_alive();
        return judge_whole();
    }

private:
    using Text = boost::beast::string_view;

    void on_request_impl(http::verb, Text method, Text target, int version, error_code& error) override {
        head_.one_one = version == 11;
        head_.method = span(method);
        head_.target = span(target.substr(0, target.find('#')));
        const std::string_view sent = head_.text(head_.target);
        const bool form = sent.starts_with('/') || (sent == "*" && head_.text(head_.method) == "OPTIONS") ||
                          sent.starts_with("http://") || sent.starts_with("https://");
        if (!form || !std::ranges::all_of(sent, [](char c) { return c > ' ' && c < 127; }))
            refuse(error, 400, "The target of the request is malformed.");
    }

    void on_field_impl(http::field field, Text name, Text value, error_code& error) override {
        head_.fields.push_back({span(name), span(value)});
        switch (field) {
            case http::field::host:
                if (hosts_++ > 0) return refuse(error, 400, "There are several Host headers.");
                head_.host = span(value);
                break;
            case http::field::content_length: return take_length({value.data(), value.size()}, error);
            case http::field::transfer_encoding: return take_encoding({value.data(), value.size()}, error);
            case http::field::expect:
                if (!same_ignoring_case({value.data(), value.size()}, "100-continue"))
                    return refuse(error, 417, "Only 100-continue can be expected here.");
                head_.expects_continue = head_.one_one;
                break;
            default: break;
        }
    }

    void take_length(std::string_view value, error_code& error) {
        if (lengths_++ > 0) return refuse(error, 400, "There are several Content-Length headers.");
        const bool digits = std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
        if (value.empty() || value.size() > 18 || !digits)
            return refuse(error, 400, "Content-Length is no length.");
        for (const char c : value) head_.body_size = 10 * head_.body_size + static_cast<unsigned>(c - '0');
        head_.body = head_.body_size > 0 ? HttpHead::Body::sized : HttpHead::Body::none;
    }

    void take_encoding(std::string_view value, error_code& error) {
        if (encodings_++ > 0) return refuse(error, 400, "There are several Transfer-Encoding headers.");
        if (!head_.one_one) return refuse(error, 400, "HTTP/1.0 knows no Transfer-Encoding.");
        if (!same_ignoring_case(value, "chunked"))
            return refuse(error, 501, "No Transfer-Encoding but chunked is understood here.");
        head_.body = HttpHead::Body::chunked;
    }

    std::optional<HttpRefusal> judge_whole() {
        if (lengths_ > 0 && encodings_ > 0)
            return HttpRefusal{400, "There are both a Content-Length and a Transfer-Encoding."};
        if (hosts_ == 0 && head_.one_one) return HttpRefusal{400, "There is no Host header."};
        if (head_.body == HttpHead::Body::none) head_.expects_continue = false;
        return std::nullopt;
    }

    static HttpRefusal malformed(const error_code& error) {
        if (error == http::error::bad_version) return {505, "Only HTTP/1.1 and HTTP/1.0 are spoken here."};
        if (error == http::error::bad_content_length || error == http::error::multiple_content_length)
            return {400, "Content-Length is no length, or stands beside another."};
        if (error == http::error::bad_transfer_encoding)
            return {400, "Transfer-Encoding stands beside a Content-Length, or there are several."};
        if (error == http::error::bad_field || error == http::error::bad_value)
            return {400, "A header is malformed."};
        if (error == http::error::bad_method || error == http::error::bad_target)
            return {400, "The request line is malformed."};
        return {400, "This is no HTTP request."};
    }

    // What refuses is kept here; Beast only learns that it has to stop.
    void refuse(error_code& error, int status, const char* text) {
        refusal_ = HttpRefusal{status, text};
        error = http::error::bad_value;
    }

    HttpSpan span(Text text) const noexcept {
        return {static_cast<std::uint32_t>(text.data() - head_.bytes.data()),
                static_cast<std::uint32_t>(text.size())};
    }

    void on_response_impl(int, Text, int, error_code&) override {}
    void on_header_impl(error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(Text body, error_code&) override { return body.size(); }
    void on_chunk_header_impl(std::uint64_t, Text, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, Text body, error_code&) override { return body.size(); }
    void on_finish_impl(error_code&) override {}

    HttpHead& head_;
    std::optional<HttpRefusal> refusal_;
    unsigned hosts_ = 0;
    unsigned lengths_ = 0;
    unsigned encodings_ = 0;
};

constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::optional<HttpRefusal> judge_head(HttpHead& head) {
    return HeadParser(head).judge();
}

bool same_ignoring_case(std::string_view one, std::string_view other) noexcept {
    if (one.size() != other.size()) return false;
    return one == other || std::ranges::equal(one, other, {}, lower, lower);
}

}  // namespace callgate::net
