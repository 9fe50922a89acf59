// What a tool throws, as its answer.
#include <array>
#include <cstdlib>
#include <exception>
#include <string>
#include <typeinfo>
#include <utility>

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <fmt/format.h>

#include <callgate/result.h>

#include "base/guard.h"
#include "base/utf8.h"
#include "json/text.h"

namespace callgate {
namespace {

constexpr std::size_t kMaxThrownMessage = 4'096;
constexpr std::size_t kMaxFrame = 512;
constexpr std::size_t kMaxFrames = 5;

std::string bounded(std::string_view text, std::size_t max_bytes) {
    return json::valid_utf8(base::truncate_to_bytes(text, max_bytes));
}

// what() of a foreign exception may be null.
std::string_view words_of(const std::exception& thrown) {
    const char* const words = thrown.what();
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): only with the guard off, which is a mutant
    return words != nullptr || !CALLGATE_GUARD(mute_exceptions) ? words : "The exception has no message.";
}

std::string readable(const char* mangled) {
    int status = 0;
    char* text = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
    std::string name = status == 0 && text != nullptr ? text : mangled;
    std::free(text);
    return name;
}

std::string type_name(const std::type_info* type) {
    return type == nullptr ? "something unknown" : readable(type->name());
}

// The function's name where the program exports it, else its place in the file, which addr2line can read.
std::string frame(void* address) {
    Dl_info info{};
    if (dladdr(address, &info) == 0) return fmt::format("{}", address);
    if (info.dli_sname != nullptr) return bounded(readable(info.dli_sname), kMaxFrame);
    const auto offset = static_cast<const char*>(address) - static_cast<const char*>(info.dli_fbase);
    return bounded(fmt::format("{}+{:#x}", info.dli_fname, offset), kMaxFrame);
}

void add_causes(const std::exception& thrown, Array& stack) {
    if (stack.size() >= kMaxFrames) return;
    try {
        std::rethrow_if_nested(thrown);
    } catch (const std::exception& cause) {
        stack.emplace_back(
            bounded(fmt::format("caused by {}: {}", type_name(&typeid(cause)), words_of(cause)), kMaxFrame));
        add_causes(cause, stack);
    } catch (...) {
        stack.emplace_back(bounded(
            fmt::format("caused by a value of type {}", type_name(abi::__cxa_current_exception_type())),
            kMaxFrame));
    }
}

Array stack_of(const std::exception& thrown) {
    Array stack;
    if (const auto* traced = dynamic_cast<const TracedError*>(&thrown)) {
        for (const std::string& one : traced->stack()) stack.emplace_back(one);
    }
    add_causes(thrown, stack);
    return stack;
}

}  // namespace

TracedError::TracedError(const std::string& message, std::source_location where)
    : std::runtime_error(message) {
    std::vector<std::string> frames{bounded(
        fmt::format("{} ({}:{})", where.function_name(), where.file_name(), where.line()), kMaxFrame)};
    // Before its callers stand this constructor and the function that `where` has named.
    constexpr int kSkipped = 2;
    std::array<void*, kSkipped + kMaxFrames - 1> addresses{};
    const int count = backtrace(addresses.data(), static_cast<int>(addresses.size()));
    for (int i = kSkipped; i < count; ++i) frames.push_back(frame(addresses[static_cast<std::size_t>(i)]));
    stack_ = std::make_shared<const std::vector<std::string>>(std::move(frames));
}

ToolFailure failure_from_exception() {
    try {
        throw;
    } catch (const Error& thrown) {
        if (!CALLGATE_GUARD(thrown_errors_kept))
            return {Error(ErrorCode::caught, thrown.message), Applied::maybe};
        return {thrown, Applied::answered};
    } catch (const ToolFailure& thrown) {
        return thrown;
    } catch (const std::exception& thrown) {
        Object details{{"exception_type", type_name(&typeid(thrown))}};
        if (Array stack = stack_of(thrown); !stack.empty()) details.emplace("stack", std::move(stack));
        return {Error(ErrorCode::exception, bounded(words_of(thrown), kMaxThrownMessage), std::move(details)),
                Applied::answered};
    } catch (...) {
        // Nobody meant this as an answer, so what it did is not known.
        const std::string name = type_name(abi::__cxa_current_exception_type());
        return {Error(ErrorCode::caught,
                      "The tool threw a value of type " + name + ", which is not an exception.",
                      {{"kind", "throw"}, {"thrown_type", name}}),
                Applied::maybe};
    }
}

}  // namespace callgate
