#include <callgate/mcp.h>

#include <utility>

#include "base/try.h"
#include "mcp/server_core.h"
#include "mcp/server_parts.h"
#include "net/loop.h"

namespace callgate::mcp {

ResourceContents ResourceContents::of_text(std::string content, std::string type) {
    ResourceContents made;
    made.text = std::move(content);
    made.mime_type = std::move(type);
    return made;
}

ResourceContents ResourceContents::of_bytes(std::string content, std::string type) {
    ResourceContents made;
    made.bytes = std::move(content);
    made.mime_type = std::move(type);
    return made;
}

Server::Server(Runtime& runtime, ServerOptions options) : parts_(std::make_unique<Parts>()) {
    parts_->core = std::make_shared<ServerCore>(runtime, parts_->loop, std::move(options));
    parts_->core->begin();
}

Server::~Server() {
    parts_->core->close();
}

Result<void> Server::add(Resource resource) {
    CALLGATE_TRY(parts_->core->catalogue().add(std::move(resource)));
    parts_->core->lists_changed("notifications/resources/list_changed");
    return {};
}

Result<void> Server::add(ResourceTemplate pattern) {
    CALLGATE_TRY(parts_->core->catalogue().add(std::move(pattern)));
    parts_->core->lists_changed("notifications/resources/list_changed");
    return {};
}

Result<void> Server::add(Prompt prompt) {
    CALLGATE_TRY(parts_->core->catalogue().add(std::move(prompt)));
    parts_->core->lists_changed("notifications/prompts/list_changed");
    return {};
}

bool Server::remove_resource(std::string_view uri) {
    if (!parts_->core->catalogue().remove_resource(uri)) return false;
    parts_->core->lists_changed("notifications/resources/list_changed");
    return true;
}

bool Server::remove_template(std::string_view uri_template) {
    if (!parts_->core->catalogue().remove_template(uri_template)) return false;
    parts_->core->lists_changed("notifications/resources/list_changed");
    return true;
}

bool Server::remove_prompt(std::string_view name) {
    if (!parts_->core->catalogue().remove_prompt(name)) return false;
    parts_->core->lists_changed("notifications/prompts/list_changed");
    return true;
}

void Server::resource_updated(std::string_view uri) {
    parts_->core->resource_updated(std::string(uri));
}

}  // namespace callgate::mcp
