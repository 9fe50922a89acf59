#include "tool/tool_entry.h"

#include <algorithm>
#include <typeinfo>
#include <utility>

#include <fmt/format.h>

#include "base/try.h"
#include "base/utf8.h"
#include "json/size.h"
#include "tool/contract_check.h"
#include "tool/credential_check.h"
#include "tool/tool_name.h"
#include "tool/tuned_body.h"

namespace callgate {

namespace {

constexpr std::size_t kDeepest = 128;
constexpr std::size_t kMostDefinitionBytes = 1u << 20;
constexpr std::size_t kMostActions = 256;

tl::unexpected<Error> refuse(std::string_view name, std::string_view reason, std::string_view what,
                             Object details = {}) {
    details["reason"] = reason;
    details["tool"] = shown_name(name);
    return fail(ErrorCode::config_error,
                fmt::format("Tool \"{}\" cannot be registered: {}", shown_name(name), what),
                std::move(details));
}

bool deeper_than(const Value& value, std::size_t levels) {
    if (value.is_primitive()) return false;
    if (levels == 0) return true;
    if (const Array* array = value.if_array())
        return std::ranges::any_of(*array, [&](const Value& item) { return deeper_than(item, levels - 1); });
    return std::ranges::any_of(value.get_object(),
                               [&](const auto& member) { return deeper_than(member.value(), levels - 1); });
}

// Everything but what the schemas say, in an order that lets no later check meet what an earlier one would
// refuse.
Result<void> check_definition(const ToolDefinition& definition) {
    const std::string& name = definition.name;
    for (const auto& [text, what] : {std::pair<const std::string&, const char*>{definition.title, "title"},
                                     {definition.description, "description"}}) {
        if (const auto at = base::find_invalid_utf8(text))
            return refuse(name, "bad_text", fmt::format("its {} is not UTF-8 at byte {}.", what, *at));
    }
    std::size_t deepest = 0;
    for (const Object* const members : {&definition.annotations, &definition.extra}) {
        for (const auto& member : *members)
            deepest = std::max<std::size_t>(deepest, deeper_than(member.value(), kDeepest) ? 1 : 0);
    }
    if (deepest != 0 || deeper_than(definition.input_schema, kDeepest) ||
        (definition.output_schema && deeper_than(*definition.output_schema, kDeepest)))
        return refuse(
            name, "too_large",
            fmt::format("its schemas or annotations are nested more than {} levels deep.", kDeepest));
    return {};
}

// Arguments are always an object, so a schema for anything else could never be satisfied or would promise too
// much.
Result<void> check_takes_object(const ToolDefinition& definition) {
    const Object* schema = definition.input_schema.if_object();
    if (schema == nullptr)
        return refuse(
            definition.name, "bad_schema",
            "its input schema is not an object. Use {\"type\": \"object\"} for a tool without parameters.",
            {{"place", "input_schema"}});
    const Value* type = schema->if_contains("type");
    if (type == nullptr || (type->is_string() && type->get_string() == "object") ||
        (type->is_array() && type->get_array().size() == 1 && type->get_array()[0] == Value("object")))
        return {};
    return refuse(definition.name, "bad_schema",
                  "its input schema does not have \"type\": \"object\", but arguments are always an object.",
                  {{"place", "input_schema/type"}});
}

Result<schema::Schema> compile(const ToolDefinition& definition, const Value& document,
                               std::string_view which, schema::UnknownMembers unknown) {
    schema::CompileOptions options;
    options.unknown_members = unknown;
    Result<schema::Schema> compiled = schema::Schema::compile(document, options);
    if (compiled) return compiled;
    Error& error = compiled.error();
    Object details = std::move(error.details);
    if (const Value* reason = details.if_contains("reason")) details["schema_reason"] = Value(*reason);
    details["place"] = which;
    return refuse(definition.name, "bad_schema",
                  fmt::format("its {} is not usable: {}",
                              which == "input_schema" ? "input schema" : "output schema", error.message),
                  std::move(details));
}

// Tools of other providers are high until the operator says otherwise; a native one would run as low.
bool nobody_declared(const Contract& contract, const std::vector<std::string>& actions) {
    if (contract.provider != ProviderType::native || contract.risk || contract.effect.declared())
        return false;
    if (actions.empty()) return !contract.risk_map.contains("call") && !contract.effect_map.contains("call");
    return std::ranges::any_of(actions, [&](const std::string& action) {
        return !contract.risk_map.contains(action) && !contract.effect_map.contains(action);
    });
}

std::vector<std::string> sorted_actions(const Tool& tool) {
    std::vector<std::string> actions;
    if (tool.body) actions = tool.body->actions();
    std::ranges::sort(actions);
    return actions;
}

Result<std::vector<std::string>> checked_actions(const Tool& tool) {
    std::vector<std::string> actions = sorted_actions(tool);
    const std::string& name = tool.definition.name;
    if (actions.size() > kMostActions)
        return refuse(name, "bad_contract",
                      fmt::format("it has {} actions, and {} are allowed.", actions.size(), kMostActions));
    for (std::size_t i = 0; i < actions.size(); ++i) {
        if (const auto fault = word_fault(actions[i], 128))
            return refuse(name, "bad_contract",
                          fmt::format("the name of its action \"{}\" {}.", shown_name(actions[i]), *fault));
        if (i > 0 && actions[i] == actions[i - 1])
            return refuse(name, "bad_contract",
                          fmt::format("it has two actions called \"{}\".", shown_name(actions[i])));
    }
    return actions;
}

// A default breaks a rule of its own parameter, so that no call could leave it out. Rules over several
// members depend on what else is sent.
Result<void> check_defaults(const ToolEntry& entry, const schema::Defaults& defaults) {
    Value filled = Object();
    std::vector<std::string> places;
    defaults.fill(filled, &places);
    if (places.empty()) return {};
    filled = entry.input().coerce(filled, entry.contract().coercion).value;
    for (const schema::Violation& violation : entry.input().explain(filled).violations) {
        for (const std::string& place : places) {
            const std::string_view at = violation.instance_path;
            const bool inside = at == place || at.starts_with(place + '/');
            if (!inside || !violation.schema_path.starts_with("#/properties/")) continue;
            return refuse(entry.name(), "bad_default",
                          fmt::format("the default of the parameter '{}' does not fit its schema, and every "
                                      "call without it would be refused: {}",
                                      shown_name(place.substr(1)), violation.message),
                          {{"place", place}});
        }
    }
    return {};
}

// The contract's scopes include what the body cannot do without.
void add_required_scopes(Contract& contract, const ToolBody* body, const std::vector<std::string>& actions) {
    if (body == nullptr) return;
    if (actions.empty()) {
        const ScopeSet required = body->scopes_required("call");
        for (const std::string& scope : required.all()) contract.scopes.add(scope);
    }
    for (const std::string& action : actions) {
        const ScopeSet required = body->scopes_required(action);
        for (const std::string& scope : required.all()) contract.action_scopes[action].add(scope);
    }
}

// What was left out, as it counts from now on.
void fill_in(Contract& contract, const std::string& name) {
    if (!contract.risk) contract.risk = contract.provider == ProviderType::native ? Risk::low : Risk::high;
    if (contract.connector_id.empty()) contract.connector_id = name;
}

bool same_definition(const ToolDefinition& a, const ToolDefinition& b) {
    return a.name == b.name && a.title == b.title && a.description == b.description &&
           a.input_schema == b.input_schema && a.output_schema == b.output_schema &&
           a.annotations == b.annotations;
}

// Of the same class, and alike in what it says about itself.
bool same_sort(const ToolBody* a, const ToolBody* b) {
    if (a == nullptr || b == nullptr) return a == b;
    const ToolBody& one = *a;
    const ToolBody& other = *b;
    if (typeid(one) != typeid(other) || one.mode() != other.mode() ||
        one.has_preview() != other.has_preview() || one.has_probe() != other.has_probe() ||
        (one.hooks() == nullptr) != (other.hooks() == nullptr))
        return false;
    const auto* tuned = dynamic_cast<const TunedBody*>(a);
    return tuned == nullptr ||
           same_sort(tuned->inner().get(), static_cast<const TunedBody&>(other).inner().get());
}

// "" points nowhere; contract_check has parsed the others already.
std::optional<json::Pointer> pointer(const std::string& text) {
    if (text.empty()) return std::nullopt;
    Result<json::Pointer> parsed = json::Pointer::parse(text);
    if (!parsed) return std::nullopt;
    return std::move(*parsed);
}

}  // namespace

Result<std::shared_ptr<ToolEntry>> ToolEntry::make(Tool tool, const Registry::Options& options) {
    const ToolDefinition& definition = tool.definition;
    const std::string& name = definition.name;
    if (const auto fault = tool_name_fault(name, options.max_name_bytes))
        return refuse(name, "bad_name", fmt::format("its name {}.", *fault));
    CALLGATE_TRY(check_definition(definition));
    if (const auto found = find_credential(tool))
        return refuse(
            name, "inline_credential",
            fmt::format("{} holds {}. Put the secret into the secrets store and let the tool ask for it "
                        "with with_secret().",
                        found->place, found->form),
            {{"place", found->place}, {"form", found->form}});

    CALLGATE_TRY(check_takes_object(definition));
    Value whole = definition.to_json();
    if (!definition.extra.empty()) whole.get_object().emplace("extra", definition.extra);
    if (const auto path = json::find_not_finite(whole))
        return refuse(name, "not_finite",
                      fmt::format("its definition has a number at {} that is NaN or infinite, which JSON "
                                  "cannot say.",
                                  *path),
                      {{"place", *path}});
    const std::string canonical = json::canonical(whole);
    if (canonical.size() > kMostDefinitionBytes)
        return refuse(name, "too_large",
                      fmt::format("its definition has {} bytes, and {} are allowed.", canonical.size(),
                                  kMostDefinitionBytes));

    std::shared_ptr<ToolEntry> entry(new ToolEntry);
    CALLGATE_TRY_ASSIGN(auto input,
                        compile(definition, definition.input_schema, "input_schema",
                                tool.contract.open_arguments ? schema::UnknownMembers::as_schema_says
                                                             : schema::UnknownMembers::reject));
    entry->input_.emplace(std::move(input));
    if (definition.output_schema) {
        CALLGATE_TRY_ASSIGN(auto output, compile(definition, *definition.output_schema, "output_schema",
                                                 schema::UnknownMembers::as_schema_says));
        entry->output_.emplace(std::move(output));
    }

    CALLGATE_TRY_ASSIGN(entry->actions_, checked_actions(tool));
    add_required_scopes(tool.contract, tool.body.get(), entry->actions_);
    if (const auto fault = contract_fault(tool, entry->actions_))
        return refuse(name, "bad_contract", fault->message, {{"place", fault->place}});

    Contract& contract = tool.contract;
    entry->undeclared_ = nobody_declared(contract, entry->actions_);
    fill_in(contract, name);
    if (contract.provider == ProviderType::native) {
        entry->defaults_.emplace(definition.input_schema);
        if (entry->defaults_->empty()) entry->defaults_.reset();
    }
    entry->target_ = pointer(contract.target);
    entry->resource_key_ = pointer(contract.resource_key);
    entry->blast_radius_ = pointer(contract.blast_radius);
    entry->definition_hash_ = base::sha256(canonical);
    entry->live_ = std::make_shared<LiveState>(options.degraded_after, contract.breaker, contract.retry);
    entry->tool_ = std::move(tool);
    if (entry->defaults_) CALLGATE_TRY(check_defaults(*entry, *entry->defaults_));
    entry->derive();
    return entry;
}

Tool ToolEntry::declared() const {
    Tool tool = tool_;
    if (undeclared_) tool.contract.risk.reset();  // registration had filled it in
    return tool;
}

bool ToolEntry::is(const Tool& tool) const {
    if (tool.kind != kind() || tool.version() != tool_.version() ||
        !same_definition(tool.definition, definition()) || !same_sort(tool.body.get(), body()))
        return false;
    const std::vector<std::string> actions = sorted_actions(tool);
    if (actions != actions_) return false;
    Contract its = tool.contract;
    add_required_scopes(its, tool.body.get(), actions);
    if (nobody_declared(its, actions) != undeclared_) return false;
    fill_in(its, name());
    return its == contract();
}

void ToolEntry::adopt(std::shared_ptr<LiveState> live) {
    live->follow(contract().breaker, contract().retry);
    live_ = std::move(live);
}

void ToolEntry::derive() {
    const Contract& its = contract();
    runner_ = body();
    if (const auto* tuned = dynamic_cast<const TunedBody*>(body())) runner_ = tuned->inner().get();
    if (body() != nullptr) {
        hooks_ = body()->hooks();
        mode_ = body()->mode();
    }
    needs_scopes_ = !its.scopes.empty() || !its.action_scopes.empty();
    notifies_ = std::ranges::find(its.capabilities, "notification") != its.capabilities.end();
    own_name_ = name();
    own_name_.remove_prefix(own_name_.rfind('/') + 1);  // none: npos + 1 is 0
}

EffectClass ToolEntry::effect_of(std::string_view action) const noexcept {
    const Contract& contract = tool_.contract;
    const auto found = contract.effect_map.find(action);
    return found != contract.effect_map.end() ? found->second : contract.effect;
}

Risk ToolEntry::risk_of(std::string_view action) const noexcept {
    const Contract& contract = tool_.contract;
    const auto found = contract.risk_map.find(action);
    return found != contract.risk_map.end() ? found->second : contract.risk.value_or(Risk::critical);
}

bool ToolEntry::has_action(std::string_view action) const noexcept {
    return std::ranges::binary_search(actions_, action, std::less<>{});
}

const std::string* ToolEntry::missing_of(const ScopeSet& granted, std::string_view action) const noexcept {
    const auto missing = [&](const ScopeSet& required) -> const std::string* {
        for (const std::string& scope : required.all()) {
            if (!granted.contains(scope)) return &scope;
        }
        return nullptr;
    };
    if (const std::string* scope = missing(tool_.contract.scopes)) return scope;
    if (tool_.contract.action_scopes.empty()) return nullptr;
    const auto found = tool_.contract.action_scopes.find(action);
    return found != tool_.contract.action_scopes.end() ? missing(found->second) : nullptr;
}

bool ToolEntry::in_scope(const ScopeSet& granted) const noexcept {
    // Without a list of actions an unnamed one asks for the tool's own scopes alone.
    if (actions_.empty()) return missing_scope(granted, {}) == nullptr;
    return std::ranges::any_of(
        actions_, [&](const std::string& action) { return missing_scope(granted, action) == nullptr; });
}

bool ToolEntry::visible_to(const ScopeSet& granted) const noexcept {
    return live_->status() != HealthStatus::unavailable && !live_->quarantined() &&
           !live_->silenced.load(std::memory_order_relaxed) && in_scope(granted);
}

RegisteredTool ToolEntry::describe() const {
    RegisteredTool out;
    out.definition = tool_.definition;
    out.contract = tool_.contract;
    out.kind = tool_.kind;
    out.definition_hash = base::to_hex(definition_hash_);
    out.supports_preview = tool_.body && tool_.body->has_preview();
    out.health = live_->health();
    out.quarantined = live_->quarantined();
    out.silenced = live_->silenced.load(std::memory_order_relaxed);
    out.undeclared = undeclared_;
    return out;
}

}  // namespace callgate
