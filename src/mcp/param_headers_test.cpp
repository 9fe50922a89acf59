#include "mcp/param_headers.h"

#include <map>

#include <gtest/gtest.h>

#include "mcp/mcp_testing.h"

namespace callgate::mcp {
namespace {

class Given : public RequestHeaders {
public:
    Given(std::initializer_list<std::pair<const std::string, std::string>> all) : all_(all) {}
    std::optional<std::string> find(std::string_view name) const override {
        const auto it = all_.find(name);
        return it == all_.end() ? std::nullopt : std::optional(it->second);
    }

private:
    std::map<std::string, std::string, std::less<>> all_;
};

bool fits(std::string_view arguments, const Given& given) {
    const Value schema = parsed(R"({"type":"object","properties":{
        "amount":{"type":"integer","x-mcp-header":"Amount"},
        "filter":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}})");
    return !header_fault(param_headers_of(schema).value(), given, parsed(arguments).as_object());
}

TEST(ParamHeaders, SayWhatTheArgumentsSay) {
    EXPECT_TRUE(fits(R"({"amount":5})", {{"Mcp-Param-Amount", "5"}}));
    EXPECT_FALSE(fits(R"({"amount":5})", {{"Mcp-Param-Amount", "1"}}));
    EXPECT_FALSE(fits(R"({"amount":5})", {}));
    EXPECT_FALSE(fits("{}", {{"Mcp-Param-Amount", "5"}}));
    EXPECT_TRUE(fits(R"({"amount":null})", {}));
    EXPECT_TRUE(fits(R"({"filter":{"region":"north"}})", {{"Mcp-Param-Region", "north"}}));
    EXPECT_FALSE(fits(R"({"filter":{"region":"north"}})", {{"Mcp-Param-Region", "south"}}));
}

TEST(ParamHeaders, WholeNumbersAreComparedHoweverTheyAreWritten) {
    EXPECT_TRUE(fits(R"({"amount":5.0})", {{"Mcp-Param-Amount", "5"}}));
    EXPECT_FALSE(fits(R"({"amount":5.0})", {{"Mcp-Param-Amount", "1"}}));
    EXPECT_FALSE(fits(R"({"amount":5.0})", {}));
    EXPECT_FALSE(fits(R"({"amount":5e0})", {{"Mcp-Param-Amount", "1"}}));
}

TEST(ParamHeaders, WhatNoHeaderCanSayIsAFault) {
    for (const char* amount : {"9007199254740993", "18446744073709551615", "1e300", "1.5", "[5]", "{}"}) {
        const std::string arguments = std::string(R"({"amount":)") + amount + "}";
        EXPECT_FALSE(fits(arguments, {{"Mcp-Param-Amount", "1"}})) << amount;
        EXPECT_FALSE(fits(arguments, {})) << amount;
    }
}

TEST(ParamHeaders, TextThatBecomesAnObjectHidesNothing) {
    const char* arguments = R"({"filter":"{\"region\":\"north\"}"})";
    EXPECT_FALSE(fits(arguments, {}));
    EXPECT_FALSE(fits(arguments, {{"Mcp-Param-Region", "south"}}));
    EXPECT_FALSE(fits(arguments, {{"Mcp-Param-Region", R"({"region":"north"})"}}));
    EXPECT_TRUE(fits(R"({"filter":null})", {}));
}

}  // namespace
}  // namespace callgate::mcp
