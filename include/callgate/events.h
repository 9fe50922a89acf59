// Events of the host's own on the audit chain: a session that began, a server that was added, a key that
// changed.
//
//     const auto opened = cg::EventType::registered("session.opened");
//     cg::HostEvent event(*opened);
//     event.principal = "ada";
//     (void)runtime.record(std::move(event));
//
// They stand on the same chain as those of calls, with the same hashes and checkpoints, and observers get
// them. Types are registered, so that no text from outside becomes one.
//
// Threads: may be used from any thread. A type lives as long as the process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <callgate/error.h>
#include <callgate/outcome.h>

namespace callgate {

class EventType {
public:
    /// "area.what": two to four words of small letters, digits and '_' with dots between, at most 64 bytes.
    /// The areas of the library itself (tool_call, gate, approval, operator, audit, ledger, security) are its
    /// own. The same name is the same type. config_error {reason: event_type}; at most 1,000 in a process.
    static Result<EventType> registered(std::string_view name);

    std::string_view name() const noexcept { return name_; }

private:
    explicit EventType(std::string_view name) noexcept : name_(name) {}
    std::string_view name_;  // of a text that stays
};

/// What is on record beside the type. Texts are kept as they are, cut at 1,000 bytes: put no secret into
/// them.
struct HostEvent {
    enum class Result : std::uint8_t { info, success, failure };

    EventType type;
    Result result = Result::info;
    std::string tenant;
    std::string principal;
    std::string trace_id;
    std::string run_id;
    std::string task_id;
    std::string step_id;
    std::string tool;
    std::string detail;
    CallId call_id{};  ///< of the call that it is about; zeros: of none

    explicit HostEvent(EventType what) : type(what) {}
};

}  // namespace callgate
