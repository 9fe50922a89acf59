#include "verb_secrets.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <callgate/json.h>
#include <callgate/secret_stores.h>

#include "os/scratch_dir.h"
#include "program.h"
#include "program_testing.h"

namespace callgate::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::Ran;

class VerbSecrets : public ::testing::Test {
protected:
    void SetUp() override {
        stdin_ = ::dup(STDIN_FILENO);
        ::setenv("CALLGATE_SECRETS", file_.c_str(), 1);
    }
    void TearDown() override {
        ::dup2(stdin_, STDIN_FILENO);
        ::close(stdin_);
        ::unsetenv("CALLGATE_SECRETS");
    }

    Ran run(std::vector<std::string> arguments, const std::string& input = "") {
        std::ofstream(dir_.file("input"), std::ios::binary) << input;
        const int fd = ::open(dir_.file("input").c_str(), O_RDONLY);
        ::dup2(fd, STDIN_FILENO);
        ::close(fd);
        std::ostringstream out;
        std::ostringstream err;
        const Console console{out, err, {}, {}};
        arguments.insert(arguments.begin(), "secrets");
        const int exit_code = run_program(arguments, console);
        EXPECT_THAT(out.str() + err.str(), Not(HasSubstr("SENTINEL")));
        return {exit_code, out.str(), err.str()};
    }
    std::string reason_of(std::vector<std::string> arguments, const std::string& input = "") {
        arguments.emplace_back("--json");
        const Ran ran = run(arguments, input);
        EXPECT_EQ(ran.err, "");
        const Value answer = ran.answer();
        return answer.at("error").is_null()
                   ? "fine"
                   : std::string(answer.at("error").at("details").at("reason").as_string());
    }

    std::string value(std::string_view connector, std::string_view key, const std::string& key_file = "") {
        const auto store =
            EncryptedFileSecrets::open(file_, KeySource::file(key_file.empty() ? file_ + ".key" : key_file));
        if (!store) return store.error().message;
        std::string out = "none";
        (void)(*store)->with_secret(connector, key, [&](const Secret& secret) { out = secret.expose(); });
        return out;
    }

    os::ScratchDir dir_;
    std::string file_ = dir_.file("secrets");
    int stdin_ = -1;
};

TEST_F(VerbSecrets, TheFirstSecretMakesFileAndKey) {
    const Ran ran = run({"set", "github", "token"}, "SENTINEL value\n");
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_EQ(ran.out, "✓ token of github: version 1 is set\n");
    EXPECT_THAT(ran.err, HasSubstr(file_ + ".key"));
    EXPECT_EQ(value("github", "token"), "SENTINEL value");
    const Ran again = run({"set", "github", "token", "--json"}, "SENTINEL other");
    EXPECT_EQ(again.err, "");
    EXPECT_EQ(again.answer(), Value({{"connector", "github"},
                                     {"key", "token"},
                                     {"version", 2},
                                     {"key_made", false},
                                     {"file", file_},
                                     {"error", nullptr}}));
}

TEST_F(VerbSecrets, AValueIsTakenWholeButForOneLineEnd) {
    const std::string pem = "-----BEGIN-----\nabc\ndef\n-----END-----\n";
    EXPECT_EQ(run({"set", "deploy", "key"}, pem + "\r\n").exit_code, 0);
    EXPECT_EQ(value("deploy", "key"), pem);
    const std::string large(64u << 10, 'x');
    EXPECT_EQ(run({"set", "deploy", "key"}, large + "\n").exit_code, 0);
    EXPECT_EQ(value("deploy", "key"), large);
}

TEST_F(VerbSecrets, UnusableValuesAreRefusedAndChangeNothing) {
    EXPECT_EQ(reason_of({"set", "github", "token"}, ""), "no_value");
    EXPECT_EQ(reason_of({"set", "github", "token"}, "\n"), "no_value");
    EXPECT_EQ(reason_of({"set", "github", "token"}, "SENTINEL" + std::string(64u << 10, 'x')),
              "value_too_long");
    EXPECT_EQ(reason_of({"set", "github", "token"}, "SENTINE\n"), "secret_too_short");
    EXPECT_EQ(reason_of({"set", std::string(300, 'x'), "token"}, "SENTINEL value"), "bad_name");
    EXPECT_EQ(run({"set", "github", "token"}, "").exit_code, 2);
    struct stat unused{};
    EXPECT_NE(::stat(file_.c_str(), &unused), 0);
}

TEST_F(VerbSecrets, RotatingKeepsAWayBack) {
    EXPECT_EQ(run({"rotate", "github", "token"}, "SENTINEL value").exit_code, 1) << "there is no file";
    EXPECT_EQ(run({"set", "github", "token"}, "SENTINEL first").exit_code, 0);
    EXPECT_EQ(run({"rotate", "github", "none"}, "SENTINEL value").exit_code, 1);
    EXPECT_EQ(run({"rotate", "github", "token"}, "SENTINEL second").out,
              "✓ token of github: version 2 is current, version 1 is kept\n");
    EXPECT_EQ(value("github", "token"), "SENTINEL second");
    EXPECT_EQ(run({"remove", "github", "token", "--only-version", "2"}).out,
              "✓ token of github: version 2 is removed, version 1 is current\n");
    EXPECT_EQ(value("github", "token"), "SENTINEL first");
    EXPECT_EQ(run({"remove", "github", "token", "--only-version", "2"}).exit_code, 1);
}

TEST_F(VerbSecrets, RemovedIsGone) {
    EXPECT_EQ(run({"remove", "github", "token"}).exit_code, 1);
    EXPECT_EQ(run({"set", "github", "token"}, "SENTINEL first").exit_code, 0);
    EXPECT_EQ(run({"remove", "github", "token"}).out, "✓ token of github: removed\n");
    EXPECT_EQ(value("github", "token"), "none");
    EXPECT_EQ(reason_of({"remove", "github", "token"}), "no_such_secret");
}

