#include "tool/contract_check.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "json/pointer.h"
#include "tool/tool_name.h"
#include "tool/tuned_body.h"

namespace callgate {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestTime = std::chrono::hours(1);
constexpr milliseconds kLongestWindow = std::chrono::hours(24 * 31);
constexpr std::uint32_t kMostRetries = 10;
constexpr std::size_t kMostWords = 256;
constexpr std::size_t kLongestWord = 256;
constexpr std::size_t kLongestReference = 1'024;

class Check {
public:
    std::optional<ContractFault> fault;

    void that(bool good, std::string_view place, std::string_view message) {
        if (!good && !fault) fault = ContractFault{fmt::format("contract.{}", place), std::string(message)};
    }

    void time(std::string_view place, milliseconds value, milliseconds least, milliseconds most) {
        that(value >= least && value <= most, place,
             fmt::format("{} is {} ms, and must be from {} ms to {} ms.", place, value.count(), least.count(),
                         most.count()));
    }

    void word(std::string_view place, std::string_view value) {
        if (const auto wrong = word_fault(value, kLongestWord))
            that(false, place, fmt::format("{} \"{}\" {}.", place, shown_name(value), *wrong));
    }

    void optional_word(std::string_view place, std::string_view value) {
        if (!value.empty()) word(place, value);
    }

    void words(std::string_view place, const std::vector<std::string>& values) {
        that(values.size() <= kMostWords, place,
             fmt::format("{} has {} entries, and {} are allowed.", place, values.size(), kMostWords));
        for (const std::string& value : values) word(place, value);
    }

    void pointer(std::string_view place, const std::string& value) {
        if (value.empty()) return;
        if (const auto parsed = json::Pointer::parse(value); !parsed)
            that(false, place,
                 fmt::format("{} is not a JSON pointer such as \"/to\": {}", place, parsed.error().message));
    }

    template <class Map>
    void actions(std::string_view place, const Map& map, const std::vector<std::string>& known) {
        that(map.size() <= kMostWords, place,
             fmt::format("{} has {} entries, and {} are allowed.", place, map.size(), kMostWords));
        for (const auto& entry : map) {
            word(place, entry.first);
            that(known.empty() || std::ranges::binary_search(known, entry.first), place,
                 fmt::format("{} names the action \"{}\", which the tool does not have. It has: {}.", place,
                             shown_name(entry.first), fmt::join(known, ", ")));
        }
    }
};

// Not a reference but the configuration itself.
bool is_configuration(std::string_view text) {
    return text.starts_with('{') || text.starts_with('[') ||
           std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

void check_body(Check& check, const Tool& tool) {
    const ToolBody* body = tool.body.get();
    if (body == nullptr) return;
    if (const auto* tuned = dynamic_cast<const TunedBody*>(body)) {
        if (const char* fault = tuned->fault()) check.that(false, "body", fmt::format("{}.", fault));
    }
    const bool verifies = tool.contract.effect == EffectClass::verify ||
                          std::ranges::any_of(tool.contract.effect_map, [](const auto& entry) {
                              return entry.second == EffectClass::verify;
                          });
    check.that(
        !verifies || body->has_probe(), "effect",
        "its effect class is verify, but it has no probe to ask whether a call took effect. Give it one with "
        "probe(), or use the class unsafe.");
    if (const ActionHooks* hooks = body->hooks(); hooks != nullptr && hooks->compensate)
        check.time("compensation_timeout", hooks->compensation_timeout, milliseconds(1), kLongestTime);
}

}  // namespace

std::optional<ContractFault> contract_fault(const Tool& tool, const std::vector<std::string>& actions) {
    const Contract& contract = tool.contract;
    Check check;
    check.words("scopes", contract.scopes.all());
    check.words("capabilities", contract.capabilities);
    check.optional_word("connector_id", contract.connector_id);
    check.optional_word("server", contract.server);
    check.that(
        contract.config_ref.size() <= kLongestReference && !is_configuration(contract.config_ref),
        "config_ref",
        fmt::format("config_ref must be a reference to a configuration, of at most {} bytes, and not the "
                    "configuration itself.",
                    kLongestReference));

    check.actions("action_scopes", contract.action_scopes, actions);
    for (const auto& entry : contract.action_scopes) check.words("action_scopes", entry.second.all());
    check.actions("risk_map", contract.risk_map, actions);
    check.actions("effect_map", contract.effect_map, actions);

    if (contract.timeout) check.time("timeout", *contract.timeout, milliseconds(1), kLongestTime);
    const RetryPolicy& retry = contract.retry;
    check.that(retry.max_retries <= kMostRetries, "retry",
               fmt::format("retry allows {} retries, and {} are the most.", retry.max_retries, kMostRetries));
    check.time("retry.base_delay", retry.base_delay, milliseconds(0), kLongestTime);
    check.time("retry.max_delay", retry.max_delay, milliseconds(0), kLongestTime);
    check.that(retry.base_delay <= retry.max_delay, "retry.max_delay",
               "retry.max_delay is below retry.base_delay.");
    check.that(std::isfinite(retry.budget) && retry.budget >= 0 && retry.budget <= 1, "retry.budget",
               "retry.budget is a share of first attempts and must be from 0 to 1.");
    if (contract.breaker.failures != 0)
        check.time("breaker.rest", contract.breaker.rest, milliseconds(1), kLongestTime);
    if (contract.limits.calls != 0)
        check.time("limits.window", contract.limits.window, milliseconds(1), kLongestWindow);

    check.pointer("target", contract.target);
    check.pointer("resource_key", contract.resource_key);
    check.pointer("blast_radius", contract.blast_radius);
    check_body(check, tool);
    return std::move(check.fault);
}

}  // namespace callgate
