// The rule about addresses is asked about what is connected to, when it is connected to.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/must.h"
#include "net/http_client_testing.h"

namespace callgate::net {
namespace {

constexpr std::string_view kGoodbye = "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";

class HttpClientAddress : public testing::Test {
protected:
    std::unique_ptr<HttpClient> client(AddressRule rule) {
        HttpClientOptions options;
        options.addresses = std::move(rule);
        options.lookup = lookup_;
        return must(HttpClient::open(loop_, options));
    }

    Loop loop_;
    TestListener listener_;
    const std::shared_ptr<ScriptedLookup> lookup_ = std::make_shared<ScriptedLookup>();
};

TEST_F(HttpClientAddress, NoFormOfAnAddressLeadsInside) {
    const auto outside = client(is_public);
    const std::string port = ":" + std::to_string(listener_.port());
    for (const std::string host : {"127.0.0.1",
                                   "127.1",
                                   "0177.0.0.1",
                                   "0x7f.0.0.1",
                                   "2130706433",
                                   "0x7f000001",
                                   "017700000001",
                                   "0",
                                   "0.0.0.0",
                                   "127.0.0.1.",
                                   "[::1]",
                                   "[::]",
                                   "[::ffff:127.0.0.1]",
                                   "[0:0:0:0:0:ffff:7f00:1]",
                                   "[64:ff9b::7f00:1]",
                                   "user@127.0.0.1",
                                   "127.0.0.1@127.0.0.1",
                                   "%31%32%37.0.0.1",
                                   "127.0.0.1%00",
                                   "10.0.0.1",
                                   "169.254.169.254",
                                   "192.168.0.1",
                                   "172.16.0.1",
                                   "100.64.0.1",
                                   "[fe80::1]",
                                   "[fd00::1]",
                                   "[fd00:ec2::254]"}) {
        const WatchedExchange exchange(*outside, {"GET", "http://" + host + port + "/"});
        const std::string fault = exchange.fault();
        EXPECT_TRUE(fault == "address_refused" || fault == "bad_url") << host << ": " << fault;
        EXPECT_FALSE(exchange.sent());
    }
    EXPECT_FALSE(listener_.somebody_came());
    // With the rule off they come in, so this would have been seen.
    const WatchedExchange open(*client({}), {"GET", "http://127.0.0.1" + port + "/"});
    EXPECT_TRUE(listener_.accept_request().send(kGoodbye));
}

TEST_F(HttpClientAddress, ANameThatMeansSomethingInsideIsRefused) {
    HttpClientOptions options;
    options.addresses = is_public;
    const auto outside = must(HttpClient::open(loop_, options));
    const WatchedExchange exchange(*outside, {"GET", listener_.url("/", "localhost")});
    EXPECT_EQ(exchange.fault(), "address_refused");
    EXPECT_EQ(exchange.end().error().code, ErrorCode::transport);
    EXPECT_FALSE(exchange.sent());
    EXPECT_FALSE(listener_.somebody_came());
}

TEST_F(HttpClientAddress, ANameThatChangesItsMeaningLeadsNowhereElse) {
    // Good once, and something else from then on.
    std::vector<std::string> asked;
    const auto picky = client([&asked](const IpAddress& address) {
        asked.push_back(address.text());
        return address.text() == "127.0.0.1";
    });
    lookup_->add("flips", {"127.0.0.1"});
    lookup_->add("flips", {"127.0.0.2"});
    const WatchedExchange first(*picky, {"GET", listener_.url("/", "flips")});
    EXPECT_TRUE(listener_.accept_request().send(kGoodbye));
    EXPECT_EQ(first.fault(), "");
    const WatchedExchange second(*picky, {"GET", listener_.url("/", "flips")});
    EXPECT_EQ(second.fault(), "address_refused");
    EXPECT_EQ(asked, (std::vector<std::string>{"127.0.0.1", "127.0.0.2"}));
}

TEST_F(HttpClientAddress, OfSeveralAddressesOnlyThoseThatMayBeAreTried) {
    const auto here = client(is_loopback);
    lookup_->add("several", {"10.0.0.1", "::ffff:10.0.0.1", "127.0.0.1"});
    const WatchedExchange exchange(*here, {"GET", listener_.url("/", "several")});
    EXPECT_TRUE(listener_.accept_request().send(kGoodbye));
    EXPECT_EQ(exchange.fault(), "");
}

}  // namespace
}  // namespace callgate::net
