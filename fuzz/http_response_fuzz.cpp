// A way to cut, limits, and bytes: cutting never changes what is read of an answer or why it is refused, no
// limit is passed, and what was not read is still there to the byte.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "net/http_client.h"
#include "net/http_response_reader.h"
#include "require.h"

using namespace callgate;

namespace {

using Got = net::HttpResponseReader::Got;

struct Seen {
    int status = 0;
    net::HttpHeaders headers;
    std::string body;
    std::string fault;
    std::size_t rest = 0;
    bool keeps_alive = false;
    friend bool operator==(const Seen&, const Seen&) = default;
};

void check_head(const net::HttpResponseHead& head, const net::HttpClientLimits& limits) {
    require(head.status >= 200 && head.status <= 599, "what announces another answer is not handed on");
    require(head.headers.size() <= limits.max_headers, "no more headers than may be");
    std::size_t bytes = 0;
    for (const auto& [name, value] : head.headers) {
        bytes += name.size() + value.size();
        require(!name.empty() && name.find_first_of(" :\t\r\n") == std::string::npos, "names are names");
        require(value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos,
                "no value breaks a line");
        require(value.empty() || (value.front() != ' ' && value.back() != ' '), "values are trimmed");
    }
    require(bytes <= limits.max_head_bytes, "no head is too large");
}

// False: it has ended, in one way or another.
bool take(net::HttpResponseReader& reader, std::string_view& piece, Seen& seen,
          const net::HttpClientLimits& limits) {
    for (;;) {
        const char* before = piece.data();
        switch (reader.next(piece)) {
            case Got::more: require(piece.empty(), "it takes everything or says why not"); return true;
            case Got::head: {
                net::HttpResponseHead head = reader.take_head();
                check_head(head, limits);
                require(seen.status == 0, "there is one head");
                seen.status = head.status;
                seen.headers = std::move(head.headers);
                break;
            }
            case Got::data:
                require(!reader.data().empty() && reader.data().data() >= before,
                        "pieces are of what was given");
                seen.body += reader.data();
                require(seen.body.size() <= limits.max_body_bytes, "no body is too large");
                break;
            case Got::whole: seen.keeps_alive = reader.keeps_alive(); return false;
            case Got::refused: seen.fault = reader.fault().text; return false;
        }
    }
}

Seen read(std::string_view bytes, std::size_t step, const net::HttpClientLimits& limits, bool to_head) {
    net::HttpResponseReader reader(limits, to_head);
    Seen seen;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        std::string_view piece = bytes.substr(at, step);
        const std::size_t behind = bytes.size() - at - piece.size();
        if (!take(reader, piece, seen, limits)) {
            if (seen.fault.empty()) seen.rest = behind + piece.size();
            return seen;
        }
    }
    if (reader.end() == Got::refused) seen.fault = reader.fault().text;
    return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 4) return 0;
    const std::size_t step = 1 + data[0] % 32;
    net::HttpClientLimits limits;
    limits.max_head_bytes = 2u * data[1];
    limits.max_headers = data[2] % 16;
    limits.max_body_bytes = data[3] % 2 == 0 ? data[3] : net::HttpClientLimits::kNoLimit;
    const bool to_head = data[2] >= 240;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 4, size - 4);
    require(read(bytes, step, limits, to_head) == read(bytes, bytes.size() + 1, limits, to_head),
            "cutting changes nothing");
    return 0;
}
