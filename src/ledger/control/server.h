// Serves control.sock in the ledger's directory, for as long as this process owns the ledger.
//
// The kernel says who connects: the user whose ledger it is, root, and whom the options name; everybody else
// gets one refusal, and so does, as whichever user, what descends from this process or from the clients that
// it serves (peer_origin.h). Files are made only for the user that this process runs as, and for root. One
// thread moves all bytes and never waits for a peer; verbs run on a few others, and those that read the whole
// ledger on threads of their own, so that an approval never waits for a check. Everything is bounded:
// connections, in all and of each user, one request at a time on each, the time a request or a reader may
// take. Where there are too many, the oldest on which nothing was ever asked gives way. When a peer hangs up,
// its long work is called off.
//
// Threads: start() and stop() on one thread at a time. Must end before the ledger does.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <callgate/error.h>

#include "base/clock.h"
#include "base/mutex.h"
#include "ledger/control/control_user.h"
#include "ledger/control/message.h"
#include "ledger/control/peer_origin.h"
#include "ledger/control/service.h"
#include "ledger/control/work_threads.h"
#include "os/fd.h"
#include "os/lineage.h"
#include "os/unix_socket.h"

namespace callgate::ledger {

struct ControlOptions {
    std::string directory;    ///< the ledger's; whoever starts this holds its lock
    std::vector<uid_t> uids;  ///< who else may ask the verbs for everyone (verbs.h)
    std::vector<gid_t> gids;
    mode_t permissions = 0600;  ///< of the socket; others reach it only if this and the directory let them
    std::size_t max_connections = 64;
    std::size_t max_connections_per_user = 24;  ///< so that none of several keeps the others out
    std::size_t quick_threads = 2;              ///< for what only reads
    std::size_t writing_threads = 2;            ///< for what writes, and may have to wait for the disk
    std::size_t lengthy_threads = 2;
    std::chrono::milliseconds request_timeout{60'000};  ///< from the last answer to the whole next request
    std::chrono::milliseconds answer_timeout{30'000};   ///< for a peer to take an answer
    std::chrono::milliseconds text_timeout{600'000};    ///< for a piece of a long text: people pause
    std::chrono::milliseconds stop_grace{2'000};        ///< for what runs at the end
    /// Clients that started this process to talk with it over its standard input (os::client_of_stdio()):
    /// they, and what descends from them, are refused as this process's own descendants are.
    std::vector<os::ProcessId> clients;
    /// Hears of peers that were refused for where they come from, on a thread for verbs, one at a time; those
    /// that come while it runs are only counted. Must not throw.
    std::function<void(const RefusedPeer&)> on_refused;
    /// Seams for tests.
    std::function<Result<os::PeerCredentials>(const os::Fd&)> peer_of = os::peer_of;
    std::function<os::PeerOrigin(const os::Fd&, std::span<const os::ProcessId>)> origin_of =
        os::origin_of_peer;

    ControlOptions() = default;
};

class ControlServer {
public:
    /// A stale socket is replaced. `service` and `clock` must outlive this. On failure ledger_unavailable
    /// {reason: control_socket}.
    static Result<std::unique_ptr<ControlServer>> start(ControlService& service, const base::Clock& clock,
                                                        ControlOptions options);
    ~ControlServer();
    ControlServer(const ControlServer&) = delete;
    ControlServer& operator=(const ControlServer&) = delete;

    /// Takes the socket away, calls long work off, lets the rest be answered within the grace, and waits for
    /// every verb. Again: nothing.
    void stop();

    /// Well-formed messages, ever.
    std::uint64_t requests() const noexcept { return requests_.load(); }
    /// Peers that were refused for where they come from, ever.
    std::uint64_t refused_descendants() const noexcept { return refused_.load(); }

private:
    struct Connection;
    struct Exchange;
    struct Delivery;

    ControlServer(ControlService& service, const base::Clock& clock, ControlOptions options, os::Fd listening,
                  os::Fd wake, uid_t owner);

    void loop();
    int next_timeout() const;
    void take_connections();
    void admit(os::Fd fd);
    void turn_away(const os::Fd& fd, const Error& why);
    void turn_away_descendant(const os::Fd& fd, const os::PeerOrigin& origin, uid_t user, const Error& why);
    /// The oldest connection, of one user or of all, on which nothing has been asked yet.
    bool a_silent_one_gives_way(std::optional<uid_t> user);
    std::size_t connections_of(uid_t user) const;
    void deliver();
    void read_from(Connection& connection);
    void write_to(Connection& connection);
    /// Goes on with what has been read, until there is something to wait for.
    void advance(Connection& connection);
    void send(Connection& connection, const std::string& bytes);
    void begin(Connection& connection, Object request);
    void run_verb(std::uint64_t connection, const Object& request, const ControlUser& user,
                  Exchange& exchange);
    void drop_late_ones();
    void say_goodbye();
    void post(Delivery delivery);
    void wake() noexcept;

    ControlService& service_;
    const base::Clock& clock_;
    const ControlOptions options_;
    const std::string path_;
    const uid_t owner_;
    os::Fd listening_;
    os::Fd wake_;

    // The loop's own.
    std::map<std::uint64_t, Connection> connections_;
    std::uint64_t last_connection_ = 0;
    base::MonotonicTime accept_again_{};

    base::Mutex mutex_;
    std::vector<Delivery> deliveries_ CALLGATE_GUARDED_BY(mutex_);
    std::atomic<bool> stopping_{false};
    std::atomic<std::uint64_t> requests_{0};
    std::atomic<std::uint64_t> refused_{0};
    std::atomic<bool> reporting_{false};  // a refused peer, to on_refused
    WorkThreads quick_;
    WorkThreads writing_;
    WorkThreads lengthy_;
    std::thread thread_;
};

}  // namespace callgate::ledger
