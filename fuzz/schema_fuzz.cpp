// Any JSON document as a schema: the compiler refuses it with a reason, or makes a program that can be run.
#include <cstdint>
#include <string_view>

#include <callgate/schema.h>

#include "require.h"

using namespace callgate;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    schema::CompileOptions options;
    options.default_dialect = static_cast<schema::Dialect>(data[0] % 3);
    options.assert_format = (data[0] & 4) != 0;
    options.allow_pcre2 = (data[0] & 8) != 0;
    options.limits.max_steps = 20'000;
    if ((data[0] & 16) != 0) options.unknown_members = schema::UnknownMembers::reject;
    const auto document = json::parse({reinterpret_cast<const char*>(data + 1), size - 1});
    if (!document) return 0;
    const auto compiled = schema::Schema::compile(*document, options);
    if (!compiled) {
        require(compiled.error().code == ErrorCode::config_error, "a refusal has the code config_error");
        require(compiled.error().details.contains("reason"), "a refusal names its reason");
        return 0;
    }
    // A schema is also an instance, and a good one to hit the schema's own vocabulary.
    schema::Scratch scratch;
    const auto verdict = compiled->check(*document, scratch);
    require(compiled->explain(*document).verdict == verdict, "explaining agrees with checking");
    return 0;
}
