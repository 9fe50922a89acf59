#include "pipeline/log_line.h"

#include <array>
#include <charconv>

#include "pipeline/log_line_text.h"
#include "redact/key_rules.h"

namespace callgate::pipeline {
namespace {

static_assert(kLogArgumentsBytes <= PythonText::kBuffer);

/// Deeper than this nothing is shown; the text would hardly get there.
constexpr std::size_t kMaxDepth = 64;

/// Every name that classify_key() could find sensitive has one of these among its letters. Nearly all names
/// have not, and are then known to be plain without cutting them into words.
bool begins_tell_tale(std::string_view letters) {
    switch (letters.front()) {
        case 'a': return letters.starts_with("auth");
        case 'b': return letters.starts_with("bearer");
        case 'c': return letters.starts_with("cookie") || letters.starts_with("credential");
        case 'j': return letters.starts_with("jwt");
        case 'k': return letters.starts_with("key");
        case 'p': return letters.starts_with("pass") || letters.starts_with("pwd");
        case 's': return letters.starts_with("secret");
        case 't': return letters.starts_with("token");
        default: return false;
    }
}

bool is_plain_at_a_glance(std::string_view name) {
    std::array<char, 48> letters;
    std::size_t count = 0;
    if (name.size() > letters.size()) return false;
    for (const char c : name) {
        const auto lower = static_cast<char>(c | 0x20);
        if (lower >= 'a' && lower <= 'z') {
            letters[count++] = lower;
        } else if ((static_cast<unsigned char>(c) & 0x80) != 0) {
            return false;
        }
    }
    for (std::size_t i = 0; i + 3 <= count; ++i) {
        if (begins_tell_tale({letters.data() + i, count - i})) return false;
    }
    return true;
}

bool masked_by_name(std::string_view name, const Value& value) {
    if (value.is_object() || is_plain_at_a_glance(name)) return false;
    switch (redact::classify_key(name)) {
        case redact::KeyKind::plain: return false;
        case redact::KeyKind::sensitive: return true;
        case redact::KeyKind::quantity: return !value.is_number();
    }
    return true;
}

class ArgumentsText {
public:
    ArgumentsText(std::string& out, const redact::Redactor& redactor)
        : text_(out, kLogArgumentsBytes), redactor_(redactor) {}

    void write(const Object& arguments) { put(arguments, 0); }

    /// Says whether all was written.
    bool finish() {
        text_.finish();
        return !text_.full();
    }

private:
    void put(const Value& value, std::size_t depth) {
        switch (value.kind()) {
            case boost::json::kind::null: return text_.token("None");
            case boost::json::kind::bool_: return text_.token(value.get_bool() ? "True" : "False");
            case boost::json::kind::int64: return put_integer(value.get_int64());
            case boost::json::kind::uint64: return put_integer(value.get_uint64());
            case boost::json::kind::double_: return text_.real(value.get_double());
            case boost::json::kind::string: return put_string(value.get_string());
            case boost::json::kind::array: return put(value.get_array(), depth);
            case boost::json::kind::object: return put(value.get_object(), depth);
        }
    }

    void put(const Object& object, std::size_t depth) {
        if (depth > kMaxDepth) return text_.token("...");
        text_.token("{");
        bool first = true;
        for (const auto& member : object) {
            if (text_.full()) return;
            if (!first) text_.token(", ");
            first = false;
            put_string(member.key());
            text_.token(": ");
            if (masked_by_name(member.key(), member.value())) {
                text_.string(redact::kMarker);
            } else {
                put(member.value(), depth + 1);
            }
        }
        text_.token("}");
    }

    void put(const Array& array, std::size_t depth) {
        if (depth > kMaxDepth) return text_.token("...");
        text_.token("[");
        bool first = true;
        for (const Value& item : array) {
            if (text_.full()) return;
            if (!first) text_.token(", ");
            first = false;
            put(item, depth + 1);
        }
        text_.token("]");
    }

    void put_string(std::string_view text) {
        if (redactor_.finds_secret(text)) [[unlikely]] {
            return text_.string(redactor_.redact_text(text));
        }
        text_.string(text);
    }

    template <class Integer>
    void put_integer(Integer number) {
        // A secret of digits may arrive as a number.
        std::array<char, 24> digits;
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
        const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
        if (text.size() >= redact::SecretSet::kMinBytes && redactor_.finds_secret(text)) [[unlikely]] {
            return text_.string(redact::kMarker);
        }
        text_.token(text);
    }

    PythonText text_;
    const redact::Redactor& redactor_;
};

void append_number(std::string& out, std::int64_t number) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out.append(digits.data(), end);
}

void append_head(std::string& out, std::string_view event, std::string_view tool) {
    out += event;
    out += " tool=";
    if (!append_escaped(out, tool, kLogNameCharacters, {.spaces = true})) out += "...";
}

void append_duration(std::string& out, std::chrono::nanoseconds duration) {
    out += " duration=";
    append_number(out, std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
    out += "ms";
}

void append_refused(std::string& out, const Value& arguments) {
    if (const auto* text = arguments.if_string()) {
        out += "<str of ";
        append_number(out, static_cast<std::int64_t>(text->size()));
        out += " bytes>";
    } else if (const auto* list = arguments.if_array()) {
        out += "<list of ";
        append_number(out, static_cast<std::int64_t>(list->size()));
        out += " items>";
    } else if (arguments.is_null()) {
        out += "None";
    } else {
        out += arguments.is_bool() ? "<bool>" : "<number>";
    }
}

}  // namespace

void tool_call_line(std::string& out, std::string_view tool, const Value& arguments,
                    const redact::Redactor& redactor) {
    append_head(out, "TOOL_CALL", tool);
    out += " args=";
    const Object* const object = arguments.if_object();
    if (object == nullptr) return append_refused(out, arguments);
    ArgumentsText text(out, redactor);
    text.write(*object);
    if (!text.finish()) out += "...";
}

void tool_success_line(std::string& out, std::string_view tool, std::chrono::nanoseconds duration,
                       std::string_view content) {
    append_head(out, "TOOL_SUCCESS", tool);
    append_duration(out, duration);
    if (content.empty()) return;
    out += " content='";
    if (!append_escaped(out, content, kLogContentCharacters, {.only_single_quotes = true})) out += "...";
    out += '\'';
}

void tool_failed_line(std::string& out, std::string_view tool, std::chrono::nanoseconds duration,
                      std::string_view s2_code, std::string_view message) {
    append_head(out, "TOOL_FAILED", tool);
    append_duration(out, duration);
    out += " error=[";
    out += s2_code;
    out += "] ";
    if (!append_escaped(out, message, kLogMessageCharacters, {})) out += "...";
}

void tool_stack_line(std::string& out, std::string_view tool, std::string_view exception_type,
                     const Array& frames) {
    append_head(out, "TOOL_STACK", tool);
    out += " exception=";
    if (!append_escaped(out, exception_type, kLogNameCharacters, {.spaces = true})) out += "...";
    out += " stack=";
    bool first = true;
    for (const Value& frame : frames) {
        if (!first) out += " <- ";
        first = false;
        const auto* text = frame.if_string();
        if (text != nullptr && !append_escaped(out, *text, kLogMessageCharacters, {})) out += "...";
    }
}

void security_warning_line(std::string& out, std::string_view tool, std::string_view principal) {
    append_head(out, "SECURITY_WARNING", tool);
    out += " principal=";
    if (!append_escaped(out, principal, kLogNameCharacters, {.spaces = true})) out += "...";
    out += " Call of a tool that is not registered: blocked";
}

}  // namespace callgate::pipeline
