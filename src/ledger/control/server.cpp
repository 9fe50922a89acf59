#include "ledger/control/server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mutex.h"
#include "base/thread_role.h"
#include "os/system_error.h"

namespace callgate::ledger {
namespace {

constexpr std::size_t kReadAtOnce = 64u << 10;
// Out of descriptors, or the like: how long nobody is let in.
constexpr std::chrono::milliseconds kAcceptPause{100};

tl::unexpected<Error> no_socket(Error why, const std::string& path) {
    why.code = ErrorCode::ledger_unavailable;
    why.details["reason"] = "control_socket";
    why.details["path"] = path;
    return tl::unexpected(std::move(why));
}

Error ending() {
    return {ErrorCode::unavailable,
            "The process that owned the ledger is ending. Ask again.",
            {{"reason", kOwnerEnds}}};
}

}  // namespace

// What the loop and the thread that runs a verb both know of one request.
struct ControlServer::Exchange {
    base::Mutex mutex;
    base::CondVar changed;
    bool called_off CALLGATE_GUARDED_BY(mutex) = false;
    bool unsent CALLGATE_GUARDED_BY(mutex) = false;  // something told before the answer is on its way

    void call_off() {
        const base::MutexLock lock(mutex);
        called_off = true;
        changed.notify_all();
    }
    void sent() {
        const base::MutexLock lock(mutex);
        unsent = false;
        changed.notify_all();
    }
};

struct ControlServer::Connection {
    std::uint64_t id = 0;
    os::Fd fd;
    uid_t uid = 0;
    ControlUser user;
    MessageReader in{request_limits()};
    std::string out;
    std::size_t sent = 0;
    base::MonotonicTime deadline{};
    std::shared_ptr<Exchange> running;  // while a verb runs
    bool has_spoken = false;            // something came, be it the end
    bool ended = false;                 // the peer sends no more
    bool last_answer = false;           // close when it is written
    bool dead = false;                  // to be removed
};

struct ControlServer::Delivery {
    std::uint64_t connection = 0;
    std::string bytes;
    bool is_answer = true;  // not progress
};

Result<std::unique_ptr<ControlServer>> ControlServer::start(ControlService& service, const base::Clock& clock,
                                                            ControlOptions options) {
    const std::string path = options.directory + '/' + kControlSocket;
    struct ::stat directory = {};
    if (::stat(options.directory.c_str(), &directory) != 0)
        return no_socket(os::system_error(ErrorCode::internal, "listen on", path, errno), path);
    auto listening = os::listen_unix(path, options.permissions);
    if (!listening && os::error_number(listening.error()) == EEXIST)
        listening.error().message = fmt::format(
            "{} is in the way: it is no socket, and is left alone. Move it away, and start again: the "
            "ledger's owner makes a socket of that name, for operators.",
            path);
    if (!listening) return no_socket(std::move(listening.error()), path);
    os::Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!wake) return no_socket(os::system_error(ErrorCode::internal, "listen on", path, errno), path);
    // What root serves for somebody must not lock them out.
    if (::geteuid() == 0 && directory.st_uid != 0)
        static_cast<void>(::lchown(path.c_str(), directory.st_uid, directory.st_gid));
    std::unique_ptr<ControlServer> server(new ControlServer(
        service, clock, std::move(options), std::move(*listening), std::move(wake), directory.st_uid));
    server->thread_ = std::thread([raw = server.get()] { raw->loop(); });
    return server;
}

ControlServer::ControlServer(ControlService& service, const base::Clock& clock, ControlOptions options,
                             os::Fd listening, os::Fd wake, uid_t owner)
    : service_(service),
      clock_(clock),
      options_(std::move(options)),
      path_(options_.directory + '/' + kControlSocket),
      owner_(owner),
      listening_(std::move(listening)),
      wake_(std::move(wake)),
      quick_(options_.quick_threads),
      writing_(options_.writing_threads),
      lengthy_(options_.lengthy_threads) {}

ControlServer::~ControlServer() {
    stop();
}

void ControlServer::stop() {
    if (!thread_.joinable()) return;
    stopping_.store(true);
    wake();
    thread_.join();
    // Not even a verb that nobody waits for any more may outlive the ledger.
    quick_.stop();
    writing_.stop();
    lengthy_.stop();
    connections_.clear();
}

void ControlServer::wake() noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake_.get(), &one, sizeof one));
}

