#include "schema/regex_re2.h"

#include <cstdint>
#include <utility>

#include <re2/re2.h>

namespace callgate::schema {
namespace {

// When its own DFA runs out of memory RE2 walks its program for every byte of the text; beyond this product
// that takes seconds.
constexpr std::uint64_t kMaxRe2Work = 250'000'000;

}  // namespace

Re2Pattern::Re2Pattern(std::string pattern, std::size_t memory)
    : pattern_(std::move(pattern)), memory_(memory) {}
Re2Pattern::~Re2Pattern() = default;

const re2::RE2& Re2Pattern::compiled() const {
    std::call_once(once_, [this] {
        re2::RE2::Options options(re2::RE2::Quiet);
        options.set_never_capture(true);
        options.set_max_mem(static_cast<std::int64_t>(memory_));
        re2_ = std::make_unique<re2::RE2>(pattern_, options);
    });
    return *re2_;
}

tl::expected<std::unique_ptr<Re2Pattern>, std::string> Re2Pattern::compile(std::string pattern,
                                                                           std::size_t memory) {
    std::unique_ptr<Re2Pattern> made(new Re2Pattern(std::move(pattern), memory));
    const re2::RE2& re2 = made->compiled();
    if (!re2.ok()) {
        const bool counts = re2.error_code() == re2::RE2::ErrorRepeatSize;
        return tl::unexpected<std::string>(counts ? "its repetition counts multiply to more than 1000"
                                                  : "it needs more memory than a pattern may use");
    }
    made->weight_ = static_cast<std::size_t>(re2.ProgramSize());
    return made;
}

std::unique_ptr<Re2Pattern> Re2Pattern::deferred(std::string pattern, std::size_t memory) {
    return std::unique_ptr<Re2Pattern>(new Re2Pattern(std::move(pattern), memory));
}

RegexMatch Re2Pattern::search(std::string_view text) const {
    const re2::RE2& re2 = compiled();
    if (!re2.ok() || static_cast<std::uint64_t>(re2.ProgramSize()) * text.size() > kMaxRe2Work) {
        return RegexMatch::over_limit;
    }
    const re2::StringPiece piece(text.data(), text.size());
    return re2.Match(piece, 0, piece.size(), re2::RE2::UNANCHORED, nullptr, 0) ? RegexMatch::yes
                                                                               : RegexMatch::no;
}

}  // namespace callgate::schema
