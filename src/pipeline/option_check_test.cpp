#include "pipeline/option_check.h"

#include <chrono>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace callgate::pipeline {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

std::string refused_option(const std::function<void(RuntimeOptions&)>& change) {
    RuntimeOptions options;
    change(options);
    const auto runtime = Runtime::open(options);
    if (runtime) return "none";
    EXPECT_EQ(runtime.error().code, ErrorCode::config_error);
    EXPECT_EQ(runtime.error().details.at("reason"), "option_out_of_range");
    return std::string(runtime.error().details.at("option").as_string());
}

TEST(RuntimeOptionsCheck, WhatIsUsualIsTaken) {
    EXPECT_EQ(refused_option([](RuntimeOptions&) {}), "none");
    EXPECT_EQ(refused_option([](RuntimeOptions& o) {
                  o.key_ttl = hours(24 * 365 * 10);
                  o.pool_threads = 1;
                  o.batch_concurrency = 1;
                  o.shutdown_grace = milliseconds(0);
              }),
              "none");
}

TEST(RuntimeOptionsCheck, WhatNobodyCanKeepIsRefusedByItsName) {
    using Change = std::function<void(RuntimeOptions&)>;
    const std::vector<std::pair<std::string, Change>> wrong{
        {"key_ttl", [](RuntimeOptions& o) { o.key_ttl = hours::max(); }},
        {"key_ttl", [](RuntimeOptions& o) { o.key_ttl = hours(-1); }},
        {"tombstone_ttl", [](RuntimeOptions& o) { o.tombstone_ttl = hours(300'000LL * 365 * 24); }},
        {"tombstone_ttl", [](RuntimeOptions& o) { o.tombstone_ttl = hours(-1); }},
        {"default_timeout", [](RuntimeOptions& o) { o.default_timeout = milliseconds(0); }},
        {"default_timeout", [](RuntimeOptions& o) { o.default_timeout = milliseconds::max(); }},
        {"shutdown_grace", [](RuntimeOptions& o) { o.shutdown_grace = milliseconds(-1); }},
        {"disk_hung_after", [](RuntimeOptions& o) { o.disk_hung_after = milliseconds(0); }},
        {"batch_concurrency", [](RuntimeOptions& o) { o.batch_concurrency = 0; }},
        {"callback_threads", [](RuntimeOptions& o) { o.callback_threads = 0; }},
        {"ledger_readers", [](RuntimeOptions& o) { o.ledger_readers = 0; }},
        {"pool_threads", [](RuntimeOptions& o) { o.pool_threads = std::numeric_limits<std::size_t>::max(); }},
        {"max_input_threads", [](RuntimeOptions& o) { o.max_input_threads = 100'000; }},
        {"max_nesting", [](RuntimeOptions& o) { o.max_nesting = 1'000'000; }},
    };
    for (const auto& [option, change] : wrong) EXPECT_EQ(refused_option(change), option);
}

}  // namespace
}  // namespace callgate::pipeline
