#include "mcp/request_state.h"

#include <callgate/json.h>

#include "base/encoding.h"

namespace callgate::mcp {
namespace {

constexpr std::string_view kPurpose = "callgate-request-state";
constexpr std::size_t kMaxText = 4'096;

std::int64_t now_ms() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

tl::unexpected<Error> bad_state() {
    return fail(ErrorCode::invalid_arguments,
                "The requestState is not one that this server gave for this request.",
                {{"reason", "bad_state"}});
}

}  // namespace

std::string RequestStates::seal(const RequestState& state) const {
    const Array plain{state.call_id, state.digest, state.round, now_ms() + good_for_.count()};
    return base::base64_encode(base::seal(key_, kPurpose, "", json::write(Value(plain))),
                               base::Base64Alphabet::url, base::Base64Padding::without);
}

Result<RequestState> RequestStates::open(std::string_view text) const {
    if (text.size() > kMaxText) return bad_state();
    const auto sealed = base::base64_decode(text, base::Base64Alphabet::url, base::Base64Padding::without);
    if (!sealed) return bad_state();
    const auto plain = base::unseal(key_, kPurpose, "", *sealed);
    if (!plain) return bad_state();
    const auto parsed = json::parse(*plain);
    if (!parsed || !parsed->is_array() || parsed->get_array().size() != 4) return bad_state();
    const Array& parts = parsed->get_array();
    if (parts[3].to_number<std::int64_t>() < now_ms()) {
        return fail(ErrorCode::invalid_arguments, "The requestState is older than its question may be.",
                    {{"reason", "state_expired"}});
    }
    RequestState state;
    state.call_id = parts[0].get_string();
    state.digest = parts[1].get_string();
    state.round = parts[2].to_number<std::uint32_t>();
    return state;
}

}  // namespace callgate::mcp
