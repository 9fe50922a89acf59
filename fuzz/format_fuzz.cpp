// Formats and URIs: the first byte picks a format, the rest is the text. Text that is not UTF-8 goes only to
// the URI functions, which take any bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "schema/format.h"
#include "schema/uri.h"

namespace {

using namespace callgate::schema;

void require(bool held) {
    if (!held) std::abort();
}

void check_uri(std::string_view text) {
    // Cut at the first space, so that an input can hold a base and a reference.
    const std::size_t space = text.find(' ');
    const std::string_view base = text.substr(0, space);
    const std::string_view reference = space == text.npos ? text : text.substr(space + 1);
    const std::string resolved = resolve_reference(base, reference);
    require(resolved.size() <= base.size() + reference.size() + 4);
    require(!is_uri(base) || !is_uri_reference(reference) || is_uri(resolved));
    require(!is_iri(base) || !is_iri_reference(reference) || is_iri(resolved));
    require(split_fragment(resolved).second == split_uri(reference).fragment);
    require(percent_decode(text).size() <= text.size());
}

void check_format(Format format, std::string_view text) {
    const bool matches = matches_format(format, text);
    if (!matches) return;
    switch (format) {
        case Format::date_time: return require(matches_format(Format::date, text.substr(0, 10)));
        case Format::email: return require(matches_format(Format::idn_email, text));
        case Format::hostname: return require(matches_format(Format::idn_hostname, text));
        case Format::uri: return require(is_uri_reference(text) && is_iri(text));
        case Format::iri: return require(is_iri_reference(text));
        case Format::json_pointer:
            return require(matches_format(Format::relative_json_pointer, "0" + std::string(text)));
        default: return;
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr unsigned kFormats = static_cast<unsigned>(Format::regex) + 1;
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    check_uri(text);
    if (callgate::base::is_valid_utf8(text)) check_format(static_cast<Format>(data[0] % kFormats), text);
    return 0;
}
