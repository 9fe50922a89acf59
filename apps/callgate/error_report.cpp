#include "error_report.h"

#include <ostream>

#include <fmt/format.h>

namespace callgate::cli {

namespace {

constexpr std::size_t kLongestPath = 160;  // names can be as long as the whole document

}  // namespace

tl::unexpected<Error> unusable(std::string_view reason, std::string message) {
    return fail(ErrorCode::config_error, std::move(message), {{"reason", reason}});
}

Value json_of(const Error& error) {
    return {{"code", to_string(error.code)}, {"message", error.message}, {"details", error.details}};
}

std::string error_text(const Error& error, const std::optional<Excerpt>& excerpt, const Style& style) {
    std::string out = indented(clipped(error.message, kLongestMessage), 2, style);
    out.replace(0, 1, style.red("✗"));
    if (excerpt) out += render(*excerpt, style);
    // The message names the first; a schema's author wants to see the others too.
    const Value* violations = error.details.if_contains("violations");
    if (violations != nullptr && violations->is_array() && violations->get_array().size() > 1) {
        for (const Value& entry : violations->get_array()) {
            const Object* one = entry.if_object();
            if (one == nullptr) continue;
            const Value* path = one->if_contains("path");
            if (path == nullptr) path = one->if_contains("schema_path");
            const Value* message = one->if_contains("message");
            if (path == nullptr || message == nullptr || !path->is_string() || !message->is_string())
                continue;
            const std::string place = clipped(path->get_string(), kLongestPath);
            const std::string sentence = clipped(message->get_string(), kLongestMessage);
            if (style.width == 0 || 4 + columns_of(place) + columns_of(sentence) <= style.width) {
                out += fmt::format("  {}  {}\n", style.yellow(place), sentence);
            } else {
                out += indented(place, 2, style) + indented(sentence, 4, style);
            }
        }
    }
    return out;
}

void print_error(const Error& error, const std::optional<Excerpt>& excerpt, bool json, ColorMode color,
                 const Console& console) {
    if (json) {
        console.out << json::write_pretty(Object{{"error", json_of(error)}}) << '\n';
    } else {
        console.err << error_text(error, excerpt, console.err_terminal.style(color));
    }
}

}  // namespace callgate::cli
