// A result cut for a model: views::model() and its shapes.
#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <callgate/runtime.h>
#include <callgate/views.h>

#include "base/encoding.h"
#include "base/utf8.h"
#include "json/text.h"
#include "tool/cut.h"

namespace callgate::views {
namespace {

/// Below this not even the shapes that tell of a cut would fit.
constexpr std::size_t kMinModelBytes = 256;
/// More would not fit into 10,000 bytes as base64.
constexpr std::size_t kMaxBase64Bytes = 7'500;
/// A cut name shorter than this says nothing.
constexpr std::size_t kMinKeyBytes = 16;

std::size_t size_of(const Value& value) {
    return json::write(value).size();
}

std::string cut_marker(std::size_t bytes) {
    return fmt::format("... [truncated, {} bytes total]", bytes);
}

Value binary(std::string_view bytes, std::size_t max_base64) {
    Object out;
    out.emplace("type", "binary");
    if (bytes.size() <= max_base64) {
        out.emplace("encoding", "base64");
        out.emplace("data", base::base64_encode(bytes));
    } else {
        out.emplace("encoding", "description");
        out.emplace("message", fmt::format("Binary data ({} bytes)", bytes.size()));
    }
    out.emplace("size_bytes", bytes.size());
    return out;
}

template <class AnyValue, class Visit>
void for_each_string(AnyValue& root, Visit visit) {
    std::vector<AnyValue*> todo{&root};
    while (!todo.empty()) {
        AnyValue* const value = todo.back();
        todo.pop_back();
        if (auto* object = value->if_object()) {
            for (auto& member : *object) todo.push_back(&member.value());
        } else if (auto* array = value->if_array()) {
            for (auto& item : *array) todo.push_back(&item);
        } else if (value->is_string()) {
            visit(*value);
        }
    }
}

bool holds_binary(const Value& value) {
    bool found = false;
    for_each_string(value, [&](const Value& v) { found = found || !base::is_valid_utf8(v.get_string()); });
    return found;
}

void describe_binaries(Value& value, std::size_t max_base64) {
    for_each_string(value, [&](Value& v) {
        if (!base::is_valid_utf8(v.get_string())) v = binary(v.get_string(), max_base64);
    });
}

class Cutter {
public:
    explicit Cutter(const Limits& limits) : limits_(limits) {}

    /// The value if it takes at most `room` bytes as JSON, else the shape that stands for it.
    Value fit(const Value& value, std::size_t room) const {
        const std::size_t size = size_of(value);
        if (size <= room) return value;
        if (const auto* object = value.if_object()) return map(*object, size, room);
        if (const auto* array = value.if_array()) return list(*array, size, room);
        if (const auto* text = value.if_string()) {
            const std::string marker = cut_marker(text->size());
            std::string out(prefix_as_json(*text, room - marker.size() - 2));
            return Value(out + marker);
        }
        return value;
    }

private:
    /// Gives each of the first `count` its share of the room, what the earlier ones left included. `add`
    /// returns what it took, or nothing to end.
    template <class Add>
    static void share_out(std::size_t room, std::size_t count, Add add) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t share = room / (count - i);
            if (share == 0) return;
            const std::optional<std::size_t> taken = add(i, share - 1);  // the comma
            if (!taken) return;
            room -= *taken + 1;
        }
    }

    Value map(const Object& object, std::size_t size, std::size_t room) const {
        Object out;
        out.emplace("truncated", true);
        out.emplace("size_bytes", size);
        out.emplace("keys", Array());
        out.emplace("message", fmt::format("Result map truncated ({} bytes)", size));
        const std::size_t frame = size_of(out);
        Array& keys = out.at("keys").get_array();
        share_out(room - std::min(room, frame), std::min(limits_.map_keys, object.size()),
                  [&](std::size_t i, std::size_t share) -> std::optional<std::size_t> {
                      Value key = Value((object.begin() + i)->key());
                      std::size_t taken = size_of(key);
                      if (taken > share) {
                          if (share < kMinKeyBytes) return std::nullopt;
                          key = json::valid_utf8(prefix_as_json(key.get_string(), share - 2 - 3)) + "...";
                          taken = size_of(key);
                      }
                      keys.push_back(std::move(key));
                      return taken;
                  });
        return out;
    }

    Value list(const Array& array, std::size_t size, std::size_t room) const {
        Object out;
        out.emplace("truncated", true);
        out.emplace("count", array.size());
        out.emplace("size_bytes", size);
        out.emplace("sample", Array());
        out.emplace("message", fmt::format("Result list truncated ({} items, {} bytes)", array.size(), size));
        const std::size_t frame = size_of(out);
        Array& sample = out.at("sample").get_array();
        share_out(room - std::min(room, frame), std::min(limits_.list_items, array.size()),
                  [&](std::size_t i, std::size_t share) -> std::optional<std::size_t> {
                      if (share < kMinModelBytes && size_of(array[i]) > share) return std::nullopt;
                      sample.push_back(fit(array[i], share));
                      return size_of(sample.back());
                  });
        return out;
    }

    const Limits& limits_;
};

}  // namespace

Value model(const Value& result, const Limits& given) {
    Limits limits = given;
    limits.model_bytes = std::max(limits.model_bytes, kMinModelBytes);
    const std::size_t max_base64 = std::min(limits.base64_bytes, kMaxBase64Bytes);
    if (const auto* text = result.if_string()) {
        if (!base::is_valid_utf8(*text)) return binary(*text, max_base64);
        return Value(cut_to_bytes(*text, limits.model_bytes, cut_marker(text->size())));
    }
    if (!result.is_structured()) return result;
    if (!holds_binary(result)) return Cutter(limits).fit(result, limits.model_bytes);
    Value readable = result;
    describe_binaries(readable, max_base64);
    return Cutter(limits).fit(readable, limits.model_bytes);
}

}  // namespace callgate::views

namespace callgate {

Value format_result(const Value& result) {
    return views::model(result);
}

}  // namespace callgate
