#include "verb_mcp.h"

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <callgate/json.h>
#include <callgate/runtime.h>

#include "os/scratch_dir.h"
#include "program.h"
#include "program_testing.h"

namespace callgate::cli {
namespace {

using ::testing::HasSubstr;
using testing::Ran;

Ran serve(std::vector<std::string> arguments) {
    std::ostringstream out;
    std::ostringstream err;
    arguments.insert(arguments.begin(), {"mcp", "serve"});
    const int exit_code = run_program(arguments, {out, err, {}, {}});
    return {exit_code, out.str(), err.str()};
}

// It is refused: as text on standard error, and as one document on standard output.
void expect_unusable(std::vector<std::string> arguments, const std::string& reason, const std::string& says) {
    const Ran text = serve(arguments);
    EXPECT_EQ(text.exit_code, 2) << reason;
    EXPECT_EQ(text.out, "");
    EXPECT_THAT(text.err, HasSubstr(says));
    arguments.emplace_back("--json");
    const Ran json = serve(arguments);
    EXPECT_EQ(json.exit_code, 2) << reason;
    EXPECT_EQ(json.err, "");
    EXPECT_EQ(json.answer().at("error").at("details").at("reason"), Value(reason));
}

TEST(VerbMcpServe, ItsHelpSaysHowItIsReachedWhoAsksAndWhatIsKept) {
    const Ran ran = serve({"--help"});
    EXPECT_EQ(ran.exit_code, 0);
    for (const char* word : {"--stdio", "--http ADDR", "--tls-cert FILE", "--host NAME", "--origin URL",
                             "--principal P", "--autonomy LEVEL", "--ledger DIR"})
        EXPECT_THAT(ran.out, HasSubstr(word));
}

TEST(VerbMcpServe, AnAddressThatCannotBeOneIsRefused) {
    for (const char* address : {"x", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "65536", "-1", "80 ", "unix:"})
        expect_unusable({"--http", address, "--ledger", "memory"}, "bad_address", "");
    expect_unusable({"--http", "localhost:80", "--ledger", "memory"}, "bad_address",
                    "no address of a machine");
}

TEST(VerbMcpServe, WhatIsOfHttpAloneIsRefusedWithoutIt) {
    const std::vector<std::pair<std::string, std::string>> all = {
        {"--tls-cert", "a.pem"}, {"--tls-key", "a.pem"}, {"--host", "a"}, {"--origin", "https://a"}};
    for (const auto& [option, value] : all)
        expect_unusable({option, value, "--ledger", "memory"}, "needs_http", "are for --http ADDR");
    EXPECT_EQ(serve({"--stdio", "--http", "0"}).exit_code, 2);
}

TEST(VerbMcpServe, TlsNeedsACertificateAndItsKey) {
    for (const char* option : {"--tls-cert", "--tls-key"})
        expect_unusable({"--http", "0", option, "a.pem", "--ledger", "memory"}, "needs_both", "both");
    expect_unusable(
        {"--http", "0", "--tls-cert", "/no/cert.pem", "--tls-key", "/no/key.pem", "--ledger", "memory"},
        "bad_certificate", "/no/cert.pem");
}

TEST(VerbMcpServe, ALedgerThatAnotherProcessOwnsIsNotServedFrom) {
    const os::ScratchDir dir;
    RuntimeOptions options;
    options.ledger_dir = dir.file("ledger");
    const auto owner = Runtime::open(options);
    ASSERT_TRUE(owner);
    const Ran ran = serve({"--http", "0", "--ledger", options.ledger_dir, "--json"});
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_EQ(ran.answer().at("error").at("details").at("reason"), "ledger_owned");
}

}  // namespace
}  // namespace callgate::cli
