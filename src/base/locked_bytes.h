// Memory for key material: never swapped out, never in a core dump, wiped before it is given back.
//
// Each object has pages of its own, so it is meant for a few small things that matter, not for bulk; see
// cleansing.h for that. Where the kernel refuses to lock more (RLIMIT_MEMLOCK), the rest still holds, and
// locked() tells.
//
// Threads: a plain value.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace callgate::base {

class LockedBytes {
public:
    LockedBytes() = default;
    /// All zero. Throws std::bad_alloc.
    explicit LockedBytes(std::size_t size);
    explicit LockedBytes(std::string_view bytes);
    ~LockedBytes();
    LockedBytes(LockedBytes&& other) noexcept;
    LockedBytes& operator=(LockedBytes&& other) noexcept;
    LockedBytes(const LockedBytes&) = delete;
    LockedBytes& operator=(const LockedBytes&) = delete;

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    /// Valid, at the same place, while this object or who it was moved to lives.
    std::span<char> bytes() noexcept { return {data_, size_}; }
    std::string_view view() const noexcept { return {data_, size_}; }

    /// Keeps the first `size` bytes, at most all, and wipes the others.
    void shrink(std::size_t size) noexcept;

    /// Whether the kernel keeps them off the swap device; true where there is nothing to keep.
    bool locked() const noexcept { return locked_; }

private:
    void release() noexcept;

    char* data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t mapped_ = 0;
    bool locked_ = true;
};

}  // namespace callgate::base
