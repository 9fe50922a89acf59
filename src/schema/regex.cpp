#include "schema/regex.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/utf8.h"
#include "schema/regex_dfa.h"
#include "schema/regex_emit.h"
#include "schema/regex_parser.h"
#include "schema/regex_pcre2.h"
#include "schema/regex_re2.h"
#include "schema/regex_window.h"

namespace callgate::schema {
namespace {

constexpr std::size_t kMaxValidatedBytes = 64u << 10;
constexpr std::size_t kShownPatternBytes = 200;
// Up to so many property escapes, none of them under a count, RE2 surely compiles with this much memory.
constexpr std::size_t kFewProperties = 16;
constexpr std::size_t kMaxProperties = 64;  // each costs RE2 up to a millisecond to compile
constexpr std::size_t kAmpleRe2Memory = 8u << 20;

/// The head of a pattern, as valid UTF-8 whatever the pattern holds.
std::string shown(std::string_view pattern) {
    std::string out;
    for (std::string_view left = base::truncate_to_bytes(pattern, kShownPatternBytes); !left.empty();) {
        const std::size_t length = base::utf8_sequence_length(left);
        out.append(length == 0 ? std::string_view("?") : left.substr(0, length));
        left.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out;
}

tl::unexpected<Error> refuse(std::string_view pattern, const PatternError& error) {
    const std::string text = shown(pattern);
    std::string message = error.unsupported ? "Unsupported pattern \"" : "Invalid pattern \"";
    message.append(text).append(text.size() < pattern.size() ? "…\": " : "\": ");
    message.append(error.problem).append(", at byte ").append(std::to_string(error.offset));
    message.append("; ").append(error.advice).append(".");
    boost::json::object details;
    details["reason"] = error.unsupported ? "unsupported_pattern" : "bad_pattern";
    details["pattern"] = text;
    details["offset"] = error.offset;
    return fail(ErrorCode::config_error, std::move(message), std::move(details));
}

PatternError unsupported(std::size_t offset, std::string problem, std::string advice) {
    return PatternError{true, offset, std::move(problem), std::move(advice)};
}

std::size_t count_properties(const Ast& ast) {
    std::size_t count = 0;
    for (const CharSet& set : ast.sets) count += set.properties.size();
    return count;
}

bool surely_fits_re2(const Ast& ast, std::size_t memory) {
    const bool counts = std::any_of(ast.nodes.begin(), ast.nodes.end(), [](const Node& node) {
        return node.kind == NodeKind::repeat && (node.min > 1 || (node.max > 1 && node.max != kUnlimited));
    });
    return !counts && count_properties(ast) <= kFewProperties && memory >= kAmpleRe2Memory;
}

}  // namespace

struct Regex::Impl {
    LengthWindow window;
    std::optional<Dfa> dfa;
    std::unique_ptr<Re2Pattern> re2;  ///< with a DFA: settles what it is unsure about
    std::optional<Pcre2Pattern> pcre2;

