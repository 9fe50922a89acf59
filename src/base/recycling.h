// An allocator for objects that come and go all the time and are too large for malloc's quick lists: memory
// that one of them leaves is kept for the next one on the same thread.
//
// Each thread keeps at most kKept blocks per type, until it ends. Under a sanitizer nothing is kept, so that
// it can see what is used after its end.
//
// Threads: may be used from any thread; a block may be freed by another thread than took it.
#pragma once

#include <array>
#include <cstddef>
#include <new>

namespace callgate::base {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kRecycles = false;
#elif defined(__has_feature)
// NOLINTNEXTLINE(misc-redundant-expression): both are a number here
inline constexpr bool kRecycles = !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
inline constexpr bool kRecycles = true;
#endif

/// `keeps` is for tests, which want to see it also under a sanitizer.
template <class T, bool keeps = kRecycles>
class RecyclingAllocator {
public:
    using value_type = T;
    template <class U>
    struct rebind {
        using other = RecyclingAllocator<U, keeps>;
    };

    RecyclingAllocator() = default;
    template <class U>
    RecyclingAllocator(const RecyclingAllocator<U, keeps>&) noexcept {
    }  // NOLINT(google-explicit-constructor)

    T* allocate(std::size_t count) {
        static_assert(alignof(T) <= alignof(std::max_align_t));
        if (keeps && count == 1 && blocks().count > 0) {
            return static_cast<T*>(blocks().kept[--blocks().count]);
        }
        return static_cast<T*>(::operator new(count * sizeof(T)));
    }

    void deallocate(T* block, std::size_t count) noexcept {
        Blocks& mine = blocks();
        if (keeps && count == 1 && !mine.closed && mine.count < kKept) {
            mine.kept[mine.count++] = block;
        } else {
            ::operator delete(block, count * sizeof(T));
        }
    }

    friend bool operator==(const RecyclingAllocator&, const RecyclingAllocator&) noexcept { return true; }

private:
    static constexpr std::size_t kKept = 16;

    // Outlives its thread's objects, so it has no destructor; the Emptier comes before it.
    struct Blocks {
        std::size_t count = 0;
        bool watched = false;
        bool closed = false;
        std::array<void*, kKept> kept{};
    };
    struct Emptier {
        Blocks& blocks;
        ~Emptier() {
            blocks.closed = true;
            while (blocks.count > 0) ::operator delete(blocks.kept[--blocks.count], sizeof(T));
        }
    };

    static Blocks& blocks() noexcept {
        thread_local constinit Blocks mine;
        if (!mine.watched) [[unlikely]]
            watch(mine);
        return mine;
    }
    [[gnu::cold]] static void watch(Blocks& mine) noexcept {
        mine.watched = true;
        thread_local const Emptier emptier{mine};
    }
};

}  // namespace callgate::base
