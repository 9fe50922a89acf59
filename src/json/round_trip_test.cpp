// Numbers survive: what is written is read back as the same bits, and written again as the same text.
#include <bit>
#include <charconv>
#include <cmath>
#include <iostream>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <callgate/json.h>

namespace callgate::json {
namespace {

bool same_bits(const Value& a, const Value& b) {
    if (a.kind() != b.kind()) return false;
    if (a.is_double())
        return std::bit_cast<std::uint64_t>(a.get_double()) == std::bit_cast<std::uint64_t>(b.get_double());
    if (a.is_int64()) return a.get_int64() == b.get_int64();
    return a.get_uint64() == b.get_uint64();
}

/// Counts the numbers that do not come back. They travel a thousand to a document.
class RoundTrip {
public:
    void add(double number) {
        if (std::isfinite(number)) push(number);
    }
    void add(std::int64_t number) { push(number); }
    /// Below 2^63 an integer is read as int64: that is its one form.
    void add(std::uint64_t number) {
        if (number <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
            push(static_cast<std::int64_t>(number));
        else
            push(number);
    }

    /// A decimal as a person writes it must be read as the nearest double. What no double is near to is left
    /// out.
    void add_text(const std::string& text) {
        double nearest = 0;
        if (std::from_chars(text.data(), text.data() + text.size(), nearest).ec != std::errc()) return;
        const Result<Value> read = parse(text);
        ++numbers_;
        if (!read || !same_bits(*read, Value(nearest))) mismatch(text);
        add(nearest);
    }

    void finish() {
        if (batch_.empty()) return;
        const Value document(std::move(batch_));
        batch_ = Array();
        const std::string text = write(document);
        const Result<Value> back = parse(text);
        ASSERT_TRUE(back.has_value()) << back.error().message;
        const Array& before = document.get_array();
        const Array& after = back->get_array();
        ASSERT_EQ(before.size(), after.size());
        for (std::size_t i = 0; i < before.size(); ++i)
            if (!same_bits(before[i], after[i])) mismatch(write(before[i]));
        if (write(*back) != text) mismatch("the text of a whole document");
    }

    std::size_t numbers() const { return numbers_; }
    std::size_t mismatches() const { return mismatches_; }

private:
    void push(const Value& number) {
        ++numbers_;
        batch_.push_back(number);
        if (batch_.size() == 1000) finish();
    }

    void mismatch(const std::string& what) {
        if (++mismatches_ <= 10) ADD_FAILURE() << "changed on the way: " << what;
    }

    Array batch_;
    std::size_t numbers_ = 0;
    std::size_t mismatches_ = 0;
};

TEST(RoundTrip, every_number_comes_back_as_it_was) {
    std::mt19937_64 random(20260728);
    RoundTrip trip;

    while (trip.numbers() < 1'000'000) trip.add(std::bit_cast<double>(random()));
    for (int i = 0; i < 100'000; ++i) {
        trip.add(static_cast<std::int64_t>(random()));
        trip.add(static_cast<std::int64_t>(random()) >> random() % 64);
        trip.add(random());
        trip.add(random() >> random() % 64);
    }
    for (int i = 0; i < 50'000; ++i) {
        std::string digits = std::to_string(random() % 90'000'000'000'000'000 + 10'000'000'000'000'000);
        digits.insert(1 + random() % 16, ".");
        trip.add_text(digits);
        trip.add_text(digits + "e" + std::to_string(static_cast<int>(random() % 600) - 300));
        trip.add(static_cast<double>(random() % 1'000'000'000) / std::pow(10, random() % 9));
        trip.add(std::bit_cast<double>(random() >> 12));  // denormal
        trip.add(std::nextafter(std::ldexp(1.0, static_cast<int>(random() % 2000) - 1000), 0.0));
    }
    for (std::int64_t i = -5000; i <= 5000; ++i) {
        trip.add((std::int64_t{1} << 53) + i);
        trip.add(static_cast<double>((std::int64_t{1} << 53) + 2 * i));
        trip.add(-(std::int64_t{1} << 53) + i);
        trip.add(std::numeric_limits<std::uint64_t>::max() / 2 + static_cast<std::uint64_t>(i));
        trip.add(static_cast<double>(i));
        trip.add(static_cast<double>(i) / 8);
    }
    for (int power = -330; power <= 308; ++power) {
        const std::string text = "1e" + std::to_string(power);
        trip.add_text(text);
        trip.add_text("-" + text);
        const double near = std::pow(10, power);
        trip.add(std::nextafter(near, 0.0));
        trip.add(std::nextafter(near, std::numeric_limits<double>::infinity()));
    }
    for (const double number :
         {0.0, -0.0, std::numeric_limits<double>::min(), std::numeric_limits<double>::max(),
          std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::epsilon()})
        trip.add(number);
    for (const std::uint64_t number : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 63})
        trip.add(number);
    trip.add(std::numeric_limits<std::int64_t>::min());
    trip.finish();

    std::cout << "RESULT round_trip=" << trip.numbers() << " mismatches=" << trip.mismatches() << std::endl;
    EXPECT_GE(trip.numbers(), 1'000'000u);
    EXPECT_EQ(trip.mismatches(), 0u);
}

}  // namespace
}  // namespace callgate::json
