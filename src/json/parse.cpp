#include <utility>

#include <callgate/json.h>

#include "json/tape.h"

namespace callgate::json {

namespace {

void fill(Array& array, const Cell* cell);
[[gnu::hot]] void fill(Object& object, const Cell* cell);

// Calls `put` with the cell's value in the form Boost.JSON stores it; containers are made empty and filled in
// place, so that nothing is moved once it is built.
template <class Put>
void put_value(const Cell* cell, Put put) {
    switch (cell->kind) {
        case CellKind::null: put(nullptr); return;
        case CellKind::boolean: put(cell->truth); return;
        case CellKind::int64: put(cell->i); return;
        case CellKind::uint64: put(cell->u); return;
        case CellKind::number: put(cell->d); return;
        case CellKind::string: put(boost::json::string_view(cell->text, cell->size)); return;
        case CellKind::array: fill(put(boost::json::array_kind).get_array(), cell); return;
        case CellKind::object: fill(put(boost::json::object_kind).get_object(), cell); return;
    }
}

void fill(Array& array, const Cell* cell) {
    array.reserve(cell->size);
    for (const Cell* item = cell + 1; item != cell->past_last; item = item->next())
        put_value(item, [&](auto value) -> Value& { return array.emplace_back(value); });
}

void fill(Object& object, const Cell* cell) {
    object.reserve(cell->size);
    for (const Cell* key = cell + 1; key != cell->past_last;) {
        const Cell* value = key + 1;
        const boost::json::string_view name(key->text, key->size);
        put_value(value, [&](auto given) -> Value& { return object.emplace(name, given).first->value(); });
        key = value->next();
    }
}

}  // namespace

Value to_value(const Cell* cell, boost::json::storage_ptr memory) {
    Value root(memory);
    put_value(cell, [&](auto value) -> Value& { return root = Value(value, std::move(memory)); });
    return root;
}

Result<Value> parse(std::string_view text, const ParseLimits& limits, boost::json::storage_ptr memory) {
    // The cells are scratch of this call; keeping them per thread saves two allocations a document.
    thread_local Tape tape;
    Result<Value> result = tape.scan(text, limits) ? Result<Value>(to_value(tape.root(), std::move(memory)))
                                                   : Result<Value>(tl::unexpected<Error>(tape.error(text)));
    tape.trim();
    return result;
}

}  // namespace callgate::json
