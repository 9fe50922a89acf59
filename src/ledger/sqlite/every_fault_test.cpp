// Fails the first call to the disk, then the second, and so on until none is left to fail, over a script that
// does everything a ledger does. Whatever was answered must be there when the ledger is opened again, and
// whatever was refused must not.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ledger/sqlite/durable_testing.h"
#include "os/faulty_file_ops.h"

namespace callgate::ledger::testing {
namespace {

using Fault = FaultyVfs::Fault;

enum class Answer : std::uint8_t {
    done,
    refused,  ///< an error: nothing of it happened
    unsure,   ///< an error of a disk that stopped: nobody knows
    moot,     ///< the rules said no, since something before it was refused
};

Answer answer_of(const std::optional<Error>& error, bool passed = true) {
    if (!error) return passed ? Answer::done : Answer::moot;
    return is_stopped(error) ? Answer::unsure : Answer::refused;
}

template <class T>
Answer answer_of(const Result<T>& result) {
    if (result) return Answer::done;
    if (result.error().code == ErrorCode::denied) return Answer::moot;
    return answer_of(std::optional(result.error()));
}

/// What is found when the ledger is opened again.
struct Found {
    explicit Found(DurableLedger& opened) : durable(opened), audit(must(opened.ledger->audit({}))) {}

    DurableLedger& durable;
    std::vector<AuditEvent> audit;

