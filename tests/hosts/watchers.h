// The observers and callbacks of a host: they report on the board, and then stand still, throw, or call the
// runtime again, as the manner of the call says.
#pragma once

#include <functional>

#include <callgate/callgate.h>

#include "host.h"

namespace callgate::hosts {

class Watcher final : public Observer {
public:
    explicit Watcher(Host& host) : host_(host) {}
    void on_audit(const AuditEvent& event) override;
    void on_telemetry(const TelemetryEvent& event) override;
    void on_progress(const Progress& progress) override;

private:
    Host& host_;
};

/// What the caller learns at the end: on the board, and then it misbehaves.
std::function<void(Outcome)> done_of(Host& host, Ticket ticket);
/// The same on the host's own thread, where what it throws is the host's affair.
std::function<void(Outcome)> awaited_by(Host& host, Ticket ticket);
std::function<void(const Progress&)> progress_of(Host& host, Ticket ticket);

}  // namespace callgate::hosts
