#include <cstdlib>
#include <exception>
#include <string>
#include <typeinfo>

#include <cxxabi.h>

#include <callgate/result.h>

#include "base/utf8.h"
#include "json/text.h"

namespace callgate {
namespace {

constexpr std::size_t kMaxMessage = 4'096;

std::string type_name(const std::type_info* type) {
    if (type == nullptr) return "something unknown";
    int status = 0;
    char* readable = abi::__cxa_demangle(type->name(), nullptr, nullptr, &status);
    std::string name = status == 0 && readable != nullptr ? readable : type->name();
    std::free(readable);
    return name;
}

}  // namespace

ToolFailure failure_from_exception() {
    try {
        throw;
    } catch (const std::exception& thrown) {
        return {
            Error(ErrorCode::exception, json::valid_utf8(base::truncate_to_bytes(thrown.what(), kMaxMessage)),
                  {{"exception_type", type_name(&typeid(thrown))}}),
            Applied::told};
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
