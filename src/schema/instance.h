// The two forms in which an instance is judged: as a Value, and as the cells of a scanned text.
//
// Both offer the same small surface, so that the engine is written once. A node is a pointer: copy it freely,
// keep it no longer than the instance.
//
// Threads: read-only.
#pragma once

#include <cstdint>
#include <string_view>

#include <callgate/json.h>

#include "json/tape.h"
#include "schema/names.h"
#include "schema/number.h"

namespace callgate::schema {

using Kind = json::CellKind;

class ValueNode {
public:
    explicit ValueNode(const Value& value) noexcept : value_(&value) {}

    Kind kind() const noexcept {
        switch (value_->kind()) {
            case boost::json::kind::null: return Kind::null;
            case boost::json::kind::bool_: return Kind::boolean;
            case boost::json::kind::int64: return Kind::int64;
            case boost::json::kind::uint64: return Kind::uint64;
            case boost::json::kind::double_: return Kind::number;
            case boost::json::kind::string: return Kind::string;
            case boost::json::kind::array: return Kind::array;
            case boost::json::kind::object: break;
        }
        return Kind::object;
    }

    bool truth() const noexcept { return value_->get_bool(); }
    std::string_view string() const noexcept { return value_->get_string(); }
    std::uint32_t array_size() const noexcept {
        return static_cast<std::uint32_t>(value_->get_array().size());
    }
    std::uint32_t object_size() const noexcept {
        return static_cast<std::uint32_t>(value_->get_object().size());
    }

    Number number() const noexcept {
        if (value_->is_int64()) return Number::of(value_->get_int64());
        if (value_->is_uint64()) return Number::of(value_->get_uint64());
        return Number::of(value_->get_double());
    }

    class Items {
    public:
        explicit Items(const Value& array) noexcept
            : at_(array.get_array().data()), end_(at_ + array.get_array().size()) {}
        bool done() const noexcept { return at_ == end_; }
        void next() noexcept { ++at_; }
        ValueNode item() const noexcept { return ValueNode(*at_); }

    private:
        const Value* at_;
        const Value* end_;
    };
    Items items() const noexcept { return Items(*value_); }

    class Members {
    public:
        explicit Members(const Value& object) noexcept
            : at_(object.get_object().begin()), end_(object.get_object().end()) {}
        bool done() const noexcept { return at_ == end_; }
        void next() noexcept { ++at_; }
        std::string_view key() const noexcept { return at_->key(); }
        std::uint32_t number_in(const Names& names) const noexcept { return names.find(at_->key()); }
        ValueNode value() const noexcept { return ValueNode(at_->value()); }

    private:
        Object::const_iterator at_;
        Object::const_iterator end_;
    };
    Members members() const noexcept { return Members(*value_); }

    /// Calls `use` with the member's value, if there is one.
    template <class Use>
    bool find(std::string_view name, Use use) const {
        const Value* found = value_->get_object().if_contains(name);
        if (found == nullptr) return false;
        use(ValueNode(*found));
        return true;
    }

    const Value& value() const noexcept { return *value_; }
    const void* raw() const noexcept { return value_; }
    static ValueNode from_raw(const void* raw) noexcept { return ValueNode(*static_cast<const Value*>(raw)); }

private:
    const Value* value_;
};

class TapeNode {
public:
    explicit TapeNode(const json::Cell* cell) noexcept : cell_(cell) {}

    Kind kind() const noexcept { return cell_->kind; }
    bool truth() const noexcept { return cell_->truth; }
    std::string_view string() const noexcept { return cell_->string(); }
    std::uint32_t array_size() const noexcept { return cell_->size; }
    std::uint32_t object_size() const noexcept { return cell_->size; }

    Number number() const noexcept {
        if (cell_->kind == Kind::int64) return Number::of(cell_->i);
        if (cell_->kind == Kind::uint64) return Number::of(cell_->u);
        return Number::of(cell_->d);
    }

    class Items {
    public:
        explicit Items(const json::Cell* array) noexcept : at_(array + 1), end_(array->past_last) {}
        bool done() const noexcept { return at_ == end_; }
        void next() noexcept { at_ = at_->next(); }
        TapeNode item() const noexcept { return TapeNode(at_); }

    private:
        const json::Cell* at_;
        const json::Cell* end_;
    };
    Items items() const noexcept { return Items(cell_); }

    class Members {
    public:
        explicit Members(const json::Cell* object) noexcept : at_(object + 1), end_(object->past_last) {}
        bool done() const noexcept { return at_ == end_; }
        void next() noexcept { at_ = at_[1].next(); }
        std::string_view key() const noexcept { return at_->string(); }
        std::uint32_t number_in(const Names& names) const noexcept {
            return names.find_padded(at_->string());
        }
        TapeNode value() const noexcept { return TapeNode(at_ + 1); }

    private:
        const json::Cell* at_;
        const json::Cell* end_;
    };
    Members members() const noexcept { return Members(cell_); }

    template <class Use>
    bool find(std::string_view name, Use use) const {
        for (Members at = members(); !at.done(); at.next()) {
            if (at.key() != name) continue;
            use(at.value());
            return true;
        }
        return false;
    }

    const void* raw() const noexcept { return cell_; }
    static TapeNode from_raw(const void* raw) noexcept {
        return TapeNode(static_cast<const json::Cell*>(raw));
    }

private:
    const json::Cell* cell_;
};

}  // namespace callgate::schema
