#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <callgate/tool.h>

namespace callgate {

namespace {

ToolFailure nothing_to_run(std::string message) {
    return {Error(ErrorCode::no_implementation, std::move(message)), Applied::no};
}

class FunctionBody final : public ToolBody {
public:
    explicit FunctionBody(ToolFunction run) : run_(std::move(run)) {}

    [[gnu::hot]] ToolReturn run(const Object& arguments, CallContext& context) override {
        return run_(arguments, context);
    }

private:
    ToolFunction run_;
};

class ActionBody final : public ToolBody {
public:
    ActionBody(ToolFunction run, ActionHooks hooks) : run_(std::move(run)), hooks_(std::move(hooks)) {}

    ToolReturn run(const Object& arguments, CallContext& context) override {
        ToolReturn answer = run_(arguments, context);
        if (!answer) return answer;
        if (hooks_.after_run) hooks_.after_run(*answer);
        if (!hooks_.before_output) return answer;
        Result<ToolResult> changed = hooks_.before_output(std::move(*answer));
        // The run itself is over, so the failure is definite and must not lead to another one.
        if (!changed) return tl::unexpected(ToolFailure(std::move(changed.error()), Applied::answered));
        return std::move(*changed);
    }

    const ActionHooks* hooks() const noexcept override { return &hooks_; }

private:
    ToolFunction run_;
    ActionHooks hooks_;
};

class AdapterBody final : public ToolBody {
public:
    explicit AdapterBody(std::vector<AdapterAction> actions) : actions_(std::move(actions)) {}

    ToolReturn run(const Object& arguments, CallContext& context) override {
        const AdapterAction* action = find(context.action());
        if (action == nullptr)
            return tl::unexpected(ToolFailure(
                Error(ErrorCode::unknown_action, fmt::format("There is no action \"{}\".", context.action())),
                Applied::no));
        if (!action->run)
            return tl::unexpected(
                nothing_to_run(fmt::format("The action \"{}\" has no implementation.", action->name)));
        return action->run(arguments, context);
    }

    bool has_preview() const noexcept override {
        return std::ranges::any_of(actions_,
                                   [](const AdapterAction& action) { return action.preview != nullptr; });
    }

    Result<Preview> preview(const Object& arguments, CallContext& context) override {
        const AdapterAction* action = find(context.action());
        if (action == nullptr || !action->preview) return ToolBody::preview(arguments, context);
        return action->preview(arguments, context);
    }

    std::vector<std::string> actions() const override {
        std::vector<std::string> names;
        for (const AdapterAction& action : actions_) names.push_back(action.name);
        return names;
    }

    ScopeSet scopes_required(std::string_view name) const override {
        const AdapterAction* action = find(name);
        return action != nullptr ? action->scopes : ScopeSet{};
    }

private:
    const AdapterAction* find(std::string_view name) const noexcept {
        const auto found = std::ranges::find(actions_, name, &AdapterAction::name);
        return found != actions_.end() ? &*found : nullptr;
    }

    std::vector<AdapterAction> actions_;
};

}  // namespace

// The defaults of virtual functions, which take what an override would keep.
// NOLINTBEGIN(performance-unnecessary-value-param)
void CallContext::start(std::string_view tool, Args args, std::function<void(Outcome)> done,
                        std::stop_token /*also*/) {
    done(call(tool, std::move(args)));
}

void CallContext::partial_more(Value piece) {
    partial(std::move(piece));
}

bool CallContext::can_ask(InputRequest::Kind /*kind*/) const {
    return false;
}

void CallContext::ask(InputRequest request, std::function<void(Result<InputAnswer>)> answered) {
    answered(ask(std::move(request)));
}

Result<InputAnswer> CallContext::ask(InputRequest request) {
    return fail(ErrorCode::unavailable,
                fmt::format("The caller cannot be asked for this ({}).", to_string(request.kind)),
                {{"reason", "cannot_ask"}});
}

ToolReturn ToolBody::run(const Object&, CallContext&) {
    return tl::unexpected(nothing_to_run("The tool has no function to run."));
}

void ToolBody::start(std::shared_ptr<Attempt> attempt) {
    attempt->finish(tl::unexpected(nothing_to_run("The tool has no function to start.")));
}
// NOLINTEND(performance-unnecessary-value-param)

Result<Preview> ToolBody::preview(const Object&, CallContext&) {
    Preview none("The tool cannot say in advance what it would do.");
    none.supported = false;
    return none;
}

Reconciliation ToolBody::reconcile(std::string_view, const Object&, CallContext&) {
    return Reconciliation::Verdict::cannot_tell;
}

ScopeSet ToolBody::scopes_required(std::string_view) const {
    return {};
}

// An empty function makes a tool without a body: known, listed, and refused as no_implementation when called.

Tool schema_tool(ToolDefinition definition, ToolFunction run) {
    return {std::move(definition), run ? std::make_shared<FunctionBody>(std::move(run)) : nullptr};
}

Tool action_tool(ToolDefinition definition, ToolFunction run, ActionHooks hooks) {
    Tool tool(std::move(definition),
              run ? std::make_shared<ActionBody>(std::move(run), std::move(hooks)) : nullptr);
    tool.kind = ToolKind::action;
    return tool;
}

Tool adapter_tool(ToolDefinition definition, std::vector<AdapterAction> actions) {
    Contract contract;
    for (const AdapterAction& action : actions) {
        if (!action.scopes.empty()) contract.action_scopes.insert_or_assign(action.name, action.scopes);
        if (action.risk) contract.risk_map.insert_or_assign(action.name, *action.risk);
        if (action.effect) contract.effect_map.insert_or_assign(action.name, *action.effect);
    }
    Tool tool(std::move(definition),
              actions.empty() ? nullptr : std::make_shared<AdapterBody>(std::move(actions)));
    tool.contract = std::move(contract);
    tool.kind = ToolKind::adapter;
    return tool;
}

}  // namespace callgate
