#include "verb_tools.h"

#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <callgate/definitions.h>
#include <callgate/json.h>
#include <callgate/registry.h>

#include "demo_tools.h"
#include "program.h"

namespace callgate::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string listed(const std::vector<std::string>& options) {
    std::ostringstream out;
    std::ostringstream err;
    const Console console{out, err, {}, {}};
    std::vector<std::string> arguments = {"tools"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    EXPECT_EQ(run_program(arguments, console), 0);
    EXPECT_EQ(err.str(), "");
    return out.str();
}

TEST(VerbTools, EveryToolIsALineWithItsCompactForm) {
    const std::string table = listed({});
    EXPECT_THAT(table, HasSubstr("tool"));
    EXPECT_THAT(table, HasSubstr("\n  add(a: integer, b: integer) "));
    EXPECT_THAT(table,
                HasSubstr("send_mail(to: string[], subject: string, body?: string)  high       unsafe"));
    EXPECT_THAT(table, HasSubstr("--action write"));
}

TEST(VerbTools, JsonHasTheSameAndTheSchema) {
    const Value answer = json::parse(listed({"--json"})).value();
    const Array& tools = answer.at("tools").as_array();
    ASSERT_EQ(tools.size(), demo_tools().size());
    const Value& mail = tools.back();
    EXPECT_EQ(mail.at("name"), "send_mail");
    EXPECT_EQ(mail.at("risk"), "high");
    EXPECT_EQ(mail.at("effect"), "unsafe");
    EXPECT_EQ(mail.at("parameters").at("properties").at("to").at("type"), "array");
    for (const Value& tool : tools) {
        EXPECT_FALSE(tool.at("shows").as_string().empty());
        EXPECT_FALSE(tool.at("description").as_string().empty());
    }
}

TEST(VerbTools, FormatsAreReadBackAsTheSameTools) {
    for (const char* const form : {"mcp", "openai", "responses", "anthropic", "gemini", "bedrock", "bare"}) {
        const auto read = read_definitions(json::parse(listed({"--format", form})).value());
        ASSERT_TRUE(read) << form << ": " << read.error().message;
        ASSERT_EQ(read->size(), demo_tools().size()) << form;
        for (std::size_t i = 0; i < read->size(); ++i)
            EXPECT_EQ((*read)[i].to_json(), demo_tools()[i].tool.definition.to_json()) << form;
    }
}

TEST(VerbTools, NoneOfThemIsUndeclared) {
    Registry registry;
    ASSERT_TRUE(add_demo_tools(registry));
    EXPECT_THAT(registry.undeclared(), ::testing::IsEmpty());
}

TEST(VerbTools, ScopesListWhatSuchACallerIsShown) {
    EXPECT_THAT(listed({"--scopes", ""}), Not(HasSubstr("notes(")));
    EXPECT_THAT(listed({"--scopes", "mail"}), Not(HasSubstr("notes(")));
    EXPECT_THAT(listed({"--scopes", "mail,notes"}), HasSubstr("notes("));
    EXPECT_THAT(listed({"--scopes", "mail"}), HasSubstr("add("));
}

}  // namespace
}  // namespace callgate::cli
