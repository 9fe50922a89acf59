// What a server needs to speak TLS: its certificate, its key, and the rules of TLS 1.2 and 1.3 that it keeps.
//
// Threads: constant once it is made.
#pragma once

#include <memory>
#include <string>

#include <openssl/types.h>

#include <callgate/error.h>

struct bio_method_st;

namespace callgate::net {

class TlsContext {
public:
    /// Both files in PEM, the certificate with its chain. config_error {reason: bad_certificate}.
    static Result<std::shared_ptr<const TlsContext>> open(const std::string& certificate_file,
                                                          const std::string& key_file);
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    /// A session over a socket, which stays its owner's; null where there is no memory.
    SSL* accept_on(int socket) const;

private:
    TlsContext(SSL_CTX* context, bio_method_st* method) noexcept : context_(context), method_(method) {}

    SSL_CTX* context_;
    bio_method_st* method_;
};

}  // namespace callgate::net
