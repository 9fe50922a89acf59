// What a peer can do with records of its own making, as no library of TLS would send them.
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>

#include "base/must.h"
#include "net/http_server.h"
#include "net/tls_testing.h"
#include "os/scratch_dir.h"

namespace callgate::net {
namespace {

using namespace std::chrono_literals;

std::string from_hex(std::string_view hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    return bytes;
}

// RFC 8446, 7.1: HKDF-Expand-Label of SHA-256, of no more than its size.
std::string expand_label(const std::string& secret, const std::string& name, std::size_t size) {
    const std::string label = "tls13 " + name;
    std::string info{'\0', static_cast<char>(size), static_cast<char>(label.size())};
    info += label;
    info += std::string("\0\1", 2);
    std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
    HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
         reinterpret_cast<const unsigned char*>(info.data()), info.size(), out.data(), nullptr);
    return {reinterpret_cast<const char*>(out.data()), size};
}

// Takes what a client seals its records with, so that a test can seal others.
class TlsForger {
public:
    explicit TlsForger(TlsClient& client) {
        SSL_set_ciphersuites(client.tls(), "TLS_AES_128_GCM_SHA256");
        SSL_set_app_data(client.tls(), &secret_);
        SSL_CTX_set_keylog_callback(SSL_get_SSL_CTX(client.tls()), [](const SSL* tls, const char* line) {
            const std::string_view text(line);
            if (!text.starts_with("CLIENT_TRAFFIC_SECRET_0 ")) return;
            *static_cast<std::string*>(SSL_get_app_data(tls)) = from_hex(text.substr(text.rfind(' ') + 1));
        });
    }
    /// The record that follows so many others since the handshake, fewer than 256.
    std::string handshake_record(std::string_view bytes, unsigned char before) const {
        const std::string key = expand_label(secret_, "key", 16);
        std::string nonce = expand_label(secret_, "iv", 12);
        nonce.back() = static_cast<char>(nonce.back() ^ before);
        const std::string plain = std::string(bytes) + '\x16';
        std::string record("\x17\x03\x03\x00", 4);
        record += static_cast<char>(plain.size() + 16);
        std::string sealed(plain.size() + 16, '\0');
        auto* const out = reinterpret_cast<unsigned char*>(sealed.data());
        const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> cipher(EVP_CIPHER_CTX_new(),
                                                                                     EVP_CIPHER_CTX_free);
        int size = 0;
        EVP_EncryptInit_ex(cipher.get(), EVP_aes_128_gcm(), nullptr,
                           reinterpret_cast<const unsigned char*>(key.data()),
                           reinterpret_cast<const unsigned char*>(nonce.data()));
        EVP_EncryptUpdate(cipher.get(), nullptr, &size, reinterpret_cast<const unsigned char*>(record.data()),
                          static_cast<int>(record.size()));
        EVP_EncryptUpdate(cipher.get(), out, &size, reinterpret_cast<const unsigned char*>(plain.data()),
                          static_cast<int>(plain.size()));
        EVP_EncryptFinal_ex(cipher.get(), out + size, &size);
        EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, 16, out + plain.size());
        return record + sealed;
    }

private:
    std::string secret_;
};

TEST(HttpTlsRecords, AHandshakeMessageThatIsNeverWholeEndsItsConnectionAlone) {
    const os::ScratchDir directory;
    Loop loop;
    HttpServerOptions options;
    options.tls = make_certificate(directory, "one");
    options.limits.head_time = 50ms;
    const auto server = must(
        HttpServer::open(loop, options, [](std::unique_ptr<HttpRequest>, std::shared_ptr<HttpReply> reply) {
            reply->send({200, {}, "ok"});
        }));
    TlsClient hostile(server->port());
    const TlsForger forger(hostile);
    ASSERT_TRUE(hostile.connect());
    hostile.send("G");
    // The head of a KeyUpdate without its one byte: what TLS would write now waits for it.
    hostile.plain().send(forger.handshake_record(std::string_view("\x18\0\0\1", 4), 1));
    hostile.plain().read_to_end();
    TlsClient other(server->port());
    ASSERT_TRUE(other.connect());
    other.send(get());
    EXPECT_TRUE(other.read_head().starts_with("HTTP/1.1 200 "));
    EXPECT_EQ(server->stats().refused_requests, 1u);
}

}  // namespace
}  // namespace callgate::net
