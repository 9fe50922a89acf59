#include "json/equal.h"

#include <bit>
#include <cmath>
#include <cstring>

#include <boost/container/small_vector.hpp>

#include "json/number_order.h"
#include "json/whole_number.h"

namespace callgate::json {

namespace {

using boost::json::key_value_pair;
using boost::json::kind;

constexpr std::size_t kDepthInPlace = 32;

template <class Number>
int compare_with(Number a, const Value& b) noexcept {
    switch (b.kind()) {
        case kind::int64: return compare(a, b.get_int64());
        case kind::uint64: return compare(a, b.get_uint64());
        default: return compare(a, b.get_double());
    }
}

enum class Verdict { different, same, look_inside };

/// Compares everything except the contents of two containers.
Verdict compare_outside(const Value& a, const Value& b) noexcept {
    const auto verdict = [](bool same) { return same ? Verdict::same : Verdict::different; };
    if (a.is_number()) return verdict(b.is_number() && compare_numbers(a, b) == 0);
    if (a.kind() != b.kind()) return Verdict::different;
    switch (a.kind()) {
        case kind::bool_: return verdict(a.get_bool() == b.get_bool());
        case kind::string: return verdict(a.get_string() == b.get_string());
        case kind::array:
            if (a.get_array().size() != b.get_array().size()) return Verdict::different;
            return a.get_array().empty() ? Verdict::same : Verdict::look_inside;
        case kind::object:
            if (a.get_object().size() != b.get_object().size()) return Verdict::different;
            return a.get_object().empty() ? Verdict::same : Verdict::look_inside;
        default: return Verdict::same;
    }
}

/// Two containers of one kind and size, compared up to `next`.
struct Pair {
    const Value* a;
    const Value* b;
    std::size_t next;
};

/// The partner of a member: usually in the same place, else looked up.
const Value* partner(const key_value_pair& member, const Object& other, std::size_t place) noexcept {
    const key_value_pair& here = other.begin()[place];
    if (here.key() == member.key()) return &here.value();
    return other.if_contains(member.key());
}

/// The fractions of the square roots of 2, 3, 5 and 7.
constexpr std::uint64_t kRoot[] = {0x6A09E667F3BCC909, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B,
                                   0xA54FF53A5F1D36F1};

/// Folds the full product of two words: every bit of both reaches the whole result.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a ^ kRoot[0]) * (b ^ kRoot[1]);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t hash_text(std::string_view text, std::uint64_t seed) noexcept {
    std::uint64_t state = mix(seed, text.size());
    const auto word = [&text](std::size_t at, std::size_t bytes) {
        std::uint64_t value = 0;
        std::memcpy(&value, text.data() + at, bytes);
        return value;
    };
    std::size_t at = 0;
    for (; text.size() - at >= 16; at += 16) state = mix(state ^ word(at, 8), seed ^ word(at + 8, 8));
    if (text.size() - at >= 8) {
        state = mix(state ^ word(at, 8), seed ^ kRoot[2]);
        at += 8;
    }
    if (at != text.size()) state = mix(state ^ word(at, text.size() - at), seed ^ kRoot[3]);
    return state;
}

enum Tag : std::uint64_t {
    null_tag = 1,
    false_tag,
    true_tag,
    number_tag,
    negative_tag,
    real_tag,
    text_tag,
    array_tag,
    object_tag,
};

std::uint64_t hash_word(Tag tag, std::uint64_t word, std::uint64_t seed) noexcept {
    return mix(mix(seed, word) ^ tag, seed);
}

std::uint64_t hash_integer(std::int64_t number, std::uint64_t seed) noexcept {
    return hash_word(number < 0 ? negative_tag : number_tag, static_cast<std::uint64_t>(number), seed);
}

/// A double that an integer type can hold hashes as that integer does.
std::uint64_t hash_double(double number, std::uint64_t seed) noexcept {
    if (std::isnan(number)) return hash_word(real_tag, 0, seed);
    if (const auto whole = whole_of<std::int64_t>(number)) return hash_integer(*whole, seed);
    if (const auto whole = whole_of<std::uint64_t>(number)) return hash_word(number_tag, *whole, seed);
    return hash_word(real_tag, std::bit_cast<std::uint64_t>(number), seed);
}

std::uint64_t hash_scalar(const Value& value, std::uint64_t seed) noexcept {
    switch (value.kind()) {
        case kind::bool_: return hash_word(value.get_bool() ? true_tag : false_tag, 0, seed);
        case kind::int64: return hash_integer(value.get_int64(), seed);
        case kind::uint64: return hash_word(number_tag, value.get_uint64(), seed);
        case kind::double_: return hash_double(value.get_double(), seed);
        case kind::string: return hash_word(text_tag, hash_text(value.get_string(), seed), seed);
        default: return hash_word(null_tag, 0, seed);
    }
}

/// A container being hashed, its first `taken` values gone into `state`.
struct Hashing {
    const Value* container;
    std::size_t taken;
    std::uint64_t state;

