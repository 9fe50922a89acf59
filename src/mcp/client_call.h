// One request of a client's caller, over however many rounds it takes: a server of the stateless era may
// answer with questions, and is asked again with the answers and the state that it gave, to the byte.
//
// Its time is the caller's: it covers all rounds, and stands still while somebody is asked. A round after the
// first says nothing of what earlier ones did, so nothing counts as not applied there.
//
// Threads: the client's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/steady_timer.hpp>

#include "mcp/client_lists.h"
#include "mcp/client_options.h"
#include "mcp/client_questions.h"
#include "mcp/client_requests.h"

namespace callgate::mcp {

/// What the calls of one connection share.
struct ClientParts {
    std::shared_ptr<net::LoopThread> thread;
    const ClientOptions& options;
    ClientRequests& requests;
    ClientLists& lists;
    ServerFacts facts;
    bool has_headers = false;  // the transport
};

class ClientCall : public std::enable_shared_from_this<ClientCall> {
public:
    ClientCall(const ClientParts& parts, ClientRequest request, ClientDone done);

    /// `done` is called once, not before this returns.
    void begin();
    void cancel(std::string_view reason);
    /// The connection has gone.
    void lose(const TransportLoss& loss);

    /// Whom its server may ask; null: nobody.
    const std::shared_ptr<ClientQuestions>& questions() const noexcept { return questions_; }
    /// Of the request that is under way; 0: none.
    std::uint64_t id() const noexcept { return id_; }

private:
    bool wants_list() const;
    void list_first(bool again);
    void send();
    Object envelope_now();
    void answered(ClientAnswer answer);
    void take_failure(ClientFailure failure);
    void take_questions(Object& result);
    bool take_urls(const ClientFailure& failure);
    void ask(const std::shared_ptr<QuestionRound>& round, QuestionRound::Done then);
    void wait_and_send();
    void finish(ClientAnswer answer);

    const ClientParts& parts_;
    ClientRequest request_;
    ClientDone done_;
    std::shared_ptr<ClientQuestions> questions_;
    std::chrono::milliseconds left_;
    std::chrono::steady_clock::time_point since_{};
    std::uint64_t id_ = 0;
    std::uint32_t rounds_ = 0;
    bool begun_ = false;  // there was progress
    bool listed_again_ = false;
    bool over_ = false;
    std::shared_ptr<QuestionRound> asking_;
    std::shared_ptr<boost::asio::steady_timer> pause_;
};

}  // namespace callgate::mcp
