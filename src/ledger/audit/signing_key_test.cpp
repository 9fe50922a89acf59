#include "ledger/audit/signing_key.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <openssl/crypto.h>
#include <unistd.h>

#include "base/encoding.h"
#include "ledger/audit/signer.h"
#include "os/files.h"
#include "os/scratch_dir.h"

namespace callgate::ledger {
namespace {

// The example of the Go checksum database's notes, which others use to test their readers.
constexpr std::string_view kPeterVkey = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";

VerifyingKey::Bytes bytes_of(std::string_view hex) {
    const std::string raw = *base::hex_decode(hex);
    VerifyingKey::Bytes out{};
    std::copy(raw.begin(), raw.end(), out.begin());
    return out;
}

TEST(VerifyingKey, IsReadAndWrittenInTheFormOfSignedNotes) {
    const auto key = VerifyingKey::parse(kPeterVkey);
    ASSERT_TRUE(key) << key.error().message;
    EXPECT_EQ(key->name(), "PeterNeumann");
    EXPECT_EQ(key->id(), 0xc74f20a3u);
    EXPECT_EQ(key->vkey(), kPeterVkey);
}

TEST(VerifyingKey, VerifiesTheVectorsOfRfc8032) {
    const VerifyingKey key("k", bytes_of("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025"));
    Signature signature{};
    const std::string raw = *base::hex_decode(
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a");
    std::copy(raw.begin(), raw.end(), signature.begin());
    EXPECT_TRUE(key.verifies("\xaf\x82", signature));
    EXPECT_FALSE(key.verifies("\xaf\x83", signature));
    signature[0] ^= 1;
    EXPECT_FALSE(key.verifies("\xaf\x82", signature));
}

TEST(VerifyingKey, RefusesWhatIsNoKey) {
    for (const std::string& bad :
         {std::string(""), std::string("PeterNeumann"), std::string(kPeterVkey) + " ",
          std::string("peterNeumann") + std::string(kPeterVkey).substr(12),
          std::string("PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"),
          std::string("PeterNeumann+c74f20a3+AhpC2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"),
          std::string("PeterNeumann+c74f20a3+ARpc2Qc="),
          std::string("+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"),
          std::string("Peter Neumann") + std::string(kPeterVkey).substr(12)}) {
        const auto key = VerifyingKey::parse(bad);
        ASSERT_FALSE(key) << bad;
        EXPECT_EQ(key.error().details.at("reason"), "bad_key");
    }
}

TEST(SigningKey, SignsWhatItsPublicKeyVerifies) {
    base::SeededRng rng(3);
    const SigningKey key = SigningKey::generate("callgate/audit/a", rng);
    const Signature signature = key.sign("text");
    EXPECT_TRUE(key.verifying_key().verifies("text", signature));
    EXPECT_FALSE(key.verifying_key().verifies("text ", signature));
    EXPECT_FALSE(SigningKey::generate("callgate/audit/a", rng).verifying_key().verifies("text", signature));
}

TEST(SigningKey, IsReadBackFromItsPrivateText) {
    base::SeededRng rng(3);
    const SigningKey key = SigningKey::generate("callgate/audit/a", rng);
    const auto again = SigningKey::parse(key.private_text());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->verifying_key(), key.verifying_key());
    EXPECT_EQ(again->sign("x"), key.sign("x"));
}

TEST(SigningKey, NeverShowsABadKeyInItsError) {
    base::SeededRng rng(3);
    std::string text = SigningKey::generate("callgate/audit/a", rng).private_text();
    text[14] = 'C';  // of the name, so that the id is wrong
    const auto key = SigningKey::parse(text);
    ASSERT_FALSE(key);
    EXPECT_EQ(key.error().message.find(text.substr(text.size() - 20)), std::string::npos);
    EXPECT_FALSE(SigningKey::parse("PRIVATE+KEY+"));
    EXPECT_FALSE(SigningKey::parse(std::string(kPeterVkey)));
}

/// Whether memory that a core dump would hold has these bytes, which are given turned over.
bool in_core_dump(std::string_view turned) {
    struct Range {
        std::uintptr_t begin = 0, end = 0;
    };
    std::vector<Range> dumped;
    {
        std::ifstream maps("/proc/self/smaps");
        Range range;
        bool readable = false;
        for (std::string line; std::getline(maps, line);) {
            std::istringstream fields(line);
            char dash = 0;
            std::string rights;
            Range next;
            if (fields >> std::hex >> next.begin >> dash >> next.end >> rights && dash == '-') {
                range = next;
                readable = rights.starts_with("rw");
            } else if (readable && line.starts_with("VmFlags:") && line.find(" dd") == std::string::npos) {
                dumped.push_back(range);
            }
        }
    }
    std::string block(1u << 20, '\0');
    const int memory = ::open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    bool found = false;
    const auto own = reinterpret_cast<std::uintptr_t>(block.data());
    for (const Range& range : dumped) {
        for (std::uintptr_t at = range.begin; at < range.end && !found; at += block.size() - turned.size()) {
            const std::size_t want = std::min<std::size_t>(block.size(), range.end - at);
            const ssize_t got = ::pread(memory, block.data(), want, static_cast<off_t>(at));
            for (std::size_t i = 0; got > 0 && i + turned.size() <= static_cast<std::size_t>(got); ++i) {
                if (at + i >= own && at + i < own + block.size()) continue;  // what was read, again
                std::size_t same = 0;
                while (same < turned.size() && static_cast<char>(~block[i + same]) == turned[same]) ++same;
                if (same == turned.size()) {
                    found = true;
                    break;
                }
            }
        }
    }
    ::close(memory);
    return found;
}

TEST(SigningKey, SeedIsInNoMemoryThatACoreDumpHolds) {
    const os::ScratchDir scratch;
    os::RealFileOps files;
    base::SystemRng rng;
    const std::string path = scratch.file("audit.key");
    ASSERT_TRUE(AuditSigner::open(files, rng, path, "chain", ""));
    const auto signer = AuditSigner::open(files, rng, path, "chain", "");
    ASSERT_TRUE(signer);
    ASSERT_FALSE(signer->sign(1, base::sha256("x")).empty());
    // Its last bytes in the file, and the seed itself, known only turned over.
    std::string text, seed;
    {
        auto whole = os::read_file(files, path, 1'024);
        ASSERT_TRUE(whole);
        std::size_t at = 0;
        for (int plus = 0; plus < 4; ++plus) at = whole->find('+', at) + 1;  // PRIVATE+KEY+name+id+
        auto raw = base::base64_decode(std::string_view(*whole).substr(at, 44));
        ASSERT_TRUE(raw);
        for (const char c : std::string_view(*whole).substr(at, 40)) text += ~c;
        for (const char c : std::string_view(*raw).substr(1)) seed += ~c;
        OPENSSL_cleanse(whole->data(), whole->size());
        OPENSSL_cleanse(raw->data(), raw->size());
    }
    EXPECT_FALSE(in_core_dump(seed));
    EXPECT_FALSE(in_core_dump(text));
    const std::string control(seed.size(), 'c');
    EXPECT_TRUE(in_core_dump(std::string(seed.size(), static_cast<char>(~'c')))) << "the search itself fails";
}

}  // namespace
}  // namespace callgate::ledger
