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
#include "mcp/message.h"

namespace callgate::mcp {

class Batch {
public:
    /// Gets an array, or "" where nothing is to be answered.
    using Send = std::function<void(std::string)>;

    Batch(std::size_t size, Send send) : open_(size), send_(std::move(send)) {}

    /// What became of one of them; "": it needs no answer. What would make the whole too large is answered by
    /// an error instead.
    void add(const Value& id, std::string_view text) {
        std::string refused;
        if (!text.empty() && all_.size() + text.size() > kMaxBytes) {
            refused = error_text(id, {codes::kInternal, "The answers of this batch are too large together."});
            text = refused;
        }
        if (!text.empty()) {
            all_ += all_.empty() ? '[' : ',';
            all_ += text;
        }
        if (--open_ > 0) return;
        if (!all_.empty()) all_ += ']';
        send_(std::move(all_));
    }

private:
    static constexpr std::size_t kMaxBytes = 16u << 20;
    std::size_t open_;
    std::string all_;
    const Send send_;
};

/// The way back for one of them. What is said before its answer goes by `side`, if there is that.
class BatchWay final : public Outlet {
public:
    BatchWay(std::shared_ptr<Batch> batch, Value id, std::shared_ptr<Outlet> side)
        : batch_(std::move(batch)), id_(std::move(id)), side_(std::move(side)) {}

    void message(std::string text) override {
        if (side_) side_->message(std::move(text));
    }
    void respond(std::string text, int /*status*/) override { give(text); }
    void on_gone(std::function<void()> /*function*/) override {}
    void drop() override { give({}); }
    void acknowledge() override { give({}); }
    bool carries_messages() const override { return side_ != nullptr; }
    const Transport* transport() const override { return side_ ? side_->transport() : nullptr; }

private:
    void give(std::string_view text) {
        if (const auto batch = std::exchange(batch_, nullptr)) batch->add(id_, text);
    }

    std::shared_ptr<Batch> batch_;
    const Value id_;
    const std::shared_ptr<Outlet> side_;
};

/// The id of what came, for its answer; null: it has none.
inline Value id_of(const ReadMessage& read) {
    if (const auto* bad = std::get_if<BadMessage>(&read)) return bad->id;
    return std::get<Message>(read).id;
}

}  // namespace callgate::mcp
