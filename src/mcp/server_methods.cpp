// What a server says of itself, and what a client says about its session.
#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/encoding.h"
#include "json/size.h"
#include "mcp/envelope.h"
#include "mcp/members.h"
#include "mcp/server_core.h"

namespace callgate::mcp {
namespace {

constexpr std::size_t kMaxCursor = 64;
constexpr std::size_t kMaxKept = 64u << 10;  // of what a client says of itself

bool is_true(const Object& object, std::string_view member) {
    const Value* value = object.if_contains(member);
    return value != nullptr && value->is_bool() && value->get_bool();
}

std::set<std::string, std::less<>> strings_in(const Object& object, std::string_view member) {
    std::set<std::string, std::less<>> all;
    const Value* value = object.if_contains(member);
    if (value == nullptr || !value->is_array()) return all;
    for (const Value& one : value->get_array()) {
        if (one.is_string()) all.emplace(one.get_string());
    }
    return all;
}

// What cannot be listened for, in a client's own words for it.
std::optional<std::string> fault_of(const Object& wanted) {
    for (const std::string_view member : {"toolsListChanged", "promptsListChanged", "resourcesListChanged"}) {
        const Value* value = wanted.if_contains(member);
        if (value != nullptr && !value->is_bool()) return fmt::format("{} is true or false.", member);
    }
    for (const std::string_view member : {"resourceSubscriptions", "taskIds"}) {
        const Value* value = wanted.if_contains(member);
        if (value == nullptr) continue;
        const bool right = value->is_array() && std::ranges::all_of(value->get_array(), [](const Value& one) {
                               return one.is_string() && uri_fits(one.get_string());
                           });
        if (!right) return fmt::format("{} is a list of strings of at most {} bytes.", member, kMaxUriBytes);
    }
    return std::nullopt;
}

// What its client will be notified of, as it is answered.
Object honoured(const Listeners::Filter& filter) {
    Object accepted;
    if (filter.tools) accepted["toolsListChanged"] = true;
    if (filter.prompts) accepted["promptsListChanged"] = true;
    if (filter.resources) accepted["resourcesListChanged"] = true;
    if (!filter.uris.empty())
        accepted["resourceSubscriptions"] = Array(filter.uris.begin(), filter.uris.end());
    if (!filter.tasks.empty()) accepted["taskIds"] = Array(filter.tasks.begin(), filter.tasks.end());
    return accepted;
}

}  // namespace

void ServerCore::initialize(const std::shared_ptr<Exchange>& exchange) {
    Session& session = *exchange->session;
    const Value* version = exchange->params.if_contains("protocolVersion");
    const Value* capabilities = exchange->params.if_contains("capabilities");
    if (version == nullptr || !version->is_string() || capabilities == nullptr ||
        !capabilities->is_object()) {
        fail(exchange, {codes::kInvalidParams, "initialize has a protocolVersion and capabilities."});
        return;
    }
    if (session.codec != nullptr) {
        fail(exchange, {codes::kInvalidRequest, "This session has begun already."});
        return;
    }
    // They are kept for as long as the session is.
    const Value* info = exchange->params.if_contains("clientInfo");
    if (json::text_size_up_to(*capabilities, kMaxKept + 1) > kMaxKept ||
        (info != nullptr && json::text_size_up_to(*info, kMaxKept + 1) > kMaxKept)) {
        fail(exchange,
             {codes::kInvalidParams,
              fmt::format("A client's capabilities and clientInfo have at most {} bytes.", kMaxKept)});
        return;
    }
    const Codec* wanted = find_codec(version->get_string());
    session.codec = wanted != nullptr && !wanted->modern() ? wanted : &latest_legacy_codec();
    session.capabilities = std::make_shared<const Object>(capabilities->get_object());
    if (info != nullptr && info->is_object())
        session.client_info = std::make_shared<const Object>(info->get_object());
    exchange->codec = session.codec;
    Object result{{"protocolVersion", session.codec->revision()},
                  {"capabilities", session.codec->capabilities()},
                  {"serverInfo", session.codec->info(options_)}};
    if (!options_.instructions.empty()) result["instructions"] = options_.instructions;
    respond(exchange, json::write(Value(std::move(result))));
}

void ServerCore::ping(const std::shared_ptr<Exchange>& exchange) {
    respond(exchange, "{}");
}

void ServerCore::set_level(const std::shared_ptr<Exchange>& exchange) {
    const auto level = log_level_from_string(string_member(exchange->params, "level"));
    if (!level) {
        fail(exchange, {codes::kInvalidParams, "There is no such log level."});
        return;
    }
    exchange->session->log_level = *level;
    respond(exchange, "{}");
}

void ServerCore::discover(const std::shared_ptr<Exchange>& exchange) {
    Array versions;
    for (const Codec* one : codecs()) {
        if (one->modern()) versions.emplace_back(one->revision());
    }
    Object result{{"supportedVersions", std::move(versions)},
                  {"capabilities", exchange->codec->capabilities()}};
    if (!options_.instructions.empty()) result["instructions"] = options_.instructions;
    add_cache(*exchange, result);
    respond(exchange, json::write(Value(std::move(result))));
}

void ServerCore::listen(const std::shared_ptr<Exchange>& exchange) {
    const Value* asked = exchange->params.if_contains("notifications");
    if (asked == nullptr || !asked->is_object()) {
        fail(exchange, {codes::kInvalidParams,
                        "subscriptions/listen says in params.notifications what to listen for."});
        return;
    }
    const Object& wanted = asked->get_object();
    if (auto fault = fault_of(wanted)) {
        fail(exchange, {codes::kInvalidParams, std::move(*fault)});
        return;
    }
    Listeners::Filter filter;
    filter.tools = is_true(wanted, "toolsListChanged");
    filter.prompts = is_true(wanted, "promptsListChanged");
    filter.resources = is_true(wanted, "resourcesListChanged");
    filter.uris = strings_in(wanted, "resourceSubscriptions");
    if (tasks_.known_to(*exchange)) filter.tasks = strings_in(wanted, "taskIds");
    if (filter.uris.size() + filter.tasks.size() > options_.limits.max_subscriptions) {
        fail(exchange, {codes::kInvalidParams, "More is listened for than this server allows."});
        return;
    }
    const Transport* by = exchange->outlet->transport();
    if (by != nullptr && by->drains) {
        fail(exchange, {codes::kInternal, "The server is about to end."}, 503);
        return;
    }
    if (listeners_.size() + *listening_ >= options_.limits.max_listeners) {
        fail(exchange, {codes::kInternal, "As many clients listen as may; try again later."}, 503);
        return;
    }
    const std::string acknowledged =
        notification_text("notifications/subscriptions/acknowledged",
                          Object{{"notifications", honoured(filter)},
                                 {"_meta", Object{{envelope::kSubscriptionId, exchange->id}}}});
    exchange->params.clear();  // it stays for as long as its client listens
    listeners_.add(exchange, std::move(filter));
    --requests_now_;  // it is counted among those that listen
    exchange->outlet->message(acknowledged);
}

// A cursor is how far a list has been read; it holds no more than that.
std::optional<std::size_t> ServerCore::page_of(const std::shared_ptr<Exchange>& exchange, std::size_t size) {
    const Value* cursor = exchange->params.if_contains("cursor");
    if (cursor == nullptr) return 0;
    std::size_t at = 0;
    bool good = false;
    if (cursor->is_string() && cursor->get_string().size() <= kMaxCursor) {
        const auto plain = base::base64_decode(cursor->get_string(), base::Base64Alphabet::url,
                                               base::Base64Padding::without);
        if (plain && plain->starts_with("at ")) {
            const std::string_view digits = std::string_view(*plain).substr(3);
            const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), at);
            good = error == std::errc() && end == digits.data() + digits.size() && at > 0;
        }
    }
    if (!good) {
        fail(exchange, {codes::kInvalidParams, "This cursor is not one of this server's."});
        return std::nullopt;
    }
    return std::min(at, size);
}

void ServerCore::add_cache(const Exchange& exchange, Object& result) const {
    if (!exchange.modern()) return;
    result["ttlMs"] = options_.cache_time.count();
    result["cacheScope"] = "private";
}

void ServerCore::respond_page(const std::shared_ptr<Exchange>& exchange, std::string_view member, Array items,
                              std::size_t next, std::size_t size) {
    Object result{{member, std::move(items)}};
    if (next < size) {
        result["nextCursor"] = base::base64_encode(fmt::format("at {}", next), base::Base64Alphabet::url,
                                                   base::Base64Padding::without);
    }
    add_cache(*exchange, result);
    respond(exchange, json::write(Value(std::move(result))));
}

}  // namespace callgate::mcp