void ControlServer::loop() {
    const base::OurThread ours;
    std::vector<pollfd> waits;
    std::optional<base::MonotonicTime> end;
    for (;;) {
        if (stopping_.load() && !end) {
            end = clock_.monotonic_now() + options_.stop_grace;
            static_cast<void>(::unlink(path_.c_str()));
            take_connections();
            listening_.reset();
            say_goodbye();
        }
        if (end) {
            // Only answers that are still owed keep it going.
            std::erase_if(connections_, [](const auto& one) {
                return one.second.running == nullptr && one.second.out.empty();
            });
            if (connections_.empty() || clock_.monotonic_now() >= *end) return;
        }
        waits.assign({{wake_.get(), POLLIN, 0}});
        const bool may_accept = listening_ && clock_.monotonic_now() >= accept_again_;
        waits.push_back({may_accept ? listening_.get() : -1, POLLIN, 0});
        for (const auto& [id, connection] : connections_) {
            short events = 0;
            if (!connection.out.empty()) {
                events = POLLOUT;
            } else if (!connection.running && !connection.ended) {
                events = POLLIN;
            }
            waits.push_back({connection.fd.get(), events, 0});
        }
        int timeout = next_timeout();
        if (end) timeout = timeout < 0 ? 50 : std::min(timeout, 50);
        if (::poll(waits.data(), waits.size(), timeout) < 0 && errno != EINTR) {
            // Out of memory: nobody can be served any more, and no verb may wait for its reader.
            say_goodbye();
            return;
        }

        std::uint64_t woken = 0;
        static_cast<void>(::read(wake_.get(), &woken, sizeof woken));
        deliver();
        std::size_t i = 2;
        for (auto& [id, connection] : connections_) {
            const short seen = waits[i++].revents;
            if ((seen & POLLOUT) != 0) {
                write_to(connection);
                advance(connection);
            }
            if ((seen & POLLIN) != 0 && !connection.dead) read_from(connection);
            // Hung up while its verb runs: nobody will read the answer.
            if ((seen & (POLLHUP | POLLERR | POLLNVAL)) != 0 && (seen & POLLIN) == 0) connection.dead = true;
        }
        drop_late_ones();
        if (waits[1].revents != 0) take_connections();
    }
}

int ControlServer::next_timeout() const {
    std::optional<base::MonotonicTime> first;
    for (const auto& [id, connection] : connections_) {
        if (connection.running && connection.out.empty()) continue;
        if (!first || connection.deadline < *first) first = connection.deadline;
    }
    const base::MonotonicTime now = clock_.monotonic_now();
    if (accept_again_ > now && (!first || accept_again_ < *first)) first = accept_again_;
    if (!first) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*first - now).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

void ControlServer::take_connections() {
    for (;;) {
        auto accepted = os::accept_unix(listening_);
        if (!accepted) {
            accept_again_ = clock_.monotonic_now() + kAcceptPause;
            return;
        }
        if (!*accepted) return;
        admit(std::move(**accepted));
    }
}

std::size_t ControlServer::connections_of(uid_t user) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(connections_, [&](const auto& one) { return one.second.uid == user; }));
}

