// Calls under the names by which models know a tool: the record, the rules and the keys know one alone.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <callgate/definitions.h>

#include "os/scratch_dir.h"
#include "pipeline/runtime_testing.h"

namespace callgate::pipeline {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Tool says_its_name(std::string name) {
    ToolDefinition definition(name, "", Object{{"type", "object"}});
    Tool made = schema_tool(std::move(definition),
                            [name](const Object&, CallContext&) -> ToolReturn { return Value(name); });
    return std::move(made).open_arguments().run_inline().risk(Risk::low);
}

Tool of_server(std::string server, const std::string& tool) {
    Tool made = says_its_name(server + "/" + tool);
    made.contract.provider = ProviderType::mcp;
    made.contract.server = std::move(server);
    return made;
}

std::vector<std::string> tools_on_record(const TestRuntime& node) {
    std::vector<std::string> tools;
    for (const AuditEvent& event : node.recorder->audit()) tools.emplace_back(event.tool);
    return tools;
}

std::vector<std::string> names_of(const Result<std::vector<ToolDefinition>>& definitions) {
    std::vector<std::string> names;
    for (const ToolDefinition& definition : definitions.value()) names.push_back(definition.name);
    return names;
}

TEST_WITH_EITHER_LEDGER(Names, ACallUnderAnyNameIsOnTheRecordUnderTheCanonicalOne) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(of_server("files", "read")));
    for (const char* name : {"files/read", "read", "files__read", "mcp__files__read"}) {
        node.recorder->clear();
        const Outcome outcome = node->call(name);
        ASSERT_TRUE(outcome.ok()) << name << ": " << outcome.error()->message;
        EXPECT_EQ(outcome.text(), "files/read");
        EXPECT_EQ(outcome.tool(), "files/read");
        EXPECT_EQ(outcome.server(), "files");
        EXPECT_THAT(tools_on_record(node), Not(testing::IsEmpty()));
        EXPECT_THAT(tools_on_record(node), Each("files/read")) << name;
    }
}

TEST_WITH_EITHER_LEDGER(Names, ARuleKnowsTheServersToolsWhateverTheyAreCalled) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add_all({of_server("files", "read"), of_server("disk", "list")}));
    PolicyConfig config;
    config.rules.emplace_back("no-files", Rule::Do::deny).tools = {"files/*"};
    ASSERT_TRUE(node->policy().set(config));
    for (const char* name : {"files/read", "read", "files__read", "mcp__files__read"})
        EXPECT_EQ(node->call(name).state(), State::denied) << name;
    EXPECT_TRUE(node->call("list").ok());
}

TEST_WITH_EITHER_LEDGER(Names, OneKeyIsOneKeyUnderEachName) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(of_server("files", "write")));
    ASSERT_TRUE(node->call("write", {}, with_key("k")).ok());
    for (const char* name : {"files/write", "files__write", "mcp__files__write", "write"}) {
        const Outcome again = node->call(name, {}, with_key("k"));
        EXPECT_EQ(again.state(), State::replayed) << name;
        EXPECT_EQ(again.tool(), "files/write");
    }
}

TEST_WITH_EITHER_LEDGER(Names, AnApprovalForOneNameIsForTheTool) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(of_server("files", "write").risk(Risk::high)));
    const Outcome asked = node->call("write", {{"a", 1}});
    ASSERT_EQ(asked.state(), State::needs_approval);
    const auto approval = node->approvals().get(asked.approval_id());
    ASSERT_TRUE(approval);
    EXPECT_EQ(approval->tool, "files/write");
    ASSERT_TRUE(node->approvals().approve(asked.approval_id(), "somebody", Assurance::a3));
    EXPECT_TRUE(node->call("mcp__files__write", {{"a", 1}}).ok());
}

TEST_WITH_EITHER_LEDGER(Names, ANameOfSeveralToolsIsAnsweredWithTheirs) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add_all({of_server("files", "read"), of_server("disk", "read")}));
    const Outcome outcome = node->call("read");
    EXPECT_EQ(outcome.state(), State::not_found);
    ASSERT_NE(outcome.error(), nullptr);
    EXPECT_EQ(outcome.error()->code, ErrorCode::ambiguous_name);
    EXPECT_THAT(outcome.error()->message, HasSubstr("disk__read, files__read"));
    EXPECT_EQ(outcome.error()->details.at("candidates"), (Array{"disk__read", "files__read"}));
    EXPECT_EQ(node->call("disk__read").text(), "disk/read");
}

