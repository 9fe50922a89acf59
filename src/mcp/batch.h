// Several messages that came together (2025-03-26): their answers leave together, when the last is there.
//
// Threads: the server's home thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "mcp/exchange.h"

namespace callgate::mcp {

class Batch {
public:
    /// Gets an array, or "" where nothing is to be answered.
    using Send = std::function<void(std::string)>;

    Batch(std::size_t size, Send send) : open_(size), send_(std::move(send)) {}

    /// What became of one of them; "": it needs no answer.
    void add(std::string_view text) {
        if (!text.empty()) {
            all_ += all_.empty() ? '[' : ',';
            all_ += text;
        }
        if (--open_ > 0) return;
        if (!all_.empty()) all_ += ']';
        send_(std::move(all_));
    }

private:
    std::size_t open_;
    std::string all_;
    const Send send_;
};

/// The way back for one of them. What is said before its answer goes by `side`, if there is that.
class BatchWay final : public Outlet {
public:
    BatchWay(std::shared_ptr<Batch> batch, std::shared_ptr<Outlet> side)
        : batch_(std::move(batch)), side_(std::move(side)) {}

    void message(std::string text) override {
        if (side_) side_->message(std::move(text));
    }
    void respond(std::string text, int /*status*/) override { give(text); }
    void on_gone(std::function<void()> /*function*/) override {}
    void drop() override { give({}); }
    void acknowledge() override { give({}); }

private:
    void give(std::string_view text) {
        if (const auto batch = std::exchange(batch_, nullptr)) batch->add(text);
    }

    std::shared_ptr<Batch> batch_;
    const std::shared_ptr<Outlet> side_;
};

}  // namespace callgate::mcp
