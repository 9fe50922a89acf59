// A record that outlives the program: keys, outcomes and approvals are still there after a restart.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <callgate/callgate.h>

namespace cg = callgate;

namespace {

// The directory that this run of the example keeps its ledger in; gone when the example ends.
class Scratch {
public:
    Scratch() : path_(std::filesystem::temp_directory_path() / "callgate-example-XXXXXX") {
        std::string name = path_.string();
        if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
        path_ = name;
    }
    ~Scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

std::unique_ptr<cg::Runtime> start(const Scratch& scratch) {
    cg::RuntimeOptions options;
    options.ledger_dir = scratch.path() / "ledger";
    options.ledger_mark_dir = scratch.path() / "marks";
    auto opened = cg::Runtime::open(std::move(options));
    if (!opened) throw std::runtime_error(opened.error().message);
    (*opened)->tools().add_or_throw(cg::tool(
                                        "transfer", "Transfer money",
                                        [](int amount) { return "transferred " + std::to_string(amount); },
                                        cg::param("amount").minimum(1))
                                        .risk(cg::Risk::medium)
                                        .effect(cg::EffectClass::unsafe));
    return std::move(*opened);
}

void show(const char* what, const cg::Outcome& outcome) {
    std::cout << what << ": " << to_string(outcome.state())
              << (outcome.ok() ? ": " + outcome.text() : std::string()) << '\n';
}

}  // namespace

int main() {
    const Scratch scratch;
    cg::Context agent;
    agent.principal = "agent";
    agent.idempotency_key = "invoice-4711";
    std::string call;

    {
        const auto runtime = start(scratch);
        const cg::Outcome asked = runtime->call("transfer", {{"amount", 40}}, agent);
        show("first life, asked", asked);
        call = asked.call_id();
    }
    {
        // The approval is still there, and so is what it was asked for.
        const auto runtime = start(scratch);
        const auto open = runtime->approvals().list();
        if (!open || open->size() != 1) return 1;
        if (!runtime->approvals().approve(open->front().id, "olga")) return 1;
        show("second life, resumed", runtime->resume(call, agent));
    }
    const auto runtime = start(scratch);
    // The key is spent: the same call is answered from the record, and the tool does not run again.
    const cg::Outcome again = runtime->call("transfer", {{"amount", 40}}, agent);
    show("third life, again", again);
    show("third life, other amount", runtime->call("transfer", {{"amount", 41}}, agent));
    return again.replayed() ? 0 : 1;
}
