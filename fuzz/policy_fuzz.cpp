// Any JSON document as a policy: it is refused with a reason and a place, or it can be put in force, or set()
// says why not; and no call is ever executed at A0.
#include <cstdint>
#include <string_view>

#include <callgate/policy.h>

#include "policy/compiled.h"
#include "policy/schema_facts.h"
#include "policy/time_window.h"
#include "require.h"

using namespace callgate;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto document = json::parse({reinterpret_cast<const char*>(data), size});
    if (!document) return 0;
    const auto config = policy_from_json(*document);
    if (!config) {
        require(config.error().code == ErrorCode::config_error, "a refusal has the code config_error");
        require(config.error().details.contains("reason"), "a refusal names its reason");
        require(config.error().details.contains("path"), "a refusal names its place");
        return 0;
    }
    const auto compiled = policy::Compiled::make(*config, 1);
    if (!compiled) {
        require(compiled.error().code == ErrorCode::config_error, "a refusal has the code config_error");
        require(compiled.error().details.contains("reason"), "a refusal names its reason");
        return 0;
    }
    const policy::Compiled& policy = **compiled;
    for (const Gate gate : policy.config().matrix[0]) {
        require(gate == Gate::preview || gate == Gate::deny, "nothing is executed at A0");
    }
    require(policy.raising().size() + policy.deciding().size() == config->rules.size(), "no rule is lost");
    for (const Rule& rule : policy.config().rules) {
        require(!rule.id.empty(), "every rule has an id");
        if (!rule.arguments) continue;
        const bool never = policy::never_satisfied(*rule.arguments).has_value();
        require(!never || !policy::always_satisfied(*rule.arguments),
                "a schema is not both impossible and always met");
    }
    for (int hour = 0; hour < 48; ++hour) {
        static_cast<void>(policy.quiet(base::ManualClock::kStart + std::chrono::hours(hour)));
    }
    static_cast<void>(policy.destructive("delete_everything"));
    static_cast<void>(policy.secret("secrets:mail"));
    return 0;
}
