#include "net/tls.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

namespace callgate::net {
namespace {

int socket_of(BIO* bio) noexcept {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio)));
}

// OpenSSL's own sockets raise SIGPIPE where a peer has gone, which would end a program that does not expect
// it.
int write_socket(BIO* bio, const char* bytes, std::size_t size, std::size_t* written) {
    BIO_clear_retry_flags(bio);
    ssize_t put = 0;
    do {
        put = ::send(socket_of(bio), bytes, size, MSG_NOSIGNAL);
    } while (put < 0 && errno == EINTR);
    if (put < 0 && errno == EAGAIN) BIO_set_retry_write(bio);
    if (put <= 0) return 0;
    *written = static_cast<std::size_t>(put);
    return 1;
}

int read_socket(BIO* bio, char* room, std::size_t size, std::size_t* read) {
    BIO_clear_retry_flags(bio);
    ssize_t got = 0;
    do {
        got = ::recv(socket_of(bio), room, size, 0);
    } while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN) BIO_set_retry_read(bio);
    if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    if (got <= 0) return 0;
    *read = static_cast<std::size_t>(got);
    return 1;
}

long control_socket(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_FLUSH) return 1;
    if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
    return 0;
}

BIO_METHOD* new_method() {
    BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without signals");
    if (method == nullptr) return nullptr;
    BIO_meth_set_write_ex(method, write_socket);
    BIO_meth_set_read_ex(method, read_socket);
    BIO_meth_set_ctrl(method, control_socket);
    return method;
}

std::string last_reason() {
    const unsigned long code = ERR_peek_last_error();
    const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
    std::string text = reason == nullptr ? "it cannot be read" : reason;
    ERR_clear_error();
    return text;
}

tl::unexpected<Error> bad_certificate(const char* what, const std::string& file) {
    return fail(ErrorCode::config_error, fmt::format("Cannot use {} {}: {}.", what, file, last_reason()),
                {{"reason", "bad_certificate"}, {"file", file}});
}

constexpr std::array<unsigned char, 9> kOurProtocol{8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

// Whoever offers names of protocols has to offer this one.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
    unsigned char* found = nullptr;
    const int result =
        SSL_select_next_proto(&found, size, kOurProtocol.data(), kOurProtocol.size(), offered, offered_size);
    *chosen = found;
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// A key that is locked by a password is refused; nobody is asked for it at a terminal.
int no_password(char*, int, int, void*) {
    return -1;
}

void set_rules(SSL_CTX* context) {
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
}

void set_rules_of_server(SSL_CTX* context) {
    set_rules(context);
    SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    // A peer that ends without a word of TLS may still read its answer. Where a request ends is said by HTTP,
    // so one that was cut is seen anyway. (An answer may end where its connection does: a client needs the
    // word.)
    SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
    // Sessions go on from what their clients keep; the server keeps nothing of them.
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 1);
    SSL_CTX_set_default_passwd_cb(context, no_password);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
}

bool set_rules_of_client(SSL_CTX* context) {
    set_rules(context);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    return SSL_CTX_set_alpn_protos(context, kOurProtocol.data(), kOurProtocol.size()) == 0;
}

// SSL_set_tlsext_host_name() without its casts.
bool set_server_name(SSL* session, const std::string& name) {
    return SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                    const_cast<char*>(name.c_str())) == 1;
}

const char* problem_of(long verdict) noexcept {
    switch (verdict) {
        case X509_V_ERR_CERT_HAS_EXPIRED: return "expired";
        case X509_V_ERR_CERT_NOT_YET_VALID: return "not_yet_valid";
        case X509_V_ERR_HOSTNAME_MISMATCH:
        case X509_V_ERR_IP_ADDRESS_MISMATCH: return "wrong_name";
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
        case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
        case X509_V_ERR_CERT_UNTRUSTED: return "untrusted";
        default: return "other";
    }
}

}  // namespace

TlsFault fault_of(const SSL* session) {
    const unsigned long code = ERR_peek_last_error();
    const long verdict = session == nullptr ? X509_V_OK : SSL_get_verify_result(session);
    // A verdict that was reached before says nothing about what failed now.
    if (verdict != X509_V_OK && ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED)
        return {problem_of(verdict), X509_verify_cert_error_string(verdict)};
    const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
    return {"", reason == nullptr ? "the connection was closed" : reason};
}

Result<std::shared_ptr<const TlsContext>> TlsContext::open(const std::string& certificate_file,
                                                           const std::string& key_file) {
    ERR_clear_error();
    std::shared_ptr<TlsContext> made(new TlsContext(SSL_CTX_new(TLS_server_method()), new_method()));
    SSL_CTX* context = made->context_;
    if (context == nullptr || made->method_ == nullptr)
        return fail(ErrorCode::internal, "Cannot begin TLS: " + last_reason() + ".");
    set_rules_of_server(context);
    if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1)
        return bad_certificate("the certificate", certificate_file);
    if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1)
        return bad_certificate("the key", key_file);
    if (SSL_CTX_check_private_key(context) != 1) return bad_certificate("the key", key_file);
    return made;
}

Result<std::shared_ptr<const TlsContext>> TlsContext::open_client(const std::string& ca_file) {
    ERR_clear_error();
    std::shared_ptr<TlsContext> made(new TlsContext(SSL_CTX_new(TLS_client_method()), new_method()));
    SSL_CTX* context = made->context_;
    if (context == nullptr || made->method_ == nullptr || !set_rules_of_client(context))
        return fail(ErrorCode::internal, "Cannot begin TLS: " + last_reason() + ".");
    if (!ca_file.empty()) {
        if (SSL_CTX_load_verify_file(context, ca_file.c_str()) != 1)
            return bad_certificate("the authorities' certificates", ca_file);
        return made;
    }
    // The directory, not the file of all authorities, which takes longer to read than this program to start.
    const bool named = std::getenv(X509_get_default_cert_file_env()) != nullptr;
    if ((named ? SSL_CTX_set_default_verify_paths(context) : SSL_CTX_set_default_verify_dir(context)) != 1)
        return fail(ErrorCode::config_error, "Cannot use the system's authorities: " + last_reason() + ".",
                    {{"reason", "bad_certificate"}});
    return made;
}

TlsContext::~TlsContext() {
    SSL_CTX_free(context_);
    BIO_meth_free(method_);
}

SSL* TlsContext::session_on(int socket) const {
    SSL* session = SSL_new(context_);
    BIO* bio = session == nullptr ? nullptr : BIO_new(method_);
    if (bio == nullptr) {
        SSL_free(session);
        return nullptr;
    }
    BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
    BIO_set_init(bio, 1);
    SSL_set_bio(session, bio, bio);
    return session;
}

SSL* TlsContext::accept_on(int socket) const {
    SSL* session = session_on(socket);
    if (session != nullptr) SSL_set_accept_state(session);
    return session;
}

SSL* TlsContext::connect_on(int socket, const std::string& host, bool is_address) const {
    SSL* session = session_on(socket);
    if (session == nullptr) return nullptr;
    SSL_set_connect_state(session);
    X509_VERIFY_PARAM* wanted = SSL_get0_param(session);
    X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    const bool set = is_address ? X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1
                                : X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), host.size()) == 1 &&
                                      set_server_name(session, host);
    if (set) return session;
    SSL_free(session);
    return nullptr;
}

}  // namespace callgate::net
