// Any bytes on the control socket: each message is refused or read, however the bytes arrive, and the two
// ways of arriving agree.
#include <cstdint>
#include <string_view>
#include <vector>

#include "ledger/control/message.h"
#include "require.h"

using namespace callgate;

namespace {

// Every message and the reason of every refusal, in order, as text.
std::vector<std::string> all_of(std::string_view bytes, std::size_t step) {
    ledger::MessageReader reader(ledger::request_limits());
    std::vector<std::string> seen;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        reader.add(bytes.substr(at, step));
        for (;;) {
            auto next = reader.next();
            if (!next) {
                require(next.error().code == ErrorCode::invalid_arguments, "a refusal has its code");
                require(!next.error().message.empty(), "a refusal says why");
                seen.push_back(next.error().message);
                continue;
            }
            if (!*next) break;
            seen.push_back(json::write(**next));
            const auto again = json::parse(seen.back());
            require(again && again->is_object(), "what was read can be sent on");
            (void)ledger::answer_in(std::move(**next));
        }
    }
    return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    require(all_of(input, 1 + size) == all_of(input, 3), "what is read does not depend on how it arrives");
    return 0;
}
