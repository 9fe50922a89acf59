#include <utility>

#include <callgate/tool.h>

#include "tool/tuned_body.h"

namespace callgate {

namespace {

// Tools are values that may share a body, so a body is never changed: the tool gets another one around it.
template <class Change>
std::shared_ptr<ToolBody> tuned(const std::shared_ptr<ToolBody>& body, Change change) {
    const auto* already = dynamic_cast<const TunedBody*>(body.get());
    Tuning tuning = already ? already->tuning() : Tuning{};
    change(tuning);
    return std::make_shared<TunedBody>(already ? already->inner() : body, std::move(tuning));
}

}  // namespace

Tool& Tool::version(std::string what) & {
    version_ = std::move(what);
    return *this;
}

Tool& Tool::scopes(ScopeSet all) & {
    contract.scopes = std::move(all);
    return *this;
}

Tool& Tool::risk(Risk level) & {
    contract.risk = level;
    return *this;
}

Tool& Tool::risk(std::string action, Risk level) & {
    contract.risk_map.insert_or_assign(std::move(action), level);
    return *this;
}

Tool& Tool::effect(EffectClass what) & {
    contract.effect = what;
    return *this;
}

Tool& Tool::timeout(std::chrono::milliseconds limit) & {
    contract.timeout = limit;
    return *this;
}

Tool& Tool::retries(RetryPolicy policy) & {
    contract.retry = policy;
    return *this;
}

Tool& Tool::limits(UseLimits use) & {
    contract.limits = use;
    return *this;
}

Tool& Tool::connector(std::string id) & {
    contract.connector_id = std::move(id);
    return *this;
}

Tool& Tool::target(std::string pointer) & {
    contract.target = std::move(pointer);
    return *this;
}

Tool& Tool::resource_key(std::string pointer) & {
    contract.resource_key = std::move(pointer);
    return *this;
}

Tool& Tool::capability(std::string name) & {
    contract.capabilities.push_back(std::move(name));
    return *this;
}

Tool& Tool::output(Value schema) & {
    definition.output_schema = std::move(schema);
    return *this;
}

Tool& Tool::open_arguments() & {
    contract.open_arguments = true;
    return *this;
}

Tool& Tool::run_inline() & {
    body = tuned(body, [](Tuning& tuning) { tuning.mode = RunMode::inlined; });
    return *this;
}

Tool& Tool::preview(PreviewFunction make) & {
    body = tuned(body, [&](Tuning& tuning) { tuning.preview = std::move(make); });
    return *this;
}

Tool& Tool::probe(ProbeFunction ask) & {
    body = tuned(body, [&](Tuning& tuning) { tuning.probe = std::move(ask); });
    return *this;
}

}  // namespace callgate
