// TLS: whom the client takes for its peer, and what it says when it does not.
#include <future>
#include <string>

#include <gtest/gtest.h>

#include "base/must.h"
#include "net/http_client_testing.h"
#include "net/http_server.h"
#include "net/tls_testing.h"
#include "os/scratch_dir.h"

namespace callgate::net {
namespace {

class HttpClientTls : public testing::Test {
protected:
    HttpClientTls() {
        for (const char* host : {"localhost", "mcp.example.com", "a.b.example.com"})
            lookup_->add(host, {"127.0.0.1"});
    }

    std::unique_ptr<HttpServer> serve(const HttpTls& files) {
        HttpServerOptions options;
        options.tls = files;
        options.access.hosts = {"127.0.0.1", "localhost", "mcp.example.com"};
        return must(HttpServer::open(
            loop_, options, [](std::unique_ptr<HttpRequest> request, std::shared_ptr<HttpReply> reply) {
                reply->send({200, {}, request->take_body()});
            }));
    }
    std::unique_ptr<HttpClient> client_that_trusts(const HttpTls& files) {
        HttpClientOptions options;
        options.ca_file = files.certificate_file;
        options.lookup = lookup_;
        return must(HttpClient::open(loop_, options));
    }
    static HttpClientRequest post_to(const std::string& host, std::uint16_t port) {
        HttpClientRequest request("POST", "https://" + host + ":" + std::to_string(port) + "/");
        request.body = "a body";
        return request;
    }