void ControlServer::turn_away(const os::Fd& fd, const Error& why) {
    // As much as it takes at once: who may not come in is not waited for.
    const std::string bytes = framed(bad_answer(why));
    static_cast<void>(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
}

void ControlServer::turn_away_descendant(const os::Fd& fd, const os::PeerOrigin& origin, uid_t user,
                                         const Error& why) {
    turn_away(fd, why);
    const std::uint64_t count = refused_.fetch_add(1) + 1;
    // One at a time: who connects again and again fills neither a queue nor a log faster than it is read.
    if (!options_.on_refused || reporting_.exchange(true)) return;
    quick_.run([this, report = RefusedPeer{origin.pid, user, why, count}] {
        options_.on_refused(report);
        reporting_.store(false);
    });
}

bool ControlServer::a_silent_one_gives_way(std::optional<uid_t> user) {
    const auto is_silent = [](const Connection& one) {
        char byte = 0;
        return !one.has_spoken && ::recv(one.fd.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0;
    };
    const auto oldest = std::ranges::find_if(connections_, [&](const auto& one) {
        return (!user || one.second.uid == *user) && is_silent(one.second);
    });
    if (oldest == connections_.end()) return false;
    turn_away(oldest->second.fd,
              Error(ErrorCode::unavailable, "Others came, and you had not asked for anything. Try again.",
                    {{"reason", "too_many_connections"}}));
    connections_.erase(oldest);
    return true;
}

void ControlServer::admit(os::Fd fd) {
    Connection made;
    made.id = ++last_connection_;
    made.fd = std::move(fd);
    const auto peer = options_.peer_of(made.fd);
    const bool is_owner = peer && (peer->uid == owner_ || peer->uid == ::geteuid() || peer->uid == 0);
    const bool allowed =
        is_owner ||
        (peer && (std::ranges::find(options_.uids, peer->uid) != options_.uids.end() ||
                  std::ranges::any_of(options_.gids, [&](gid_t group) { return peer->in_group(group); })));
    if (allowed) {
        const os::PeerOrigin origin = options_.origin_of(made.fd, options_.clients);
        if (const auto why = refusal_of(origin))
            return turn_away_descendant(made.fd, origin, peer->uid, *why);
    }
    std::optional<Error> refusal;
    if (!allowed) {
        refusal =
            Error(ErrorCode::denied, "This ledger belongs to another user. Ask as that user, or as root.",
                  {{"reason", "not_allowed"}});
    } else if (connections_of(peer->uid) >= options_.max_connections_per_user &&
               !a_silent_one_gives_way(peer->uid)) {
        refusal = Error(ErrorCode::unavailable,
                        fmt::format("The owner of the ledger already serves {} connections of yours. Close "
                                    "some, or try again.",
                                    options_.max_connections_per_user),
                        {{"reason", "too_many_connections"},
                         {"max", options_.max_connections_per_user},
                         {"user", peer->uid}});
    } else if (connections_.size() >= options_.max_connections && !a_silent_one_gives_way(std::nullopt)) {
        refusal = Error(ErrorCode::unavailable,
                        fmt::format("The owner of the ledger already serves {} others. Try again.",
                                    options_.max_connections),
                        {{"reason", "too_many_connections"}, {"max", options_.max_connections}});
    }
    if (refusal) return turn_away(made.fd, *refusal);
    made.uid = peer->uid;
    made.user = control_user_of(*peer, is_owner);
    made.deadline = clock_.monotonic_now() + options_.request_timeout;
    connections_.emplace(made.id, std::move(made));
}

void ControlServer::deliver() {
    std::vector<Delivery> arrived;
    {
        const base::MutexLock lock(mutex_);
        arrived.swap(deliveries_);
    }
    for (Delivery& delivery : arrived) {
        const auto at = connections_.find(delivery.connection);
        if (at == connections_.end()) continue;
        Connection& connection = at->second;
        if (delivery.is_answer) connection.running = nullptr;
        send(connection, delivery.bytes);
        if (delivery.is_answer) advance(connection);
    }
}

void ControlServer::read_from(Connection& connection) {
    std::array<char, kReadAtOnce> block;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by read
    const ssize_t got = ::read(connection.fd.get(), block.data(), block.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got < 0) {
        connection.dead = true;
        return;
    }
    if (got == 0) connection.ended = true;
    connection.has_spoken = true;
    connection.in.add({block.data(), static_cast<std::size_t>(got)});
    advance(connection);
}

void ControlServer::advance(Connection& connection) {
    while (!connection.dead && !connection.running && connection.out.empty()) {
        if (connection.last_answer) {
            connection.dead = true;
            return;
        }
        // What came too late is not begun; the goodbye says so.
        if (stopping_.load()) return;
        auto next = connection.in.next();
        if (!next) {
            connection.last_answer = connection.in.broken();
            send(connection, framed(bad_answer(next.error())));
        } else if (*next) {
            requests_.fetch_add(1);
            begin(connection, std::move(**next));
        } else {
            if (connection.ended) connection.dead = true;
            return;
        }
    }
}

void ControlServer::send(Connection& connection, const std::string& bytes) {
    if (connection.out.empty())
        connection.deadline =
            clock_.monotonic_now() + (connection.running ? options_.text_timeout : options_.answer_timeout);
    connection.out += bytes;
    write_to(connection);
}

void ControlServer::write_to(Connection& connection) {
    while (connection.sent < connection.out.size()) {
        const ssize_t taken = ::send(connection.fd.get(), connection.out.data() + connection.sent,
                                     connection.out.size() - connection.sent, MSG_NOSIGNAL);
        if (taken < 0) {
            if (errno == EINTR) continue;
            if (errno != EAGAIN) connection.dead = true;
            return;
        }
        connection.sent += static_cast<std::size_t>(taken);
    }
    std::string().swap(connection.out);
    connection.sent = 0;
    connection.deadline = clock_.monotonic_now() + options_.request_timeout;
    if (connection.running) connection.running->sent();
}

void ControlServer::begin(Connection& connection, Object request) {
    auto exchange = std::make_shared<Exchange>();
    connection.running = exchange;
    using Takes = ControlService::Takes;
    const Takes takes = ControlService::takes(request);
    WorkThreads& threads = takes == Takes::long_work ? lengthy_ : takes == Takes::a_write ? writing_ : quick_;
    threads.run([this, id = connection.id, request = std::move(request), user = connection.user,
                 exchange = std::move(exchange)] { run_verb(id, request, user, *exchange); });
}

// On one of the threads for work.
void ControlServer::run_verb(std::uint64_t connection, const Object& request, const ControlUser& user,
                             Exchange& exchange) {
    std::optional<std::uint64_t> reported;
    Meanwhile meanwhile;
    meanwhile.progress = [&](std::uint64_t done, std::uint64_t total) {
        const std::uint64_t percent = total == 0 ? done : done * 100 / total;
        const base::MutexLock lock(exchange.mutex);
        // Only when it says something new, and never in front of a peer that has not taken the last.
        if (exchange.called_off || exchange.unsent || reported == percent) return !exchange.called_off;
        reported = percent;
        exchange.unsent = true;
        post({connection, framed(progress_message(done, total)), false});
        return true;
    };
    // A slow peer slows down this thread, and nothing else.
    meanwhile.text = [&](std::string_view piece) {
        base::MutexLock lock(exchange.mutex);
        exchange.changed.wait(lock, [&]() CALLGATE_REQUIRES(exchange.mutex) {
            return exchange.called_off || !exchange.unsent;
        });
        if (exchange.called_off) return false;
        exchange.unsent = true;
        post({connection, framed(text_message(piece)), false});
        return true;
    };
    Object answer;
    try {
        auto result = service_.answer(request, user, meanwhile);
        // Not they, but we have called it off.
        if (!result && result.error().code == ErrorCode::cancelled && stopping_.load())
            result = tl::unexpected(ending());
        answer = result ? good_answer(std::move(*result)) : bad_answer(result.error());
    } catch (const std::exception& error) {
        const std::string_view words = error.what() != nullptr ? error.what() : "no message";
        answer = bad_answer({ErrorCode::internal, fmt::format("The verb failed: {}.", words)});
    }
    std::string text = json::write(answer);
    if (const std::size_t most = answer_limits().max_bytes; text.size() > most) {
        text = json::write(bad_answer(
            {ErrorCode::output_invalid,
             fmt::format("The answer has {} bytes; at most {} are sent. Ask for less.", text.size(), most),
             {{"reason", "answer_too_large"}, {"bytes", text.size()}, {"max", most}}}));
    }
    post({connection, framed_text(text), true});
}

void ControlServer::post(Delivery delivery) {
    {
        const base::MutexLock lock(mutex_);
        deliveries_.push_back(std::move(delivery));
    }
    wake();
}

void ControlServer::drop_late_ones() {
    const base::MonotonicTime now = clock_.monotonic_now();
    for (auto at = connections_.begin(); at != connections_.end();) {
        Connection& connection = at->second;
        const bool waits_for_verb = connection.running != nullptr && connection.out.empty();
        if (!waits_for_verb && connection.deadline <= now) connection.dead = true;
        if (connection.dead && connection.running) connection.running->call_off();
        at = connection.dead ? connections_.erase(at) : std::next(at);
    }
}

// Work that runs is called off, and answered. Connections that wait for nothing are notified, so that they
// know that nothing of theirs was begun and can ask the next owner.
void ControlServer::say_goodbye() {
    const std::string goodbye = framed(bad_answer(ending()));
    for (auto& [id, connection] : connections_) {
        if (connection.running) {
            connection.running->call_off();
        } else if (connection.out.empty()) {
            send(connection, goodbye);
        }
    }
}

}  // namespace callgate::ledger
