// What a client lists of a server: whole, judged, held for as long as it is good; and servers that list
// without end or nonsense.
#include <string>

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "mcp/client_testing.h"

namespace callgate::mcp {
namespace {

const Object kListing{{"tools", Object{{"listChanged", true}}},
                      {"prompts", Object{}},
                      {"resources", Object{{"listChanged", true}}}};

Object tool_item(std::string_view name) {
    return {{"name", name}, {"inputSchema", Object{{"type", "object"}}}};
}

class ClientListsTest : public testing::Test {
protected:
    static ClientOptions with_clock(const base::Clock& clock) {
        ClientOptions options;
        options.clock = &clock;
        options.limits.max_pages = 20;
        options.limits.max_items = 50;
        options.notice_gap = std::chrono::milliseconds(20);
        options.listen_again = std::chrono::milliseconds(5);
        return options;
    }
    std::unique_ptr<ScriptedPeer> connect_legacy() { return client.connect_legacy(kListing); }
    std::unique_ptr<ScriptedPeer> connect_modern(Value* listens = nullptr) {
        auto peer = client.connect_modern(kListing);
        const Value request = peer->read_request("subscriptions/listen");
        if (listens != nullptr) *listens = request;
        return peer;
    }
    /// Begins to list; the end is waited for with `listed.get()`.
    void begin(ListKind kind = ListKind::tools) {
        listed = {};
        client->at_home([&] { client->client().list(kind, listed.take()); });
    }
    static void answer(ScriptedPeer& peer, Array tools, Object more = {}) {
        Object result{{"tools", std::move(tools)}};
        for (const auto& [key, value] : more) result[key] = value;
        peer.result(peer.read_request("tools/list"), std::move(result));
    }
    SharedList list_one(ScriptedPeer& peer, Array tools, Object more = {}) {
        begin();
        answer(peer, std::move(tools), std::move(more));
        const auto result = listed.get();
        EXPECT_TRUE(result) << (result ? "" : result.error().message);
        return result.value_or(nullptr);
    }
    std::string reason_of_refusal() {
        const auto result = listed.get();
        EXPECT_FALSE(result);
        return result ? "" : std::string(result.error().details.at("reason").as_string());
    }