    const os::ScratchDir directory_;
    Loop loop_;
    const std::shared_ptr<ScriptedLookup> lookup_ = std::make_shared<ScriptedLookup>();
};

TEST_F(HttpClientTls, SpeaksWithWhomItTrustsAndUsesTheConnectionAgain) {
    TestCertificate made;
    made.names = "DNS:localhost,DNS:*.example.com,IP:127.0.0.1";
    const HttpTls files = make_certificate(directory_, "good", made);
    const auto server = serve(files);
    const auto client = client_that_trusts(files);
    for (const char* host : {"localhost", "127.0.0.1", "mcp.example.com"}) {
        for (int i = 0; i < 3; ++i) {
            const WatchedExchange exchange(*client, post_to(host, server->port()));
            EXPECT_EQ(exchange.fault(), "") << host;
            EXPECT_EQ(exchange.body(), "a body");
        }
    }
    EXPECT_EQ(client->stats().connections_opened, 3u);
    EXPECT_EQ(server->stats().accepted, 3u);
    HttpClientRequest large = post_to("localhost", server->port());
    large.body.assign(3u << 20, 'x');
    const WatchedExchange exchange(*client, large);
    EXPECT_EQ(exchange.fault(), "");
    EXPECT_TRUE(exchange.body() == large.body);
}

TEST_F(HttpClientTls, SaysWhatIsWrongWithACertificate) {
    TestCertificate of_here;
    of_here.names = "DNS:localhost,IP:127.0.0.1";
    const HttpTls good = make_certificate(directory_, "good", of_here);
    TestCertificate made = of_here;
    made.from = -7'200;
    made.to = -3'600;
    const HttpTls expired = make_certificate(directory_, "expired", made);
    made.from = 3'600;
    made.to = 7'200;
    const HttpTls early = make_certificate(directory_, "early", made);
    TestCertificate other_name;
    other_name.names = "DNS:other.example.com,DNS:*.example.com,IP:127.0.0.9";
    const HttpTls other = make_certificate(directory_, "other", other_name);
    const auto fault = [&](const HttpTls& serves, const HttpTls& trusted, const std::string& host) {
        const auto server = serve(serves);
        const auto client = client_that_trusts(trusted);
        const WatchedExchange exchange(*client, post_to(host, server->port()));
        const std::string found = exchange.fault();
        EXPECT_FALSE(exchange.sent());
        EXPECT_EQ(server->stats().requests, 0u);
        return found;
    };
    EXPECT_EQ(fault(expired, expired, "localhost"), "bad_certificate:expired");
    EXPECT_EQ(fault(early, early, "localhost"), "bad_certificate:not_yet_valid");
    EXPECT_EQ(fault(other, other, "localhost"), "bad_certificate:wrong_name");
    EXPECT_EQ(fault(other, other, "127.0.0.1"), "bad_certificate:wrong_name");
    // A star stands for one label.
    EXPECT_EQ(fault(other, other, "a.b.example.com"), "bad_certificate:wrong_name");
    EXPECT_EQ(fault(good, other, "localhost"), "bad_certificate:untrusted");
    const auto server = serve(good);
    HttpClientOptions system;
    system.lookup = lookup_;
    const auto client = must(HttpClient::open(loop_, system));
    EXPECT_EQ(WatchedExchange(*client, post_to("localhost", server->port())).fault(),
              "bad_certificate:untrusted");
}

TEST_F(HttpClientTls, AFileOfAuthoritiesThatIsNoneIsRefused) {
    HttpClientOptions options;
    options.ca_file = directory_.file("nothing");
    const auto client = HttpClient::open(loop_, options);
    ASSERT_FALSE(client);
    EXPECT_EQ(client.error().code, ErrorCode::config_error);
    EXPECT_EQ(client.error().details.at("reason").get_string(), "bad_certificate");
}

TEST_F(HttpClientTls, APeerThatSpeaksNoTlsIsAnError) {
    const TestListener listener;
    const auto client = must(HttpClient::open(loop_, {}));
    const WatchedExchange plain(*client, post_to("127.0.0.1", listener.port()));
    TestClient peer = listener.accept();
    peer.send("HTTP/1.1 400 Bad Request\r\n\r\n");
    EXPECT_EQ(plain.fault(), "tls");
    EXPECT_FALSE(plain.sent());
    const WatchedExchange gone(*client, post_to("127.0.0.1", listener.port()));
    listener.accept().close();
    EXPECT_EQ(gone.fault(), "tls");
    EXPECT_FALSE(gone.sent());
}

// What becomes of an exchange whose peer says this through TLS, and ends properly or not.
std::string fault_of_answer(const HttpTls& files, HttpClient& client, std::string_view answer,
                            bool properly) {
    const TestListener listener;
    const WatchedExchange exchange(client,
                                   {"GET", "https://127.0.0.1:" + std::to_string(listener.port()) + "/"});
    TestClient plain = listener.accept();
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_server_method()),
                                                                    SSL_CTX_free);
    SSL_CTX_use_certificate_chain_file(context.get(), files.certificate_file.c_str());
    SSL_CTX_use_PrivateKey_file(context.get(), files.key_file.c_str(), SSL_FILETYPE_PEM);
    const std::unique_ptr<SSL, decltype(&SSL_free)> tls(SSL_new(context.get()), SSL_free);
    SSL_set_fd(tls.get(), plain.fd());
    char request[1'000];
    if (SSL_accept(tls.get()) != 1 || SSL_read(tls.get(), request, sizeof request) <= 0) return "no request";
    EXPECT_EQ(SSL_write(tls.get(), answer.data(), static_cast<int>(answer.size())),
              static_cast<int>(answer.size()));
    if (properly) SSL_shutdown(tls.get());
    if (!properly) plain.end_sending();
    return exchange.fault();
}

TEST_F(HttpClientTls, AnAnswerThatEndsWithItsConnectionHasToEndProperly) {
    TestCertificate made;
    made.names = "IP:127.0.0.1";
    const HttpTls files = make_certificate(directory_, "good", made);
    const auto client = client_that_trusts(files);
    const std::string until_end = "HTTP/1.1 200 OK\r\n\r\nall of it";
    // Nor does the end of TLS need that of the socket.
    EXPECT_EQ(fault_of_answer(files, *client, until_end, true), "");
    EXPECT_EQ(fault_of_answer(files, *client, until_end, false), "cut");
    EXPECT_EQ(fault_of_answer(files, *client, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false), "");
    EXPECT_EQ(fault_of_answer(files, *client, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", true), "cut");
}

}  // namespace
}  // namespace callgate::net
