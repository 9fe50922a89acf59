#include "net/http_access.h"

#include <algorithm>
#include <array>
#include <utility>

#include <arpa/inet.h>

namespace callgate::net {
namespace {

std::string lower_case(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return lower;
}

bool is_name_char(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

bool is_port(std::string_view text) noexcept {
    return text.size() <= 5 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// "[::1]" of "[0:0::1]", and whether it is this machine.
bool read_literal(std::string_view text, HttpHost& host) {
    in6_addr address{};
    if (::inet_pton(AF_INET6, std::string(text).c_str(), &address) != 1) return false;
    std::array<char, INET6_ADDRSTRLEN> shortest{};
    ::inet_ntop(AF_INET6, &address, shortest.data(), shortest.size());
    host.name = "[" + std::string(shortest.data()) + "]";
    host.loopback = IN6_IS_ADDR_LOOPBACK(&address);
    return true;
}

bool read_name(std::string_view text, HttpHost& host) {
    host.name = lower_case(text);
    if (text.empty() || text.size() > 255 || !std::ranges::all_of(host.name, is_name_char)) return false;
    host.loopback = host.name == "localhost" || host.name == "127.0.0.1";
    return true;
}

// With its port, whether or not that is the scheme's own.
std::optional<std::pair<std::string, HttpHost>> read_origin(std::string_view origin) {
    const std::size_t end = origin.find("://");
    if (end == std::string_view::npos || end == 0) return std::nullopt;
    const std::string scheme = lower_case(origin.substr(0, end));
    auto host = read_host(origin.substr(end + 3));
    if (!host) return std::nullopt;
    if (host->port.empty()) host->port = scheme == "https" ? "443" : scheme == "http" ? "80" : "";
    return std::pair(scheme + "://" + host->name + ":" + host->port, std::move(*host));
}

// Of an absolute target, which says it more strongly than Host.
std::optional<std::string_view> target_host(std::string_view target) {
    if (target.starts_with('/')) return std::nullopt;
    const std::size_t begin = target.find("://");
    if (begin == std::string_view::npos) return std::nullopt;
    const std::string_view rest = target.substr(begin + 3);
    return rest.substr(0, rest.find_first_of("/?"));
}

}  // namespace

std::optional<HttpHost> read_host(std::string_view text) {
    HttpHost host;
    std::size_t end = text.find(':');
    if (text.starts_with('[')) {
        end = text.find(']');
        if (end == std::string_view::npos || !read_literal(text.substr(1, end - 1), host))
            return std::nullopt;
        ++end;
    } else if (!read_name(text.substr(0, end), host)) {
        return std::nullopt;
    }
    if (end < text.size()) {
        if (text[end] != ':' || !is_port(text.substr(end + 1))) return std::nullopt;
        host.port = text.substr(end + 1);
    }
    return host;
}

HttpAccessRules::HttpAccessRules(const HttpAccess& access, bool loopback, std::string_view own)
    : any_host_(access.hosts.empty() && !loopback), loopback_origins_(access.origins.empty() && loopback) {
    for (const std::string& text : access.hosts) {
        auto host = read_host(text);
        if (!host || !host->port.empty()) {
            malformed_ = text;
        } else {
            hosts_.push_back(std::move(host->name));
        }
    }
    if (access.hosts.empty() && loopback) {
        hosts_ = {"localhost", "127.0.0.1", "[::1]"};
        if (auto host = read_host(own)) hosts_.push_back(std::move(host->name));
    }
    for (const std::string& text : access.origins) {
        auto origin = read_origin(text);
        if (!origin) {
            malformed_ = text;
        } else {
            origins_.push_back(std::move(origin->first));
        }
    }
}

std::optional<HttpRefusal> HttpAccessRules::judge(const HttpHead& head) const {
    if (head.host.size > 0 || head.one_one) {
        const auto host = read_host(head.text(head.host));
        if (!host) return HttpRefusal{400, "The Host header is no host."};
        if (!allows_host(*host)) return HttpRefusal{403, "This server is not served under this Host."};
    } else if (!any_host_) {
        return HttpRefusal{403, "There is no Host header."};
    }
    if (const auto text = target_host(head.text(head.target))) {
        const auto host = read_host(*text);
        if (!host || !allows_host(*host))
            return HttpRefusal{403, "This server is not served under the host of this target."};
    }
    for (const HttpField& field : head.fields) {
        if (field.name.size == 6 && same_ignoring_case(head.text(field.name), "origin") &&
            !allows_origin(head.text(field.value)))
            return HttpRefusal{403, "Requests of this Origin are not served."};
    }
    return std::nullopt;
}

bool HttpAccessRules::allows_host(const HttpHost& host) const {
    return any_host_ || std::ranges::find(hosts_, host.name) != hosts_.end();
}

bool HttpAccessRules::allows_origin(std::string_view text) const {
    const auto origin = read_origin(text);
    if (!origin) return false;
    if (loopback_origins_ && origin->second.loopback &&
        (origin->first.starts_with("http://") || origin->first.starts_with("https://")))
        return true;
    return std::ranges::find(origins_, origin->first) != origins_.end();
}

}  // namespace callgate::net
