#include <utility>

#include <callgate/json.h>

#include "json/tape.h"

namespace callgate::json {

namespace {

void fill(Value& out, const Cell* cell) {
    switch (cell->kind) {
        case CellKind::null:
            out.emplace_null();
            return;
        case CellKind::boolean:
            out.emplace_bool() = cell->truth;
            return;
        case CellKind::int64:
            out.emplace_int64() = cell->i;
            return;
        case CellKind::uint64:
            out.emplace_uint64() = cell->u;
            return;
        case CellKind::number:
            out.emplace_double() = cell->d;
            return;
        case CellKind::string:
            out.emplace_string().assign(cell->string());
            return;
        case CellKind::array: {
            auto& array = out.emplace_array();
            array.reserve(cell->size);
            for (const Cell* item = cell + 1; item != cell->past_last; item = item->next())
                fill(array.emplace_back(nullptr), item);
            return;
        }
        case CellKind::object: {
            auto& object = out.emplace_object();
            object.reserve(cell->size);
            for (const Cell* key = cell + 1; key != cell->past_last;) {
                const Cell* value = key + 1;
                fill(object.emplace(key->string(), nullptr).first->value(), value);
                key = value->next();
            }
            return;
        }
    }
}

}  // namespace

Value to_value(const Cell* cell, boost::json::storage_ptr memory) {
    Value value(std::move(memory));
    fill(value, cell);
    return value;
}

Result<Value> parse(std::string_view text, const ParseLimits& limits, boost::json::storage_ptr memory) {
    // The cells are scratch of this call; keeping them per thread saves two allocations a document.
    thread_local Tape tape;
    if (!tape.scan(text, limits)) return tl::unexpected<Error>(tape.error(text));
    return to_value(tape.root(), std::move(memory));
}

}  // namespace callgate::json
