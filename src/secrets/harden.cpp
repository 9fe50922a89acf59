#include <cerrno>

#include <sys/prctl.h>
#include <sys/resource.h>

#include <callgate/secret_stores.h>

#include "os/system_error.h"

namespace callgate {

Result<void> harden_process() {
    const rlimit none{};
    if (::setrlimit(RLIMIT_CORE, &none) != 0)
        return tl::unexpected(
            os::system_error(ErrorCode::internal, "switch off core dumps of", "this process", errno));
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return tl::unexpected(
            os::system_error(ErrorCode::internal, "close the memory of", "this process", errno));
    return {};
}

}  // namespace callgate
