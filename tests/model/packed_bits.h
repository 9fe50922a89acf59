// A world as one number: its fields are added one after the other, and taken out again from the last.
//
// Threads: a plain value.
#pragma once

#include <cstdint>

namespace callgate::model {

class PackedBits {
public:
    explicit PackedBits(std::uint64_t value = 0) : value_(value) {}

    void add(std::uint64_t field, unsigned bits) { value_ = value_ << bits | field; }
    std::uint8_t take(unsigned bits) {
        const auto field = static_cast<std::uint8_t>(value_ & ((1u << bits) - 1));
        value_ >>= bits;
        return field;
    }
    std::uint64_t value() const { return value_; }

private:
    std::uint64_t value_;
};

}  // namespace callgate::model
