#include <utility>

#include <callgate/secret_stores.h>

#include "base/clock.h"
#include "base/try.h"
#include "os/process.h"
#include "secrets/exec_helper.h"

namespace callgate {

struct ExecSecrets::State {
    explicit State(ExecSecretsOptions options) : helper(launcher, clock, std::move(options)) {}

    os::RealProcessLauncher launcher;
    base::SystemClock clock;
    secrets::ExecHelper helper;
};

ExecSecrets::ExecSecrets(std::unique_ptr<State> state) : state_(std::move(state)) {}
ExecSecrets::~ExecSecrets() = default;

Result<std::unique_ptr<ExecSecrets>> ExecSecrets::make(ExecSecretsOptions options) {
    CALLGATE_TRY(secrets::check(options));
    return std::unique_ptr<ExecSecrets>(new ExecSecrets(std::make_unique<State>(std::move(options))));
}

void ExecSecrets::revoke(std::string_view connector, std::string_view key) {
    state_->helper.revoke(connector, key);
}

void ExecSecrets::revoke_all() {
    state_->helper.revoke_all();
}

Result<Secret> ExecSecrets::load(std::string_view connector, std::string_view key) const {
    CALLGATE_TRY_ASSIGN(const auto value, state_->helper.ask(connector, key));
    return Secret(value.view());
}

}  // namespace callgate
