// Resources and prompts.
#include "fixtures.h"
#include "samples.h"

namespace conformance {
namespace {

using cg::mcp::Prompt;
using cg::mcp::PromptMessage;
using cg::mcp::PromptText;
using cg::mcp::Resource;
using cg::mcp::ResourceContents;
using cg::mcp::ResourceRead;
using cg::mcp::ResourceTemplate;
using cg::mcp::Variables;

Resource resource(std::string uri, std::string name, std::string description, ResourceContents contents) {
    Resource made(std::move(uri), std::move(name),
                  [contents](cg::CallContext&) -> ResourceRead { return {{contents}}; });
    made.description = std::move(description);
    made.mime_type = contents.mime_type;
    return made;
}

ResourceTemplate numbered() {
    ResourceTemplate made("test://template/{id}/data", "template",
                          [](const Variables& variables, cg::CallContext&) -> ResourceRead {
                              const std::string& id = variables.at("id");
                              const cg::Object data{
                                  {"id", id}, {"templateTest", true}, {"data", "Data for ID: " + id}};
                              return {{ResourceContents::of_text(cg::json::write(data), "application/json")}};
                          });
    made.description = "Data by its id";
    made.mime_type = "application/json";
    return made;
}

Prompt simple() {
    return {"test_simple_prompt", "One message", [](const Variables&, cg::CallContext&) -> PromptText {
                return {{PromptMessage(cg::Block::of_text("This is a simple prompt for testing."))}};
            }};
}

Prompt with_arguments() {
    Prompt made(
        "test_prompt_with_arguments", "A message with two arguments in it",
        [](const Variables& given, cg::CallContext&) -> PromptText {
            return {{PromptMessage(cg::Block::of_text("Prompt with arguments: arg1='" + given.at("arg1") +
                                                      "', arg2='" + given.at("arg2") + "'"))}};
        });
    made.arguments = {{"arg1", "The first", true}, {"arg2", "The second", true}};
    made.complete["arg1"] = [](std::string_view, const Variables&) {
        return std::vector<std::string>{"test", "testValue1", "testing"};
    };
    return made;
}

Prompt with_resource() {
    Prompt made(
        "test_prompt_with_embedded_resource", "A resource and what to do with it",
        [](const Variables& given, cg::CallContext&) -> PromptText {
            return {{PromptMessage(cg::Block::of_resource(
                         given.at("resourceUri"), "Embedded resource content for testing.", "text/plain")),
                     PromptMessage(cg::Block::of_text("Please process the embedded resource above."))}};
        });
    made.arguments = {{"resourceUri", "The resource's URI", true}};
    return made;
}

Prompt with_image() {
    return {"test_prompt_with_image", "An image and what to do with it",
            [](const Variables&, cg::CallContext&) -> PromptText {
                return {{PromptMessage(cg::Block::of_image(png(), "image/png")),
                         PromptMessage(cg::Block::of_text("Please analyze the image above."))}};
            }};
}

Prompt that_asks() {
    return {"test_input_required_result_prompt", "Asks for what it needs",
            [](const Variables&, cg::CallContext& context) -> PromptText {
                const auto answer =
                    context.ask(cg::InputRequest::form("What context should the prompt use?",
                                                       object_schema({{"context", string_schema()}}, true))
                                    .named("user_context"));
                if (!answer) return tl::unexpected(answer.error());
                return {{PromptMessage(cg::Block::of_text("Use this: " + cg::json::write(answer->content)))}};
            }};
}

}  // namespace

void add_resources(cg::mcp::Server& server) {
    add_or_throw(server,
                 resource("test://static-text", "static-text", "A text",
                          ResourceContents::of_text("This is the content of the static text resource.")));
    add_or_throw(server, resource("test://static-binary", "static-binary", "An image",
                                  ResourceContents::of_bytes(png(), "image/png")));
    add_or_throw(server, resource("test://watched-resource", "watched-resource", "A text to watch",
                                  ResourceContents::of_text("It has not changed.")));
    add_or_throw(server, numbered());
}

void add_prompts(cg::mcp::Server& server) {
    for (Prompt& one :
         std::vector<Prompt>{simple(), with_arguments(), with_resource(), with_image(), that_asks()}) {
        add_or_throw(server, std::move(one));
    }
}

}  // namespace conformance
