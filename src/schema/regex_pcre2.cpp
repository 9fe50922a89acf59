#include "schema/regex_pcre2.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <cstdint>

namespace callgate::schema {
namespace {

constexpr std::uint32_t kHeapLimitKiB = 8 * 1'024;
constexpr std::uint32_t kNestLimit = 1'000;
constexpr std::size_t kMaxTranslated = 256u << 10;
constexpr std::uint64_t kBudgetPerMatchLimit = 20;
constexpr std::uint64_t kBudgetPerByte = 64;
constexpr std::size_t kBytesPerStep = 64;  ///< of a captured text, compared in one step

template <auto Release>
struct Releaser {
    template <class T>
    void operator()(T* object) const noexcept {
        Release(object);
    }
};
using CompileContext = std::unique_ptr<pcre2_compile_context, Releaser<pcre2_compile_context_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Releaser<pcre2_match_context_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Releaser<pcre2_match_data_free>>;

struct Budget {
    std::uint64_t left;
    std::uint64_t step_cost;
    std::size_t last_position = 0;
};

/// Called before every item of the pattern: pays for the step and for the text passed since the last one.
int spend(pcre2_callout_block* block, void* data) {
    auto& budget = *static_cast<Budget*>(data);
    const std::size_t position = block->current_position;
    const std::size_t passed =
        position > budget.last_position ? position - budget.last_position : budget.last_position - position;
    budget.last_position = position;
    const std::uint64_t cost = budget.step_cost + passed;
    if (cost > budget.left) {
        return PCRE2_ERROR_MATCHLIMIT;
    }
    budget.left -= cost;
    return 0;
}

}  // namespace

void Pcre2Pattern::Free::operator()(pcre2_real_code_8* code) const noexcept {
    pcre2_code_free(code);
}

tl::expected<Pcre2Pattern, std::string> Pcre2Pattern::compile(const std::string& pattern,
                                                              bool has_back_reference, unsigned match_limit) {
    const CompileContext context(pcre2_compile_context_create(nullptr));
    if (!context) {
        return tl::unexpected<std::string>("out of memory");
    }
    pcre2_set_parens_nest_limit(context.get(), kNestLimit);
    pcre2_set_max_pattern_length(context.get(), kMaxTranslated);
    int error = 0;
    PCRE2_SIZE offset = 0;
    const std::uint32_t options =
        PCRE2_UTF | PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT;
    std::unique_ptr<pcre2_real_code_8, Free> code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()),
                                                                pattern.size(), options, &error, &offset,
                                                                context.get()));
    if (!code) {
        std::array<PCRE2_UCHAR, 256> text{};
        pcre2_get_error_message(error, text.data(), text.size());
        return tl::unexpected<std::string>(reinterpret_cast<const char*>(text.data()));
    }
    return Pcre2Pattern(std::move(code), has_back_reference, match_limit);
}

RegexMatch Pcre2Pattern::search(std::string_view text) const {
    const MatchContext context(pcre2_match_context_create(nullptr));
    const MatchData data(pcre2_match_data_create(1, nullptr));
    if (!context || !data) {
        return RegexMatch::over_limit;
    }
    Budget budget{kBudgetPerMatchLimit * match_limit_ + kBudgetPerByte * text.size(),
                  has_back_reference_ ? 1 + text.size() / kBytesPerStep : 1};
    pcre2_set_match_limit(context.get(), match_limit_);
    pcre2_set_depth_limit(context.get(), match_limit_);
    pcre2_set_heap_limit(context.get(), kHeapLimitKiB);
    pcre2_set_callout(context.get(), spend, &budget);
    const char* const start = text.empty() ? "" : text.data();
    const int found = pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(start), text.size(), 0, 0,
                                  data.get(), context.get());
    if (found >= 0) {
        return RegexMatch::yes;
    }
    // Anything else than a plain no means that it was not settled; bytes that are not UTF-8 match nothing.
    const bool bad_text = found <= PCRE2_ERROR_UTF8_ERR1 && found >= PCRE2_ERROR_UTF8_ERR21;
    return found == PCRE2_ERROR_NOMATCH || bad_text ? RegexMatch::no : RegexMatch::over_limit;
}

}  // namespace callgate::schema
