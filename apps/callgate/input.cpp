#include "input.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/try.h"
#include "os/file_ops.h"
#include "os/files.h"
#include "os/system_error.h"

namespace callgate::cli {

namespace {

Result<std::string> read_standard_input(std::size_t max_bytes) {
    // A copy, so that its owner closes the copy and not standard input.
    const os::Fd fd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    if (!fd)
        return fail(ErrorCode::config_error,
                    fmt::format("Standard input cannot be read: {}.", os::errno_text(errno)),
                    {{"reason", "file_unreadable"}});
    os::RealFileOps files;
    std::string text;
    std::string block(std::min<std::size_t>(max_bytes + 1, 64u << 10), '\0');
    for (;;) {
        const auto got = os::uninterrupted([&] { return files.read(fd, block); });
        if (!got) {
            const int number = os::error_number(got.error());
            if (number == EISDIR)
                return fail(ErrorCode::config_error,
                            "Standard input is a directory. Send it the content of a file.",
                            {{"reason", "file_is_directory"}});
            return fail(ErrorCode::config_error,
                        fmt::format("Standard input cannot be read: {}.", os::errno_text(number)),
                        {{"reason", "file_unreadable"}});
        }
        if (*got == 0) return text;
        text.append(block, 0, *got);
        if (text.size() > max_bytes)
            return fail(ErrorCode::config_error,
                        fmt::format("Standard input is larger than the limit of {} bytes.", max_bytes),
                        {{"reason", "file_too_large"}, {"max", max_bytes}});
    }
}

// What to do about it on this command line.
std::string_view advice(const Error& error, const std::string& path, Limit limit) {
    const boost::json::value* reason = error.details.if_contains("reason");
    if (reason == nullptr || !reason->is_string()) return {};
    const std::string_view name = reason->get_string();
    if (name == "file_too_large" && limit == Limit::can_be_raised) return " Raise it with --max-bytes.";
    if (name == "file_is_special") return " Or give - and send the text to standard input.";
    if (name == "file_missing" && (path.starts_with('{') || path.starts_with('[')))
        return " To give JSON itself, give - and send it to standard input.";
    return {};
}

}  // namespace

std::string input_name(const std::string& path) {
    return path == kStandardInput ? "standard input" : path;
}

Result<std::string> read_input(const std::string& path, std::size_t max_bytes, ErrorCode code, Limit limit) {
    os::RealFileOps files;
    auto text =
        path == kStandardInput ? read_standard_input(max_bytes) : os::read_file(files, path, max_bytes);
    if (!text) {
        Error& error = text.error();
        error.code = code;
        error.message += advice(error, path, limit);
        error.details["path"] = path;
    }
    return text;
}

Result<Value> read_json(const std::string& path, const json::ParseLimits& limits, ErrorCode code, Limit limit,
                        std::optional<Excerpt>& excerpt) {
    CALLGATE_TRY_ASSIGN(auto text, read_input(path, limits.max_bytes, code, limit));
    auto value = json::parse(text, limits);
    if (value) return value;
    excerpt = excerpt_of(text, value.error());
    value.error().code = code;
    value.error().details["path"] = path;
    if (text.find_first_not_of(" \t\r\n") == std::string::npos)
        value.error().message = "There is no JSON in it: it is empty.";
    return about(std::move(value.error()), input_name(path));
}

tl::unexpected<Error> about(Error error, const std::string& name) {
    error.message = fmt::format("{}: {}", name, error.message);
    return tl::unexpected<Error>(std::move(error));
}

}  // namespace callgate::cli
