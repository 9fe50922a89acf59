// A JSON text, checked and laid out as a flat row of cells: the one parser of the product.
//
// scan() copies the text, checks every rule (grammar, UTF-8, unique keys, limits) and leaves one Cell per
// value and per key, children right behind their container. Nothing is built from a document that breaks a
// rule. json::parse() turns the cells into a Value; the schema engine can also judge them as they are, which
// costs a fraction of building a Value first.
//
// Threads: a Tape belongs to one thread at a time. Its memory is kept between scans; the cells and strings of
// one scan live until the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <callgate/json.h>

namespace callgate::json {

enum class CellKind : std::uint8_t { null, boolean, int64, uint64, number, string, array, object };

struct Cell {
    CellKind kind;
    bool truth;          ///< boolean
    std::uint32_t size;  ///< string: bytes; array, object: members
    union {
        std::int64_t i;
        std::uint64_t u;
        double d;
        const char* text;       ///< string, followed by at least 8 readable bytes
        const Cell* past_last;  ///< array, object: the cell behind the last descendant
    };

    std::string_view string() const noexcept { return {text, size}; }
    /// The cell of the next sibling (for a key: of its value).
    const Cell* next() const noexcept {
        return kind == CellKind::array || kind == CellKind::object ? past_last : this + 1;
    }
};

class Tape {
public:
    Tape();
    ~Tape();
    Tape(Tape&&) noexcept;
    Tape& operator=(Tape&&) noexcept;

    /// False when the text breaks a rule; error() then says which and where.
    [[gnu::hot]] bool scan(std::string_view text, const ParseLimits& limits);

    const Cell* root() const noexcept { return cells_.get(); }

    /// Gives back memory beyond what everyday documents need. The cells of the last scan are gone.
    void trim() noexcept;

    /// The failure of the last scan of `text`.
    Error error(std::string_view text) const;

private:
    struct Frame {
        std::uint32_t cell;
        std::uint32_t count;
        bool is_object;
    };
    enum class Fault : std::uint8_t;
    class Run;

    void make_room(std::size_t text_size);
    void grow_cells();

    std::unique_ptr<char[]> text_;
    std::size_t text_capacity_ = 0;
    std::unique_ptr<Cell[]> cells_;
    std::size_t cell_capacity_ = 0;
    std::vector<Frame> frames_;
    std::vector<std::uint32_t> key_table_;

    Fault fault_{};
    std::size_t fault_byte_ = 0;
    ParseLimits limits_;
};

/// Build the Value the cells describe.
[[gnu::hot]] Value to_value(const Cell* cell, boost::json::storage_ptr memory);

}  // namespace callgate::json
