#include <algorithm>
#include <cstdint>
#include <new>

#include <callgate/json.h>

namespace callgate::json {

namespace {
constexpr std::size_t kFirstBlock = 8u << 10;
constexpr std::size_t kLargestStep = 4u << 20;
}  // namespace

// Blocks form a chain that only grows; reset() walks it again from the start.
struct alignas(std::max_align_t) Arena::Block {
    Block* next = nullptr;
    std::size_t size = 0;

    std::byte* begin() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

Arena::Arena() = default;

Arena::~Arena() {
    for (Block* block = first_; block != nullptr;) {
        Block* next = block->next;
        ::operator delete(static_cast<void*>(block));
        block = next;
    }
}

void Arena::reset() noexcept {
    current_ = first_;
    next_ = first_ != nullptr ? first_->begin() : nullptr;
    end_ = first_ != nullptr ? first_->begin() + first_->size : nullptr;
}

void* Arena::do_allocate(std::size_t bytes, std::size_t align) {
    auto at =
        (reinterpret_cast<std::uintptr_t>(next_) + align - 1) & ~(static_cast<std::uintptr_t>(align) - 1);
    auto end = reinterpret_cast<std::uintptr_t>(end_);
    if (at <= end && bytes <= end - at) [[likely]] {
        auto* start = reinterpret_cast<std::byte*>(at);
        next_ = start + bytes;
        return start;
    }
    return grow(bytes, align);
}

void* Arena::grow(std::size_t bytes, std::size_t align) {
    const std::size_t needed = bytes + align;
    if (needed < bytes) throw std::bad_alloc();

    // A later block that is too small is skipped, not freed: the next document may need it.
    while (current_ != nullptr && current_->next != nullptr) {
        current_ = current_->next;
        if (current_->size >= needed) {
            next_ = current_->begin();
            end_ = next_ + current_->size;
            return do_allocate(bytes, align);
        }
    }
    const std::size_t step = current_ != nullptr ? std::min(current_->size * 2, kLargestStep) : kFirstBlock;
    const std::size_t size = std::max(step, needed);
    auto* block = new (::operator new(sizeof(Block) + size)) Block;
    block->size = size;
    if (current_ != nullptr) {
        current_->next = block;
    } else {
        first_ = block;
    }
    current_ = block;
    next_ = block->begin();
    end_ = next_ + size;
    return do_allocate(bytes, align);
}

}  // namespace callgate::json
