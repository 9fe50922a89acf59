// A few hosts in one process, so that ThreadSanitizer sees them.
#include <filesystem>
#include <string>

#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "host.h"

namespace callgate::hosts {
namespace {

void play(std::uint64_t seed, std::uint64_t hosts) {
    Settings settings;
    settings.scratch =
        fmt::format("{}/callgate-hosts-test-{}", std::filesystem::temp_directory_path().string(), ::getpid());
    std::filesystem::create_directories(settings.scratch);
    for (std::uint64_t i = 0; i < hosts; ++i) {
        Host host(seed + i, settings);
        host.play();
        for (const Board::Violation& one : host.board.violations())
            ADD_FAILURE() << "seed " << host.seed << ": " << one.rule << ": " << one.what << "\n"
                          << host.options_text() << "\n"
                          << one.story;
    }
    std::filesystem::remove_all(settings.scratch);
}

TEST(Hosts, KeepTheirPromisesWhateverTheirHostsDo) {
    play(1'001, 12);
}

}  // namespace
}  // namespace callgate::hosts
