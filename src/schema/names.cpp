#include "schema/names.h"

#include <sys/random.h>

#include <algorithm>
#include <utility>

namespace callgate::schema {

namespace {

std::uint64_t process_multiplier() {
    static const std::uint64_t multiplier = [] {
        std::uint64_t value = 0x9E37'79B9'7F4A'7C15u;
        [[maybe_unused]] const auto got = ::getrandom(&value, sizeof value, GRND_NONBLOCK);
        return value | 1;
    }();
    return multiplier;
}

}  // namespace

std::uint32_t Names::add(std::string_view name) {
    if (const std::uint32_t known = find(name); known != kUnknown) return known;
    const auto number = static_cast<std::uint32_t>(names_.size());
    names_.emplace_back(name);
    if (names_.size() * 2 > slots_.size() || names_.capacity() == names_.size()) {
        rebuild();
    } else {
        place(number);
    }
    return number;
}

void Names::rebuild() {
    // Slots point into the names, so the names get their final places first.
    names_.reserve(std::max<std::size_t>(names_.size() * 2, 8));
    multiplier_ = process_multiplier();
    slots_.assign(std::bit_ceil(std::max<std::size_t>(names_.size() * 4, 8)), Slot{});
    mask_ = slots_.size() - 1;
    for (std::uint32_t number = 0; number < names_.size(); ++number) place(number);
}

void Names::place(std::uint32_t number) {
    const std::string& name = names_[number];
    const std::uint64_t head = head_of(name);
    std::size_t at = slot_of(name, head);
    while (slots_[at].number != kUnknown) at = (at + 1) & mask_;
    Slot& slot = slots_[at];
    slot.head = head;
    slot.size = static_cast<std::uint32_t>(name.size());
    slot.rest = name.size() > 8 ? name.data() + 8 : nullptr;
    slot.number = number;
}

}  // namespace callgate::schema
