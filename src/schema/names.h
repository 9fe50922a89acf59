// A set of names known when the schema is compiled, looked up for every member of every instance.
//
// A name is compared by its length and first eight bytes before anything else, which settles names of up to
// eight bytes; the hash also looks at the last eight. The hash is seeded per process, so that neither a
// schema nor an instance can be made of colliding names.
//
// Threads: immutable once built.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace callgate::schema {

class Names {
public:
    static constexpr std::uint32_t kUnknown = 0xFFFF'FFFF;

    Names() = default;
    // Slots point into the names, which stay where they are when the set is moved.
    Names(Names&&) noexcept = default;
    Names& operator=(Names&&) noexcept = default;

    /// The name's position; names are numbered in the order they were added. Adding twice gives the first
    /// number.
    std::uint32_t add(std::string_view name);

    std::uint32_t find(std::string_view name) const noexcept { return find(name, head_of(name)); }

    /// The same for a name that at least eight readable bytes follow.
    std::uint32_t find_padded(std::string_view name) const noexcept {
        const std::uint64_t word = load<std::uint64_t>(name.data());
        return find(name, name.size() >= 8 ? word : word & ((std::uint64_t{1} << name.size() * 8) - 1));
    }

    std::size_t size() const noexcept { return names_.size(); }
    std::string_view operator[](std::uint32_t number) const noexcept { return names_[number]; }

private:
    struct Slot {
        std::uint64_t head = 0;
        const char* rest = nullptr;  ///< from the ninth byte on
        std::uint32_t size = 0;
        std::uint32_t number = kUnknown;
    };

    std::uint32_t find(std::string_view name, std::uint64_t head) const noexcept {
        if (slots_.empty()) return kUnknown;
        for (std::size_t at = slot_of(name, head);; at = (at + 1) & mask_) {
            const Slot& slot = slots_[at];
            if (slot.number == kUnknown) return kUnknown;
            if (slot.head == head && slot.size == name.size() &&
                (name.size() <= 8 || std::memcmp(slot.rest, name.data() + 8, name.size() - 8) == 0))
                return slot.number;
        }
    }

    // The first eight bytes, zero-filled; never reads past the name.
    static std::uint64_t head_of(std::string_view name) noexcept {
        const char* at = name.data();
        const std::size_t size = name.size();
        if (size >= 8) return load<std::uint64_t>(at);
        if (size >= 4)
            return load<std::uint32_t>(at) | std::uint64_t{load<std::uint32_t>(at + size - 4)}
                                                 << (size - 4) * 8;
        if (size == 0) return 0;
        const auto byte = [&](std::size_t i) {
            return std::uint64_t{static_cast<unsigned char>(at[i])} << i * 8;
        };
        return byte(0) | byte(size / 2) | byte(size - 1);
    }

    template <class T>
    static T load(const char* at) noexcept {
        T word;
        std::memcpy(&word, at, sizeof word);
        return word;
    }

    std::size_t slot_of(std::string_view name, std::uint64_t head) const noexcept {
        const std::uint64_t tail = name.size() > 8 ? load<std::uint64_t>(name.data() + name.size() - 8) : 0;
        const std::uint64_t mixed = (head ^ std::rotl(tail, 29) ^ name.size()) * multiplier_;
        return static_cast<std::size_t>(mixed >> 32 ^ mixed >> 48) & mask_;
    }

    void rebuild();
    void place(std::uint32_t number);

    std::vector<Slot> slots_;
    std::size_t mask_ = 0;
    std::uint64_t multiplier_ = 0;
    std::vector<std::string> names_;
};

}  // namespace callgate::schema
