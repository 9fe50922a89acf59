// A process that ends without ending its runtime first.
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include <callgate/callgate.h>

#include "os/scratch_dir.h"

namespace callgate::pipeline {
namespace {

// Its threads write, hash and sign while the libraries below are already being taken apart.
[[noreturn]] void exit_with_calls_under_way(const std::string& directory) {
    static std::unique_ptr<Runtime> runtime;
    RuntimeOptions options;
    options.ledger_dir = directory;
    options.log_calls = false;
    runtime = std::make_unique<Runtime>(std::move(options));
    runtime->tools().add_or_throw(schema_tool(ToolDefinition("waits", "", Object{{"type", "object"}}),
                                              [](const Object&, CallContext& context) -> ToolReturn {
                                                  while (!context.cancelled()) std::this_thread::yield();
                                                  return ToolResult(Value(1));
                                              }));
    for (int i = 0; i < 4; ++i) runtime->start(CallRequest("waits"), {}, [](Outcome) {});
    std::exit(7);
}

TEST(ExitDeathTest, WithCallsUnderWayOnADurableLedgerIsAsTheHostSaid) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const os::ScratchDir scratch;
    EXPECT_EXIT(exit_with_calls_under_way(scratch.file("ledger")), ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace callgate::pipeline
