// What the official conformance suite wants of a client: conformance-client URL.
//
// The suite starts a server for each scenario and says in the environment which one it is
// (MCP_CONFORMANCE_SCENARIO) and what is to be called (MCP_CONFORMANCE_CONTEXT). Ends with 0 when everything
// that the scenario asks for was answered.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "mcp/client.h"
#include "mcp/client_http.h"
#include "mcp/members.h"
#include "net/http_client.h"
#include "net/loop.h"

namespace {

using namespace callgate;
using namespace callgate::mcp;

constexpr std::chrono::seconds kTime{25};

/// Accepts every form, and fills in what the scenario of requestState wants.
class AgreeableQuestions final : public ClientQuestions {
public:
    explicit AgreeableQuestions(Value content) : content_(std::move(content)) {}
    InputAbilities abilities() const override {
        InputAbilities can;
        can.form = can.sampling = can.roots = true;
        return can;
    }
    void ask(InputRequest request, std::function<void(Result<InputAnswer>)> answered) override {
        switch (request.kind) {
            case InputRequest::Kind::roots: answered(InputAnswer::accept(Array{})); return;
            case InputRequest::Kind::sampling:
                answered(InputAnswer::accept(
                    Object{{"role", "assistant"},
                           {"model", "none"},
                           {"content", Object{{"type", "text"}, {"text", "I have nothing to say."}}}}));
                return;
            default: answered(InputAnswer::accept(content_)); return;
        }
    }

private:
    const Value content_;
};

/// What a connection is to say of its server.
class ToStandardError final : public ClientWatcher {
public:
    void server_fault(ServerFault fault, std::string_view what) override {
        (void)std::fprintf(stderr, "%s: %s\n", std::string(to_string(fault)).c_str(),
                           std::string(what).c_str());
    }
};

/// A client whose functions wait.
class WaitingClient {
public:
    WaitingClient(std::string url, Value content) {
        auto http = net::HttpClient::open(loop_, {});
        if (!http) throw std::runtime_error(http.error().message);
        http_ = std::move(*http);
        ClientOptions options;
        options.name = "callgate-conformance-client";
        options.questions = std::make_shared<AgreeableQuestions>(std::move(content));
        options.watcher = std::make_shared<ToStandardError>();
        const auto open = [this, url = std::move(url)](const Client::Opened& opened) {
            ClientHttpOptions over;
            over.url = url;
            opened(std::shared_ptr<ClientTransport>(ClientHttp::make(loop_.thread(), *http_, over)));
        };
        at_home<void>([&](std::promise<void>& done) {
            client_ = Client::make(loop_.thread(), std::move(options), open);
            done.set_value();
        });
    }
    ~WaitingClient() {
        at_home<void>([&](std::promise<void>& done) {
            client_->disconnect();
            client_.reset();
            done.set_value();
        });
    }
    WaitingClient(const WaitingClient&) = delete;
    WaitingClient& operator=(const WaitingClient&) = delete;

    void connect() {
        must(at_home<Result<void>>([&](std::promise<Result<void>>& done) {
            client_->connect([&](Result<void> result) { done.set_value(std::move(result)); });
        }));
    }
    SharedList list(ListKind kind) {
        return must(at_home<Result<SharedList>>([&](std::promise<Result<SharedList>>& done) {
            client_->list(kind, [&](Result<SharedList> result) { done.set_value(std::move(result)); });
        }));
    }
    ClientResult ask(std::string_view method, Object params) {
        ClientAnswer answer = at_home<ClientAnswer>([&](std::promise<ClientAnswer>& done) {
            client_->start(ClientRequest(std::string(method), std::move(params)),
                           [&](ClientAnswer result) { done.set_value(std::move(result)); });
        });
        if (!answer) throw std::runtime_error(answer.error().error.message);
        return std::move(*answer);
    }
    ClientResult call(std::string_view tool, Object arguments) {
        return ask("tools/call", {{"name", tool}, {"arguments", std::move(arguments)}});
    }

private:
    /// `work` is given a promise to keep, now or later.
    template <class T, class Work>
    T at_home(Work work) {
        std::promise<T> done;
        auto future = done.get_future();
        (void)loop_.thread()->post([&] { work(done); });
        if (future.wait_for(kTime) != std::future_status::ready) {
            // What still runs refers to what is here.
            (void)std::fprintf(stderr, "conformance-client: nothing came in time\n");
            std::quick_exit(1);
        }
        return future.get();
    }
    template <class T>
    static T must(Result<T> result) {
        if (!result) throw std::runtime_error(result.error().message);
        if constexpr (!std::is_void_v<T>) return std::move(*result);
    }

