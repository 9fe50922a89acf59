// Resources, templates and prompts, and tools that change them.
#include <atomic>

#include "offers.h"

namespace interop {
namespace {

using cg::mcp::Prompt;
using cg::mcp::PromptMessage;
using cg::mcp::PromptText;
using cg::mcp::Resource;
using cg::mcp::ResourceContents;
using cg::mcp::ResourceRead;
using cg::mcp::ResourceTemplate;
using cg::mcp::Variables;

Resource constant(std::string uri, std::string name, ResourceContents contents) {
    Resource made(std::move(uri), std::move(name),
                  [contents](cg::CallContext&) -> ResourceRead { return {{contents}}; });
    made.mime_type = contents.mime_type;
    return made;
}

Resource described() {
    Resource made =
        constant("interop://text", "text", ResourceContents::of_text("Grüße aus der Ressource 🎈\n"));
    made.title = "A text";
    made.description = "A text with more than ASCII in it";
    made.extra = {{"size", 30}, {"annotations", cg::Object{{"audience", cg::Array{"assistant"}}}}};
    return made;
}

// One read, several contents.
Resource folder() {
    return {"interop://folder", "folder", [](cg::CallContext&) -> ResourceRead {
                ResourceContents one = ResourceContents::of_text("one");
                one.uri = "interop://folder/1";
                ResourceContents two = ResourceContents::of_bytes(picture(), "image/png");
                two.uri = "interop://folder/2";
                two.extra["_meta"] = cg::Object{{"example.com/side", "b"}};
                return {{one, two}};
            }};
}

ResourceTemplate book() {
    ResourceTemplate made("interop://shelf/{shelf}/{book}", "book",
                          [](const Variables& found, cg::CallContext&) -> ResourceRead {
                              const cg::Object data{{"shelf", found.at("shelf")}, {"book", found.at("book")}};
                              return {{ResourceContents::of_text(cg::json::write(data), "application/json")}};
                          });
    made.title = "A book";
    made.description = "A book by its shelf and name";
    made.mime_type = "application/json";
    made.complete["shelf"] = [](std::string_view value, const Variables&) {
        std::vector<std::string> fitting;
        for (const std::string_view one : {"poems", "plays", "maps"}) {
            if (one.starts_with(value)) fitting.emplace_back(one);
        }
        return fitting;
    };
    made.complete["book"] = [](std::string_view, const Variables& others) {
        const auto shelf = others.find("shelf");
        return std::vector<std::string>{shelf == others.end() ? "any" : "of " + shelf->second};
    };
    return made;
}

ResourceTemplate file() {
    return {"interop://files/{+path}", "file", [](const Variables& found, cg::CallContext&) -> ResourceRead {
                return {{ResourceContents::of_text("file " + found.at("path"))}};
            }};
}

ResourceTemplate numbered(int number) {
    return {"interop://row" + std::to_string(number) + "/{cell}", "row" + std::to_string(number),
            [](const Variables& found, cg::CallContext&) -> ResourceRead {
                return {{ResourceContents::of_text(found.at("cell"))}};
            }};
}

Prompt review() {
    Prompt made("review", "Asks for a review", [](const Variables& given, cg::CallContext&) -> PromptText {
        const auto tone = given.find("tone");
        return {{PromptMessage(cg::Block::of_text("Review this: " + given.at("code"))),
                 PromptMessage(cg::Block::of_text("In what tone?"), PromptMessage::Role::assistant),
                 PromptMessage(cg::Block::of_text(tone == given.end() ? "any" : tone->second))}};
    });
    made.title = "Review";
    made.arguments = {{"code", "What to look at", true}, {"tone", "How to say it"}};
    made.complete["tone"] = [](std::string_view value, const Variables& others) {
        const auto code = others.find("code");
        return std::vector<std::string>{std::string(value) + "!",
                                        code == others.end() ? "no code" : "code " + code->second};
    };
    return made;
}

Prompt poster() {
    return {
        "poster", "Shows a picture", [](const Variables&, cg::CallContext&) -> PromptText {
            return {{PromptMessage(cg::Block::of_image(picture(), "image/png")),
                     PromptMessage(cg::Block::of_resource("interop://text", "a text inside", "text/plain")),
                     PromptMessage(cg::Block::of_text("What is it?"))}};
        }};
}

Prompt plain(std::string name) {
    return {std::move(name), "One message", [](const Variables&, cg::CallContext&) -> PromptText {
                return {{PromptMessage(cg::Block::of_text("Hello."))}};
            }};
}

cg::Tool changing_tool(int version) {
    return offer("changing", "Version " + std::to_string(version), all_of(),
                 [](const cg::Object&, cg::CallContext&) -> cg::ToolReturn { return say("changed"); });
}

cg::Tool touch(cg::mcp::Server& server) {
    return offer("touch", "Says that a resource has changed", all_of({{"uri", string_type()}}),
                 [&server](const cg::Object& given, cg::CallContext&) -> cg::ToolReturn {
                     server.resource_updated(text_at(given, "uri"));
                     return say("touched");
                 });
}

// Each change is another description, or the same entry again: what is listed stays the same list.
cg::Tool change(cg::Registry& tools, cg::mcp::Server& server) {
    return offer("change", "Changes what is listed", all_of({{"what", string_type()}}),
                 [&tools, &server, version = std::make_shared<std::atomic<int>>(1)](
                     const cg::Object& given, cg::CallContext&) -> cg::ToolReturn {
                     const std::string what = text_at(given, "what");
                     if (what == "tools")
                         tools.add_or_throw(changing_tool(++*version), cg::IfPresent::replace);
                     if (what == "resources") add_or_throw(server, described());
                     if (what == "prompts") add_or_throw(server, plain("greeting"));
                     return say(what);
                 });
}

}  // namespace

void add_changes(cg::Registry& tools, cg::mcp::Server& server) {
    tools.add_or_throw(changing_tool(1)).add_or_throw(touch(server)).add_or_throw(change(tools, server));
}

void add_catalogue(cg::mcp::Server& server) {
    add_or_throw(server, described());
    add_or_throw(
        server, constant("interop://picture", "picture", ResourceContents::of_bytes(picture(), "image/png")));
    add_or_throw(server, constant("interop://first", "first", ResourceContents::of_text("first")));
    add_or_throw(server, constant("interop://second", "second", ResourceContents::of_text("second")));
    add_or_throw(server, folder());
    add_or_throw(server, book());
    add_or_throw(server, file());
    for (int number = 1; number <= 3; ++number) {
        add_or_throw(server, numbered(number));
    }
    add_or_throw(server, review());
    add_or_throw(server, poster());
    for (const char* name : {"greeting", "farewell", "thanks"}) {
        add_or_throw(server, plain(name));
    }
}

}  // namespace interop
