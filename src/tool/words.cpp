#include "tool/words.h"

#include <utility>

#include <callgate/registry.h>

namespace callgate {

namespace {

// The position of a word is the value of its enumerator.
constexpr std::array<std::string_view, 4> kProviders{"native", "process", "http", "mcp"};
constexpr std::array<std::string_view, 3> kKinds{"function", "action", "adapter"};
constexpr std::array<std::string_view, 3> kHealth{"healthy", "degraded", "unavailable"};

template <class Enum, std::size_t N>
std::string_view word_of(const std::array<std::string_view, N>& words, Enum value) noexcept {
    const auto at = static_cast<std::size_t>(value);
    return at < N ? words[at] : std::string_view("invalid");
}

template <class Enum, std::size_t N>
std::optional<Enum> value_of(const std::array<std::string_view, N>& words, std::string_view text) noexcept {
    for (std::size_t i = 0; i < N; ++i) {
        if (words[i] == text) return static_cast<Enum>(i);
    }
    return std::nullopt;
}

}  // namespace

std::string_view to_string(Autonomy level) noexcept {
    return word_of(kAutonomyWords, level);
}

std::optional<Autonomy> autonomy_from_string(std::string_view text) noexcept {
    return value_of<Autonomy>(kAutonomyWords, text);
}

std::string_view to_string(InputRequest::Kind kind) noexcept {
    switch (kind) {
        case InputRequest::Kind::form: return "form";
        case InputRequest::Kind::url: return "url";
        case InputRequest::Kind::sampling: return "sampling";
        case InputRequest::Kind::roots: return "roots";
    }
    return "form";
}

std::string_view to_string(EffectClass effect) noexcept {
    return word_of(kEffectWords, effect);
}

std::optional<EffectClass> effect_class_from_string(std::string_view text) noexcept {
    return value_of<EffectClass>(kEffectWords, text);
}

std::string_view to_string(Risk risk) noexcept {
    return word_of(kRiskWords, risk);
}

std::optional<Risk> risk_from_string(std::string_view text) noexcept {
    return value_of<Risk>(kRiskWords, text);
}

std::string_view to_string(ProviderType provider) noexcept {
    return word_of(kProviders, provider);
}

std::string_view to_string(ToolKind kind) noexcept {
    return word_of(kKinds, kind);
}

std::string_view to_string(HealthStatus status) noexcept {
    return word_of(kHealth, status);
}

}  // namespace callgate
