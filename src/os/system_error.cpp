#include "os/system_error.h"

#include <cerrno>

#include <system_error>

#include <fmt/format.h>
#include <unistd.h>
#include <boost/json/value.hpp>

#include "os/fd.h"

namespace callgate::os {

void Fd::reset() noexcept {
    if (fd_ >= 0) {
        // Linux frees the descriptor even when close() reports EINTR: never close twice.
        ::close(std::exchange(fd_, -1));
    }
}

std::string errno_text(int error_number) {
    return std::generic_category().message(error_number);
}

Error system_error(ErrorCode code, std::string_view what, std::string_view subject, int error_number) {
    return Error(code, fmt::format("Cannot {} {}: {}.", what, subject, errno_text(error_number)),
                 {{"reason", "system"}, {"errno", error_number}, {"operation", what}, {"subject", subject}});
}

int error_number(const Error& error) noexcept {
    const auto* value = error.details.if_contains("errno");
    return value != nullptr && value->is_int64() ? static_cast<int>(value->get_int64()) : 0;
}

bool is_disk_full(int error_number) noexcept {
    return error_number == ENOSPC || error_number == EDQUOT;
}

}  // namespace callgate::os
