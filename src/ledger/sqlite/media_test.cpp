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
    DurableLedger durable;
    ASSERT_FALSE(durable.open(false));
    durable.claim(1, "k");
    durable.settle(1);
    durable.close();
    ASSERT_FALSE(durable.open(false));
    const std::uint64_t events = durable.ledger->audit_count();
    durable.close();
    expect_verified_and_untouched(durable.directory, events);
}

TEST(MediaLedger, IsReadWithTheLogThatAKilledOwnerLeft) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open(false));
    durable.claim(1, "k");
    durable.settle(1);
    ASSERT_TRUE(durable.ledger->checkpoint());
    const std::uint64_t events = durable.ledger->audit_count();
    expect_verified_and_untouched(left_behind(durable), events);
}

TEST(MediaLedger, AHandInTheFileIsFoundThereToo) {
    DurableLedger durable;
    ASSERT_FALSE(durable.open(false));
    durable.claim(1, "k");
    durable.settle(1);
    durable.set_in_file("UPDATE calls SET key_hash = NULL");
    os::RealFileOps files;
    const auto media = MediaLedger::open(files, durable.directory);
    ASSERT_TRUE(media) << media.error().message;
    const auto report = (*media)->check();
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_FALSE(report->at("ok").as_bool());
    EXPECT_THAT(json::write(report->at("problems")),
                ::testing::HasSubstr("not those that this program wrote"));
}

}  // namespace
}  // namespace callgate::ledger::testing