    tl::expected<void, PatternError> build(Ast& ast, const RegexOptions& options);
    tl::expected<void, std::string> build_re2(const Ast& ast, const RegexOptions& options);
    tl::expected<void, std::string> build_pcre2(const Ast& ast, const RegexOptions& options);
};

tl::expected<void, std::string> Regex::Impl::build_re2(const Ast& ast, const RegexOptions& options) {
    if (count_properties(ast) > kMaxProperties) {
        return tl::unexpected<std::string>("it asks for more than " + std::to_string(kMaxProperties) +
                                           " Unicode properties");
    }
    auto translated = emit_pattern(ast, RegexTarget::re2);
    if (!translated) {
        return tl::unexpected<std::string>(translated.error());
    }
    if (dfa && surely_fits_re2(ast, options.max_re2_memory)) {
        re2 = Re2Pattern::deferred(std::move(*translated), options.max_re2_memory);
        return {};
    }
    auto compiled = Re2Pattern::compile(std::move(*translated), options.max_re2_memory);
    if (!compiled) {
        return tl::unexpected<std::string>(compiled.error());
    }
    re2 = std::move(*compiled);
    return {};
}

tl::expected<void, std::string> Regex::Impl::build_pcre2(const Ast& ast, const RegexOptions& options) {
    const auto translated = emit_pattern(ast, RegexTarget::pcre2);
    if (!translated) {
        return tl::unexpected<std::string>(translated.error());
    }
    auto compiled = Pcre2Pattern::compile(*translated, ast.has_back_reference, options.pcre2_match_limit);
    if (!compiled) {
        return tl::unexpected<std::string>("PCRE2 says: " + compiled.error());
    }
    pcre2.emplace(std::move(*compiled));
    return {};
}

tl::expected<void, PatternError> Regex::Impl::build(Ast& ast, const RegexOptions& options) {
    const std::string advice = "rewrite the pattern, or let the operator allow PCRE2";
    if (ast.foreign_to_all) {
        return tl::unexpected<PatternError>(unsupported(ast.foreign_offset, ast.foreign + " is not supported",
                                                        "spell the alternatives out, e.g. [aA]"));
    }
    if (!ast.foreign.empty()) {
        if (!options.allow_pcre2) {
            return tl::unexpected<PatternError>(unsupported(
                ast.foreign_offset, ast.foreign + " is not supported by the linear-time engine", advice));
        }
        if (auto built = build_pcre2(ast, options); !built) {
            return tl::unexpected<PatternError>(
                unsupported(ast.foreign_offset, ast.foreign + " is not supported here: " + built.error(),
                            "rewrite the pattern"));
        }
        return {};
    }
    window = extract_window(ast);
    if (options.max_dfa_states > 0 && !ast.has_word_boundary) {
        dfa = Dfa::build(ast, options.max_dfa_states);
        if (dfa && !dfa->can_be_unsure()) {
            return {};
        }
    }
    const auto by_re2 = build_re2(ast, options);
    if (by_re2) {
        return {};
    }
    dfa.reset();
    if (options.allow_pcre2 && build_pcre2(ast, options)) {
        return {};
    }
    return tl::unexpected<PatternError>(unsupported(0, "it cannot be run in linear time: " + by_re2.error(),
                                                    "use smaller counts or a simpler pattern"));
}

Regex::Regex(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::compile(std::string_view pattern, const RegexOptions& options) {
    if (pattern.size() > options.max_pattern_bytes) {
        return refuse(
            pattern, unsupported(options.max_pattern_bytes,
                                 "it is " + std::to_string(pattern.size()) + " bytes long and the limit is " +
                                     std::to_string(options.max_pattern_bytes),
                                 "shorten the pattern"));
    }
    PatternSyntax syntax;
    syntax.lenient = true;
    auto ast = parse_pattern(pattern, syntax);
    if (!ast) {
        return refuse(pattern, ast.error());
    }
    auto impl = std::make_unique<Impl>();
    if (auto built = impl->build(*ast, options); !built) {
        return refuse(pattern, built.error());
    }
    return Regex(std::move(impl));
}

bool Regex::is_valid(std::string_view pattern) {
    if (pattern.size() > kMaxValidatedBytes) {
        return false;
    }
    PatternSyntax syntax;
    syntax.simplify = false;
    syntax.max_nesting = kMaxValidatedBytes;
    return parse_pattern(pattern, syntax).has_value();
}

RegexMatch Regex::search(std::string_view text) const {
    const Impl& impl = *impl_;
    if (!impl.window.holds(text)) {
        return RegexMatch::no;
    }
    if (impl.dfa) {
        const DfaVerdict verdict = impl.dfa->search(text);
        if (verdict != DfaVerdict::unsure) {
            return verdict == DfaVerdict::yes ? RegexMatch::yes : RegexMatch::no;
        }
    }
    return impl.re2 ? impl.re2->search(text) : impl.pcre2->search(text);
}

std::size_t Regex::weight() const noexcept {
    constexpr std::size_t kPcre2Weight = 1'000;
    std::size_t weight = impl_->dfa ? impl_->dfa->state_count() : 0;
    if (impl_->re2) weight += impl_->re2->weight();
    if (impl_->pcre2) weight += kPcre2Weight;
    return weight;
}

std::string_view Regex::engine() const noexcept {
    return impl_->dfa ? "dfa" : impl_->re2 ? "re2" : "pcre2";
}

}  // namespace callgate::schema
