#include "ledger/audit/checkpoint.h"

#include <gtest/gtest.h>

#include "base/encoding.h"

namespace callgate::ledger {
namespace {

struct Keys {
    base::SeededRng rng{5};
    SigningKey one = SigningKey::generate("callgate/audit/node-1", rng);
    SigningKey two = SigningKey::generate("callgate/audit/node-1", rng);
};

Checkpoint example() {
    return {"callgate/audit/node-1", 1'234, base::sha256("root")};
}

std::string note_of(const Checkpoint& checkpoint, const std::vector<SigningKey>& keys) {
    return sign_checkpoint(checkpoint, keys);
}

TEST(Checkpoint, IsASignedNote) {
    const Keys keys;
    const std::string note = note_of(example(), {keys.one});
    EXPECT_TRUE(note.starts_with("callgate/audit/node-1\n1234\n" +
                                 base::base64_encode(view_of(base::sha256("root"))) +
                                 "\n\n\xE2\x80\x94 callgate/audit/node-1 "));
    EXPECT_TRUE(note.ends_with("\n"));
    const auto read = parse_checkpoint(note);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->checkpoint, example());
    EXPECT_TRUE(read->signed_by(keys.one.verifying_key()));
    EXPECT_FALSE(read->signed_by(keys.two.verifying_key()));
}

TEST(Checkpoint, CarriesTheSignaturesOfSeveralKeys) {
    const Keys keys;
    const auto read = parse_checkpoint(note_of(example(), {keys.one, keys.two}));
    ASSERT_TRUE(read);
    EXPECT_TRUE(read->signed_by(keys.one.verifying_key()));
    EXPECT_TRUE(read->signed_by(keys.two.verifying_key()));
}

TEST(Checkpoint, KeepsSignaturesOfKeysItDoesNotKnow) {
    const Keys keys;
    const auto read = parse_checkpoint(note_of(example(), {keys.one}) + "\xE2\x80\x94 witness.example/w1 " +
                                       base::base64_encode(std::string(4 + 8 + 64, 'w')) + "\n");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->signatures.size(), 2u);
    EXPECT_TRUE(read->signed_by(keys.one.verifying_key()));
}

TEST(Checkpoint, IsNotSignedWhenAnyOfItChanges) {
    const Keys keys;
    const std::string note = note_of(example(), {keys.one});
    int unsigned_ones = 0;
    int unreadable = 0;
    for (std::size_t i = 0; i < note.size(); ++i) {
        for (int bit = 0; bit < 8; ++bit) {
            std::string changed = note;
            changed[i] = static_cast<char>(changed[i] ^ 1 << bit);
            const auto read = parse_checkpoint(changed);
            if (!read) {
                ++unreadable;
                EXPECT_EQ(read.error().code, ErrorCode::invalid_arguments);
            } else {
                ++unsigned_ones;
                EXPECT_FALSE(read->signed_by(keys.one.verifying_key())) << i << " " << bit;
            }
        }
    }
    EXPECT_GT(unsigned_ones, 100);
    EXPECT_GT(unreadable, 100);
}

TEST(Checkpoint, SaysWhichLineIsWrong) {
    const Keys keys;
    const std::string note = note_of(example(), {keys.one});
    const auto line_of = [](const std::string& text) {
        const auto read = parse_checkpoint(text);
        return read ? 0 : static_cast<int>(read.error().details.at("line").as_int64());
    };
    const auto with = [&](std::string_view old, std::string_view fresh) {
        std::string changed = note;
        return changed.replace(changed.find(old), old.size(), fresh);
    };
    EXPECT_EQ(line_of(""), 1);
    EXPECT_EQ(line_of("a b\n"), 1);
    EXPECT_EQ(line_of(with("\n1234\n", "\n01234\n")), 2);
    EXPECT_EQ(line_of(with("\n1234\n", "\n-1\n")), 2);
    EXPECT_EQ(line_of(with("\n1234\n", "\n9007199254740992\n")), 2);
    EXPECT_EQ(line_of(with("\n1234\n", "\n\n")), 2);
    EXPECT_EQ(line_of("o\n1\nAAAA\n\n"), 3);
    EXPECT_EQ(line_of(with("\n\n", "\nextension\n\n")), 4);
    EXPECT_EQ(line_of(with("\xE2\x80\x94 ", "- ")), 5);
    EXPECT_EQ(line_of(note.substr(0, note.find("\xE2"))), 5) << "no signature at all";
    EXPECT_EQ(line_of(note.substr(0, note.size() - 1)), 5) << "the last line does not end";
    EXPECT_EQ(line_of(note + "\n"), 6);
    std::string many = note;
    const std::string signature = note.substr(note.find("\xE2"));
    for (std::size_t i = 1; i < kMaxNoteSignatures; ++i) many += signature;
    EXPECT_EQ(line_of(many), 0);
    EXPECT_EQ(line_of(many + signature), 21);
    EXPECT_EQ(line_of(std::string(kMaxNoteBytes + 1, 'x')), 1);
}

TEST(Checkpoint, OfAnEmptyLogHasARootToo) {
    const Keys keys;
    const auto read = parse_checkpoint(note_of({"o", 0, empty_root()}, {keys.one}));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->checkpoint.size, 0u);
}

}  // namespace
}  // namespace callgate::ledger
