// A tool that can tell what it would do, and afterwards, when its program has died, whether it has done it.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <callgate/callgate.h>

namespace cg = callgate;
namespace fs = std::filesystem;

namespace {

// The other side. It remembers what it was sent by the id of each call; here, as a file for each order.
class Shop {
public:
    explicit Shop(fs::path folder) : folder_(std::move(folder)) {}

    void order(const std::string& call_id, const cg::Value& count) const {
        std::ofstream(folder_ / call_id) << cg::json::write(count);
    }
    bool has(std::string_view call_id) const { return fs::exists(folder_ / call_id); }

private:
    fs::path folder_;
};

std::unique_ptr<cg::Runtime> start(const fs::path& folder, bool dies) {
    const Shop shop(folder / "shop");
    cg::RuntimeOptions options;
    options.ledger_dir = folder / "ledger";
    options.ledger_mark_dir = folder / "marks";
    auto opened = cg::Runtime::open(std::move(options));
    if (!opened) throw std::runtime_error(opened.error().message);

    cg::ToolDefinition definition(
        "order", "Order something",
        cg::json::parse(R"({"type": "object", "properties": {"count": {"type": "integer"}},
                            "required": ["count"]})")
            .value());
    const auto run = [shop, dies](const cg::Object& arguments, cg::CallContext& context) -> cg::ToolReturn {
        shop.order(context.call_id(), arguments.at("count"));
        if (dies) std::_Exit(1);  // the order has arrived, and nobody hears of it
        return cg::ToolResult(cg::Value("ordered"));
    };
    const auto preview = [](const cg::Object& arguments, cg::CallContext&) -> cg::Result<cg::Preview> {
        return cg::Preview("Would order " + cg::json::write(arguments.at("count")) + ".");
    };
    const auto probe = [shop](std::string_view call_id, const cg::Object&,
                              cg::CallContext&) -> cg::Reconciliation {
        using enum cg::Reconciliation::Verdict;
        if (!shop.has(call_id)) return not_applied;
        return {applied, cg::ToolResult(cg::Value("ordered, as the shop says"))};
    };
    (*opened)->tools().add_or_throw(cg::schema_tool(definition, run)
                                        .preview(preview)
                                        .probe(probe)
                                        .risk(cg::Risk::low)
                                        .effect(cg::EffectClass::verify));
    return std::move(*opened);
}

int shop_twice(const fs::path& folder) {
    cg::Context context;
    context.idempotency_key = "order-1";
    const cg::Args arguments = {{"count", 3}};

    // A program that dies in the middle of the call.
    const pid_t child = fork();
    if (child == 0) {
        start(folder, true)->call("order", arguments, context);
        std::_Exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 1) return 1;

    // The next one asks the probe; the tool does not run again.
    const auto runtime = start(folder, false);
    const cg::Outcome preview = runtime->preview("order", arguments);
    std::cout << to_string(preview.state()) << ": " << preview.preview()->summary << '\n';
    const auto report = runtime->reconcile();
    if (!report) return 1;
    std::cout << "in doubt: " << report->probed << ", applied: " << report->applied << '\n';
    const cg::Outcome again = runtime->call("order", arguments, context);
    std::cout << to_string(again.state()) << ": " << again.text() << '\n';
    return again.replayed() && again.ok() ? 0 : 1;
}

}  // namespace

int main() {
    std::string folder = (fs::temp_directory_path() / "callgate-example-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) return 1;
    fs::create_directory(fs::path(folder) / "shop");
    const int code = shop_twice(folder);
    fs::remove_all(folder);
    return code;
}