    std::ptrdiff_t events(std::string_view type, std::uint64_t call) const {
        return std::ranges::count_if(audit, [&](const AuditEvent& event) {
            return event.type == type && event.call_id == call_id(call);
        });
    }
    bool is(std::string_view id, ApprovalState state) const {
        const auto approval = durable.ledger->approval(id);
        return approval && approval->state == state;
    }
};

struct ScriptStep {
    std::string name;
    std::function<Answer(DurableLedger&)> act;
    /// Whether it can be seen that this was done, however the script went on.
    std::function<bool(const Found&)> holds;
};

ScriptStep claim(std::uint64_t call, EffectClass effect = EffectClass::unsafe, bool dispatch = true) {
    return {"claim " + std::to_string(call),
            [=](DurableLedger& durable) {
                ClaimRequest request = durable.request(call, "k" + std::to_string(call), effect);
                request.dispatch = dispatch;
                const ClaimReply reply = durable.claim(std::move(request));
                return answer_of(reply.error, reply.verdict == ClaimVerdict::claimed);
            },
            [=](const Found& found) { return found.events("tool_call.attempted", call) >= 1; }};
}

ScriptStep settle(std::uint64_t call) {
    return {"settle " + std::to_string(call),
            [=](DurableLedger& durable) {
                const SettleReply reply = durable.settle(call);
                return answer_of(reply.error, reply.settled.accepted);
            },
            [=](const Found& found) {
                const auto row = found.durable.ledger->find(call_id(call));
                return row && row->state == CallState::succeeded && row->outcome &&
                       row->outcome->result.value == Value(Object{{"answer", call}});
            }};
}

ScriptStep ask(std::string id, std::uint64_t call) {
    return {"ask " + id, [=](DurableLedger& durable) { return answer_of(durable.ask(id, call).error); },
            [=](const Found& found) { return found.durable.ledger->approval(id).has_value(); }};
}

ScriptStep vote(std::string id, bool yes) {
    return {"vote " + id, [=](DurableLedger& durable) { return answer_of(durable.vote(id, yes)); },
            [=](const Found& found) {
                const auto approval = found.durable.ledger->approval(id);
                return approval && approval->votes.size() == 1;
            }};
}

/// The owner goes while its calls run, and another comes.
ScriptStep change_owner() {
    return {"change owner",
            [](DurableLedger& durable) {
                durable.ledger->owner_gone(durable.owner);
                durable.owner = must(register_owner(*durable.ledger));
                return Answer::moot;
            },
            {}};
}

std::vector<ScriptStep> script() {
    std::vector<ScriptStep> steps;
    steps.push_back(claim(1));
    steps.push_back(settle(1));
    steps.push_back(claim(2, EffectClass::verify, false));
    steps.push_back({"dispatch 2",
                     [](DurableLedger& durable) {
                         const DispatchReply reply = durable.dispatch(2);
                         return answer_of(reply.error, !reply.fenced);
                     },
                     [](const Found& found) { return found.events("tool_call.attempted", 2) == 2; }});
    steps.push_back(claim(3));
    steps.push_back(change_owner());
    steps.push_back(
        {"adopt and conclude 2",
         [](DurableLedger& durable) {
             AdoptReply adopted;
             durable.turn.wait_for(durable.ledger->adopt(
                 {call_id(2), durable.owner, event("tool_call.taken_over")}, adopted, durable.turn));
             if (adopted.error && answer_of(adopted.error, false) == Answer::unsure) return Answer::unsure;
             if (!adopted.row) return Answer::moot;
             const auto reply = durable.conclude(2, adopted.row->epoch, Reconciliation::Verdict::applied);
             return answer_of(reply.error, reply.accepted);
         },
         [](const Found& found) { return found.durable.state_of(2) == CallState::succeeded; }});
    steps.push_back({"resolve 3",
                     [](DurableLedger& durable) {
                         return answer_of(durable.ledger->resolve(
                             call_id(3), false, nullptr, unseen(event("tool_call.resolved", call_id(3)))));
                     },
                     [](const Found& found) { return found.durable.state_of(3) == CallState::not_applied; }});
    steps.push_back(ask("a", 4));
    steps.push_back(vote("a", true));
    steps.push_back({"use a",
                     [](DurableLedger& durable) {
                         const ClaimReply reply = durable.claim_with("a", 4, "k4");
                         return answer_of(reply.error, reply.approval == ApprovalVerdict::ok);
                     },
                     [](const Found& found) {
                         // The approval and the claim go together.
                         const bool used = found.is("a", ApprovalState::consumed);
                         EXPECT_EQ(used, found.events("tool_call.attempted", 4) == 1);
                         return used;
                     }});
    steps.push_back(settle(4));
    steps.push_back(ask("b", 5));
    steps.push_back(vote("b", false));
    steps.push_back(ask("c", 6));
    steps.push_back({"revoke c",
                     [](DurableLedger& durable) {
                         return answer_of(
                             durable.ledger->revoke("c", "bob", unseen(event("approval.revoked"))));
                     },
                     [](const Found& found) { return found.is("c", ApprovalState::revoked); }});
    steps.push_back({"read",
                     [](DurableLedger& durable) {
                         const auto refused = durable.record("tool_call.succeeded", 7);
                         return refused ? answer_of(refused) : answer_of(durable.ledger->flush());
                     },
                     [](const Found& found) { return found.events("tool_call.succeeded", 7) == 1; }});
    steps.push_back(
        {"checkpoint", [](DurableLedger& durable) { return answer_of(durable.ledger->checkpoint()); }, {}});
    steps.push_back(
        {"rotate the key",
         [](DurableLedger& durable) { return answer_of(durable.ledger->rotate_audit_key("bob")); },
         {}});
    steps.push_back(
        {"erase 1",
         [](DurableLedger& durable) { return answer_of(durable.ledger->erase_payloads(call_id(1), "bob")); },
         [](const Found& found) { return found.events("audit.erased", 1) == 1; }});
    steps.push_back(
        {"collect", [](DurableLedger& durable) { return answer_of(durable.ledger->collect()); }, {}});
    for (std::uint64_t call = 20; call < 50; ++call) {  // over several moves of the log
        steps.push_back(claim(call));
        steps.push_back(settle(call));
    }
    return steps;
}

struct RecordedAnswer {
    const ScriptStep* step;
    Answer answer;
};

std::vector<RecordedAnswer> play(DurableLedger& durable, const std::vector<ScriptStep>& steps) {
    std::vector<RecordedAnswer> told;
    if (durable.open()) return told;
    for (const ScriptStep& step : steps) told.push_back({&step, step.act(durable)});
    durable.close();
    return told;
}

/// Opened again without faults, everything is as it was answered, nothing is stuck, and work goes on.
void expect_as_told(DurableLedger& durable, const std::vector<RecordedAnswer>& told) {
    const auto refused = durable.open(false);
    ASSERT_FALSE(refused) << refused->message;
    ASSERT_EQ(faults_of(*durable.ledger), "");
    const Found found(durable);
    for (const auto& [step, answer] : told) {
        if (!step->holds) continue;
        const bool holds = step->holds(found);
        if (answer == Answer::done) {
            EXPECT_TRUE(holds) << step->name << " was answered, and is gone";
        }
        // A read that was taken goes with any later commit, and so does how a call ended that had been sent;
        // everything else is there only if the answer said so.
        const bool may_come_later = step->name == "read" || step->name.starts_with("settle") ||
                                    step->name.starts_with("adopt and conclude");
        if (answer == Answer::refused && !may_come_later) {
            EXPECT_FALSE(holds) << step->name << " was refused, and is there";
        }
    }
    for (std::uint64_t call = 1; call <= 4; ++call) {
        const std::string key = "k" + std::to_string(call);
        EXPECT_NE(durable.peek(key).verdict, ClaimVerdict::in_progress) << key << " is stuck";
    }
    const ClaimReply next = durable.claim(100, "k100");
    EXPECT_FALSE(next.error) << next.error->message;
    EXPECT_TRUE(durable.settle(100).settled.accepted);
    EXPECT_EQ(faults_of(*durable.ledger), "");
}

DurableLedger::Change moves_its_log_often() {
    return [](SqliteOptions& options) { options.writer.checkpoint_pages = 40; };
}

std::string name_of(const ::testing::TestParamInfo<std::pair<Fault, bool>>& tested) {
    constexpr const char* kNames[] = {"Error", "Full", "Half", "Torn"};
    return std::string(kNames[static_cast<int>(tested.param.first)]) +
           (tested.param.second ? "FromThenOn" : "Once");
}

class EveryFault : public ::testing::TestWithParam<std::pair<Fault, bool>> {};

/// Each kind of fault takes every fifth call, and together they take all of them, unless each is asked to
/// take all.
std::uint64_t stride() {
    return std::getenv("CALLGATE_EVERY_FAULT") != nullptr ? 1 : 5;
}

TEST_P(EveryFault, OfTheDiskLeavesWhatWasAnsweredAndNothingElse) {
    const auto [fault, repeat] = GetParam();
    const std::vector<ScriptStep> steps = script();
    std::uint64_t number = 1 + (static_cast<std::uint64_t>(fault) * 2 + (repeat ? 1 : 0)) % stride();
    for (bool reached = true; reached && !HasFailure(); number += stride()) {
        DurableLedger durable(moves_its_log_often());
        durable.vfs.inject_any(fault, number, repeat);
        durable.vfs.tear_at(number % 8);
        const auto told = play(durable, steps);
        reached = durable.vfs.faults() != 0;
        SCOPED_TRACE("with fault number " + std::to_string(number));
        expect_as_told(durable, told);
    }
    EXPECT_GT(number, 300u) << "the script does not ask enough of the disk";
}

INSTANTIATE_TEST_SUITE_P(Disk, EveryFault,
                         ::testing::Values(std::pair(Fault::error, false), std::pair(Fault::full, false),
                                           std::pair(Fault::full, true), std::pair(Fault::half, false),
                                           std::pair(Fault::torn, false)),
                         name_of);

/// The files beside the database: its directory, its locks and its keys.
TEST(EveryFileFault, OfTheFilesBesideTheDatabaseIsToldOrDoesNoHarm) {
    const std::vector<ScriptStep> steps = script();
    for (std::size_t kind = 0; kind < os::kFileOpCount; ++kind) {
        const auto op = static_cast<os::FileOp>(kind);
        // The mark is written with each commit.
        const std::uint64_t step = op == os::FileOp::pwrite ? stride() : 1;
        for (const os::FileFault fault :
             {os::FileFault::fail_with(ENOSPC), os::FileFault::fail_with(EIO), os::FileFault::only(1)}) {
            for (std::uint64_t number = 1;; number += step) {
                os::RealFileOps real;
                auto files = std::make_shared<os::FaultyFileOps>(real);
                DurableLedger durable([&](SqliteOptions& options) { options.files = files; });
                files->inject(op, fault, number);
                const auto told = play(durable, steps);
                const bool reached = files->calls(op) >= number;
                files->clear();
                SCOPED_TRACE("with call " + std::to_string(number) + " of kind " + std::to_string(kind));
                expect_as_told(durable, told);
                if (!reached || HasFailure()) break;
            }
            if (HasFailure()) return;
        }
    }
}

}  // namespace
}  // namespace callgate::ledger::testing
