#include "mcp/client_lists.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include <callgate/definitions.h>

#include "mcp/members.h"
#include "mcp/message.h"

namespace callgate::mcp {
namespace {

constexpr std::size_t kLongestName = 8'192;
/// More notices than this between two of ours are a fault.
constexpr std::size_t kManyChanges = 100;

struct KindNames {
    std::string_view word;
    std::string_view method;
    std::string_view member;
    std::string_view capability;
    std::string_view key;
};
constexpr std::array<KindNames, kListKinds> kKindNames{{
    {"tools", "tools/list", "tools", "tools", "name"},
    {"prompts", "prompts/list", "prompts", "prompts", "name"},
    {"resources", "resources/list", "resources", "resources", "uri"},
    {"resource_templates", "resources/templates/list", "resourceTemplates", "resources", "uriTemplate"},
}};
const KindNames& names_of(ListKind kind) {
    return kKindNames[static_cast<std::size_t>(kind)];
}

tl::unexpected<Error> bad_list(std::string message, std::string_view reason) {
    return fail(ErrorCode::output_invalid, std::move(message), {{"reason", reason}});
}

}  // namespace

std::string_view to_string(ListKind kind) noexcept {
    return names_of(kind).word;
}

const ClientTool* ListSnapshot::tool(std::string_view name) const {
    const auto it = by_name.find(name);
    return it == by_name.end() ? nullptr : &tools[it->second];
}

ClientLists::ClientLists(net::LoopThread& thread, const ClientOptions& options, Hooks hooks)
    : thread_(thread), options_(options), hooks_(std::move(hooks)) {}

base::MonotonicTime ClientLists::now() const {
    return options_.clock == nullptr ? std::chrono::steady_clock::now() : options_.clock->monotonic_now();
}

void ClientLists::begin(const ServerFacts& facts, bool drops_bad_headers) {
    facts_ = facts;
    drops_bad_headers_ = drops_bad_headers;
    for (State& one : states_) one.good_until = base::MonotonicTime::min();
}

std::vector<ClientLists::Done> ClientLists::take_waiting() {
    std::vector<Done> all;
    for (State& one : states_) {
        one.reading.reset();
        for (Done& done : std::exchange(one.waiting, {})) all.push_back(std::move(done));
    }
    return all;
}

bool ClientLists::is_good(ListKind kind) const {
    const State& one = state(kind);
    return one.last != nullptr && now() < one.good_until;
}

bool ClientLists::offers(ListKind kind) const {
    return facts_.capabilities.contains(names_of(kind).capability);
}

void ClientLists::list(ListKind kind, Done done, bool again) {
    State& one = state(kind);
    if (one.reading == nullptr && !again && is_good(kind)) {
        thread_.post([done = std::move(done), last = one.last] { done(last); });
        return;
    }
    if (one.waiting.size() >= options_.limits.max_requests) {
        thread_.post([done = std::move(done)] {
            done(fail(ErrorCode::unavailable, "Too many wait for this list.",
                      {{"reason", "too_many_requests"}}));
        });
        return;
    }
    one.waiting.push_back(std::move(done));
    if (one.reading == nullptr) read(kind, false);
}

void ClientLists::read(ListKind kind, bool again) {
    State& one = state(kind);
    const auto deadline =
        again ? one.reading->deadline : base::later(std::chrono::steady_clock::now(), options_.timeout);
    one.reading = std::make_unique<Reading>();
    one.reading->next->kind = kind;
    one.reading->deadline = deadline;
    one.reading->from_the_beginning_again = again;
    one.changed_meanwhile = false;
    if (offers(kind)) {
        ask_page(kind, std::nullopt);
        return;
    }
    // There are none, and nothing to ask.
    thread_.post([this, kind, alive = std::weak_ptr(one.reading->next)] {
        if (!alive.expired()) finish(kind);
    });
}

void ClientLists::ask_page(ListKind kind, const std::optional<std::string>& cursor) {
    Reading& reading = *state(kind).reading;
    ClientRequest request(std::string(names_of(kind).method), {});
    if (cursor) request.params["cursor"] = *cursor;
    request.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(reading.deadline -
                                                                            std::chrono::steady_clock::now());
    hooks_.ask(std::move(request), [this, kind, alive = std::weak_ptr(reading.next)](ClientAnswer answer) {
        if (!alive.expired()) take_page(kind, std::move(answer));
    });
}

void ClientLists::take_page(ListKind kind, ClientAnswer answer) {
    Reading& reading = *state(kind).reading;
    if (!answer) {
        const ClientFailure& failure = answer.error();
        // Many that have resources have no templates.
        if (failure.code == codes::kMethodNotFound && kind == ListKind::resource_templates) {
            finish(kind);
            return;
        }
        // The list changed while it was read, and the cursor means nothing any more.
        if (failure.code == codes::kInvalidParams && reading.pages > 0 && !reading.from_the_beginning_again) {
            read(kind, true);
            return;
        }
        give(kind, tl::unexpected(failure.error));
        return;
    }
    if (auto taken = take_items(kind, *answer); !taken) {
        give(kind, tl::unexpected(std::move(taken.error())));
        return;
    }
    const Value* cursor = answer->value.get_object().if_contains("nextCursor");
    if (cursor == nullptr || cursor->is_null()) {
        finish(kind);
        return;
    }
    if (!cursor->is_string()) {
        give(kind, bad_list("A cursor is a string.", "bad_cursor"));
        return;
    }
    std::string next(cursor->get_string());
    if (!reading.cursors.insert(next).second) {
        give(kind, bad_list("The server's list goes round in a circle.", "cursor_repeats"));
        return;
    }
    if (reading.pages >= options_.limits.max_pages) {
        give(kind, bad_list(fmt::format("The server's list has more than {} pages.", reading.pages),
                            "too_many_pages"));
        return;
    }
    ask_page(kind, next);
}

// The shortest time of all pages is the list's.
Result<void> ClientLists::take_items(ListKind kind, const ClientResult& result) {
    Reading& reading = *state(kind).reading;
    const Object& object = result.value.get_object();
    ++reading.pages;
    reading.bytes += result.received.size();
    if (reading.bytes > options_.limits.max_list_bytes)
        return bad_list(
            fmt::format("The server's list has more than {} bytes.", options_.limits.max_list_bytes),
            "list_too_large");
    const Value* items = object.if_contains(names_of(kind).member);
    if (items == nullptr || !items->is_array())
        return bad_list(
            fmt::format("The answer to {} has no list \"{}\".", names_of(kind).method, names_of(kind).member),
            "not_a_list");
    const std::size_t so_far = reading.next->items.size() + reading.next->refused.size();
    if (so_far + items->get_array().size() > options_.limits.max_items)
        return bad_list(fmt::format("The server's list has more than {} items.", options_.limits.max_items),
                        "too_many_items");
    for (const Value& item : items->get_array()) take_item(kind, item);
    const Value* ttl = object.if_contains("ttlMs");
    const std::int64_t holds =
        ttl == nullptr || !ttl->is_int64() ? 0 : std::max<std::int64_t>(0, ttl->get_int64());
    const std::chrono::milliseconds time(holds);
    reading.holds = reading.holds ? std::min(*reading.holds, time) : time;
    return {};
}

void ClientLists::take_item(ListKind kind, const Value& item) {
    Reading& reading = *state(kind).reading;
    const std::string text = json::write(item);
    reading.digest.update(text).update("\n");
    if (!item.is_object()) {
        reading.next->refused.push_back({{},
                                         Error(ErrorCode::config_error, "An item of a list is an object.",
                                               {{"reason", "not_an_object"}})});
        return;
    }
    const Object& object = item.get_object();
    ClientTool tool;
    auto name = judge(kind, object, tool);
    if (name && !reading.names.insert(*name).second)
        name = fail(ErrorCode::config_error, "The server lists another one of this name.",
                    {{"reason", "duplicate_name"}});
    if (!name) {
        std::string said(string_member(object, names_of(kind).key).substr(0, 256));
        reading.next->refused.push_back({std::move(said), std::move(name.error())});
        return;
    }
    reading.next->items.push_back(object);
    if (kind != ListKind::tools) return;
    reading.next->by_name.emplace(*name, reading.next->tools.size());
    reading.next->tools.push_back(std::move(tool));
}

/// Its name.
Result<std::string> ClientLists::judge(ListKind kind, const Object& item, ClientTool& tool) const {
    std::string name(string_member(item, names_of(kind).key));
    if (name.empty() || name.size() > kLongestName)
        return fail(ErrorCode::config_error, fmt::format("It has no \"{}\".", names_of(kind).key),
                    {{"reason", "bad_name"}});
    if (kind != ListKind::tools) return name;
    if (object_member(item, "inputSchema") == nullptr)
        return fail(ErrorCode::config_error, "A tool has an inputSchema, which is an object.",
                    {{"reason", "no_schema"}});
    auto definition = read_definition(Value(item));
    if (!definition) return tl::unexpected(std::move(definition.error()));
    tool.definition = std::move(*definition);
    if (tool.definition.name != name)
        return fail(ErrorCode::config_error, "It is no tool as MCP has it.", {{"reason", "not_a_tool"}});
    auto headers = read_param_headers(tool.definition.input_schema);
    if (headers)
        tool.headers = std::move(*headers);
    else if (drops_bad_headers_)
        return tl::unexpected(std::move(headers.error()));
    return name;
}

void ClientLists::finish(ListKind kind) {
    State& one = state(kind);
    Reading& reading = *one.reading;
    const std::string digest = base::to_hex(reading.digest.finish());
    const bool is_modern = facts_.codec != nullptr && facts_.codec->modern();
    const std::chrono::milliseconds holds =
        is_modern && offers(kind) ? std::min(options_.cache_time, reading.holds.value_or(options_.cache_time))
                                  : options_.cache_time;
    reading.next->revision = one.last == nullptr ? 1 : one.last->revision + (digest == one.digest ? 0 : 1);
    one.digest = digest;
    one.last = reading.next;
    one.good_until = one.changed_meanwhile ? base::MonotonicTime::min() : base::later(now(), holds);
    give(kind, one.last);
}

// Whoever waits may ask again, or drop the client.
void ClientLists::give(ListKind kind, const Result<SharedList>& result) {
    State& one = state(kind);
    // The reading that ends here may be what it belongs to.
    // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
    const Result<SharedList> given = result;
    one.reading.reset();
    const std::vector<Done> waiting = std::exchange(one.waiting, {});
    for (const Done& done : waiting) done(given);
}

void ClientLists::changed(ListKind kind) {
    if (!offers(kind)) return;
    State& one = state(kind);
    one.good_until = base::MonotonicTime::min();
    one.changed_meanwhile = true;
    if (++one.changes == kManyChanges)
        hooks_.fault(
            ServerFault::too_many_changes,
            fmt::format("The server says again and again that its {} have changed.", to_string(kind)));
    if (one.next_notice) return;
    const auto time = std::chrono::steady_clock::now();
    if (!one.noticed || *one.noticed + options_.notice_gap <= time) {
        notice(kind);
        return;
    }
    one.next_notice =
        std::make_shared<boost::asio::steady_timer>(thread_.context(), *one.noticed + options_.notice_gap);
    one.next_notice->async_wait(
        [this, kind, timer = std::weak_ptr(one.next_notice)](const boost::system::error_code& error) {
            if (error || timer.expired()) return;
            state(kind).next_notice.reset();
            notice(kind);
        });
}

void ClientLists::notice(ListKind kind) {
    State& one = state(kind);
    one.noticed = std::chrono::steady_clock::now();
    one.changes = 0;
    if (options_.watcher) options_.watcher->list_changed(kind);
}

}  // namespace callgate::mcp
