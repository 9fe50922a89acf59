#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/rng.h"
#include "os/process.h"
#include "os/scratch_dir.h"
#include "secrets/exec_helper.h"
#include "secrets/secrets_file.h"

namespace callgate::secrets {
namespace {

base::SealKey key_of(char fill) {
    return base::SealKey::from_bytes(std::string(32, fill)).value();
}

TEST(SecretsThreads, AFileIsReadChangedAndSealedAnewAtOnce) {
    const os::ScratchDir dir;
    os::RealFileOps files;
    base::SystemRng rng;
    const base::SystemClock clock;
    SecretsFile file(files, rng, clock, dir.file("secrets"), key_of('a'));
    ASSERT_TRUE(file.set("c", "k", "value of 0"));
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 3; ++i) {
            threads.emplace_back([&] {
                for (int n = 0; n < 100; ++n) {
                    const auto found = file.open("c", "k");
                    ASSERT_TRUE(found) << found.error().message;
                    EXPECT_TRUE(found->record.value.starts_with("value of "));
                }
            });
        }
        threads.emplace_back([&] {
            for (int n = 0; n < 20; ++n) EXPECT_TRUE(file.rotate("c", "k", "value of " + std::to_string(n)));
        });
        threads.emplace_back([&] {
            for (int n = 0; n < 10; ++n) EXPECT_TRUE(file.rotate_key(key_of(static_cast<char>('b' + n))));
        });
        threads.emplace_back([&] {
            for (int n = 0; n < 20; ++n) EXPECT_TRUE(file.check());
        });
    }
    EXPECT_EQ(file.check("c", "k").value()->version, 21u);
    EXPECT_EQ(file.check()->key_id, key_of('k').id());
}

TEST(SecretsThreads, AHelperIsAskedAndRevokedAtOnce) {
    os::RealProcessLauncher launcher;
    const base::SystemClock clock;
    ExecHelper helper(launcher, clock, ExecSecretsOptions({"/bin/cat"}));
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&, i] {
            const std::string key = "key" + std::to_string(i % 2);
            for (int n = 0; n < 20; ++n) {
                const auto value = helper.ask("connector", key);
                ASSERT_TRUE(value) << value.error().message;
                EXPECT_NE(value->view().find(key), std::string_view::npos);
                if (i == 0) helper.revoke("connector", key);
                if (n == 10) helper.revoke_all();
            }
        });
    }
}

}  // namespace
}  // namespace callgate::secrets
