// TLS and Unix sockets: the server is the same behind them.
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/must.h"
#include "net/http_server.h"
#include "net/net_testing.h"
#include "net/tls_testing.h"
#include "os/scratch_dir.h"

namespace callgate::net {
namespace {

using namespace std::chrono_literals;

void echo_body(std::unique_ptr<HttpRequest> request, std::shared_ptr<HttpReply> reply) {
    reply->send({200, {{"X-Secure", request->peer().secure ? "yes" : "no"}}, request->take_body()});
}

TEST(HttpServerTls, ServesByTls12And13AndNothingOlder) {
    const os::ScratchDir directory;
    Loop loop;
    HttpServerOptions options;
    options.tls = make_certificate(directory, "one");
    const auto server = must(HttpServer::open(loop, options, echo_body));
    EXPECT_TRUE(server->url().starts_with("https://127.0.0.1:"));
    for (const int most : {TLS1_2_VERSION, TLS1_3_VERSION}) {
        TlsClient client(server->port(), most);
        ASSERT_TRUE(client.connect());
        EXPECT_EQ(client.version(), most == TLS1_2_VERSION ? "TLSv1.2" : "TLSv1.3");
        for (int i = 0; i < 3; ++i) {
            client.send(post("hello"));
            EXPECT_NE(client.read_head().find("X-Secure: yes"), std::string::npos);
            EXPECT_EQ(client.read_bytes(5), "hello");
        }
        client.send(post("bye", "Connection: close\r\n"));
        client.read_head();
        EXPECT_EQ(client.read_bytes(3), "bye");
        EXPECT_TRUE(client.ended_properly());
    }
    TlsClient old(server->port(), TLS1_1_VERSION);
    EXPECT_FALSE(old.connect());
}

TEST(HttpServerTls, CarriesLargeBodiesBothWaysAndStreams) {
    const os::ScratchDir directory;
    Loop loop;
    HttpServerOptions options;
    options.tls = make_certificate(directory, "one");
    const auto server = must(HttpServer::open(
        loop, options, [](std::unique_ptr<HttpRequest> request, std::shared_ptr<HttpReply> reply) {
            if (request->path() != "/stream") return echo_body(std::move(request), std::move(reply));
            reply->begin(200, {});
            reply->write("piece");
            reply->executor()([reply] { reply->end(); });
        }));
    TlsClient client(server->port());
    ASSERT_TRUE(client.connect());
    std::string body(3u << 20, 'x');
    for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>('a' + i % 23);
    client.send(post(body));
    client.read_head();
    EXPECT_TRUE(client.read_bytes(body.size()) == body);
    client.send(get("/stream") + post("next"));
    client.read_head();
    EXPECT_EQ(client.read_bytes(15), "5\r\npiece\r\n0\r\n\r\n");
    client.read_head();
    EXPECT_EQ(client.read_bytes(4), "next");
}

TEST(HttpServerTls, PeersThatSpeakNoTlsOrNothingAreClosed) {
    const os::ScratchDir directory;
    Loop loop;
    HttpServerOptions options;
    options.tls = make_certificate(directory, "one");
    options.limits.tls_time = 50ms;
    const auto server = must(HttpServer::open(loop, options, echo_body));
    TestClient plain(server->port());
    plain.send(get());
    plain.read_to_end();
    TestClient silent(server->port());
    EXPECT_TRUE(silent.ended());
    TlsClient good(server->port());
    ASSERT_TRUE(good.connect());
    good.send(post("hello"));
    EXPECT_TRUE(good.read_head().starts_with("HTTP/1.1 200 OK\r\n"));
    EXPECT_EQ(server->stats().requests, 1u);
}

TEST(HttpServerTls, APeerThatGoesIsNoticed) {
    const os::ScratchDir directory;
    Loop loop;
    HttpServerOptions options;
    options.tls = make_certificate(directory, "one");
    std::promise<std::shared_ptr<HttpReply>> came;
    const auto server = must(HttpServer::open(
        loop, options,
        [&came](std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply> reply) { came.set_value(reply); }));
    TlsClient client(server->port());
    ASSERT_TRUE(client.connect());
    client.send(get());
    const auto reply = came.get_future().get();
    std::promise<void> gone;
    reply->on_gone([&gone] { gone.set_value(); });
    client.plain().close();
    gone.get_future().get();
    reply->send({200, {}, "dropped"});
}

TEST(HttpServerTls, WhoEndsWithoutAWordOfTlsStillReadsItsAnswer) {
    const os::ScratchDir directory;
    Loop loop;
    HttpServerOptions options;
    options.tls = make_certificate(directory, "one");
    std::promise<std::shared_ptr<HttpReply>> came;
    const auto server = must(HttpServer::open(
        loop, options,
        [&came](std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply> reply) { came.set_value(reply); }));
    TlsClient client(server->port());
    ASSERT_TRUE(client.connect());
    client.send(get());
    const auto reply = came.get_future().get();
    // More than the system takes, so that it is under way when the peer has said everything.
    const std::string body(20u << 20, 'x');
    reply->send({200, {}, body});
    EXPECT_TRUE(client.read_head().starts_with("HTTP/1.1 200 "));
    SSL_set_options(client.tls(), SSL_OP_IGNORE_UNEXPECTED_EOF);  // no alert, if it is cut
    client.plain().end_sending();
    EXPECT_EQ(client.read_bytes(body.size()).size(), body.size());
}

TEST(HttpServerTls, FilesThatCannotBeUsedAreErrors) {
    const os::ScratchDir directory;
    const HttpTls one = make_certificate(directory, "one");
    const HttpTls other = make_certificate(directory, "other");
    std::ofstream(directory.file("garbage")) << "garbage";
    Loop loop;
    for (const HttpTls& files :
         {HttpTls{one.certificate_file, other.key_file}, HttpTls{directory.file("none"), one.key_file},
          HttpTls{directory.file("garbage"), one.key_file},
          HttpTls{one.certificate_file, directory.file("garbage")}}) {
        HttpServerOptions options;
        options.tls = files;
        const auto server = HttpServer::open(loop, options, echo_body);
        ASSERT_FALSE(server);
        EXPECT_EQ(server.error().code, ErrorCode::config_error);
        EXPECT_EQ(server.error().details.at("reason"), "bad_certificate") << server.error().message;
    }
}

TEST(HttpServerUnix, ServesByAPathOfAnyLengthAndKnowsWhoAsks) {
    const os::ScratchDir directory;
    const std::string deep = directory.file(std::string(120, 'd'));
    std::filesystem::create_directory(deep);
    Loop loop;
    HttpServerOptions options;
    options.unix_path = deep + "/server.sock";
    std::promise<HttpPeer> peer;
    const auto server = must(HttpServer::open(
        loop, options, [&peer](std::unique_ptr<HttpRequest> request, std::shared_ptr<HttpReply> reply) {
            peer.set_value(request->peer());
            reply->send({200, {}, request->take_body()});
        }));
    EXPECT_EQ(server->url(), "unix:" + options.unix_path);
    struct ::stat there = {};
    ASSERT_EQ(::stat(options.unix_path.c_str(), &there), 0);
    EXPECT_EQ(there.st_mode & 07777, 0600u);
    TestClient client(must(os::connect_unix(options.unix_path)));
    client.send("POST / HTTP/1.1\r\nHost: any.name\r\nContent-Length: 4\r\n\r\nunix");
    EXPECT_EQ(client.read_answer().body, "unix");
    const HttpPeer seen = peer.get_future().get();
    EXPECT_EQ(seen.address, "unix");
    EXPECT_TRUE(seen.loopback);
    EXPECT_EQ(seen.uid, ::geteuid());
}

TEST(HttpServerUnix, APathThatIsServedStaysItsServersAndGoesWithIt) {
    const os::ScratchDir directory;
    Loop loop;
    HttpServerOptions options;
    options.unix_path = directory.file("server.sock");
    auto first = must(HttpServer::open(loop, options, echo_body));
    const auto second = HttpServer::open(loop, options, echo_body);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().details.at("reason"), "address_in_use");
    EXPECT_TRUE(os::connect_unix(options.unix_path));
    first.reset();
    EXPECT_FALSE(std::filesystem::exists(options.unix_path));
    // What a server that was killed has left is replaced, and another's file is not removed.
    (void)must(os::listen_unix(options.unix_path, 0600));
    first = must(HttpServer::open(loop, options, echo_body));
    std::filesystem::remove(options.unix_path);
    std::ofstream(options.unix_path) << "another's";
    first.reset();
    EXPECT_TRUE(std::filesystem::exists(options.unix_path));
}

TEST(HttpServerUnix, APathThatCannotBeUsedIsAnError) {
    const os::ScratchDir directory;
    std::ofstream(directory.file("notes")) << "mine";
    Loop loop;
    HttpServerOptions options;
    options.unix_path = directory.file("notes");
    const auto server = HttpServer::open(loop, options, echo_body);
    ASSERT_FALSE(server);
    EXPECT_EQ(server.error().code, ErrorCode::config_error);
    EXPECT_TRUE(std::filesystem::exists(options.unix_path));
}

}  // namespace
}  // namespace callgate::net