TEST_WITH_EITHER_LEDGER(Names, AnUnknownNameIsAnsweredWithNamesThatAModelMaySay) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add_all({of_server("files", "read"), of_server("disk", "read")}));
    const Outcome outcome = node->call("files_read");
    ASSERT_NE(outcome.error(), nullptr);
    EXPECT_EQ(outcome.error()->code, ErrorCode::not_found);
    EXPECT_EQ(outcome.error()->details.at("suggestions").as_array().at(0), "files__read");
}

TEST_WITH_EITHER_LEDGER(Names, AServerThatComesLaterDoesNotInheritAName) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(of_server("files", "read")));
    ASSERT_TRUE(node->call("read").ok());
    ASSERT_TRUE(node->tools().remove("files/read"));
    ASSERT_TRUE(node->tools().add(of_server("evil", "read")));
    const Outcome outcome = node->call("read");
    ASSERT_NE(outcome.error(), nullptr);
    EXPECT_EQ(outcome.error()->code, ErrorCode::not_found);
    EXPECT_THAT(outcome.error()->message, HasSubstr("evil__read"));
    EXPECT_EQ(node->call("evil__read").text(), "evil/read");
}

TEST_WITH_EITHER_LEDGER(Names, ATwinOfARegisteredToolIsRefused) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(of_server("files", "read")));
    const auto refused = node->tools().add(of_server("evil", "r\u0435ad"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().details.at("reason"), "look_alike");
    EXPECT_EQ(node->tools().size(), 1u);
}

TEST_WITH_EITHER_LEDGER(Names, AHiddenToolIsUnknownUnderEachOfItsNames) {
    TestRuntime node;
    Tool hidden = of_server("files", "read").scopes({"files"});
    hidden.contract.hidden_without_scopes = true;
    ASSERT_TRUE(node->tools().add_all({std::move(hidden), of_server("disk", "read")}));
    for (const char* name : {"read", "files__read", "mcp__files__read", "files/read"}) {
        const Outcome outcome = node->call(name);
        ASSERT_NE(outcome.error(), nullptr);
        EXPECT_EQ(outcome.error()->code, ErrorCode::not_found);
        EXPECT_THAT(outcome.error()->message, HasSubstr("Tool not found: " + std::string(name) + "."));
        EXPECT_EQ(outcome.tool(), name);
    }
    node.recorder->clear();
    const Outcome outcome = node->call("files__read");
    EXPECT_THAT(json::write(views::s0(outcome)), Not(HasSubstr("files/")));
    EXPECT_THAT(tools_on_record(node), Each("files/read")) << "the record knows better";
    Context knows;
    knows.scopes = {"files"};
    EXPECT_EQ(node->call("read", {}, knows).error()->code, ErrorCode::ambiguous_name);
    EXPECT_TRUE(node->call("files__read", {}, knows).ok());
}

TEST_WITH_EITHER_LEDGER(Names, WhatAVendorsModelIsShownItMayCall) {
    TestRuntime node;
    const std::string far(150, 'x');
    ASSERT_TRUE(node->tools().add_all({says_its_name("add"), of_server("files", "a.b"),
                                       of_server("files", far), of_server("disk", "gr\u00F6\u00DFe")}));
    for (const DefinitionForm form : {DefinitionForm::openai, DefinitionForm::anthropic,
                                      DefinitionForm::gemini, DefinitionForm::bedrock, DefinitionForm::mcp}) {
        const auto shown = node->tools().shown_definitions({}, name_rules(form));
        ASSERT_TRUE(shown);
        ASSERT_EQ(shown->size(), 4u);
        EXPECT_TRUE(write_definitions(*shown, form));
        std::vector<std::string> meant;
        for (const ToolDefinition& definition : *shown) {
            const Outcome outcome = node->call(definition.name);
            ASSERT_TRUE(outcome.ok()) << definition.name;
            meant.push_back(outcome.tool());
            EXPECT_EQ(node->tools().canonical_name(definition.name), outcome.tool());
        }
        EXPECT_THAT(meant, ElementsAre("add", "disk/gr\u00F6\u00DFe", "files/a.b", "files/" + far));
    }
    EXPECT_EQ(names_of(node->tools().shown_definitions({}, NameRules())),
              (std::vector<std::string>{"add", "gr\u00F6\u00DFe", "a.b", far}));
}

