// Episodes about tools that ask their caller: each question ends once, and the call's time stands still.
#include <memory>

#include <fmt/format.h>

#include <callgate/input.h>

#include "episodes.h"

namespace callgate::hosts {

using namespace std::chrono_literals;

namespace {

constexpr std::chrono::milliseconds kOwnTime{2'000};  // of a question

/// What a caller does with a question.
enum class Habit : std::uint8_t { at_once, later, never, releases, fails };

// What became of one call that asked, from all sides.
struct Asked {
    std::atomic<int> answers{0};
    std::atomic<int> put{0};  // to the caller
    std::atomic<bool> refused_twice{true};
    std::atomic<bool> closed_early{false};
};

class Channel final : public InputChannel, public std::enable_shared_from_this<Channel> {
public:
    Channel(Host& host, Habit habit, std::uint64_t steps, base::MonotonicTime deadline,
            std::shared_ptr<Asked> asked)
        : host_(host), habit_(habit), steps_(steps), deadline_(deadline), asked_(std::move(asked)) {}

    InputAbilities abilities() const override { return {true, true, true, true}; }
    void ask(std::shared_ptr<PendingInput> question) override {
        // Out of time already, it may be on its way to its end.
        const auto now = host_.clock->monotonic_now();
        const auto until = now < deadline_ ? now + kOwnTime : now;
        ++asked_->put;
        switch (habit_) {
            case Habit::at_once: answer(*question, until); break;
            case Habit::later:
                host_.later(steps_,
                            [question, until, self = shared_from_this()] { self->answer(*question, until); });
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
    void answer(PendingInput& question, base::MonotonicTime until) {
        const bool first = question.answer(InputAnswer::decline()).has_value();
        if (first && question.answer(InputAnswer::decline())) asked_->refused_twice = false;
        if (!first && host_.clock->monotonic_now() < until) asked_->closed_early = true;
    }

    Host& host_;
    const Habit habit_;
    const std::uint64_t steps_;
    const base::MonotonicTime deadline_;  // of the call, at the earliest
    const std::shared_ptr<Asked> asked_;
};

// Asks when it begins, and answers when it has the answer.
class AskingBody final : public ToolBody {
public:
    explicit AskingBody(std::shared_ptr<Asked> asked) : asked_(std::move(asked)) {}
    RunMode mode() const noexcept override { return RunMode::async; }
    void start(std::shared_ptr<Attempt> attempt) override {
        InputRequest request = InputRequest::roots();
        request.timeout = kOwnTime;
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
    with.input = std::make_shared<Channel>(host, habit, 5 + dice.below(20),
                                           host.clock->monotonic_now() + *with.timeout, asked);
    const Outcome outcome = runtime.call(name("asks"), {}, with);
    if (asked->answers != asked->put && !host.board.is_closing() && outcome.ok())
        broken("asking", fmt::format("{} questions were put, and {} answered", asked->put.load(),
                                     asked->answers.load()));
    if (!asked->refused_twice) broken("asking", "a question took two answers");
    if (asked->closed_early && !host.board.is_closing())
        broken("asking", "a question was withdrawn before its time, although the call's stood still");
}

}  // namespace callgate::hosts
