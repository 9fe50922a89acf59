// Exact JSON: what is parsed is what is written.
//
// A document is a boost::json::value (key order kept). Every finite double and every 64-bit integer survives
// parse and write unchanged. An integer literal beyond 64 bits is accepted only when a double holds exactly
// that number; otherwise it is refused, because keeping it would change it. Text that is not RFC 8259 JSON in
// valid UTF-8, repeats a key in one object or passes a limit is refused with line, column and byte.
//
// Threads: all functions may be called from any thread; an Arena belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/memory_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/storage_ptr.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

#include <callgate/error.h>

namespace callgate {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;

namespace json {

/// Past a limit the document is refused before anything is built from it.
struct ParseLimits {
    std::size_t max_bytes = 4u << 20;
    std::size_t max_depth = 64;
    std::size_t max_nodes = 100'000;  ///< values, object keys not counted

    ParseLimits() {}
    ParseLimits(std::size_t bytes, std::size_t depth, std::size_t nodes)
        : max_bytes(bytes), max_depth(depth), max_nodes(nodes) {}
};

/// Memory for one document at a time: allocation is a pointer step, and reset() frees everything at once and
/// keeps the memory for the next document. Values built in it must be gone before reset() or destruction.
class Arena final : public boost::json::memory_resource {
public:
    Arena();
    ~Arena() override;
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    void reset() noexcept;

private:
    void* do_allocate(std::size_t bytes, std::size_t align) override;
    void do_deallocate(void*, std::size_t, std::size_t) override {}
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
    void* grow(std::size_t bytes, std::size_t align);

    struct Block;
    std::byte* next_ = nullptr;
    std::byte* end_ = nullptr;
    Block* current_ = nullptr;
    Block* first_ = nullptr;
};

/// Parse a whole document. On failure the error has code invalid_arguments and details
/// {reason, line, column, byte}; line and column count from 1, column in bytes.
Result<Value> parse(std::string_view text, const ParseLimits& limits = {},
                    boost::json::storage_ptr memory = {});

/// Compact text, keys in their order. `out` is appended to.
void write(const Value& value, std::string& out);
std::string write(const Value& value);

/// Indented text for people.
std::string write_pretty(const Value& value);

/// Canonical form for digests (RFC 8785: sorted keys, shortest numbers), with one stated difference: integers
/// beyond 2^53, held as integer or as double, are written with all their digits, so that two different
/// numbers never share a digest and equal ones always do.
std::string canonical(const Value& value);

}  // namespace json
}  // namespace callgate

namespace boost::json {
template <>
struct is_deallocate_trivial<callgate::json::Arena> {
    static constexpr bool value = true;
};
}  // namespace boost::json
