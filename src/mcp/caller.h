// What a tool sees of the client that called it.
//
// Threads: immutable; log() and the others may be called from any thread.
#pragma once

#include <memory>
#include <string>

#include <callgate/mcp.h>

#include "mcp/exchange.h"

namespace callgate::mcp {

class ServerCore;

class CallerOf final : public Caller {
public:
    CallerOf(const Exchange& exchange, std::shared_ptr<ServerCore> core,
             std::weak_ptr<Conversation> conversation);

    std::string_view revision() const noexcept override { return codec_->revision(); }
    const Object& client_info() const noexcept override { return *client_info_; }
    const Object& capabilities() const noexcept override { return *capabilities_; }
    const Object& meta() const noexcept override { return *meta_; }
    void log(LogLevel level, Value data, std::string_view logger) const override;
    void close_stream() const override;
    void go_on_as_task() const override;

private:
    template <class What>
    void tell(What what) const;

    const Codec* const codec_;
    const SharedObject client_info_;
    const SharedObject capabilities_;
    const SharedObject meta_;
    const std::shared_ptr<ServerCore> core_;
    const std::weak_ptr<Conversation> conversation_;
};

}  // namespace callgate::mcp
