// What a tool logs in with: handed out for one function call, and masked wherever it turns up afterwards.
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include <callgate/callgate.h>

namespace cg = callgate;

namespace {

// Logs in, and tells more than it should.
cg::Result<std::string> log_in(const std::string& as, cg::CallContext& context) {
    std::string answer;
    auto used = context.with_secret("password", [&](const cg::Secret& password) {
        answer = as + " is logged in with " + std::string(password.expose());
    });
    if (!used) return tl::unexpected(used.error());
    return answer;
}

}  // namespace

int main() {
    const auto secrets = std::make_shared<cg::MemorySecrets>();
    if (!secrets->set("mail", "password", "hunter2-and-more")) return 1;
    // Too short to be masked without shredding everything else.
    if (const auto refused = secrets->set("mail", "pin", "1234"); !refused)
        std::cout << "pin: " << refused.error().message << '\n';

    cg::RuntimeOptions options;
    options.secrets = secrets;
    cg::Runtime runtime(std::move(options));
    for (const char* connector : {"mail", "calendar"}) {
        runtime.tools().add_or_throw(
            cg::tool("log_in_" + std::string(connector), "Log in", log_in, cg::param("as"))
                .connector(connector)
                .risk(cg::Risk::low)
                .effect(cg::EffectClass::read));
    }

    const cg::Outcome mail = runtime.call("log_in_mail", {{"as", "ada"}});
    std::cout << to_string(mail.state()) << ": " << mail.text() << '\n';
    // Another connector's tool does not get it.
    const cg::Outcome calendar = runtime.call("log_in_calendar", {{"as", "ada"}});
    std::cout << to_string(calendar.state()) << ": " << calendar.error()->message << '\n';
    return mail.ok() && mail.text().find("hunter2") == std::string::npos && !calendar.ok() ? 0 : 1;
}