    net::Loop loop_;
    std::unique_ptr<net::HttpClient> http_;
    std::shared_ptr<Client> client_;
};

std::string environment(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before there are threads
    return value == nullptr ? std::string() : std::string(value);
}

std::string name_of(const SharedList& list, std::string_view member) {
    if (list->items.empty()) throw std::runtime_error("a list is empty");
    return std::string(string_member(list->items.front(), member));
}

void use_everything(WaitingClient& client) {
    (void)client.call(name_of(client.list(ListKind::tools), "name"), {});
    (void)client.ask("resources/read", {{"uri", name_of(client.list(ListKind::resources), "uri")}});
    (void)client.ask("prompts/get", {{"name", name_of(client.list(ListKind::prompts), "name")}});
}

void call_as_told(WaitingClient& client, const Value& context) {
    (void)client.list(ListKind::tools);
    for (const Value& one : context.at("toolCalls").as_array()) {
        const Object& call = one.as_object();
        const Object* arguments = object_member(call, "arguments");
        (void)client.call(string_member(call, "name"), arguments == nullptr ? Object{} : *arguments);
    }
}

void echo_the_schema(WaitingClient& client) {
    const SharedList tools = client.list(ListKind::tools);
    const ClientTool* focal = tools->tool("json_schema_2020_12_tool");
    if (focal == nullptr) throw std::runtime_error("the tool is not listed");
    (void)client.call("json_schema_echo", {{"schema", focal->definition.input_schema}});
}

void run(WaitingClient& client, std::string_view scenario, const Value& context) {
    client.connect();
    if (scenario == "http-standard-headers") {
        use_everything(client);
    } else if (scenario == "http-custom-headers") {
        call_as_told(client, context);
    } else if (scenario == "json-schema-2020-12-preservation") {
        echo_the_schema(client);
    } else if (scenario == "http-invalid-tool-headers") {
        for (const ClientTool& tool : client.list(ListKind::tools)->tools)
            (void)client.call(tool.definition.name, {{"region", "us-west1"}});
    } else if (scenario == "sep-2322-client-request-state") {
        for (const std::string_view tool : {"test_mrtr_echo_state", "test_mrtr_no_state",
                                            "test_mrtr_unrelated", "test_mrtr_no_result_type"})
            (void)client.call(tool, {});
    } else {
        (void)client.list(ListKind::tools);
        if (scenario == "tools_call") (void)client.call("add_numbers", {{"a", 5}, {"b", 3}});
        if (scenario == "sse-retry") (void)client.call("test_reconnection", {});
        if (scenario == "elicitation-sep1034-client-defaults")
            (void)client.call("test_client_elicitation_defaults", {});
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 2) throw std::runtime_error("conformance-client URL");
        const std::string scenario = environment("MCP_CONFORMANCE_SCENARIO");
        const auto context = json::parse(environment("MCP_CONFORMANCE_CONTEXT"));
        const bool confirms = scenario == "sep-2322-client-request-state";
        WaitingClient client(argv[argc - 1], confirms ? Object{{"confirmed", true}} : Object{});
        run(client, scenario, context ? *context : Value());
        return 0;
    } catch (const std::exception& what) {
        (void)std::fprintf(stderr, "conformance-client: %s\n", what.what());
        return 1;
    }
}
