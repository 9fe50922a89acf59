// What a server sends to a client, line by line, in both eras: whatever comes, what the client sends is a
// message of one line, every request has one end at most while it lives and one in the end, and each kind of
// fault is reported once.
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mcp/client.h"
#include "require.h"

using namespace callgate;
using namespace callgate::mcp;

namespace {

/// Takes what the client sends, and is the peer's voice.
class FuzzTransport final : public ClientTransport {
public:
    explicit FuzzTransport(bool headers) : headers_(headers) {}
    void begin(TransportPeer& to) override { peer = &to; }
    Result<void> send(OutgoingMessage message) override {
        require(message.text.find('\n') == std::string::npos, "a message is one line");
        require(json::parse(message.text, json::ParseLimits(64u << 20, 256, 10'000'000)).has_value(),
                "and is JSON");
        for (const auto& [name, value] : message.params)
            require(value.find_first_of("\r\n") == std::string::npos, "a header is one line");
        return {};
    }
    bool forget(std::uint64_t /*request*/, bool modern) override { return headers_ && modern; }
    void close() override { peer = nullptr; }
    bool has_headers() const noexcept override { return headers_; }

    TransportPeer* peer = nullptr;

private:
    const bool headers_;
};

class CountingWatcher final : public ClientWatcher {
public:
    void server_fault(ServerFault fault, std::string_view what) override {
        require(++faults_[static_cast<std::size_t>(fault)] == 1, "each kind of fault is reported once");
        require(!what.empty(), "and says what it is");
    }

private:
    std::array<int, kServerFaults> faults_{};
};

class AnyAnswer final : public ClientQuestions {
public:
    InputAbilities abilities() const override {
        InputAbilities can;
        can.form = can.url = can.sampling = can.roots = true;
        return can;
    }
    void ask(InputRequest /*request*/, std::function<void(Result<InputAnswer>)> answered) override {
        answered(InputAnswer::accept(Object{}));
    }
};

constexpr std::string_view kModern =
    R"({"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{}}}})";
constexpr std::string_view kRefusal = R"({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}})";
constexpr std::string_view kLegacy =
    R"({"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{},"resources":{}}}})";

struct Run {
    std::shared_ptr<net::LoopThread> thread = std::make_shared<net::LoopThread>();
    std::shared_ptr<FuzzTransport> transport;
    std::vector<int> ends;

    void turn() {
        thread->context().restart();
        (void)thread->context().poll();
    }
    void say(std::string_view line) {
        if (transport->peer != nullptr) transport->peer->arrived(line, 0, 0);
        turn();
    }
    void expect_end(const std::shared_ptr<Client>& client, ClientRequest request) {
        const std::size_t at = ends.size();
        ends.push_back(0);
        (void)client->start(std::move(request), [this, at](const ClientAnswer& answer) {
            require(++ends[at] == 1, "a request ends once");
            require(answer || !answer.error().error.message.empty(), "and a failure says why");
        });
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::uint8_t how = data[0];
    std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
    Run run;
    run.transport = std::make_shared<FuzzTransport>((how & 2) != 0);
    ClientOptions options;
    options.limits.message = json::ParseLimits(1u << 16, 32, 5'000);
    options.limits.max_pages = 5;
    options.keep_alive = std::chrono::milliseconds(0);
    options.watcher = std::make_shared<CountingWatcher>();
    options.questions = std::make_shared<AnyAnswer>();
    auto client = Client::make(run.thread, options, [&](const Client::Opened& opened) {
        opened(std::shared_ptr<ClientTransport>(run.transport));
    });
    client->connect([](const Result<void>&) {});
    run.turn();
    if ((how & 4) == 0) {  // or else the handshake is the input's, too
        run.say((how & 1) != 0 ? kModern : kRefusal);
        if ((how & 1) == 0) run.say(kLegacy);
    }
    ClientRequest call("tools/call", {{"name", "a"}, {"arguments", Object{{"x", 1}}}});
    call.progress = [](const ClientProgress&) {};
    run.expect_end(client, std::move(call));
    run.expect_end(client, ClientRequest("resources/read", {{"uri", "a:b"}}));
    client->list(ListKind::tools, [](const Result<SharedList>&) {});
    run.turn();
    while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        run.say(rest.substr(0, end));
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    if (const auto& list = client->last_list(ListKind::tools)) {
        require(list->items.size() == list->tools.size(), "each item that was taken is a tool");
        for (const ClientTool& tool : list->tools)
            require(list->tool(tool.definition.name) == &tool, "and has a name of its own");
    }
    client.reset();
    run.turn();
    for (const int count : run.ends) require(count == 1, "every request has ended");
    return 0;
}
