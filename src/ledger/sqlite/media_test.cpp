#include "ledger/sqlite/media.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ledger/audit/verify.h"
#include "ledger/sqlite/durable_testing.h"

namespace callgate::ledger::testing {
namespace {

std::map<std::string, std::string> all_files(const std::string& directory) {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
        std::ifstream in(entry.path(), std::ios::binary);
        files[entry.path().filename()] = {std::istreambuf_iterator<char>(in), {}};
    }
    return files;
}

void expect_verified_and_untouched(const std::string& directory, std::uint64_t events) {
    const auto before = all_files(directory);
    os::RealFileOps files;
    {
        const auto media = MediaLedger::open(files, directory);
        ASSERT_TRUE(media) << media.error().message;
        const auto report = verify_audit((*media)->audit(), {});
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_FALSE(report->fault) << report->summary();
        EXPECT_EQ(report->events, events);
        EXPECT_TRUE((*media)->check()->at("ok").as_bool());
    }
    EXPECT_EQ(all_files(directory), before) << "nothing was written, not even beside it";
}

TEST(MediaLedger, IsVerifiedWhereItCannotBeWritten) {
    Desk desk;
    ASSERT_FALSE(desk.open(false));
    desk.claim(1, "k");
    desk.settle(1);
    desk.close();
    ASSERT_FALSE(desk.open(false));
    const std::uint64_t events = desk.ledger->audit_count();
    desk.close();
    expect_verified_and_untouched(desk.directory, events);
}

TEST(MediaLedger, IsReadWithTheLogThatAKilledOwnerLeft) {
    Desk desk;
    ASSERT_FALSE(desk.open(false));
    desk.claim(1, "k");
    desk.settle(1);
    ASSERT_TRUE(desk.ledger->checkpoint());
    const std::uint64_t events = desk.ledger->audit_count();
    expect_verified_and_untouched(left_behind(desk), events);
}

TEST(MediaLedger, AHandInTheFileIsFoundThereToo) {
    Desk desk;
    ASSERT_FALSE(desk.open(false));
    desk.claim(1, "k");
    desk.settle(1);
    desk.set_in_file("UPDATE calls SET key_hash = NULL");
    os::RealFileOps files;
    const auto media = MediaLedger::open(files, desk.directory);
    ASSERT_TRUE(media) << media.error().message;
    const auto report = (*media)->check();
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_FALSE(report->at("ok").as_bool());
    EXPECT_THAT(json::write(report->at("problems")),
                ::testing::HasSubstr("not those that this program wrote"));
}

}  // namespace
}  // namespace callgate::ledger::testing
