#include "pipeline/log_line.h"

#include <string>

#include "redact/key_rules.h"

namespace callgate::pipeline {
namespace {

// The longest line that is possible: a name and a message of characters that all need the longest escape.
static_assert(10 * (kLogNameCharacters + kLogMessageCharacters) + 256 <= LineText::kBytes);
static_assert(10 * kLogNameCharacters + kLogArgumentsBytes + 256 <= LineText::kBytes);
static_assert(20 * kLogNameCharacters + kLogStackBytes + 256 <= LineText::kBytes);

/// Deeper than this nothing is shown; the text would hardly get there.
constexpr std::size_t kMaxDepth = 64;

bool masked_by_name(std::string_view name, const Value& value) {
    if (value.is_object()) return false;
    switch (redact::classify_key(name)) {
        case redact::KeyKind::plain: return false;
        case redact::KeyKind::sensitive: return true;
        case redact::KeyKind::quantity: return !value.is_number();
    }
    return true;
}

class ArgumentsText {
public:
    ArgumentsText(LineText& out, const redact::Redactor& redactor)
        : text_(out), redactor_(redactor), secrets_(redactor.knows_secrets()) {}

    void write(const Object& arguments) { put(arguments, 0); }

private:
    [[gnu::hot]] void put(const Value& value, std::size_t depth) {
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

    [[gnu::hot]] void put(const Object& object, std::size_t depth) {
        if (depth > kMaxDepth) return text_.token("...");
        text_.token("{");
        bool first = true;
        for (const auto& member : object) {
            if (text_.full()) return;
            put_name(member.key(), first);
            first = false;
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

    void put_name(std::string_view text, bool first) {
        if (secrets_ && redactor_.finds_secret(text)) [[unlikely]] {
            return text_.name(redactor_.redact_text(text), first);
        }
        text_.name(text, first);
    }

    void put_string(std::string_view text) {
        if (secrets_ && redactor_.finds_secret(text)) [[unlikely]] {
            return text_.string(redactor_.redact_text(text));
        }
        text_.string(text);
    }

    template <class Integer>
    void put_integer(Integer number) {
        // A secret of digits may arrive as a number.
        if (secrets_ && redactor_.finds_secret(std::to_string(number))) [[unlikely]] {
            return text_.string(redact::kMarker);
        }
        text_.integer(number);
    }

    LineText& text_;
    const redact::Redactor& redactor_;
    const bool secrets_;
};

void put_head(LineText& out, std::string_view event, std::string_view tool) {
    out.token(event);
    out.escaped(tool, kLogNameCharacters, {.spaces = true});
}

void put_duration(LineText& out, std::chrono::nanoseconds duration) {
    out.token(" duration=");
    out.integer(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
    out.token("ms");
}

void put_refused(LineText& out, const Value& arguments) {
    if (const auto* text = arguments.if_string()) {
        out.token("<str of ");
        out.integer(static_cast<std::uint64_t>(text->size()));
        out.token(" bytes>");
    } else if (const auto* list = arguments.if_array()) {
        out.token("<list of ");
        out.integer(static_cast<std::uint64_t>(list->size()));
        out.token(" items>");
    } else if (arguments.is_null()) {
        out.token("None");
    } else {
        out.token(arguments.is_bool() ? "<bool>" : "<number>");
    }
}

}  // namespace

void tool_call_line(LineText& out, std::string_view tool, const Value& arguments,
                    const redact::Redactor& redactor) {
    put_head(out, "TOOL_CALL tool=", tool);
    out.token(" args=");
    const Object* const object = arguments.if_object();
    if (object == nullptr) return put_refused(out, arguments);
    out.begin_part(kLogArgumentsBytes);
    ArgumentsText(out, redactor).write(*object);
    out.end_part();
}

void tool_success_line(LineText& out, std::string_view tool, std::chrono::nanoseconds duration,
                       std::string_view content) {
    put_head(out, "TOOL_SUCCESS tool=", tool);
    put_duration(out, duration);
    if (content.empty()) return;
    out.token(" content='");
    out.escaped(content, kLogContentCharacters, {.only_single_quotes = true});
    out.token("'");
}

void tool_failed_line(LineText& out, std::string_view tool, std::chrono::nanoseconds duration,
                      std::string_view s2_code, std::string_view message) {
    put_head(out, "TOOL_FAILED tool=", tool);
    put_duration(out, duration);
    out.token(" error=[");
    out.token(s2_code);
    out.token("] ");
    out.escaped(message, kLogMessageCharacters, {});
}

void tool_stack_line(LineText& out, std::string_view tool, std::string_view exception_type,
                     const Array& frames) {
    put_head(out, "TOOL_STACK tool=", tool);
    out.token(" exception=");
    out.escaped(exception_type, kLogNameCharacters, {.spaces = true});
    out.token(" stack=");
    out.begin_part(kLogStackBytes);
    bool first = true;
    for (const Value& frame : frames) {
        if (out.full()) break;
        if (!first) out.token(" <- ");
        first = false;
        if (const auto* text = frame.if_string()) out.escaped(*text, kLogMessageCharacters, {});
    }
    out.end_part();
}

void security_warning_line(LineText& out, std::string_view tool, std::string_view principal) {
    put_head(out, "SECURITY_WARNING tool=", tool);
    out.token(" principal=");
    out.escaped(principal, kLogNameCharacters, {.spaces = true});
    out.token(" Call of a tool that is not registered: blocked");
}

}  // namespace callgate::pipeline