    base::ManualClock clock;
    ScriptedClient client{with_clock(clock)};
    Waited<Result<SharedList>> listed;
};

TEST_F(ClientListsTest, AreReadPageByPage) {
    const auto peer = connect_legacy();
    begin();
    Value page = peer->read_request("tools/list");
    EXPECT_FALSE(page.at("params").as_object().contains("cursor"));
    // An empty text is a cursor like any other.
    peer->result(page, Object{{"tools", Array{tool_item("a"), tool_item("b")}}, {"nextCursor", ""}});
    page = peer->read_request("tools/list");
    EXPECT_EQ(page.at("params").at("cursor"), "");
    peer->result(page, Object{{"tools", Array{}}, {"nextCursor", "next"}});
    answer(*peer, {tool_item("c")});
    const SharedList list = *listed.get();
    ASSERT_EQ(list->tools.size(), 3u);
    EXPECT_EQ(list->tools[2].definition.name, "c");
    EXPECT_EQ(list->items[0].at("name"), "a");
    EXPECT_NE(list->tool("b"), nullptr);
    EXPECT_EQ(list->tool("d"), nullptr);
}

TEST_F(ClientListsTest, OfOurOwnServerAreTheSameInBothEras) {
    Runtime runtime;
    ServerOptions small;
    small.limits.page_size = 2;
    for (const std::string_view name : {"a", "b", "c", "d", "e"}) {
        runtime.tools().add_or_throw(
            tool(std::string(name), "", [] { return 1; }).read_only().risk(Risk::low));
    }
    Server server(runtime, small);
    LinkToServer lines(server);
    for (const EraChoice era : {EraChoice::modern, EraChoice::legacy}) {
        ClientOptions options;
        options.era = era;
        ClientOnLoop ours(options, lines.open(ours));
        ASSERT_TRUE(ours.connect());
        const auto list = ours.list(ListKind::tools);
        ASSERT_TRUE(list) << list.error().message;
        EXPECT_EQ((*list)->tools.size(), 5u);
        EXPECT_TRUE((*list)->refused.empty());
        EXPECT_TRUE(ours.list(ListKind::resource_templates));
        EXPECT_TRUE(ours.list(ListKind::prompts));
    }
}

TEST_F(ClientListsTest, AreAskedForOnceForAllWhoWait) {
    const auto peer = connect_legacy();
    Waited<Result<SharedList>> second;
    begin();
    client->at_home([&] { client->client().list(ListKind::tools, second.take()); });
    answer(*peer, {tool_item("a")});
    EXPECT_EQ(*listed.get(), *second.get());
}

TEST_F(ClientListsTest, HoldInTheOlderEraForFiveMinutesOrUntilTheyChange) {
    const auto peer = connect_legacy();
    const SharedList first = list_one(*peer, {tool_item("a")});
    clock.advance(std::chrono::seconds(299));
    EXPECT_EQ(*client->list(ListKind::tools), first);  // nothing is asked
    clock.advance(std::chrono::seconds(2));
    const SharedList second = list_one(*peer, {tool_item("a")});
    EXPECT_EQ(second->revision, 1u);  // the same as before
    peer->notify("notifications/tools/list_changed");
    peer->send_line(R"({"jsonrpc":"2.0","id":1,"method":"ping"})");
    peer->read();
    const SharedList third = list_one(*peer, {tool_item("a"), tool_item("b")});
    EXPECT_EQ(third->revision, 2u);
    client->at_home([&] { EXPECT_EQ(client.watcher->changes[ListKind::tools], 1); });
}

TEST_F(ClientListsTest, HoldInTheStatelessEraAsLongAsTheServerSays) {
    const auto peer = connect_modern();
    const SharedList first = list_one(*peer, {tool_item("a")}, {{"ttlMs", 5'000}});
    clock.advance(std::chrono::milliseconds(4'999));
    EXPECT_EQ(*client->list(ListKind::tools), first);
    clock.advance(std::chrono::milliseconds(1));
    for (const Value& ttl : {Value(0), Value(-5), Value("long"), Value()}) {
        list_one(*peer, {tool_item("a")}, {{"ttlMs", ttl}});  // is asked for each time
    }
    list_one(*peer, {tool_item("a")}, {{"ttlMs", 3'600'000}});
    clock.advance(std::chrono::seconds(301));
    list_one(*peer, {tool_item("a")}, {{"ttlMs", 3'600'000}});
    begin();
    EXPECT_TRUE(listed.get());
    clock.advance(std::chrono::seconds(301));
    // The shortest time of all pages.
    begin();
    answer(*peer, {tool_item("a")}, {{"ttlMs", 10}, {"nextCursor", "2"}});
    answer(*peer, {tool_item("b")}, {{"ttlMs", 90'000}});
    EXPECT_TRUE(listed.get());
    clock.advance(std::chrono::milliseconds(11));
    list_one(*peer, {tool_item("a")});
}

TEST_F(ClientListsTest, ThatChangeWhileTheyAreReadAreNotGoodAfterwards) {
    const auto peer = connect_legacy();
    begin();
    const Value page = peer->read_request("tools/list");
    peer->notify("notifications/tools/list_changed");
    peer->result(page, Object{{"tools", Array{tool_item("a")}}});
    EXPECT_TRUE(listed.get());
    list_one(*peer, {tool_item("b")});
}

TEST_F(ClientListsTest, AreBegunAgainOnceWhereACursorMeansNothingAnyMore) {
    const auto peer = connect_legacy();
    begin();
    answer(*peer, {tool_item("a")}, {{"nextCursor", "x"}});
    peer->error(peer->read_request("tools/list"), -32602, "bad cursor");
    answer(*peer, {tool_item("a")}, {{"nextCursor", "y"}});
    answer(*peer, {tool_item("b")});
    EXPECT_EQ((*listed.get())->tools.size(), 2u);
}

TEST_F(ClientListsTest, ThatTheServerDoesNotHaveAreEmptyAndNotAskedFor) {
    const auto peer = client.connect_legacy(Object{{"resources", Object{}}});
    begin();
    EXPECT_TRUE((*listed.get())->tools.empty());
    begin(ListKind::resource_templates);
    peer->error(peer->read_request("resources/templates/list"), -32601, "no");
    EXPECT_TRUE((*listed.get())->items.empty());
}

TEST_F(ClientListsTest, RefuseBadItemsAndKeepTheOthers) {
    const auto peer = connect_legacy();
    const SharedList list = list_one(
        *peer,
        {tool_item("good"), 7, Object{{"name", "no_schema"}}, Object{{"inputSchema", Object{}}},
         tool_item(""), tool_item("good"), Object{{"name", 5}, {"inputSchema", Object{}}},
         Object{{"type", "function"}, {"function", Object{{"name", "x"}, {"parameters", Object{}}}}},
         Object{{"name", "annotated"}, {"inputSchema", Object{{"type", "object"}}}, {"annotations", "yes"}},
         tool_item("also_good")});
    ASSERT_EQ(list->tools.size(), 2u);
    EXPECT_EQ(list->tools[1].definition.name, "also_good");
    EXPECT_EQ(list->refused.size(), 8u);
    EXPECT_EQ(list->refused[1].name, "no_schema");
    EXPECT_EQ(list->refused[4].why.details.at("reason"), "duplicate_name");
    for (const RefusedItem& one : list->refused) EXPECT_FALSE(one.why.message.empty());
}

TEST_F(ClientListsTest, KeepEverythingThatADefinitionSays) {
    const auto peer = connect_legacy();
    const Value item = parsed(
        R"({"name":"t","title":"T","inputSchema":{"type":"object","$defs":{"a":{"const":9007199254740993}},"properties":{"a":{"$ref":"#/$defs/a"}}},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"icons":[],"_meta":{"x":1.50}})");
    const SharedList list = list_one(*peer, {item});
    ASSERT_EQ(list->tools.size(), 1u);
    EXPECT_EQ(Value(list->items[0]), item);
    EXPECT_EQ(list->tools[0].definition.input_schema, item.at("inputSchema"));
    EXPECT_EQ(list->tools[0].definition.extra.at("_meta"), item.at("_meta"));
}

TEST_F(ClientListsTest, ThatNeverEndAreRefusedWhole) {
    const auto peer = connect_legacy();
    begin();
    answer(*peer, {tool_item("a")}, {{"nextCursor", "same"}});
    answer(*peer, {tool_item("b")}, {{"nextCursor", "same"}});
    EXPECT_EQ(reason_of_refusal(), "cursor_repeats");
    begin();
    for (int i = 0; i < 20; ++i) answer(*peer, {}, {{"nextCursor", fmt::format("{}", i)}});
    EXPECT_EQ(reason_of_refusal(), "too_many_pages");
    begin();
    Array many;
    for (int i = 0; i < 51; ++i) many.emplace_back(tool_item(fmt::format("t{}", i)));
    answer(*peer, std::move(many));
    EXPECT_EQ(reason_of_refusal(), "too_many_items");
    begin();
    answer(*peer, {tool_item("a")}, {{"nextCursor", 7}});
    EXPECT_EQ(reason_of_refusal(), "bad_cursor");
    begin();
    peer->result(peer->read_request("tools/list"), Object{{"tools", Object{}}});
    EXPECT_EQ(reason_of_refusal(), "not_a_list");
    list_one(*peer, {tool_item("a")});
}

TEST_F(ClientListsTest, AreNoneWithoutAConnection) {
    const auto before = client->list(ListKind::prompts);
    ASSERT_FALSE(before);
    EXPECT_EQ(before.error().details.at("reason"), "not_connected");
}

TEST_F(ClientListsTest, AreGivenUpAtTheirDeadline) {
    ClientOptions options;
    options.timeout = std::chrono::milliseconds(40);
    ScriptedClient hurried(options);
    const auto peer = hurried.connect_legacy(kListing);
    const auto list = hurried->list(ListKind::tools);
    ASSERT_FALSE(list);
    EXPECT_EQ(list.error().code, ErrorCode::timed_out);
}

TEST_F(ClientListsTest, EndWithTheConnection) {
    const auto peer = connect_legacy();
    begin();
    peer->read_request("tools/list");
    peer->close();
    const auto list = listed.get();
    ASSERT_FALSE(list);
    EXPECT_EQ(list.error().code, ErrorCode::transport);
}

TEST_F(ClientListsTest, TellOfAFloodOfChangesNowAndThen) {
    const auto peer = connect_legacy();
    std::promise<void> second;
    client->at_home([&] {
        client.watcher->on_change = [&](ListKind kind) {
            if (client.watcher->changes[kind] == 2) second.set_value();
        };
    });
    for (int i = 0; i < 2'000; ++i) peer->notify("notifications/tools/list_changed");
    second.get_future().wait();
    peer->send_line(R"({"jsonrpc":"2.0","id":1,"method":"ping"})");
    peer->read();
    client->at_home([&] {
        EXPECT_LT(client.watcher->changes[ListKind::tools], 100);
        EXPECT_EQ(client.watcher->faults[ServerFault::too_many_changes], 1);
    });
}

TEST_F(ClientListsTest, AreListenedForInTheStatelessEra) {
    Value request;
    const auto peer = connect_modern(&request);
    EXPECT_EQ(request.at("params").at("notifications"),
              (Value(Object{{"toolsListChanged", true}, {"resourcesListChanged", true}})));
    EXPECT_TRUE(request.at("params").as_object().contains("_meta"));
    std::promise<void> changed;
    client->at_home([&] { client.watcher->on_change = [&](ListKind) { changed.set_value(); }; });
    const Object with_id{{"_meta", Object{{"io.modelcontextprotocol/subscriptionId", request.at("id")}}}};
    peer->notify("notifications/subscriptions/acknowledged", with_id);
    peer->notify("notifications/tools/list_changed", with_id);
    changed.get_future().wait();
    client->at_home([&] { client.watcher->on_change = nullptr; });
    // It ends, and is made again; what happened in between nobody knows.
    peer->result(request, Object{{"resultType", "complete"}});
    peer->read_request("subscriptions/listen");
}

TEST_F(ClientListsTest, AreNotListenedForAgainWhereTheServerCannot) {
    Value request;
    const auto peer = connect_modern(&request);
    peer->error(request, -32601, "no");
    begin();
    answer(*peer, {});  // and nothing before
    EXPECT_TRUE(listed.get());
}

TEST(ClientLists, OfOurOwnServerAreNotifiedOfChangesInBothEras) {
    for (const EraChoice era : {EraChoice::modern, EraChoice::legacy}) {
        Runtime runtime;
        Server server(runtime);
        LinkToServer lines(server);
        const auto watcher = std::make_shared<KeptWatcher>();
        std::promise<void> changed;
        watcher->on_change = [&](ListKind kind) {
            if (kind == ListKind::tools && watcher->changes[kind] == 1) changed.set_value();
        };
        ClientOptions options;
        options.era = era;
        options.watcher = watcher;
        ClientOnLoop client(options, lines.open(client));
        ASSERT_TRUE(client.connect());
        EXPECT_TRUE((*client.list(ListKind::tools))->tools.empty());
        runtime.tools().add_or_throw(tool("new", "", [] { return 1; }).read_only().risk(Risk::low));
        changed.get_future().wait();
        EXPECT_EQ((*client.list(ListKind::tools))->tools.size(), 1u);
    }
}

// Headers.

TEST(ClientHeaders, AreOfPropertiesAlone) {
    const auto read = [](std::string_view text) { return read_param_headers(parsed(text)); };
    const auto good = read(
        R"({"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"o":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"x-mcp-header":{"type":"string"}}})");
    ASSERT_TRUE(good) << good.error().message;
    EXPECT_EQ(good->size(), 2u);
    for (
        const std::string_view bad :
        {R"({"x-mcp-header":"A","type":"string"})",
         R"({"properties":{"a":{"type":"string","x-mcp-header":""}}})",
         R"({"properties":{"a":{"type":"string","x-mcp-header":"a b"}}})",
         R"({"properties":{"a":{"type":"string","x-mcp-header":7}}})",
         R"({"properties":{"a":{"type":"number","x-mcp-header":"A"}}})",
         R"({"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}})",
         R"({"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}})",
         R"({"anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]})",
         R"({"if":{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}})",
         R"({"$defs":{"s":{"type":"string","x-mcp-header":"A"}},"properties":{"a":{"$ref":"#/$defs/s"}}})"}) {
        const auto refused = read(bad);
        ASSERT_FALSE(refused) << bad;
        EXPECT_EQ(refused.error().details.at("reason"), "bad_header");
    }
}

TEST(ClientHeaders, SayWhatTheServerReadsInThem) {
    const auto headers = *read_param_headers(parsed(
        R"({"properties":{"s":{"type":"string","x-mcp-header":"S"},"i":{"type":"integer","x-mcp-header":"I"},"b":{"type":"boolean","x-mcp-header":"B"}}})"));
    class Given final : public RequestHeaders {
    public:
        std::optional<std::string> find(std::string_view name) const override {
            for (const auto& [key, value] : all) {
                if (key == name) return value;
            }
            return std::nullopt;
        }
        std::vector<std::pair<std::string, std::string>> all;
    };
    for (const Object& arguments :
         {Object{}, Object{{"s", "plain"}, {"i", 42}, {"b", true}}, Object{{"s", " padded "}, {"i", -1}},
          Object{{"s", "Zürich\n"}}, Object{{"s", "=?base64?AA==?="}}, Object{{"s", ""}, {"b", nullptr}}}) {
        Given given;
        given.all = *write_param_headers(headers, arguments);
        EXPECT_EQ(header_fault(headers, given, arguments), std::nullopt) << json::write(arguments);
    }
    const auto refused = write_param_headers(headers, {{"i", 1.5}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().details.at("reason"), "header_value");
}

}  // namespace
}  // namespace callgate::mcp
