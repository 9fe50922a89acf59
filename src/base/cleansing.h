// Memory for secrets: wiped before it is given back.
//
// Copies that other code makes (arguments, std::string) are not covered; keep secrets in these types from the
// first byte to the last.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include <openssl/crypto.h>

namespace callgate::base {

template <class T>
struct CleansingAllocator {
    using value_type = T;

    CleansingAllocator() = default;
    template <class U>
    CleansingAllocator(const CleansingAllocator<U>&) noexcept {}

    T* allocate(std::size_t count) { return std::allocator<T>().allocate(count); }
    void deallocate(T* memory, std::size_t count) noexcept {
        OPENSSL_cleanse(static_cast<void*>(memory), count * sizeof(T));
        std::allocator<T>().deallocate(memory, count);
    }

    template <class U>
    bool operator==(const CleansingAllocator<U>&) const noexcept {
        return true;
    }
};

template <class T>
using CleansedVector = std::vector<T, CleansingAllocator<T>>;

/// Not a std::string: that keeps short texts inside itself, where no allocator can wipe them.
using SecretBytes = CleansedVector<char>;

inline SecretBytes to_secret(std::string_view text) {
    return SecretBytes(text.begin(), text.end());
}

inline std::string_view view(const SecretBytes& bytes) noexcept {
    return std::string_view(bytes.data(), bytes.size());
}

}  // namespace callgate::base
