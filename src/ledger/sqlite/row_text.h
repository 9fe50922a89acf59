// A row as one text, no two rows with the same: what the tally hashes (docs/formats/ledger.md).
//
// It is made from what SQLite shows, or column by column by who writes the row; and a row that is changed is
// made from the one before and what is new.
//
// Threads: a value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <sqlite3.h>

namespace callgate::ledger {

/// The least significant byte first.
template <class Number>
void append_number(std::string& to, Number number) {
    std::array<char, sizeof(Number)> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i) & 0xff);
    to.append(bytes.data(), bytes.size());
}

class RowText {
public:
    static constexpr std::size_t kMostColumns = 32;

    RowText() = default;
    explicit RowText(std::string_view table) { begin(table); }

    /// Starts again, in the memory it has.
    void begin(std::string_view table);
    /// The row that `statement` stands at, which reads all columns of `table` in their order.
    RowText& read(std::string_view table, sqlite3_stmt* statement);

    // The next column. All are part of the text; same() knows the first kMostColumns.
    RowText& add(sqlite3_value* value);
    RowText& null();
    RowText& integer(std::int64_t number);
    RowText& text(std::string_view text);
    RowText& blob(std::string_view bytes);
    RowText& same(const RowText& row, std::size_t column);

    /// At most kMostColumns.
    std::size_t columns() const noexcept { return columns_; }
    /// Without the nulls at its end: a column that a later version adds changes nothing about older rows.
    std::string_view hashed() const noexcept { return std::string_view(text_).substr(0, hashed_); }

private:
    RowText& bytes(int type, std::string_view bytes);
    RowText& end(bool is_null);

    std::string text_;
    std::array<std::uint32_t, kMostColumns + 1> begins_{};  // of each column, and the end of the last
    std::size_t columns_ = 0;
    std::size_t hashed_ = 0;
};

}  // namespace callgate::ledger
