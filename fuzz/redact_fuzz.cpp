// A secret, a way to cut, and a text: cutting never changes what comes out, and no form of the secret is
// left.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "redact/redactor.h"
#include "require.h"

using namespace callgate;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kSecretBytes = 8;
    if (size < kSecretBytes + 1) return 0;
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const std::string_view secret = input.substr(0, kSecretBytes);
    const std::size_t step = 1 + data[kSecretBytes] % 16;
    const std::string_view text = input.substr(kSecretBytes + 1);

    redact::SecretSet set;
    if (!set.add(secret)) return 0;
    const redact::Redactor redactor(set.index());
    const std::string whole = redactor.redact_text(text);
    // A secret made of pieces of the marker is the one that masking can spell.
    const bool like_marker = secret.find_first_of("[]") != std::string_view::npos ||
                             redact::kMarker.find(secret) != std::string_view::npos;
    require(like_marker || whole.find(secret) == std::string::npos, "the secret is gone");

    auto stream = redactor.stream();
    std::string pieces;
    for (std::size_t at = 0; at < text.size(); at += step) stream.feed(text.substr(at, step), pieces);
    stream.flush(pieces);
    require(pieces == whole, "cutting the text changes nothing");

    if (const auto value = json::parse(text)) {
        const Value masked = redactor.redact(*value);
        Value in_place = *value;
        redactor.redact_in_place(in_place);
        require(json::write(masked) == json::write(in_place), "copying and masking in place give the same");
    }
    return 0;
}
