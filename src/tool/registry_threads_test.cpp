#include <atomic>
#include <barrier>
#include <thread>

#include <gtest/gtest.h>

#include <callgate/definitions.h>
#include <callgate/registry.h>

#include "tool/tool_entry.h"
#include "tool/tool_testing.h"

namespace callgate {
namespace {

constexpr int kRounds = 200;

template <class Work>
void together(int threads, Work work) {
    std::barrier begin(threads);
    std::vector<std::jthread> all;
    for (int t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            begin.arrive_and_wait();
            work(t);
        });
    }
}

TEST(RegistryThreads, ReadersAlwaysSeeWholeToolsInOrderWhileOthersChangeThem) {
    Registry registry;
    ASSERT_TRUE(registry.add(echo_tool("always")));
    ASSERT_TRUE(registry.add(echo_tool("files/read")));
    ASSERT_TRUE(registry.remove("files/read"));
    std::atomic<int> wrong{0};
    together(6, [&](int t) {
        const std::string own = t == 0 ? "files/read" : "disk/read";
        for (int i = 0; i < kRounds; ++i) {
            switch (t) {
                case 0:
                case 1:
                    wrong += !registry.add(echo_tool(own));
                    wrong += !registry.remove(own);
                    break;
                case 2:
                    wrong +=
                        !registry.add(echo_tool("always").risk(static_cast<Risk>(i % 4)), IfPresent::replace);
                    break;
                case 3:
                    registry.silence("always");
                    registry.quarantine("always", "why");
                    registry.release("always");
                    registry.update_health("always", {});
                    break;
                case 4: {
                    const auto tools = registry.list();
                    for (std::size_t k = 1; k < tools.size(); ++k)
                        wrong += !(tools[k - 1].definition.name < tools[k].definition.name);
                    registry.suggestions("alwais", {});
                    registry.visible_definitions({});
                    wrong += !registry.shown_definitions({}, name_rules(DefinitionForm::openai));
                    break;
                }
                default:
                    for (int k = 0; k < 20; ++k) {
                        const auto entry = registry.find("always");
                        wrong += entry == nullptr || entry->name() != "always";
                        wrong += registry.find("never") != nullptr;
                        const auto meant = registry.understand("read");
                        wrong += meant != nullptr && meant->name() != "files/read";
                    }
            }
        }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(registry.size(), 1u);
}

TEST(RegistryThreads, SnapshotsAreWholeWhileOthersSync) {
    Registry registry;
    const auto version = [](int which) {
        std::vector<Tool> tools;
        for (const char* name : {"s/a", "s/b", "s/c"})
            tools.push_back(echo_tool(name).version(std::to_string(which)));
        if (which % 2 == 0) tools.pop_back();
        return tools;
    };
    ASSERT_TRUE(registry.sync("s", version(0)));
    const NameRules rules = name_rules(DefinitionForm::openai);
    std::atomic<int> wrong{0};
    together(5, [&](int t) {
        std::uint64_t last = 0;
        for (int i = 0; i < kRounds; ++i) {
            if (t < 2) {
                wrong += !registry.sync("s", version(i + t));
                continue;
            }
            const RegistrySnapshot snapshot = t == 2 ? registry.snapshot() : registry.snapshot(rules);
            wrong += snapshot.revision() < last;
            last = snapshot.revision();
            wrong += snapshot.size() != 2 && snapshot.size() != 3;
            for (const ListedTool& tool : snapshot.tools())
                wrong += tool.definition->name != (t == 2 ? "" : "s/") + std::string(tool.name);
            wrong += snapshot.visible_to({})->size() != snapshot.size();
        }
    });
    EXPECT_EQ(wrong, 0);
}

TEST(RegistryThreads, NoHealthIsLostBetweenSyncsAndContracts) {
    for (int round = 0; round < 20; ++round) {
        Registry registry;
        ASSERT_TRUE(registry.add(echo_tool("s/a")));
        const base::ManualClock clock;
        const auto call = registry.find("s/a");
        std::atomic<int> wrong{0};
        together(4, [&](int t) {
            for (int i = 0; i < 20; ++i) {
                std::vector<Tool> tools;
                if (i % 3 != 0 || i == 19) tools.push_back(echo_tool("s/a").version(std::to_string(i)));
                switch (t) {
                    case 0: wrong += !registry.sync("s", std::move(tools)); break;
                    case 1: {
                        const auto made = registry.change_contract(
                            "s/a", [&](Contract& its) { its.retry.budget = i / 20.0; });
                        wrong += !made && made.error().code != ErrorCode::not_found;
                        break;
                    }
                    case 2: call->live().failed("no answer", true, clock.monotonic_now()); break;
                    default:
                        if (const auto entry = registry.find("s/a")) wrong += &entry->live() != &call->live();
                }
            }
        });
        EXPECT_EQ(wrong, 0);
        EXPECT_EQ(registry.get("s/a")->health.consecutive_errors, 20u);
    }
}

TEST(RegistryThreads, OfManyThatAddTheSameNameOneSucceeds) {
    for (int round = 0; round < 50; ++round) {
        Registry registry;
        std::atomic<int> added{0};
        together(4, [&](int) { added += registry.add(echo_tool("t")).has_value(); });
        EXPECT_EQ(added, 1);
    }
}

TEST(RegistryThreads, ListenersComeAndGoWhileChangesAreTold) {
    Registry registry;
    std::atomic<int> heard{0};
    const auto kept = registry.on_change([&](const RegistryChange&) { ++heard; });
    together(4, [&](int t) {
        for (int i = 0; i < kRounds; ++i) {
            if (t < 2) {
                const auto handle = registry.on_change([](const RegistryChange&) {});
            } else {
                registry.health_changed("t");
            }
        }
    });
    EXPECT_EQ(heard, 2 * kRounds);
}

TEST(RegistryThreads, HealthBreakerAndBudgetAreSharedByAllCallers) {
    BreakerPolicy breaker;
    breaker.failures = 3;
    RetryPolicy retry(3);
    retry.budget = 0;
    LiveState live(3, breaker, retry);
    const base::ManualClock clock;
    std::atomic<int> retries{0};
    together(4, [&](int t) {
        for (int i = 0; i < kRounds; ++i) {
            live.pass(clock.monotonic_now());
            live.count_first_attempt();
            retries += live.take_retry();
            if (t % 2 == 0) {
                live.succeeded(clock.wall_now());
            } else {
                live.failed("broken", i % 3 != 0, clock.monotonic_now());
            }
            live.health();
        }
    });
    EXPECT_EQ(retries, LiveState::kFreeRetries);
    live.succeeded(clock.wall_now());
    EXPECT_EQ(live.health().consecutive_errors, 0u);
    EXPECT_TRUE(live.pass(clock.monotonic_now()).open);
}

TEST(RegistryThreads, AfterARestExactlyOneOfManyCallersProbes) {
    BreakerPolicy breaker;
    breaker.failures = 1;
    for (int round = 0; round < 50; ++round) {
        LiveState live(3, breaker, {});
        base::ManualClock clock;
        live.failed("broken", true, clock.monotonic_now());
        clock.advance(breaker.rest);
        std::atomic<int> passed{0};
        together(4, [&](int) { passed += live.pass(clock.monotonic_now()).open; });
        EXPECT_EQ(passed, 1);
    }
}

}  // namespace
}  // namespace callgate
