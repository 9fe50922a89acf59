// Memory for one document that others keep, change and give away after it was read.
//
//     const auto memory = DocumentMemory::make();
//     auto document = parse(text, limits, memory.storage);
//     memory.document->seal();
//
// Until seal() allocation is a step in a block that is part of this object, as far as that goes: a small
// document is one allocation instead of one for each of its containers and strings. From then on, and for
// what has no room, there is the heap. The values of the document share the memory, and the last of them
// releases it.
//
// Threads: one until seal(); from then on any, as with the default memory: each value still belongs to one
// thread at a time, but values of one document may be on several.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

#include <boost/json/memory_resource.hpp>
#include <boost/json/storage_ptr.hpp>

namespace callgate::json {

class DocumentMemory final : public boost::json::memory_resource {
public:
    static constexpr std::size_t kRoom = 2u << 10;

    struct Made {
        boost::json::storage_ptr storage;
        DocumentMemory* document = nullptr;  ///< for as long as one has the storage
    };
    static Made make() {
        Made made;
        made.storage = boost::json::make_shared_resource<DocumentMemory>(made.document);
        return made;
    }
    /// make()'s.
    explicit DocumentMemory(DocumentMemory*& self) noexcept { self = this; }

    /// Whether it is part of this object, rather than of the heap.
    bool holds(const void* memory) const noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(memory);
        const auto begin = reinterpret_cast<std::uintptr_t>(room_.data());
        return at >= begin && at < begin + room_.size();
    }
    void seal() noexcept { next_ = room_.size(); }

private:
    void* do_allocate(std::size_t bytes, std::size_t align) override {
        const std::size_t at = (next_ + align - 1) & ~(align - 1);
        if (align <= alignof(std::max_align_t) && at <= room_.size() && bytes <= room_.size() - at) {
            next_ = at + bytes;
            return room_.data() + at;
        }
        return ::operator new(bytes, std::align_val_t(align));
    }
    void do_deallocate(void* memory, std::size_t bytes, std::size_t align) override {
        if (!holds(memory)) ::operator delete(memory, bytes, std::align_val_t(align));
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

    std::size_t next_ = 0;
    alignas(std::max_align_t) std::array<std::byte, kRoom> room_;
};

}  // namespace callgate::json
