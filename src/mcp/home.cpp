#include "mcp/home.h"

namespace callgate::mcp {

// What comes up in a turn goes behind what is in the loop already.
void Home::post(std::function<void()> work) {
    if (thread_->here() && in_turn_ && in_loop_.load() == 0) {
        of_turn_.push_back(std::move(work));
        return;
    }
    in_loop_.fetch_add(1);
    const bool taken = thread_->post([self = shared_from_this(), work = std::move(work)] {
        self->in_loop_.fetch_sub(1);
        work();
    });
    if (!taken) in_loop_.fetch_sub(1);
}

Executor Home::executor() {
    return [self = shared_from_this()](std::function<void()> work) { self->post(std::move(work)); };
}

// Its work may bring more, which then is of this turn, too.
void Home::end_turn() {
    while (!of_turn_.empty()) {
        std::vector<std::function<void()>> due;
        due.swap(of_turn_);
        for (const auto& work : due) work();
        if (of_turn_.empty()) {
            due.clear();
            of_turn_.swap(due);  // keeps its room
        }
    }
    in_turn_ = false;
}

}  // namespace callgate::mcp
