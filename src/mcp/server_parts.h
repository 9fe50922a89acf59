// What a Server is made of: the loop goes last, since all else runs on it.
#pragma once

#include <memory>

#include <callgate/mcp.h>

#include "mcp/server_core.h"
#include "net/loop.h"

namespace callgate::mcp {

struct Server::Parts {
    net::Loop loop;
    std::shared_ptr<ServerCore> core;
};

}  // namespace callgate::mcp
