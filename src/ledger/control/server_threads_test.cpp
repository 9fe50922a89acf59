#include "ledger/control/server.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "ledger/audit/audit_testing.h"
#include "ledger/control/client.h"
#include "ledger/control/control_testing.h"
#include "os/scratch_dir.h"

namespace callgate::ledger {
namespace {

using ::testing::AnyOf;
using testing::Bench;
using ::testing::Contains;
using testing::FakeOperations;
using ::testing::HasSubstr;
using testing::id_text;

struct Served : Bench {
    os::ScratchDir dir;
    FakeOperations operations{ledger, clock};
    ControlService service{ledger, operations, clock};
    std::unique_ptr<ControlServer> server;

    void start(ControlOptions options = {}) {
        options.directory = dir.path();
        auto started = ControlServer::start(service, clock, std::move(options));
        ASSERT_TRUE(started) << started.error().message;
        server = std::move(*started);
    }
    ControlClient client() const { return ControlClient::connect(dir.path()).value(); }
    os::Fd raw() const { return os::connect_unix(dir.file(kControlSocket)).value(); }
    std::string socket() const { return dir.file(kControlSocket); }
};

void write_all(const os::Fd& fd, std::string_view bytes) {
    while (!bytes.empty()) {
        pollfd wait{fd.get(), POLLOUT, 0};
        ASSERT_EQ(::poll(&wait, 1, -1), 1);
        const ssize_t taken = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (taken < 0) return;  // the other end has had enough
        bytes.remove_prefix(static_cast<std::size_t>(taken));
    }
}

// Everything until the other end closes.
std::string read_to_end(const os::Fd& fd) {
    std::string all;
    for (;;) {
        pollfd wait{fd.get(), POLLIN, 0};
        EXPECT_EQ(::poll(&wait, 1, -1), 1);
        std::string block(65'536, '\0');
        const ssize_t got = ::read(fd.get(), block.data(), block.size());
        if (got <= 0) return all;
        all.append(block, 0, static_cast<std::size_t>(got));
    }
}

// One message.
Object read_message(const os::Fd& fd, MessageReader& reader) {
    for (;;) {
        auto next = reader.next();
        if (!next || *next) return next ? std::move(**next) : Object{};
        pollfd wait{fd.get(), POLLIN, 0};
        EXPECT_EQ(::poll(&wait, 1, -1), 1);
        std::string block(65'536, '\0');
        const ssize_t got = ::read(fd.get(), block.data(), block.size());
        if (got <= 0) return {};
        reader.add(std::string_view(block).substr(0, static_cast<std::size_t>(got)));
    }
}

std::string reason_in(const Object& answer) {
    const Value* error = answer.if_contains("error");
    return error == nullptr ? "" : std::string(error->at("details").at("reason").as_string());
}

TEST(ControlServer, AnswersOverItsSocketInTheLedgersDirectory) {
    Served served;
    served.start();
    ControlClient client = served.client();
    const auto answer = client.ask({{"verb", "ping"}});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->at("pid"), ::getpid());
    EXPECT_EQ(answer->at("you"), Value(control_user_of(os::peer_of(served.raw()).value(), true).name));
    EXPECT_TRUE(client.ask({{"verb", "ping"}})) << "a connection may be used again";
    EXPECT_EQ(client.ask({{"verb", "frobnicate"}}).error().details.at("reason"), "unknown_verb");
}

TEST(ControlServer, TheSocketIsItsOwnersAlone) {
    Served served;
    served.start();
    struct ::stat there = {};
    ASSERT_EQ(::lstat(served.socket().c_str(), &there), 0);
    EXPECT_EQ(there.st_mode & 07777u, 0600u);
}

TEST(ControlServer, AStaleSocketOfADeadOwnerIsReplaced) {
    Served served;
    ASSERT_TRUE(os::listen_unix(served.socket(), 0600));
    EXPECT_EQ(ControlClient::connect(served.dir.path()).error().details.at("reason"), "nobody_serves");
    served.start();
    EXPECT_TRUE(served.client().ask({{"verb", "ping"}}));
}

TEST(ControlServer, WhatIsNoSocketIsNotReplaced) {
    Served served;
    std::filesystem::create_directory(served.socket());
    ControlOptions options;
    options.directory = served.dir.path();
    const auto refused = ControlServer::start(served.service, served.clock, options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::ledger_unavailable);
    EXPECT_EQ(refused.error().details.at("reason"), "control_socket");
    EXPECT_NE(refused.error().message.find(served.socket() + " is in the way: it is no socket"),
              std::string::npos)
        << refused.error().message;
}

TEST(ControlServer, StopTakesTheSocketAway) {
    Served served;
    served.start();
    served.server->stop();
    EXPECT_FALSE(std::filesystem::exists(served.socket()));
    EXPECT_FALSE(ControlClient::connect(served.dir.path()));
    served.server->stop();
    served.start();
    EXPECT_TRUE(served.client().ask({{"verb", "ping"}})) << "and another may serve after it";
}

struct Visitor {
    uid_t uid;
    gid_t gid;
    std::vector<gid_t> groups;
    std::string answer;
};

TEST(ControlServer, OnlyTheOwnerRootAndWhomTheOptionsNameGetIn) {
    const uid_t me = ::geteuid();
    for (const Visitor& visitor : std::vector<Visitor>{{me, 1, {}, ""},
                                                       {0, 1, {}, ""},
                                                       {me + 1, 1, {}, "not_allowed"},
                                                       {4711, 1, {}, ""},
                                                       {me + 1, 815, {}, ""},
                                                       {me + 1, 1, {5, 815}, ""},
                                                       {me + 1, 1, {5, 816}, "not_allowed"}}) {
        Served served;
        ControlOptions options;
        options.uids = {4711};
        options.gids = {815};
        options.peer_of = [&](const os::Fd&) -> Result<os::PeerCredentials> {
            os::PeerCredentials peer;
            peer.uid = visitor.uid;
            peer.gid = visitor.gid;
            peer.groups = visitor.groups;
            return peer;
        };
        served.start(options);
        const auto answer = served.client().ask({{"verb", "ping"}});
        const std::string reason = answer ? "" : std::string(answer.error().details.at("reason").as_string());
        EXPECT_EQ(reason, visitor.answer) << "uid " << visitor.uid << " gid " << visitor.gid;
        const bool is_owner = visitor.uid == me || visitor.uid == 0;
        if (!visitor.answer.empty() || is_owner) continue;
        EXPECT_EQ(served.client().ask({{"verb", "ledger.gc"}}).error().details.at("reason"), "owner_only");
    }
}

TEST(ControlServer, WhomRootServesHasNoFilesMadeByRoot) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "not as this user: only root can serve a directory that is another user's";
    constexpr uid_t kAlice = 4'711;
    for (const uid_t asking : {kAlice, uid_t{0}}) {
        Served served;
        ASSERT_EQ(::chown(served.dir.path().c_str(), kAlice, kAlice), 0);
        ControlOptions options;
        options.peer_of = [&](const os::Fd&) -> Result<os::PeerCredentials> {
            os::PeerCredentials peer;
            peer.uid = asking;
            return peer;
        };
        served.start(options);
        const auto backup = served.client().ask({{"verb", "ledger.backup"}, {"path", "/etc/cron.d/b"}});
        const std::string reason = backup ? "" : std::string(backup.error().details.at("reason").as_string());
        EXPECT_EQ(reason, asking == 0 ? "" : "not_allowed") << "uid " << asking;
        EXPECT_TRUE(served.client().ask({{"verb", "ledger.gc"}})) << "uid " << asking;
    }
}

TEST(ControlServer, WhoCannotBeIdentifiedIsRefused) {
    Served served;
    ControlOptions options;
    options.peer_of = [](const os::Fd&) -> Result<os::PeerCredentials> {
        return fail(ErrorCode::internal, "nobody");
    };
    served.start(options);
    EXPECT_EQ(served.client().ask({{"verb", "ping"}}).error().details.at("reason"), "not_allowed");
}

TEST(ControlServer, GarbageIsAnsweredAndDoesNotEndTheConversation) {
    Served served;
    served.start();
    const os::Fd fd = served.raw();
    MessageReader reader(answer_limits());
    write_all(fd,
              framed_text("{\"a\":1,\"a\":2}") + framed_text("[]") + framed({{"v", 1}, {"verb", "ping"}}));
    EXPECT_EQ(reason_in(read_message(fd, reader)), "duplicate_key");
    EXPECT_EQ(reason_in(read_message(fd, reader)), "not_an_object");
    EXPECT_EQ(read_message(fd, reader).at("ok"), true);
}

TEST(ControlServer, AnOversizeMessageIsRefusedByItsLengthAndEndsTheConversation) {
    Served served;
    served.start();
    const os::Fd fd = served.raw();
    write_all(fd, "\xFF\xFF\xFF\xFF garbage");
    MessageReader reader(answer_limits());
    reader.add(read_to_end(fd));
    EXPECT_EQ(reason_in(**reader.next()), "message_too_large");
    EXPECT_TRUE(served.client().ask({{"verb", "ping"}})) << "others are not disturbed";
}

TEST(ControlServer, ThousandsOfFaultyMessagesAtOnceAreAnsweredOneByOne) {
    Served served;
    served.start();
    const os::Fd fd = served.raw();
    constexpr int kMany = 20'000;
    std::thread writer([&] {
        std::string many;
        for (int i = 0; i < kMany; ++i) many += framed_text("");
        write_all(fd, many);
    });
    MessageReader reader(answer_limits());
    for (int i = 0; i < kMany; ++i) EXPECT_EQ(read_message(fd, reader).at("ok"), false);
    writer.join();
}

TEST(ControlServer, WhoSendsHalfAMessageIsLetGoAfterItsTime) {
    Served served;
    served.start();
    const os::Fd slow = served.raw();
    write_all(slow, framed({{"v", 1}, {"verb", "ping"}}).substr(0, 9));
    EXPECT_TRUE(served.client().ask({{"verb", "ping"}})) << "others are not disturbed";
    served.clock.advance(std::chrono::minutes(2));
    EXPECT_TRUE(served.client().ask({{"verb", "ping"}}));
    EXPECT_EQ(read_to_end(slow), "");
}

TEST(ControlServer, WhoDoesNotReadHoldsUpNobodyAndIsLetGo) {
    Served served;
    served.ask("a1", id_text(1));
    served.start();
    const os::Fd slow = served.raw();
    // Answers that nobody takes fill the socket, and then the server waits for that peer alone.
    const std::string request = framed({{"v", 1}, {"verb", "approvals.show"}, {"id", "a1"}});
    std::string many;
    for (int i = 0; i < 10'000; ++i) many += request;
    std::atomic<bool> let_go{false};
    std::thread writer([&] {
        write_all(slow, many);
        let_go = true;
    });
    ControlClient other = served.client();
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(other.ask({{"verb", "ping"}}));
    while (!let_go) {
        served.clock.advance(std::chrono::minutes(1));
        EXPECT_TRUE(served.client().ask({{"verb", "ping"}}));
    }
    writer.join();
    EXPECT_LT(served.server->requests(), 10'000u) << "it went with what it had asked for";
}

TEST(ControlServer, TooManyAtOnceAreToldSo) {
    Served served;
    ControlOptions options;
    options.max_connections = 3;
    served.start(options);
    std::vector<ControlClient> inside;
    for (int i = 0; i < 3; ++i) {
        inside.push_back(served.client());
        EXPECT_TRUE(inside.back().ask({{"verb", "ping"}}));
    }
    EXPECT_EQ(served.client().ask({{"verb", "ping"}}).error().details.at("reason"), "too_many_connections");
    EXPECT_TRUE(inside.front().ask({{"verb", "ping"}}));
    inside.clear();
    for (;;) {
        const auto answer = served.client().ask({{"verb", "ping"}});
        if (answer) break;
        ASSERT_EQ(answer.error().details.at("reason"), "too_many_connections");
    }
}

TEST(ControlServer, WhoNeverAskedGivesWay) {
    Served served;
    ControlOptions options;
    options.max_connections = 6;
    options.max_connections_per_user = 4;
    served.start(options);
    ControlClient asked = served.client();
    EXPECT_TRUE(asked.ask({{"verb", "ping"}}));
    std::vector<ControlClient> silent;
    for (int i = 0; i < 20; ++i) {
        silent.push_back(served.client());
        EXPECT_TRUE(served.client().ask({{"verb", "ping"}}));
    }
    EXPECT_TRUE(asked.ask({{"verb", "ping"}}));
    const auto gave_way = silent.front().ask({{"verb", "ping"}});
    EXPECT_FALSE(gave_way);
    EXPECT_TRUE(silent.back().ask({{"verb", "ping"}}));
}

TEST(ControlServer, OneUserKeepsNoOtherOut) {
    Served served;
    ControlOptions options;
    options.max_connections = 8;
    options.max_connections_per_user = 2;
    options.uids = {4'711};
    std::atomic<uid_t> who{4'711};
    options.peer_of = [&who](const os::Fd&) -> Result<os::PeerCredentials> {
        os::PeerCredentials peer;
        peer.uid = who.load();
        return peer;
    };
    served.start(options);
    std::vector<ControlClient> inside;
    for (int i = 0; i < 2; ++i) {
        inside.push_back(served.client());
        EXPECT_TRUE(inside.back().ask({{"verb", "ping"}}));
    }
    const auto third = served.client().ask({{"verb", "ping"}});
    ASSERT_FALSE(third);
    EXPECT_EQ(third.error().details.at("reason"), "too_many_connections");
    EXPECT_EQ(third.error().details.at("user"), 4'711);
    who = ::geteuid();
    EXPECT_TRUE(served.client().ask({{"verb", "ping"}}));
}

TEST(ControlServer, ManyClientsAtOnceEachGetTheirOwnAnswers) {
    Served served;
    for (std::uint64_t i = 0; i < 8; ++i)
        served.ask("a" + std::to_string(i), id_text(i + 1), {}, std::to_string(i));
    served.start();
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&served, t] {
            const std::string id = "a" + std::to_string(t);
            ControlClient client = served.client();
            for (int i = 0; i < 50; ++i) {
                const auto answer = client.ask({{"verb", "approvals.show"}, {"id", id}});
                ASSERT_TRUE(answer) << answer.error().message;
                EXPECT_EQ(answer->at("approval").at("id"), Value(id));
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(served.server->requests(), 8u * 50u);
}

TEST(ControlServer, OneOfManyVotesCountsAndTheOthersAreToldSo) {
    Served served;
    served.ask("a1", id_text(1));
    served.start();
    std::atomic<int> approved{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&] {
            const auto answer = served.client().ask({{"verb", "approvals.vote"},
                                                     {"id", "a1"},
                                                     {"approve", true},
                                                     {"digest", "digest of request"}});
            if (answer) ++approved;
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(approved.load(), 1);
    EXPECT_EQ(served.ledger.approval("a1")->votes.size(), 1u);
}

TEST(ControlServer, LongWorkTellsItsProgressAndHoldsUpNoVote) {
    Served served;
    served.ask("a1", id_text(1));
    std::promise<void> let_go;
    auto may_end = let_go.get_future().share();
    std::atomic<int> running{0};
    served.operations.on_check = [&](const WorkProgress& progress) -> Result<Object> {
        progress(1, 4);
        ++running;
        may_end.wait();
        progress(4, 4);
        return Object{{"ok", true}};
    };
    served.start();
    // More of them than there are threads for long work.
    std::vector<std::thread> checks;
    std::atomic<int> checked{0};
    for (int i = 0; i < 4; ++i) {
        checks.emplace_back([&] {
            std::vector<std::uint64_t> seen;
            ControlClient client = served.client();
            const auto answer =
                client.ask({{"verb", "ledger.check"}}, Meanwhile([&](std::uint64_t done, std::uint64_t) {
                               seen.push_back(done);
                               return true;
                           }));
            EXPECT_TRUE(answer && answer->at("ok") == Value(true));
            EXPECT_THAT(seen, Contains(1u));
            ++checked;
        });
    }
    while (running.load() < 2) std::this_thread::yield();
    ControlClient voter = served.client();
    EXPECT_TRUE(voter.ask(
        {{"verb", "approvals.vote"}, {"id", "a1"}, {"approve", true}, {"digest", "digest of request"}}));
    EXPECT_EQ(checked.load(), 0);
    let_go.set_value();
    for (std::thread& check : checks) check.join();
    EXPECT_EQ(checked.load(), 4);
}

TEST(ControlServer, LongWorkEndsWhenItsPeerHangsUp) {
    Served served;
    std::promise<void> begun;
    std::promise<void> ended;
    served.operations.on_check = [&](const WorkProgress& progress) -> Result<Object> {
        begun.set_value();
        while (progress(1, 2)) std::this_thread::yield();
        ended.set_value();
        return fail(ErrorCode::cancelled, "Called off.");
    };
    served.start();
    {
        const os::Fd fd = served.raw();
        write_all(fd, framed({{"v", 1}, {"verb", "ledger.check"}}));
        begun.get_future().wait();
    }
    ended.get_future().wait();
}

TEST(ControlServer, ALongTextArrivesWholeAndInOrder) {
    Served served;
    const TestLog log(2'000);
    served.operations.log = &log.stored;
    served.start();
    std::string text;
    std::size_t pieces = 0;
    Meanwhile meanwhile;
    meanwhile.text = [&](std::string_view piece) {
        text += piece;
        ++pieces;
        return true;
    };
    const auto answer = served.client().ask({{"verb", "audit.export"}}, meanwhile);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->at("events"), 2'000);
    EXPECT_EQ(answer->at("bytes").to_number<std::size_t>(), text.size());
    EXPECT_EQ(std::ranges::count(text, '\n'), 2'001);
    EXPECT_GT(pieces, 1u);
}

TEST(ControlServer, WhoDoesNotTakeALongTextHoldsUpNobody) {
    Served served;
    const TestLog log(2'000);
    served.operations.log = &log.stored;
    served.start();
    std::vector<os::Fd> slow;
    for (int i = 0; i < 3; ++i) {
        slow.push_back(served.raw());
        write_all(slow.back(), framed({{"v", 1}, {"verb", "audit.export"}}));
    }
    ControlClient other = served.client();
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(other.ask({{"verb", "ping"}}));
    slow.clear();
    served.server->stop();
}

TEST(ControlServer, WhoHasEnoughOfALongTextCallsItOff) {
    Served served;
    const TestLog log(2'000);
    served.operations.log = &log.stored;
    served.start();
    Meanwhile meanwhile;
    meanwhile.text = [](std::string_view) { return false; };
    EXPECT_EQ(served.client().ask({{"verb", "audit.export"}}, meanwhile).error().code, ErrorCode::cancelled);
    served.server->stop();
}

TEST(ControlServer, AClientCanCallLongWorkOff) {
    Served served;
    std::promise<void> ended;
    served.operations.on_check = [&](const WorkProgress& progress) -> Result<Object> {
        for (std::uint64_t i = 0; progress(i, 1'000'000'000'000); ++i) std::this_thread::yield();
        ended.set_value();
        return fail(ErrorCode::cancelled, "Called off.");
    };
    served.start();
    const auto answer = served.client().ask({{"verb", "ledger.check"}},
                                            Meanwhile([](std::uint64_t, std::uint64_t) { return false; }));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::cancelled);
    ended.get_future().wait();
}

TEST(ControlServer, StopCallsLongWorkOffAndWaitsForIt) {
    Served served;
    std::promise<void> begun;
    std::atomic<bool> ended{false};
    served.operations.on_check = [&](const WorkProgress& progress) -> Result<Object> {
        begun.set_value();
        while (progress(1, 2)) std::this_thread::yield();
        ended = true;
        return fail(ErrorCode::cancelled, "Called off.", {{"reason", "called_off"}});
    };
    served.start();
    std::thread asking([&] {
        const auto answer = served.client().ask({{"verb", "ledger.check"}});
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().details.at("reason"), kOwnerEnds) << "even then it is answered";
    });
    begun.get_future().wait();
    served.server->stop();
    EXPECT_TRUE(ended.load());
    asking.join();
}

TEST(ControlServer, WhoWaitsWhenItStopsIsToldToAskTheNextOwner) {
    Served served;
    served.start();
    ControlClient known = served.client();
    EXPECT_TRUE(known.ask({{"verb", "ping"}}));
    std::vector<ControlClient> waiting;
    for (int i = 0; i < 20; ++i) waiting.push_back(served.client());
    served.server->stop();
    EXPECT_EQ(known.ask({{"verb", "ping"}}).error().details.at("reason"), kOwnerEnds);
    for (ControlClient& client : waiting) {
        const auto answer = client.ask({{"verb", "ping"}});
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().details.at("reason"), kOwnerEnds);
    }
}

TEST(ControlServer, WhoAsksWhileItStopsKnowsWhetherItWasDone) {
    for (int round = 0; round < 200; ++round) {
        Served served;
        served.start();
        ControlClient client = served.client();
        std::promise<void> first;
        std::string reason;
        std::thread asking([&] {
            EXPECT_TRUE(client.ask({{"verb", "ping"}}));
            first.set_value();
            for (;;) {
                const auto answer = client.ask({{"verb", "ping"}});
                if (answer) continue;
                reason = answer.error().details.at("reason").as_string();
                return;
            }
        });
        first.get_future().wait();
        served.server->stop();
        asking.join();
        ASSERT_THAT(reason, AnyOf(kOwnerEnds, kNotTaken)) << "round " << round;
    }
}

TEST(ControlServer, AnAnswerThatIsTooLargeIsToldSo) {
    Served served;
    served.operations.on_check = [](const WorkProgress&) -> Result<Object> {
        return Object{{"text", std::string(17u << 20, 'x')}};
    };
    served.start();
    EXPECT_EQ(served.client().ask({{"verb", "ledger.check"}}).error().details.at("reason"),
              "answer_too_large");
}

TEST(ControlServer, AVerbThatThrowsIsAnErrorAndNotTheEnd) {
    Served served;
    served.operations.on_check = [](const WorkProgress&) -> Result<Object> {
        throw std::runtime_error("out of luck");
    };
    served.start();
    ControlClient client = served.client();
    EXPECT_THAT(client.ask({{"verb", "ledger.check"}}).error().message, HasSubstr("out of luck"));
    EXPECT_TRUE(client.ask({{"verb", "ping"}}));
}

TEST(ControlClient, AnOwnerThatGoesAwayIsToldSo) {
    const os::ScratchDir dir;
    const auto listening = os::listen_unix(dir.file(kControlSocket), 0600);
    auto client = ControlClient::connect(dir.path());
    ASSERT_TRUE(client);
    std::thread owner([&] {
        pollfd wait{listening->get(), POLLIN, 0};
        ASSERT_EQ(::poll(&wait, 1, -1), 1);
        const auto connection = std::move(os::accept_unix(*listening)->value());
        MessageReader reader(request_limits());
        EXPECT_EQ(read_message(connection, reader).at("verb"), "ping");
    });
    const auto answer = client->ask({{"verb", "ping"}});
    owner.join();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().details.at("reason"), "connection_lost");
    EXPECT_EQ(client->ask({{"verb", "ping"}}).error().details.at("reason"), "connection_lost");
}

TEST(ControlClient, AnOwnerThatGoesAwayWithTheRequestUnreadHasNotBegunIt) {
    const os::ScratchDir dir;
    for (const bool accepted : {true, false}) {
        auto listening = os::listen_unix(dir.file(kControlSocket), 0600);
        auto client = ControlClient::connect(dir.path());
        ASSERT_TRUE(client);
        auto connection = accepted ? os::accept_unix(*listening).value() : std::nullopt;
        std::thread owner([&] {
            pollfd wait{connection ? connection->get() : listening->get(), POLLIN, 0};
            ASSERT_EQ(::poll(&wait, 1, -1), 1);
            connection.reset();
            listening->reset();
        });
        const auto answer = client->ask({{"verb", "ping"}});
        owner.join();
        ASSERT_FALSE(answer);
        EXPECT_EQ(answer.error().details.at("reason"), kNotTaken) << accepted;
    }
}

TEST(ControlClient, AnOwnerThatDoesNotAnswerIsNotWaitedForForever) {
    const os::ScratchDir dir;
    const auto listening = os::listen_unix(dir.file(kControlSocket), 0600);
    auto client = ControlClient::connect(dir.path());
    ASSERT_TRUE(client);
    const auto answer = client->ask({{"verb", "ping"}}, {}, std::chrono::milliseconds(1));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().details.at("reason"), "no_answer");
}

TEST(ControlClient, WhoWaitsInVainCanStop) {
    const os::ScratchDir dir;
    const auto listening = os::listen_unix(dir.file(kControlSocket), 0600);
    auto client = ControlClient::connect(dir.path());
    ASSERT_TRUE(client);
    const auto answer =
        client->ask({{"verb", "ledger.check"}}, Meanwhile([](std::uint64_t, std::uint64_t) { return false; }),
                    std::chrono::milliseconds(0));
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::cancelled);
}

TEST(ControlClient, WhereNobodyServesIsToldSo) {
    const os::ScratchDir dir;
    const auto none = ControlClient::connect(dir.path());
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::ledger_unavailable);
    EXPECT_EQ(none.error().details.at("reason"), "nobody_serves");
}

}  // namespace
}  // namespace callgate::ledger