TEST_WITH_EITHER_LEDGER(Names, ABatchIsHeldToTheLimitsOfItsToolsUnderEachName) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add(of_server("files", "read")));
    PolicyConfig config;
    config.limits.per_tool.calls = 2;
    ASSERT_TRUE(node->policy().set(config));
    const auto outcomes =
        node->call_batch({CallRequest("read"), CallRequest("files__read"), CallRequest("mcp__files__read")});
    ASSERT_EQ(outcomes.size(), 3u);
    for (const Outcome& outcome : outcomes) {
        ASSERT_NE(outcome.error(), nullptr) << "a batch does not run half way into a limit";
        EXPECT_EQ(outcome.error()->code, ErrorCode::rate_limited);
    }
}

TEST_WITH_EITHER_LEDGER(Names, ANativeToolIsCalledByItsNameAlone) {
    TestRuntime node;
    ASSERT_TRUE(node->tools().add_all({says_its_name("read"), of_server("files", "read")}));
    EXPECT_EQ(node->call("read").text(), "read");
    EXPECT_EQ(node->call("files__read").text(), "files/read");
    ASSERT_TRUE(node->tools().remove("read"));
    EXPECT_EQ(node->call("read").state(), State::not_found);
}

TEST(Names, ADurableLedgerKnowsACallByTheCanonicalName) {
    const os::ScratchDir dir;
    const auto recorder = std::make_shared<Recorder>();
    const auto open = [&] {
        RuntimeOptions options;
        options.ledger_dir = dir.file("ledger");
        options.observers = {recorder};
        auto runtime = Runtime::open(std::move(options)).value();
        EXPECT_TRUE(runtime->tools().add(of_server("files", "write")));
        EXPECT_TRUE(runtime->tools().add(of_server("files", "pay").risk(Risk::high)));
        return runtime;
    };
    std::string asked;
    {
        const auto runtime = open();
        ASSERT_TRUE(runtime->call("write", {}, with_key("k")).ok());
        const Outcome waits = runtime->call("pay");
        ASSERT_EQ(waits.state(), State::needs_approval);
        asked = waits.approval_id();
    }
    const auto runtime = open();
    EXPECT_EQ(runtime->call("mcp__files__write", {}, with_key("k")).state(), State::replayed);
    const auto approval = runtime->approvals().approve(asked, "somebody", Assurance::a3);
    ASSERT_TRUE(approval);
    EXPECT_EQ(approval->tool, "files/pay");
    const Outcome paid = runtime->resume(approval->call_id);
    EXPECT_EQ(paid.text(), "files/pay");
    std::set<std::string> tools;
    for (const AuditEvent& event : recorder->audit()) {
        if (!event.tool.empty()) tools.emplace(event.tool);
    }
    EXPECT_THAT(tools, ElementsAre("files/pay", "files/write"));
}

TEST_WITH_EITHER_LEDGER(Names, ACanonicalNameMayHave192Bytes) {
    TestRuntime node;
    const std::string longest = "files/" + std::string(186, 'x');
    Tool tool = of_server("files", std::string(186, 'x'));
    ASSERT_TRUE(node->tools().add(tool));
    EXPECT_FALSE(node->tools().add(of_server("files", std::string(187, 'x'))));
    ASSERT_TRUE(node->call("mcp__files__" + std::string(186, 'x'), {}, with_key("k")).ok());
    EXPECT_THAT(tools_on_record(node), Each(longest));
    Registry other;
    EXPECT_TRUE(other.import_from(node->tools()));
}

}  // namespace
}  // namespace callgate::pipeline
