#include "ledger/sqlite/byte_text.h"

#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"

namespace callgate::ledger {

namespace {

std::string as_characters(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80) {
            out += c;
        } else {
            out += static_cast<char>(0xC0 | (byte >> 6));
            out += static_cast<char>(0x80 | (byte & 0x3F));
        }
    }
    return out;
}

std::string as_bytes(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto lead = static_cast<unsigned char>(text[i]);
        if (lead >= 0xC2 && lead <= 0xC3 && i + 1 < text.size()) {
            out += static_cast<char>(((lead & 0x03) << 6) | (static_cast<unsigned char>(text[++i]) & 0x3F));
        } else {
            out += text[i];
        }
    }
    return out;
}

// With all its texts changed. As deep as results may be, and no deeper.
template <class Change>
Value with_texts(const Value& value, const Change& change) {
    if (const auto* text = value.if_string()) return Value(change(*text));
    if (const auto* array = value.if_array()) {
        Array out;
        out.reserve(array->size());
        for (const Value& item : *array) out.push_back(with_texts(item, change));
        return out;
    }
    const auto* object = value.if_object();
    if (object == nullptr) return value;
    Object out;
    out.reserve(object->size());
    for (const auto& member : *object) out.emplace(change(member.key()), with_texts(member.value(), change));
    return out;
}

}  // namespace

bool has_other_bytes(const Value& value) {
    std::vector<const Value*> todo{&value};
    while (!todo.empty()) {
        const Value* const one = todo.back();
        todo.pop_back();
        if (const auto* text = one->if_string()) {
            if (!base::is_valid_utf8(*text)) return true;
        } else if (const auto* array = one->if_array()) {
            for (const Value& item : *array) todo.push_back(&item);
        } else if (const auto* object = one->if_object()) {
            for (const auto& member : *object) {
                if (!base::is_valid_utf8(member.key())) return true;
                todo.push_back(&member.value());
            }
        }
    }
    return false;
}

Value spelled_as_bytes(const Value& value) {
    return with_texts(value, as_characters);
}

Value from_bytes(const Value& value) {
    return with_texts(value, as_bytes);
}

}  // namespace callgate::ledger
