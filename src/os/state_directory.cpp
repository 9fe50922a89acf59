#include "os/state_directory.h"

#include <cerrno>
#include <cstdlib>

#include <pwd.h>
#include <unistd.h>

#include "base/try.h"
#include "os/files.h"
#include "os/system_error.h"

namespace callgate::os {

namespace {

std::string absolute_in_environment(const char* name) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody changes it
    return value != nullptr && *value == '/' ? value : "";
}

}  // namespace

std::string home_directory() {
    if (std::string set = absolute_in_environment("HOME"); !set.empty()) return set;
    passwd entry{};
    passwd* found = nullptr;
    char texts[4096];
    if (::getpwuid_r(::getuid(), &entry, texts, sizeof texts, &found) != 0 || found == nullptr) return "";
    return found->pw_dir != nullptr ? found->pw_dir : "";
}

std::string state_directory() {
    if (std::string set = absolute_in_environment("XDG_STATE_HOME"); !set.empty()) return set;
    const std::string own = home_directory();
    return own.empty() ? "" : own + "/.local/state";
}

Result<void> make_directories(FileOps& files, const std::string& path) {
    auto made = files.mkdir(path);
    if (!made && error_number(made.error()) == EEXIST) return {};
    const std::string parent = directory_of(path);
    if (!made && error_number(made.error()) == ENOENT && parent != path) {
        CALLGATE_TRY(make_directories(files, parent));
        made = files.mkdir(path);
        if (!made && error_number(made.error()) == EEXIST) return {};
    }
    if (!made) return made;
    CALLGATE_TRY_ASSIGN(const auto directory, files.open(parent, OpenMode::directory));
    return files.fsync(directory);
}

}  // namespace callgate::os
