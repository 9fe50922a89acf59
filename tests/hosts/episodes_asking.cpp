// Episodes about tools that ask their caller: each question ends once, and the call's time stands still.
#include <mutex>

#include <fmt/format.h>

#include <callgate/input.h>

#include "episodes.h"

namespace callgate::hosts {

using namespace std::chrono_literals;

namespace {

/// What a caller does with a question.
enum class Habit : std::uint8_t { at_once, later, never, releases, fails };

// What became of one call that asked, from all sides.
struct Asked {
    std::atomic<int> answers{0};
    std::atomic<int> put{0};  // to the caller
    std::atomic<bool> refused_twice{true};
    std::mutex mutex;
    base::MonotonicTime put_at{};
};

class Channel final : public InputChannel {
public:
    Channel(Host& host, Habit habit, std::uint64_t steps, std::shared_ptr<Asked> asked)
        : host_(host), habit_(habit), steps_(steps), asked_(std::move(asked)) {}

    InputAbilities abilities() const override { return {true, true, true, true}; }
    void ask(std::shared_ptr<PendingInput> question) override {
        {
            const std::lock_guard lock(asked_->mutex);
            asked_->put_at = host_.clock->monotonic_now();
        }
        ++asked_->put;
        switch (habit_) {
            case Habit::at_once: answer(*question, *asked_); break;
            case Habit::later:
                host_.later(steps_, [question, asked = asked_] { answer(*question, *asked); });
                break;
            case Habit::never:
                // Kept until the host ends; its own time, or the end of the call, closes it.
                host_.later(steps_ + 1'000, [question] {});
                break;
            case Habit::releases: break;
            case Habit::fails: (void)question->fail(Error(ErrorCode::transport, "gone")); break;
        }
    }

private:
    static void answer(PendingInput& question, Asked& asked) {
        const bool first = question.answer(InputAnswer::decline()).has_value();
        if (first && question.answer(InputAnswer::decline())) asked.refused_twice = false;
    }

    Host& host_;
    const Habit habit_;
    const std::uint64_t steps_;
    const std::shared_ptr<Asked> asked_;
};

// Asks when it begins, and answers when it has the answer.
class AskingBody final : public ToolBody {
public:
    explicit AskingBody(std::shared_ptr<Asked> asked) : asked_(std::move(asked)) {}
    RunMode mode() const noexcept override { return RunMode::async; }
    void start(std::shared_ptr<Attempt> attempt) override {
        InputRequest request = InputRequest::roots();
        request.timeout = 2'000ms;
        CallContext& context = attempt->context();
        context.ask(std::move(request), [attempt, asked = asked_](const Result<InputAnswer>&) {
            ++asked->answers;
            attempt->finish(ToolResult(Value("asked")));
        });
    }

private:
    const std::shared_ptr<Asked> asked_;
};

}  // namespace

void Episode::asking() {
    const auto asked = std::make_shared<Asked>();
    if (!add(Tool(ToolDefinition(name("asks"), "Asks its caller", anything()),
                  std::make_shared<AskingBody>(asked))))
        return;
    Context with = context();
    with.timeout = 60ms;
    const auto habit = static_cast<Habit>(dice.below(5));
    with.input = std::make_shared<Channel>(host, habit, 5 + dice.below(20), asked);
    const auto deadline = host.clock->monotonic_now() + *with.timeout;
    const Outcome outcome = runtime.call(name("asks"), {}, with);
    if (asked->answers != asked->put && !host.board.is_closing() && outcome.ok())
        broken("asking", fmt::format("{} questions were put, and {} answered", asked->put.load(),
                                     asked->answers.load()));
    if (!asked->refused_twice) broken("asking", "a question took two answers");
    base::MonotonicTime put_at;
    {
        const std::lock_guard lock(asked->mutex);
        put_at = asked->put_at;
    }
    // A slow disk may still keep its end from the record.
    const bool gave_up = outcome.error() != nullptr && outcome.error()->code == ErrorCode::timed_out;
    if (asked->put > 0 && put_at < deadline && gave_up && !host.board.is_closing())
        broken("asking",
               fmt::format("the call ended {} although its time stood still", to_string(outcome.state())));
}

}  // namespace callgate::hosts
