// For tests: a certificate, and a client of TLS over the sockets of net_testing.h.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "net/http_server.h"
#include "net/net_testing.h"
#include "os/scratch_dir.h"

namespace callgate::net {

struct TestCertificate {
    std::string names;   ///< "DNS:localhost,IP:127.0.0.1"; "": the subject's alone, localhost
    long from = -3'600;  ///< in seconds from now
    long to = 3'600;
};

// A key, and a certificate that it has signed itself.
inline HttpTls make_certificate(const os::ScratchDir& directory, const std::string& name,
                                const TestCertificate& wanted = {}) {
    HttpTls files{directory.file(name + ".crt"), directory.file(name + ".key")};
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
        EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"), EVP_PKEY_free);
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), wanted.from);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), wanted.to);
    X509_set_pubkey(certificate.get(), key.get());
    X509_NAME* subject = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
    X509_set_issuer_name(certificate.get(), subject);
    if (!wanted.names.empty()) {
        X509_set_version(certificate.get(), X509_VERSION_3);
        const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> names(
            X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, wanted.names.c_str()),
            X509_EXTENSION_free);
        X509_add_ext(certificate.get(), names.get(), -1);
    }
    X509_sign(certificate.get(), key.get(), EVP_sha256());
    const std::unique_ptr<FILE, decltype(&std::fclose)> crt(std::fopen(files.certificate_file.c_str(), "w"),
                                                            std::fclose);
    PEM_write_X509(crt.get(), certificate.get());
    const std::unique_ptr<FILE, decltype(&std::fclose)> pem(std::fopen(files.key_file.c_str(), "w"),
                                                            std::fclose);
    PEM_write_PrivateKey(pem.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    return files;
}

class TlsClient {
public:
    explicit TlsClient(std::uint16_t port, int most = TLS1_3_VERSION) : plain_(port) {
        SSL_CTX_set_min_proto_version(context_.get(), TLS1_VERSION);
        SSL_CTX_set_security_level(context_.get(), 0);
        SSL_CTX_set_max_proto_version(context_.get(), most);
        tls_.reset(SSL_new(context_.get()));
        SSL_set_fd(tls_.get(), plain_.fd());
    }
    bool connect() {
        const bool connected = SSL_connect(tls_.get()) == 1;
        ERR_clear_error();
        return connected;
    }
    std::string version() const { return SSL_get_version(tls_.get()); }
    TestClient& plain() { return plain_; }
    SSL* tls() { return tls_.get(); }
    void send(std::string_view bytes) {
        EXPECT_EQ(SSL_write(tls_.get(), bytes.data(), static_cast<int>(bytes.size())),
                  static_cast<int>(bytes.size()));
    }
    std::string read_bytes(std::size_t count) {
        std::string bytes(count, '\0');
        std::size_t done = 0;
        while (done < count) {
            const int got = SSL_read(tls_.get(), bytes.data() + done, static_cast<int>(count - done));
            if (got <= 0) break;
            done += static_cast<std::size_t>(got);
        }
        bytes.resize(done);
        return bytes;
    }
    std::string read_head() {
        std::string head;
        while (!head.ends_with("\r\n\r\n")) {
            const std::string next = read_bytes(1);
            if (next.empty()) break;
            head += next;
        }
        return head;
    }
    /// The peer has said that it is done, so nothing was cut off.
    bool ended_properly() {
        char c = 0;
        return SSL_read(tls_.get(), &c, 1) <= 0 &&
               (SSL_get_shutdown(tls_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
    }

private:
    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{SSL_CTX_new(TLS_client_method()),
                                                               SSL_CTX_free};
    TestClient plain_;
    std::unique_ptr<SSL, decltype(&SSL_free)> tls_{nullptr, SSL_free};
};

}  // namespace callgate::net
