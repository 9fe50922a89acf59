#include "base/locked_bytes.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

namespace callgate::base {
namespace {

std::size_t whole_pages(std::size_t size) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (size > std::numeric_limits<std::size_t>::max() - page) throw std::bad_alloc();
    return (size + page - 1) / page * page;
}

}  // namespace

LockedBytes::LockedBytes(std::size_t size) {
    if (size == 0) return;
    const std::size_t mapped = whole_pages(size);
    void* const memory = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<char*>(memory);
    size_ = size;
    mapped_ = mapped;
    locked_ = ::mlock(memory, mapped) == 0;
    // A kernel without this advice has no other way to leave pages out of a dump.
    static_cast<void>(::madvise(memory, mapped, MADV_DONTDUMP));
}

LockedBytes::LockedBytes(std::string_view bytes) : LockedBytes(bytes.size()) {
    std::ranges::copy(bytes, data_);
}

LockedBytes::~LockedBytes() {
    release();
}

LockedBytes::LockedBytes(LockedBytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, 0)),
      locked_(std::exchange(other.locked_, true)) {}

LockedBytes& LockedBytes::operator=(LockedBytes&& other) noexcept {
    if (this == &other) return *this;
    release();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    mapped_ = std::exchange(other.mapped_, 0);
    locked_ = std::exchange(other.locked_, true);
    return *this;
}

void LockedBytes::shrink(std::size_t size) noexcept {
    if (size >= size_) return;
    ::explicit_bzero(data_ + size, size_ - size);
    size_ = size;
}

void LockedBytes::release() noexcept {
    if (data_ == nullptr) return;
    // Unmapping alone would leave the content to a process forked in between, and to the page's next user
    // where the kernel were at fault.
    ::explicit_bzero(data_, mapped_);
    ::munmap(data_, mapped_);
    data_ = nullptr;
    size_ = 0;
    mapped_ = 0;
    locked_ = true;
}

}  // namespace callgate::base
