// A way to cut, limits, and bytes: cutting never changes which requests are read or why one is refused, no
// limit is passed, and whoever's request is served is served by its Host.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/http_access.h"
#include "net/http_request_reader.h"
#include "net/http_server.h"
#include "require.h"

using namespace callgate;

namespace {

struct Seen {
    std::string head;
    std::string body;
    int refused = 0;
    std::string text;
    friend bool operator==(const Seen&, const Seen&) = default;
};

void check_request(const net::HttpHead& head, const std::string& body, const net::HttpLimits& limits) {
    require(head.target.size > 0 && head.target.size <= limits.max_target_bytes, "no target is too long");
    require(head.fields.size() <= limits.max_headers, "no more headers than may be");
    require(body.size() <= limits.max_body_bytes, "no body is too large");
    require(head.body == net::HttpHead::Body::chunked || body.size() == head.body_size,
            "a body has its length");
    require(!head.one_one || head.host.size > 0 || head.text(head.host).empty(), "a Host is there");
    for (const net::HttpField& field : head.fields) {
        const std::string_view value = head.text(field.value);
        require(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos,
                "no value breaks a line");
        require(value.empty() || (value.front() != ' ' && value.back() != ' '), "values are trimmed");
    }
}

std::vector<Seen> requests_of(std::string_view bytes, std::size_t step, const net::HttpLimits& limits) {
    using Stage = net::HttpRequestReader::Stage;
    const net::HttpAccessRules rules({}, true);
    std::vector<Seen> all;
    net::HttpRequestReader reader(limits);
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        std::string_view piece = bytes.substr(at, step);
        while (!piece.empty() && reader.stage() != Stage::refused) {
            piece.remove_prefix(reader.feed(piece));
            if (reader.stage() != Stage::whole) continue;
            net::HttpHead head;
            Seen seen;
            reader.take(head, seen.body);
            check_request(head, seen.body, limits);
            seen.head = head.bytes;
            if (const auto refusal = rules.judge(head)) seen.refused = refusal->status;
            all.push_back(std::move(seen));
        }
    }
    if (reader.stage() == Stage::refused)
        all.push_back({"", "", reader.refusal().status, reader.refusal().text});
    return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 4) return 0;
    const std::size_t step = 1 + data[0] % 32;
    net::HttpLimits limits;
    limits.max_target_bytes = data[1];
    limits.max_header_bytes = 2u * data[2];
    limits.max_headers = data[3] % 16;
    limits.max_body_bytes = data[3];
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 4, size - 4);
    require(requests_of(bytes, step, limits) == requests_of(bytes, bytes.size() + 1, limits),
            "cutting changes nothing");
    return 0;
}
