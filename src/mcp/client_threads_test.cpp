// Clients whose questions are answered on other threads, while a server of ours serves several at once.
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/mutex.h"
#include "mcp/client_testing.h"

namespace callgate::mcp {
namespace {

/// Each answer comes from a thread of its own.
class AnsweringElsewhere final : public ClientQuestions {
public:
    ~AnsweringElsewhere() override {
        for (std::thread& one : take()) one.join();
    }
    InputAbilities abilities() const override { return AnsweringQuestions::all_abilities(); }
    void ask(InputRequest /*request*/, std::function<void(Result<InputAnswer>)> answered) override {
        const base::MutexLock lock(mutex_);
        threads_.emplace_back([answered = std::move(answered)] {
            answered(InputAnswer::accept(Object{{"name", "Ada"}}));
            answered(InputAnswer::decline());  // the first counts
        });
    }

private:
    std::vector<std::thread> take() {
        const base::MutexLock lock(mutex_);
        return std::move(threads_);
    }
    base::Mutex mutex_;
    std::vector<std::thread> threads_ CALLGATE_GUARDED_BY(mutex_);
};

TEST(ClientThreads, AnswerQuestionsFromAnywhere) {
    Runtime runtime;
    const Value form =
        Object{{"type", "object"}, {"properties", Object{{"name", Object{{"type", "string"}}}}}};
    runtime.tools().add_or_throw(schema_tool(ToolDefinition("who", "", Object{{"type", "object"}}),
                                             [form](const Object&, CallContext& context) -> ToolReturn {
                                                 const auto answer =
                                                     context.ask(InputRequest::form("?", form));
                                                 if (!answer)
                                                     return tl::unexpected(ToolFailure(answer.error()));
                                                 return ToolResult(Value(json::write(answer->content)));
                                             })
                                     .read_only()
                                     .risk(Risk::low));
    Server server(runtime);
    const auto questions = std::make_shared<AnsweringElsewhere>();
    std::vector<std::thread> all;
    for (const Over over : {Over::lines, Over::http}) {
        for (const EraChoice era : {EraChoice::modern, EraChoice::legacy}) {
            all.emplace_back([&server, &questions, over, era] {
                LinkToServer link(server, over);
                ClientOptions options;
                options.era = era;
                options.questions = questions;
                ClientOnLoop client(options, link.open(client));
                ASSERT_TRUE(client.connect());
                for (int i = 0; i < 20; ++i) {
                    const ClientAnswer answer = client.call("who");
                    ASSERT_TRUE(answer) << answer.error().error.message;
                    EXPECT_EQ(answer->value.at("content").at(0).at("text"), R"({"name":"Ada"})");
                }
            });
        }
    }
    for (std::thread& one : all) one.join();
}

}  // namespace
}  // namespace callgate::mcp