TEST_F(VerbSecrets, CheckSaysSinceWhenAndNothingElse) {
    const Ran before = run({"check", "github", "token"});
    EXPECT_EQ(before.exit_code, 1);
    EXPECT_EQ(before.out, "✗ token of github: there is none\n");
    EXPECT_EQ(run({"set", "github", "token"}, "SENTINEL first").exit_code, 0);
    const Ran there = run({"check", "github", "token"});
    EXPECT_EQ(there.exit_code, 0);
    EXPECT_THAT(there.out, ::testing::StartsWith("✓ token of github: version 1, set 20"));
    const Value answer = run({"check", "github", "token", "--json"}).answer();
    EXPECT_EQ(answer.at("present"), true);
    EXPECT_EQ(answer.at("version"), 1);
    EXPECT_EQ(answer.at("previous"), nullptr);
    const Value absent = run({"check", "github", "none", "--json"}).answer();
    EXPECT_EQ(absent.at("present"), false);
    EXPECT_EQ(absent.at("error"), nullptr);
}

TEST_F(VerbSecrets, CheckWithoutNamesOpensAllAndNamesNone) {
    EXPECT_EQ(run({"check"}).exit_code, 1);
    EXPECT_EQ(reason_of({"check"}), "no_secrets_file");
    EXPECT_EQ(run({"set", "github", "token"}, "SENTINEL first").exit_code, 0);
    EXPECT_EQ(run({"set", "slack", "token"}, "SENTINEL second").exit_code, 0);
    const Ran ran = run({"check"});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_THAT(ran.out, HasSubstr("2 secrets, all open"));
    EXPECT_THAT(ran.out + run({"check", "--json"}).out, Not(HasSubstr("github")));
}

TEST_F(VerbSecrets, TheKeyMayComeFromElsewhere) {
    const std::string hex(64, '7');
    ::setenv("TEST_KEY", hex.c_str(), 1);
    EXPECT_EQ(run({"set", "github", "token", "--key-env", "TEST_KEY"}, "SENTINEL first").exit_code, 0);
    EXPECT_EQ(std::getenv("TEST_KEY"), nullptr);
    EXPECT_EQ(reason_of({"check", "--key-env", "TEST_KEY"}), "key_missing");
    EXPECT_EQ(reason_of({"check"}), "key_missing") << "no key was made beside the file";
    std::ofstream(dir_.file("cred")) << hex << "\n";
    ASSERT_EQ(::chmod(dir_.file("cred").c_str(), 0400), 0);
    ::setenv("CREDENTIALS_DIRECTORY", dir_.path().c_str(), 1);
    EXPECT_EQ(run({"check", "github", "token", "--key-credential", "cred"}).exit_code, 0);
    ::unsetenv("CREDENTIALS_DIRECTORY");
    EXPECT_EQ(run({"check", "github", "token", "--key-file", dir_.file("cred")}).exit_code, 0);
}

TEST_F(VerbSecrets, AWrongOrMissingKeyNeverBecomesANewOne) {
    EXPECT_EQ(run({"set", "github", "token"}, "SENTINEL first").exit_code, 0);
    EXPECT_EQ(run({"set", "x", "y", "--file", dir_.file("other")}, "SENTINEL other").exit_code, 0);
    EXPECT_EQ(reason_of({"check", "--key-file", dir_.file("other.key")}), "wrong_key");
    EXPECT_EQ(reason_of({"set", "github", "token", "--key-file", dir_.file("other.key")}, "SENTINEL value"),
              "wrong_key");
    ASSERT_EQ(::unlink((file_ + ".key").c_str()), 0);
    EXPECT_EQ(reason_of({"set", "github", "token"}, "SENTINEL value"), "key_missing");
    struct stat unused{};
    EXPECT_NE(::stat((file_ + ".key").c_str(), &unused), 0);
}

TEST_F(VerbSecrets, TheKeyCanBeChanged) {
    EXPECT_EQ(run({"rotate-key", "--new-key-file", dir_.file("new")}).exit_code, 1);
    EXPECT_EQ(run({"set", "github", "token"}, "SENTINEL first").exit_code, 0);
    const Ran ran = run({"rotate-key", "--new-key-file", dir_.file("new")});
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_THAT(ran.out, HasSubstr("1 secret, sealed with the key"));
    EXPECT_THAT(ran.err, HasSubstr("--key-file " + dir_.file("new")));
    EXPECT_EQ(reason_of({"check"}), "wrong_key");
    EXPECT_EQ(value("github", "token", dir_.file("new")), "SENTINEL first");
}

TEST_F(VerbSecrets, TheFileHasADefaultPlaceForItsOwnerAlone) {
    ::unsetenv("CALLGATE_SECRETS");
    ::setenv("XDG_STATE_HOME", dir_.file("state").c_str(), 1);
    EXPECT_EQ(run({"set", "github", "token"}, "SENTINEL first").exit_code, 0);
    struct stat info{};
    ASSERT_EQ(::stat(dir_.file("state/callgate").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u);
    ASSERT_EQ(::stat(dir_.file("state/callgate/secrets").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    ::unsetenv("XDG_STATE_HOME");
}

TEST_F(VerbSecrets, NamesAreShownSafely) {
    const Ran ran = run({"check", "\x1b[2Jgithub", "to\nken"});
    EXPECT_EQ(ran.exit_code, 1);
    EXPECT_THAT(ran.out, Not(HasSubstr("\x1b")));
    EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 1);
}

}  // namespace
}  // namespace callgate::cli
