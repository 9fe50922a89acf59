#include "ledger/audit/signer.h"

#include <fstream>

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "base/failpoint.h"
#include "os/files.h"
#include "os/scratch_dir.h"

namespace callgate::ledger {
namespace {

class AuditSignerTest : public testing::Test {
protected:
    Result<AuditSigner> open(std::string_view in_force = {}) {
        return AuditSigner::open(files, rng, path, "node-1", in_force);
    }
    static std::string reason(const Error& error) {
        return std::string(error.details.at("reason").as_string());
    }
    static SignedCheckpoint signed_by(const AuditSigner& signer) {
        return parse_checkpoint(signer.sign(5, base::sha256("root"))).value();
    }

    os::ScratchDir dir;
    os::RealFileOps files;
    base::SeededRng rng{1};
    std::string path = dir.file("audit.key");
};

TEST_F(AuditSignerTest, MakesAKeyThatOnlyItsOwnerCanRead) {
    const auto signer = open();
    ASSERT_TRUE(signer) << signer.error().message;
    EXPECT_EQ(signer->key().name(), "callgate/audit/node-1");
    EXPECT_EQ(files.stat(path)->permissions, 0600u);
    EXPECT_EQ(open()->key(), signer->key());
    EXPECT_EQ(open(signer->key().vkey())->key(), signer->key());
    const auto note = signed_by(*signer);
    EXPECT_EQ(note.checkpoint.size, 5u);
    EXPECT_TRUE(note.signed_by(signer->key()));
}

TEST_F(AuditSignerTest, NeverReplacesAKeyThatALogDependsOn) {
    const std::string vkey = open()->key().vkey();
    ASSERT_TRUE(files.unlink(path));
    const auto missing = open(vkey);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::config_error);
    EXPECT_EQ(reason(missing.error()), "key_missing");
    ASSERT_TRUE(open());  // makes another one
    EXPECT_EQ(reason(open(vkey).error()), "key_mismatch");
}

TEST_F(AuditSignerTest, RefusesAKeyFileItCannotTrust) {
    ASSERT_TRUE(open());
    ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
    EXPECT_EQ(reason(open().error()), "key_permissions");
    std::ofstream(path) << "not a key";
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    EXPECT_EQ(reason(open().error()), "bad_key");
    std::ofstream(path) << SigningKey::generate("callgate/audit/other", rng).private_text() << "\n";
    EXPECT_EQ(reason(open().error()), "key_mismatch");
    std::ofstream(path) << std::string(5'000, 'x');
    EXPECT_EQ(reason(open().error()), "file_too_large");
}

TEST_F(AuditSignerTest, HandsOverToANewKeyWithACheckpointOfBoth) {
    auto signer = open();
    const VerifyingKey old = signer->key();
    const auto rotation = signer->prepare_rotation();
    ASSERT_TRUE(rotation);
    EXPECT_EQ(rotation->old_key, old.vkey());
    EXPECT_EQ(signer->key(), old) << "until the event is on the record";
    EXPECT_EQ(signed_by(*signer).signatures.size(), 1u);

    signer->rotated();
    EXPECT_EQ(signer->key().vkey(), rotation->key);
    EXPECT_TRUE(signed_by(*signer).signed_by(old));
    EXPECT_TRUE(signed_by(*signer).signed_by(signer->key()));
    EXPECT_EQ(reason(signer->prepare_rotation().error()), "rotation_in_progress");

    ASSERT_TRUE(signer->checkpointed());
    EXPECT_EQ(signed_by(*signer).signatures.size(), 1u);
    EXPECT_TRUE(signed_by(*signer).signed_by(signer->key()));
    EXPECT_EQ(open(rotation->key)->key().vkey(), rotation->key);
    EXPECT_FALSE(files.stat(path + ".next"));
}

TEST_F(AuditSignerTest, GoesOnWithARotationThatACrashInterrupted) {
    auto signer = open();
    const VerifyingKey old = signer->key();
    const auto rotation = signer->prepare_rotation();
    // Before the event was committed: nothing has happened.
    EXPECT_EQ(open(old.vkey())->key(), old);
    // After: the new key is in force, and both still sign.
    auto again = open(rotation->key);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->key().vkey(), rotation->key);
    EXPECT_TRUE(signed_by(*again).signed_by(old));
    ASSERT_TRUE(again->checkpointed());
    EXPECT_EQ(signed_by(*open(rotation->key)).signatures.size(), 1u);
}

TEST_F(AuditSignerTest, ForgetsARotationThatNeverHappened) {
    auto signer = open();
    const std::string vkey = signer->key().vkey();
    ASSERT_TRUE(signer->prepare_rotation());
    auto again = open(vkey);
    const auto rotation = again->prepare_rotation();
    ASSERT_TRUE(rotation);
    EXPECT_EQ(open(rotation->key)->key().vkey(), rotation->key);
}

#ifdef CALLGATE_FAILPOINTS
TEST_F(AuditSignerTest, ChangesNothingWhenTheKeyCannotBeWritten) {
    auto signer = open();
    const VerifyingKey old = signer->key();
    for (const char* name : {"audit.before_key_write", "audit.after_key_write"}) {
        base::failpoints().arm(name, base::FailAction::enospc);
        const auto rotation = signer->prepare_rotation();
        base::failpoints().clear();
        ASSERT_FALSE(rotation) << name;
        EXPECT_EQ(signer->key(), old);
        EXPECT_EQ(open(old.vkey())->key(), old);
    }
}
#endif

}  // namespace
}  // namespace callgate::ledger
