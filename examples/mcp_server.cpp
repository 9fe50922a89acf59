// A whole MCP server: two tools, a resource and a prompt for whoever started this program, over its standard
// input and output. A model alone books nothing here: the person at the client is asked first.
// mcp_server.session.txt is a conversation with it, in both eras of the protocol.
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

namespace cg = callgate;

namespace {

class Rooms {
public:
    std::vector<std::string> free() const {
        const std::lock_guard lock(mutex_);
        std::vector<std::string> names;
        for (const auto& [room, who] : booked_) {
            if (who.empty()) names.push_back(room);
        }
        return names;
    }
    bool book(const std::string& room, const std::string& who) {
        const std::lock_guard lock(mutex_);
        const auto found = booked_.find(room);
        if (found == booked_.end() || !found->second.empty()) return false;
        found->second = who;
        return true;
    }

private:
    mutable std::mutex mutex_;  // tools run on threads of the runtime
    std::map<std::string, std::string> booked_{{"attic", ""}, {"cellar", "Ada"}, {"garden", ""}};
};

std::string book(Rooms& rooms, const std::string& room, cg::CallContext& context) {
    const cg::Value schema = cg::Object{
        {"type", "object"},
        {"properties", cg::Object{{"who", cg::Object{{"type", "string"}, {"title", "In whose name"}}}}},
        {"required", cg::Array{"who"}}};
    const auto answer =
        context.ask(cg::InputRequest::form("Book the " + room + "?", schema).named("booking"));
    if (!answer) throw answer.error();  // this client cannot ask anybody, or nobody answered
    if (!answer->accepted()) throw cg::ToolFailure::not_applied("The person did not want it.");
    const std::string who(answer->content.at("who").as_string());
    if (!rooms.book(room, who)) throw cg::ToolFailure::not_applied("The " + room + " is not free.");
    return "booked the " + room + " for " + who;
}

}  // namespace

int main() {
    Rooms rooms;
    cg::Runtime runtime;
    runtime.tools().add_or_throw(
        cg::tool("free_rooms", "The rooms that are free", [&rooms] { return rooms.free(); }).read_only());
    runtime.tools().add_or_throw(cg::tool(
                                     "book_room", "Book a room, once its person has agreed",
                                     [&rooms](const std::string& room, cg::CallContext& context) {
                                         return book(rooms, room, context);
                                     },
                                     cg::param("room", "a room that is free"))
                                     .risk(cg::Risk::low)
                                     .effect(cg::EffectClass::unsafe));

    cg::mcp::ServerOptions options;
    options.name = "rooms";
    options.instructions = "Rooms to meet in. Look what is free before you book.";
    cg::mcp::Server server(runtime, options);
    cg::mcp::Resource house("rooms://house", "house", [](cg::CallContext&) -> cg::mcp::ResourceRead {
        return std::vector{cg::mcp::ResourceContents::of_text("The attic has no chairs.")};
    });
    cg::mcp::Prompt meeting("meeting", "Find a room for a meeting",
                            [](const cg::mcp::Variables& given, cg::CallContext&) -> cg::mcp::PromptText {
                                return std::vector{cg::mcp::PromptMessage(cg::Block::of_text(
                                    "Book a room to talk about " + given.at("topic") + "."))};
                            });
    meeting.arguments.emplace_back("topic", "what it is about", true);
    if (!server.add(house) || !server.add(meeting)) return 1;
    return cg::mcp::serve_stdio(server);
}
