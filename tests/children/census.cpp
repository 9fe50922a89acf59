#include "census.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "os/fd.h"

namespace callgate::children {
namespace {

namespace fs = std::filesystem;

template <class Judge>
std::size_t count_processes(Judge judge) {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator("/proc")) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") == std::string::npos && judge(entry.path())) ++count;
    }
    return count;
}

// Not a stream: it throws where a process ends between opening and reading.
std::string text_of(const fs::path& path) {
    const os::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text(16'384, '\0');
    const ssize_t got = ::read(fd.get(), text.data(), text.size());
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
}

}  // namespace

std::size_t alive(const std::string& marker) {
    const std::string word = std::string(1, '\0') + marker + '\0';
    return count_processes([&](const fs::path& process) {
        return text_of(process / "cmdline").find(word) != std::string::npos;
    });
}

std::size_t alive_after(const std::string& marker, std::chrono::milliseconds at_most) {
    const auto until = std::chrono::steady_clock::now() + at_most;
    for (;;) {
        const std::size_t left = alive(marker);
        if (left == 0 || std::chrono::steady_clock::now() >= until) return left;
        ::poll(nullptr, 0, 5);
    }
}

std::size_t zombies_of(pid_t parent) {
    const std::string wanted = "Z " + std::to_string(parent) + ' ';
    return count_processes([&](const fs::path& process) {
        const std::string stat = text_of(process / "stat");
        const std::size_t name = stat.rfind(") ");
        return name != std::string::npos && std::string_view(stat).substr(name + 2).starts_with(wanted);
    });
}

std::size_t open_descriptors() {
    const auto all = fs::directory_iterator("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace callgate::children
