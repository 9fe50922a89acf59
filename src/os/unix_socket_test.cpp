#include "os/unix_socket.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/scratch_dir.h"
#include "os/system_error.h"

namespace callgate::os {
namespace {

mode_t mode_of(const std::string& path) {
    struct ::stat there = {};
    EXPECT_EQ(::lstat(path.c_str(), &there), 0) << path;
    return there.st_mode & 07777;
}

std::string read_some(const Fd& fd) {
    pollfd wait{fd.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&wait, 1, -1), 1);
    std::string bytes(100, '\0');
    const ssize_t got = ::read(fd.get(), bytes.data(), bytes.size());
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
}

TEST(UnixSocket, ConnectsByPathAndCarriesBytesBothWays) {
    const ScratchDir dir;
    const auto listening = listen_unix(dir.file("s"), 0600);
    ASSERT_TRUE(listening) << listening.error().message;
    const auto client = connect_unix(dir.file("s"));
    ASSERT_TRUE(client) << client.error().message;
    const auto server = accept_unix(*listening);
    ASSERT_TRUE(server && *server);
    ASSERT_EQ(::write(client->get(), "ping", 4), 4);
    EXPECT_EQ(read_some(**server), "ping");
    ASSERT_EQ(::write((*server)->get(), "pong", 4), 4);
    EXPECT_EQ(read_some(*client), "pong");
}

TEST(UnixSocket, AcceptsNothingWhenNobodyWaits) {
    const ScratchDir dir;
    const auto listening = listen_unix(dir.file("s"), 0600);
    const auto none = accept_unix(*listening);
    ASSERT_TRUE(none);
    EXPECT_FALSE(none->has_value());
}

TEST(UnixSocket, HasItsPermissionsWhateverTheUmask) {
    const ScratchDir dir;
    const mode_t before = ::umask(0);
    const auto listening = listen_unix(dir.file("s"), 0600);
    ::umask(before);
    ASSERT_TRUE(listening);
    EXPECT_EQ(mode_of(dir.file("s")), 0600u);
}

TEST(UnixSocket, AStaleSocketIsReplacedAndNothingElse) {
    const ScratchDir dir;
    ASSERT_TRUE(listen_unix(dir.file("s"), 0600));  // closed at once: the file stays
    EXPECT_EQ(error_number(connect_unix(dir.file("s")).error()), ECONNREFUSED);
    const auto again = listen_unix(dir.file("s"), 0600);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_TRUE(connect_unix(dir.file("s")));

    std::ofstream(dir.file("notes")) << "mine";
    EXPECT_EQ(error_number(listen_unix(dir.file("notes"), 0600).error()), EEXIST);
    EXPECT_EQ(std::filesystem::file_size(dir.file("notes")), 4u);
}

TEST(UnixSocket, PathsLongerThanASocketsNameWork) {
    const ScratchDir dir;
    const std::string deep = dir.file(std::string(120, 'd'));
    std::filesystem::create_directory(deep);
    const auto listening = listen_unix(deep + "/control.sock", 0600);
    ASSERT_TRUE(listening) << listening.error().message;
    EXPECT_TRUE(std::filesystem::is_socket(deep + "/control.sock"));
    EXPECT_TRUE(connect_unix(deep + "/control.sock"));
}

TEST(UnixSocket, AMissingOrImpossiblePathIsAnError) {
    const ScratchDir dir;
    EXPECT_EQ(error_number(connect_unix(dir.file("none")).error()), ENOENT);
    EXPECT_EQ(error_number(connect_unix("").error()), EINVAL);
    EXPECT_EQ(error_number(listen_unix(dir.file("none/s"), 0600).error()), ENOENT);
    EXPECT_EQ(error_number(listen_unix(dir.file(std::string(200, 'n')), 0600).error()), ENAMETOOLONG);
}

TEST(UnixSocket, BothEndsLearnWhoTheOtherIs) {
    const ScratchDir dir;
    const auto listening = listen_unix(dir.file("s"), 0600);
    const auto client = connect_unix(dir.file("s"));
    const auto server = accept_unix(*listening);
    for (const Fd* end : {&*client, &**server}) {
        const auto peer = peer_of(*end);
        ASSERT_TRUE(peer);
        EXPECT_EQ(peer->uid, ::geteuid());
        EXPECT_EQ(peer->pid, ::getpid());
        EXPECT_TRUE(peer->in_group(::getegid()));
        EXPECT_FALSE(peer->in_group(static_cast<gid_t>(-2)));
    }
}

TEST(UnixSocket, UsersHaveNames) {
    EXPECT_EQ(user_name(0), "root");
    EXPECT_EQ(user_name(static_cast<uid_t>(-2) - 1000), "");
}

}  // namespace
}  // namespace callgate::os