    std::size_t size() const noexcept {
        const Array* array = container->if_array();
        return array != nullptr ? array->size() : container->get_object().size();
    }

    const Value& next() const noexcept {
        const Array* array = container->if_array();
        return array != nullptr ? array->data()[taken] : container->get_object().begin()[taken].value();
    }

    /// Members are summed so that their order does not matter; each is bound to its key before.
    void take(std::uint64_t value, std::uint64_t seed) noexcept {
        if (container->is_array())
            state = mix(state ^ value, seed);
        else
            state += mix(value, hash_text(container->get_object().begin()[taken].key(), seed));
        ++taken;
    }

    std::uint64_t result(std::uint64_t seed) const noexcept {
        return hash_word(container->is_array() ? array_tag : object_tag, mix(state, taken), seed);
    }
};

}  // namespace

int compare_numbers(const Value& a, const Value& b) noexcept {
    switch (a.kind()) {
        case kind::int64: return compare_with(a.get_int64(), b);
        case kind::uint64: return compare_with(a.get_uint64(), b);
        default: return compare_with(a.get_double(), b);
    }
}

bool equal(const Value& a, const Value& b) {
    switch (compare_outside(a, b)) {
        case Verdict::different: return false;
        case Verdict::same: return true;
        case Verdict::look_inside: break;
    }
    boost::container::small_vector<Pair, kDepthInPlace> open;
    open.push_back({&a, &b, 0});
    while (!open.empty()) {
        Pair& pair = open.back();
        const Value* left = nullptr;
        const Value* right = nullptr;
        if (const Array* array = pair.a->if_array()) {
            if (pair.next != array->size()) {
                left = array->data() + pair.next;
                right = pair.b->get_array().data() + pair.next;
            }
        } else {
            const Object& object = pair.a->get_object();
            if (pair.next != object.size()) {
                const key_value_pair& member = object.begin()[pair.next];
                left = &member.value();
                right = partner(member, pair.b->get_object(), pair.next);
                if (right == nullptr) return false;
            }
        }
        if (left == nullptr) {
            open.pop_back();
            continue;
        }
        ++pair.next;
        switch (compare_outside(*left, *right)) {
            case Verdict::different: return false;
            case Verdict::same: break;
            case Verdict::look_inside: open.push_back({left, right, 0});
        }
    }
    return true;
}

std::uint64_t hash(const Value& value, std::uint64_t seed) {
    if (!value.is_structured()) return hash_scalar(value, seed);
    boost::container::small_vector<Hashing, kDepthInPlace> open;
    open.push_back({&value, 0, 0});
    for (;;) {
        while (open.back().taken == open.back().size()) {
            const std::uint64_t done = open.back().result(seed);
            open.pop_back();
            if (open.empty()) return done;
            open.back().take(done, seed);
        }
        const Value& next = open.back().next();
        if (next.is_structured())
            open.push_back({&next, 0, 0});
        else
            open.back().take(hash_scalar(next, seed), seed);
    }
}

}  // namespace callgate::json
