#include "ledger/sqlite/row_text.h"

#include <cstring>

namespace callgate::ledger {

void RowText::begin(std::string_view table) {
    text_.assign("callgate-row-v1");
    append_number(text_, static_cast<std::uint32_t>(table.size()));
    text_.append(table);
    columns_ = 0;
    begins_[0] = static_cast<std::uint32_t>(text_.size());
    hashed_ = text_.size();
}

RowText& RowText::read(std::string_view table, sqlite3_stmt* statement) {
    begin(table);
    const int count = sqlite3_column_count(statement);
    for (int i = 0; i < count; ++i) add(sqlite3_column_value(statement, i));
    return *this;
}

RowText& RowText::end(bool is_null) {
    if (columns_ < kMostColumns) begins_[++columns_] = static_cast<std::uint32_t>(text_.size());
    if (!is_null) hashed_ = text_.size();
    return *this;
}

RowText& RowText::add(sqlite3_value* value) {
    switch (const int type = sqlite3_value_type(value)) {
        case SQLITE_NULL: return null();
        case SQLITE_INTEGER: return integer(sqlite3_value_int64(value));
        case SQLITE_FLOAT: {
            std::uint64_t bits = 0;
            const double number = sqlite3_value_double(value);
            std::memcpy(&bits, &number, sizeof(bits));
            text_.push_back(static_cast<char>(type));
            append_number(text_, bits);
            return end(false);
        }
        default: {
            const auto* content = static_cast<const char*>(sqlite3_value_blob(value));
            const auto size = static_cast<std::size_t>(sqlite3_value_bytes(value));
            return bytes(type, size == 0 ? std::string_view() : std::string_view(content, size));
        }
    }
}

RowText& RowText::null() {
    text_.push_back(static_cast<char>(SQLITE_NULL));
    return end(true);
}

RowText& RowText::integer(std::int64_t number) {
    text_.push_back(static_cast<char>(SQLITE_INTEGER));
    append_number(text_, number);
    return end(false);
}

RowText& RowText::text(std::string_view text) {
    return bytes(SQLITE_TEXT, text);
}

RowText& RowText::blob(std::string_view content) {
    return bytes(SQLITE_BLOB, content);
}

RowText& RowText::bytes(int type, std::string_view content) {
    text_.push_back(static_cast<char>(type));
    append_number(text_, static_cast<std::uint32_t>(content.size()));
    text_.append(content);
    return end(false);
}

RowText& RowText::same(const RowText& row, std::size_t column) {
    const std::size_t from = row.begins_[column];
    const std::size_t size = row.begins_[column + 1] - from;
    text_.append(row.text_, from, size);
    return end(size == 1);  // only a null has no more than its type
}

}  // namespace callgate::ledger
