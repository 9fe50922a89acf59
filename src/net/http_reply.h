// What the handler of a server is given: a request that was read, and the way back to its connection.
//
// Threads: see http_server.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "net/http_connection.h"

namespace callgate::net {

std::unique_ptr<HttpRequest> make_request(HttpHead head, std::string body,
                                          std::shared_ptr<const HttpLink> link);
std::shared_ptr<HttpReply> make_reply(std::shared_ptr<HttpLink> link, std::uint64_t exchange);

}  // namespace callgate::net
