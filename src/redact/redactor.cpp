#include "redact/redactor.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "redact/key_rules.h"

namespace callgate::redact {
namespace {

// A step of the walk: containers are visited from a list of our own, so that depth costs no stack.
struct Copying {
    const Value* from;
    Value* to;
    std::size_t depth;
};

struct Visiting {
    Value* value;
    std::size_t depth;
};

void mask(Value& value) {
    value.emplace_string() = kMarker;
}

}  // namespace

bool Redactor::masks_by_name(std::string_view name, const Value& value, Rules rules) const {
    if (rules == Rules::values_only || value.is_object()) {
        return false;
    }
    switch (classify_key(name)) {
        case KeyKind::plain: return false;
        case KeyKind::sensitive: return true;
        case KeyKind::quantity: return !value.is_number();
    }
    return true;
}

bool Redactor::masks_number(const Value& value) const {
    if (!secrets_ || !secrets_->some_are_digits()) {
        return false;
    }
    std::array<char, 32> digits;
    std::to_chars_result written{};
    if (const auto* d = value.if_double()) {
        // As whole numbers are written; what has more digits than a double knows is no secret's.
        constexpr double kMost = 1e25;
        if (!(std::abs(*d) < kMost) || std::trunc(*d) != *d) return false;
        written = std::to_chars(digits.data(), digits.data() + digits.size(), *d, std::chars_format::fixed);
    } else if (const auto* i = value.if_int64()) {
        written = std::to_chars(digits.data(), digits.data() + digits.size(), *i);
    } else if (const auto* u = value.if_uint64()) {
        written = std::to_chars(digits.data(), digits.data() + digits.size(), *u);
    } else {
        return false;
    }
    return finds_secret(
        std::string_view(digits.data(), static_cast<std::size_t>(written.ptr - digits.data())));
}

// Only a filter: texts that cannot hold a secret, which are nearly all, cost one quick pass and no copy.
bool Redactor::may_match(std::string_view text) const {
    if (!secrets_ || secrets_->empty() || text.size() < SecretSet::kMinBytes) {
        return false;
    }
    // Large texts are as quickly searched as judged.
    constexpr std::size_t kWorthJudging = 4096;
    const auto is_escape = [](char c) { return c == '\\' || c == '%' || c == '+' || c == '\n' || c == '\r'; };
    if (text.size() > kWorthJudging || std::any_of(text.begin(), text.end(), is_escape)) {
        return true;
    }
    const auto& automaton = secrets_->all();
    auto state = Automaton::kRoot;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (state == Automaton::kRoot) {
            i = automaton.skip(text, i);
        }
        if (i >= text.size()) {
            break;
        }
        state = automaton.next(state, static_cast<unsigned char>(text[i]));
        if (automaton.matches(state)) {
            return true;
        }
    }
    return false;
}

std::string Redactor::redact_text(std::string_view text) const {
    if (!may_match(text)) {
        return std::string(text);
    }
    std::string out;
    auto redactor = stream();
    redactor.feed(text, out);
    redactor.flush(out);
    return out;
}

bool Redactor::finds_secret(std::string_view text) const {
    if (!may_match(text)) {
        return false;
    }
    std::string out;
    auto redactor = stream();
    redactor.feed(text, out);
    redactor.flush(out);
    return redactor.found();
}

// `number` goes on from name to name: however many collide, an object costs linear time.
std::string Redactor::unique_name(std::string_view name, const Object& taken, std::size_t& number) const {
    const std::string masked = redact_text(name);
    std::string out = masked;
    while (taken.contains(out)) {
        out = masked + "#" + std::to_string(++number);
    }
    return out;
}

bool Redactor::has_masked_name(const Object& object) const {
    return std::any_of(object.begin(), object.end(),
                       [this](const auto& member) { return finds_secret(member.key()); });
}

Value Redactor::redact(const Value& value, Rules rules, boost::json::storage_ptr memory) const {
    Value out(nullptr, std::move(memory));
    std::vector<Copying> todo{{&value, &out, 0}};
    while (!todo.empty()) {
        const auto [from, to, depth] = todo.back();
        todo.pop_back();
        if (from->is_structured() && depth >= max_depth_) {
            mask(*to);
        } else if (const auto* object = from->if_object()) {
            auto& target = to->emplace_object();
            // No growth from here on: pointers into it stay good.
            target.reserve(object->size());
            std::size_t number = 1;
            for (const auto& member : *object) {
                auto& slot =
                    target.emplace(unique_name(member.key(), target, number), nullptr).first->value();
                if (masks_by_name(member.key(), member.value(), rules)) {
                    mask(slot);
                } else {
                    todo.push_back({&member.value(), &slot, depth + 1});
                }
            }
        } else if (const auto* array = from->if_array()) {
            auto& target = to->emplace_array();
            target.resize(array->size());
            for (std::size_t i = 0; i < array->size(); ++i) {
                todo.push_back({&(*array)[i], &target[i], depth + 1});
            }
        } else if (const auto* string = from->if_string()) {
            to->emplace_string() = redact_text(*string);
        } else if (masks_number(*from)) {
            mask(*to);
        } else {
            *to = *from;
        }
    }
    return out;
}

void Redactor::rename(Object& object) const {
    Object renamed(object.storage());
    renamed.reserve(object.size());
    std::size_t number = 1;
    for (auto& member : object) {
        renamed.emplace(unique_name(member.key(), renamed, number), std::move(member.value()));
    }
    object = std::move(renamed);
}

void Redactor::redact_in_place(Value& root, Rules rules) const {
    std::vector<Visiting> todo{{&root, 0}};
    while (!todo.empty()) {
        const auto [value, depth] = todo.back();
        todo.pop_back();
        if (value->is_structured() && depth >= max_depth_) {
            mask(*value);
        } else if (auto* object = value->if_object()) {
            for (auto& member : *object) {
                if (masks_by_name(member.key(), member.value(), rules)) {
                    mask(member.value());
                }
            }
            if (has_masked_name(*object)) {
                rename(*object);
            }
            for (auto& member : *object) {
                todo.push_back({&member.value(), depth + 1});
            }
        } else if (auto* array = value->if_array()) {
            for (auto& item : *array) {
                todo.push_back({&item, depth + 1});
            }
        } else if (auto* string = value->if_string()) {
            if (may_match(*string)) {
                *string = redact_text(*string);
            }
        } else if (masks_number(*value)) {
            mask(*value);
        }
    }
}

}  // namespace callgate::redact
