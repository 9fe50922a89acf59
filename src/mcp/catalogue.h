// The resources, templates and prompts of a server, each made ready to be called through the pipeline: as the
// tools `resources.read` and `prompts.get`.
//
// Threads: may be used from any thread; what it gives is immutable.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/error.h>
#include <callgate/mcp.h>

#include "base/mutex.h"
#include "mcp/uri.h"
#include "mcp/uri_template.h"

namespace callgate {
class ToolEntry;
}

namespace callgate::mcp {

struct ReadyResource {
    Resource resource;
    std::shared_ptr<const ToolEntry> reader;
};
struct ReadyTemplate {
    ResourceTemplate pattern;
    UriTemplate matcher;
    std::shared_ptr<const ToolEntry> reader;
};
struct ReadyPrompt {
    Prompt prompt;
    std::shared_ptr<const ToolEntry> getter;
};

class Catalogue {
public:
    template <class T>
    using Table = std::map<std::string, std::shared_ptr<const T>, std::less<>>;

    Result<void> add(Resource resource);
    Result<void> add(ResourceTemplate pattern);
    Result<void> add(Prompt prompt);
    bool remove_resource(std::string_view uri);
    bool remove_template(std::string_view uri_template);
    bool remove_prompt(std::string_view name);

    std::shared_ptr<const ReadyResource> resource(std::string_view uri) const;
    /// The first template, in the order of their texts, that the URI fits. Null for one that is too long, or
    /// not in its normal form (uri.h): what rules say of a URI would not hold for the other ways to write it.
    std::shared_ptr<const ReadyTemplate> template_for(std::string_view uri) const;
    std::shared_ptr<const ReadyTemplate> resource_template(std::string_view uri_template) const;
    std::shared_ptr<const ReadyPrompt> prompt(std::string_view name) const;
    std::vector<std::shared_ptr<const ReadyResource>> resources() const;
    std::vector<std::shared_ptr<const ReadyTemplate>> templates() const;
    std::vector<std::shared_ptr<const ReadyPrompt>> prompts() const;

private:
    mutable base::Mutex mutex_;
    Table<ReadyResource> resources_ CALLGATE_GUARDED_BY(mutex_);
    Table<ReadyTemplate> templates_ CALLGATE_GUARDED_BY(mutex_);
    Table<ReadyPrompt> prompts_ CALLGATE_GUARDED_BY(mutex_);
};

}  // namespace callgate::mcp
