// What one side needs to speak TLS 1.2 and 1.3: a server its certificate and its key, a client whom it
// trusts; and the rules that both keep.
//
// Threads: constant once it is made.
#pragma once

#include <memory>
#include <string>

#include <openssl/types.h>

#include <callgate/error.h>

struct bio_method_st;

namespace callgate::net {

/// Why a session did not come to be, or broke: for whoever reads the error.
struct TlsFault {
    std::string problem;  ///< of the peer's certificate: expired, not_yet_valid, wrong_name, untrusted, other
    std::string text;
};
/// Of a session that has just failed, and the errors of this thread's last call of OpenSSL.
TlsFault fault_of(const SSL* session);

class TlsContext {
public:
    /// Both files in PEM, the certificate with its chain. config_error {reason: bad_certificate}.
    static Result<std::shared_ptr<const TlsContext>> open(const std::string& certificate_file,
                                                          const std::string& key_file);
    /// For a client, which takes no peer without a good certificate for the name that it asked for. The file,
    /// in PEM, says whom to trust; "": whom the system trusts, whose files are read as they are needed.
    static Result<std::shared_ptr<const TlsContext>> open_client(const std::string& ca_file);
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    /// A session over a socket, which stays its owner's; null where there is no memory.
    SSL* accept_on(int socket) const;
    /// The peer's certificate has to be for this name, or this address.
    SSL* connect_on(int socket, const std::string& host, bool is_address) const;

private:
    TlsContext(SSL_CTX* context, bio_method_st* method) noexcept : context_(context), method_(method) {}
    SSL* session_on(int socket) const;

    SSL_CTX* context_;
    bio_method_st* method_;
};

}  // namespace callgate::net
