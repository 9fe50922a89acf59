// How a client finds out what a server speaks: the stateless era is asked first, since an old server refuses
// that in one of many ways, and a new one answers.
//
//     answer to server/discover          verdict
//     a result with revisions            the stateless era, if it has one of ours there
//     -32020, -32021, -32022             the same; -32022 names the revisions
//     any other error, or silence        the older era: `initialize`
//       (over lines; HTTP: a 4xx)
//     the connection has ended           the older era, over a new connection (lines)
//     401, 403, 5xx, a network's error   no verdict: connecting has failed
//
// Threads: the client's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "mcp/client_options.h"
#include "mcp/client_requests.h"

namespace callgate::mcp {

/// `_meta` of a request of the stateless era.
Object client_envelope(const Codec& codec, const ClientOptions& options, const InputAbilities& can);
/// What a client may be asked where a request brings nobody of its own.
InputAbilities default_abilities(const ClientOptions& options);

class ClientHandshake : public std::enable_shared_from_this<ClientHandshake> {
public:
    struct Ended {
        Result<ServerFacts> facts;
        /// The connection ended at the question about the stateless era: again, with the older one.
        bool again_as_legacy = false;
    };
    ClientHandshake(ClientRequests& requests, std::shared_ptr<ClientTransport> transport,
                    const ClientOptions& options, std::function<void(Ended)> done)
        : requests_(requests), transport_(std::move(transport)), options_(options), done_(std::move(done)) {}

    /// `done` is called once, not before this returns, unless it is dropped.
    void begin(EraChoice era);
    void drop() { done_ = nullptr; }

private:
    void discover();
    void discovered(ClientAnswer answer);
    void take_facts(const Object& result);
    void refused(const ClientFailure& failure);
    void initialize();
    void initialized(ClientAnswer answer);
    void fail_with(Error error);
    void end(Ended ended);

    ClientRequests& requests_;
    const std::shared_ptr<ClientTransport> transport_;
    const ClientOptions& options_;
    std::function<void(Ended)> done_;
    EraChoice era_ = EraChoice::automatic;
    std::string revision_;  // that is proposed in `initialize`
    bool asked_again_ = false;
    bool fell_back_ = false;
};

}  // namespace callgate::mcp
