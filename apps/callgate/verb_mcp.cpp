#include "verb_mcp.h"

#include <charconv>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include <callgate/mcp.h>

#include "approval_report.h"
#include "base/try.h"
#include "demo_runtime.h"
#include "demo_tools.h"
#include "error_report.h"
#include "interrupt.h"
#include "options.h"
#include "program.h"

namespace callgate::cli {

namespace {

// How long calls under way may still take once the program is to end.
constexpr std::chrono::milliseconds kDrain{5'000};
constexpr std::chrono::milliseconds kLook{200};

struct ServeLine {
    std::string http;
    bool stdio = false;
    std::string certificate;
    std::string key;
    std::vector<std::string> hosts;
    std::vector<std::string> origins;
    std::vector<std::string> scopes;
    std::string principal{kUsualPrincipal};
    std::string autonomy{kUsualAutonomy};
    std::string ledger;
    bool json = false;
    std::string color = "auto";
};

// PORT, ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH.
Result<void> read_address(const std::string& text, mcp::HttpOptions& options) {
    if (text.starts_with("unix:")) {
        options.unix_path = text.substr(5);
        if (options.unix_path.empty())
            return unusable("bad_address", "unix: is followed by the path of a socket.");
        return {};
    }
    const std::size_t colon = text.rfind(':');
    std::string_view address =
        colon == std::string::npos ? std::string_view() : std::string_view(text).substr(0, colon);
    const std::string_view port =
        colon == std::string::npos ? std::string_view(text) : std::string_view(text).substr(colon + 1);
    if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
    if (!address.empty()) options.address = address;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), options.port);
    if (error == std::errc::result_out_of_range)
        return unusable("bad_address", fmt::format("\"{}\" is no port: they go up to 65535.", port));
    if (error != std::errc() || end != port.data() + port.size() || port.empty()) {
        return unusable(
            "bad_address",
            fmt::format("\"{}\" is no address to listen on: say PORT, ADDRESS:PORT or unix:PATH.", text));
    }
    return {};
}

// What is of HTTP alone is not silently without effect.
Result<void> check(const ServeLine& line) {
    const bool of_http =
        !line.certificate.empty() || !line.key.empty() || !line.hosts.empty() || !line.origins.empty();
    if (of_http && line.http.empty())
        return unusable("needs_http", "--tls-cert, --tls-key, --host and --origin are for --http ADDR.");
    if (line.certificate.empty() != line.key.empty())
        return unusable("needs_both", "TLS needs both --tls-cert and --tls-key.");
    return {};
}

class ServeRun {
public:
    ServeRun(const ServeLine& line, const Console& console)
        : line_(line),
          console_(console),
          color_(color_mode(line.color)),
          style_(console.err_terminal.style(color_)) {}

    int run() {
        const auto served = serve();
        if (served) return *served;
        print_error(served.error(), std::nullopt, line_.json, color_, console_);
        return kUnusable;
    }

private:
    Result<int> serve() {
        CALLGATE_TRY(check(line_));
        const Interrupt interrupt(Interrupt::By::terminals_end_too);
        mcp::HttpOptions http;
        if (!line_.http.empty()) {
            CALLGATE_TRY(read_address(line_.http, http));
        }
        RuntimeOptions options;
        options.log_calls = false;  // standard error is the person's here
        CALLGATE_TRY(choose_ledger(options, line_.ledger));
        CALLGATE_TRY_ASSIGN(auto runtime, open_when_free(options, interrupt));
        CALLGATE_TRY(add_demo_tools(runtime->tools()));
        mcp::Server server(*runtime, server_options());
        const std::string where = options.ledger_dir.empty() ? "in memory" : options.ledger_dir;
        int code = 0;
        if (line_.http.empty()) {
            code = over_stdio(server, *runtime, where, interrupt);
        } else {
            CALLGATE_TRY(over_http(server, std::move(http), *runtime, where, interrupt));
        }
        (void)runtime->drain(kDrain);
        return code;
    }

    mcp::ServerOptions server_options() const {
        mcp::ServerOptions options;
        options.title = "Callgate demo tools";
        options.version = CALLGATE_VERSION;
        options.instructions =
            "Demo tools behind Callgate: each call is checked, decided by a policy and recorded. A call that "
            "needs "
            "approval says so, and can be made again once a person has decided.";
        options.context.principal = line_.principal;
        options.context.scopes = ScopeSet(line_.scopes);
        options.context.autonomy = autonomy_from_string(line_.autonomy).value_or(Autonomy::a2);
        options.approve_by_client = true;
        return options;
    }

    int over_stdio(mcp::Server& server, Runtime& runtime, const std::string& where,
                   const Interrupt& interrupt) const {
        // Standard output is the client's alone.
        if (!line_.json) {
            console_.err << fmt::format("{} {} tools over standard input and output; the record is {}\n",
                                        style_.green("serving"), runtime.tools().size(), where)
                         << std::flush;
        }
        return mcp::serve_stdio(server, STDIN_FILENO, STDOUT_FILENO, interrupt.token());
    }

