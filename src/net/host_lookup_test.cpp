#include "net/host_lookup.h"

#include <algorithm>
#include <future>
#include <latch>

#include <gtest/gtest.h>

namespace callgate::net {
namespace {

Result<std::vector<IpAddress>> look_up(HostLookup& lookup, const std::string& host) {
    std::promise<Result<std::vector<IpAddress>>> found;
    auto future = found.get_future();
    lookup.look_up(host,
                   [&found](Result<std::vector<IpAddress>> result) { found.set_value(std::move(result)); });
    return future.get();
}

TEST(HostLookup, FindsWhatTheSystemKnows) {
    const auto lookup = system_lookup();
    const auto found = look_up(*lookup, "localhost");
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_FALSE(found->empty());
    EXPECT_TRUE(std::ranges::all_of(*found, is_loopback));
    // Each once, though the system lists them by kind of socket.
    for (const IpAddress& address : *found) EXPECT_EQ(std::ranges::count(*found, address), 1);
}

TEST(HostLookup, SaysWhatItDoesNotFind) {
    const auto lookup = system_lookup();
    const auto found = look_up(*lookup, "no-such-name.invalid");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().code, ErrorCode::transport);
    EXPECT_EQ(found.error().details.at("reason").get_string(), "lookup");
}

TEST(HostLookup, AnswersEveryoneWhoWantsTheSameName) {
    const auto lookup = system_lookup();
    std::latch all(200);
    for (int i = 0; i < 200; ++i)
        lookup->look_up(i % 2 == 0 ? "localhost" : "no-such-name.invalid",
                        [&all, i](const Result<std::vector<IpAddress>>& found) {
                            EXPECT_EQ(found.has_value(), i % 2 == 0);
                            all.count_down();
                        });
    all.wait();
}

TEST(HostLookup, MayGoWhileNamesWait) {
    auto lookup = system_lookup();
    for (int i = 0; i < 100; ++i) lookup->look_up("localhost", [](const Result<std::vector<IpAddress>>&) {});
    lookup.reset();
}

}  // namespace
}  // namespace callgate::net