    Result<void> over_http(mcp::Server& server, mcp::HttpOptions http, Runtime& runtime,
                           const std::string& where, const Interrupt& interrupt) const {
        http.certificate_file = line_.certificate;
        http.key_file = line_.key;
        http.hosts = line_.hosts;
        http.origins = line_.origins;
        const std::string http_address = http.unix_path.empty() ? http.address : std::string();
        CALLGATE_TRY_ASSIGN(auto endpoint, mcp::HttpEndpoint::open(server, std::move(http)));
        const std::string url = endpoint->url();
        if (line_.json) {
            console_.out << json::write(Value(
                                Object{{"url", url}, {"tools", runtime.tools().size()}, {"ledger", where}}))
                         << '\n'
                         << std::flush;
        } else {
            console_.out << url << '\n' << std::flush;
            console_.err << fmt::format("{} {} tools; the record is {}\n", style_.green("serving"),
                                        runtime.tools().size(), where);
            if (http_can_be_pasted(url)) {
                console_.err << style_.dim("for an agent's configuration: ")
                             << json::write(Value(
                                    Object{{"mcpServers",
                                            Object{{"callgate", Object{{"type", "http"}, {"url", url}}}}}}))
                             << '\n';
            }
            if (reached_by_others(http_address)) {
                console_.err
                    << style_.yellow("note")
                    << fmt::format(
                           ": there is no authorization yet: whoever reaches this address calls as {}\n",
                           line_.principal);
            }
            console_.err << style_.dim("Ctrl-C ends it") << '\n' << std::flush;
        }
        while (!interrupt.wait_for(kLook)) {
        }
        (void)endpoint->drain(kDrain);
        return {};
    }

    // Beyond this machine. "": a Unix socket.
    static bool reached_by_others(const std::string& address) {
        return !address.empty() && !address.starts_with("127.") && address != "::1";
    }
    static bool http_can_be_pasted(const std::string& url) { return url.starts_with("http"); }

    const ServeLine& line_;
    const Console& console_;
    const ColorMode color_;
    const Style style_;
};

}  // namespace

void add_mcp(Verb& program, const Console& console) {
    auto line = std::make_shared<ServeLine>();
    Verb& group = program.add("mcp", "tools for MCP clients");
    Verb& verb = group.add("serve", "serve the demo set to MCP clients, as a trial");
    verb.heading("How it is reached");
    verb.flag("--stdio", "over standard input and output, by whoever starts this program: the default",
              line->stdio)
        .excludes("--http");
    verb.option("--http", "ADDR",
                "over Streamable HTTP at http://ADDR/mcp: PORT, ADDRESS:PORT or unix:PATH; port 0 takes a "
                "free one",
                line->http)
        .not_empty();
    verb.option("--tls-cert", "FILE", "the certificate with its chain, in PEM: https", line->certificate)
        .completed_by(Completes::file);
    verb.option("--tls-key", "FILE", "its key, in PEM", line->key).completed_by(Completes::file);
    verb.option("--host", "NAME",
                "a name by which a request may call this server; repeatable. Without one: the names of this "
                "machine where it listens on a loopback address, elsewhere any",
                line->hosts);
    verb.option(
        "--origin", "URL",
        "a web page's origin whose requests are served; repeatable. Without one: pages of this machine "
        "where it listens on a loopback address, elsewhere none",
        line->origins);

    verb.heading("Who asks");
    verb.option("--principal", "P", "whose calls these are: local by default", line->principal);
    verb.option("--scope", "S", "a permission that was granted; repeatable", line->scopes);
    verb.option("--autonomy", "LEVEL",
                "A0 (only previews) to A4 (asks for critical things alone); A2 by default", line->autonomy)
        .one_of({"A0", "A1", "A2", "A3", "A4"});

    verb.heading("The record");
    add_ledger_option(verb, line->ledger, ". memory: nowhere, it ends with the program");

    verb.heading("Output");
    add_output_options(verb, line->json, line->color);
    verb.text(
        "A call that needs approval asks the client's person where their word is enough (as client:P, "
        "assurance A1) "
        "and the client can ask; otherwise it waits for an operator: callgate approvals list. Clients of MCP "
        "2024-11-05 to "
        "2026-07-28 are served.");
    verb.exits(0, "it was ended, or the client closed its side")
        .exits(1, "standard input or output failed")
        .exits(2, "wrong usage, the address or the ledger cannot be had");
    verb.example("callgate mcp serve")
        .example("callgate mcp serve --http 8372 --scope notes --ledger memory");
    verb.runs([line, &console] { return ServeRun(*line, console).run(); });
}

}  // namespace callgate::cli
