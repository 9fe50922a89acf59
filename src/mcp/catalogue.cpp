#include "mcp/catalogue.h"

#include <utility>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/try.h"
#include "tool/blocks.h"
#include "tool/tool_entry.h"

namespace callgate::mcp {
namespace {

tl::unexpected<Error> refused(std::string_view reason, std::string text) {
    return fail(ErrorCode::config_error, std::move(text), {{"reason", reason}});
}

Result<void> check_uri(std::string_view uri) {
    if (!uri_fits(uri)) return refused("bad_uri", fmt::format("A URI has at most {} bytes.", kMaxUriBytes));
    const auto colon = uri.find(':');
    if (colon == std::string_view::npos || colon == 0)
        return refused("bad_uri", fmt::format("\"{}\" is no URI: it begins with a scheme and a colon.", uri));
    if (!is_normal_uri(uri))
        return refused("bad_uri", fmt::format("\"{}\" is written \"{}\".", uri, normal_uri(uri)));
    return {};
}

Object contents_of(const ResourceContents& contents, std::string_view asked) {
    Object one{{"uri", contents.uri.empty() ? asked : std::string_view(contents.uri)}};
    if (!contents.mime_type.empty()) one["mimeType"] = contents.mime_type;
    if (contents.bytes)
        one["blob"] = base::base64_encode(*contents.bytes);
    else
        one["text"] = contents.text;
    for (const auto& [key, value] : contents.extra) {
        if (!one.contains(key)) one[key] = value;
    }
    return one;
}

ToolReturn answer_of(const ResourceRead& read, std::string_view asked) {
    if (!read) return tl::unexpected(ToolFailure(read.error()));
    Array all;
    for (const ResourceContents& one : *read) {
        all.push_back(contents_of(one, asked));
    }
    return ToolResult(Value(Object{{"contents", std::move(all)}}));
}

// Text is a schema in itself here: whoever may read the resource is the contract's to say.
Result<std::shared_ptr<const ToolEntry>> make_ready(std::string name, std::string_view text,
                                                    Contract contract, ToolFunction run) {
    ToolDefinition definition(std::move(name), std::string(text), Object{{"type", "object"}});
    Tool tool = schema_tool(std::move(definition), std::move(run));
    if (!contract.effect.declared()) contract.effect = EffectClass::read;
    contract.open_arguments = true;
    tool.contract = std::move(contract);
    CALLGATE_TRY_ASSIGN(std::shared_ptr<const ToolEntry> entry, ToolEntry::make(std::move(tool)));
    return entry;
}

Variables strings_of(const Object& object) {
    Variables all;
    for (const auto& [key, value] : object) {
        if (value.is_string()) all.emplace(key, value.get_string());
    }
    return all;
}

Value message_of(const PromptMessage& message) {
    return Object{{"role", message.role == PromptMessage::Role::user ? "user" : "assistant"},
                  {"content", to_mcp(message.content)}};
}

template <class T>
std::vector<std::shared_ptr<const T>> values_of(const Catalogue::Table<T>& table) {
    std::vector<std::shared_ptr<const T>> all;
    all.reserve(table.size());
    for (const auto& [key, value] : table) {
        all.push_back(value);
    }
    return all;
}

template <class T>
bool erase_from(Catalogue::Table<T>& table, std::string_view key) {
    const auto it = table.find(key);
    if (it == table.end()) return false;
    table.erase(it);
    return true;
}

template <class T>
std::shared_ptr<const T> find_in(const Catalogue::Table<T>& table, std::string_view key) {
    const auto it = table.find(key);
    return it == table.end() ? nullptr : it->second;
}

}  // namespace

Result<void> Catalogue::add(Resource resource) {
    CALLGATE_TRY(check_uri(resource.uri));
    if (resource.name.empty()) return refused("bad_name", "A resource has a name.");
    if (!resource.read) return refused("no_body", "A resource has a reader.");
    auto ready = std::make_shared<ReadyResource>();
    CALLGATE_TRY_ASSIGN(ready->reader, make_ready("resources.read", resource.description, resource.contract,
                                                  [read = resource.read, uri = resource.uri](
                                                      const Object&, CallContext& context) {
                                                      return answer_of(read(context), uri);
                                                  }));
    std::string uri = resource.uri;
    ready->resource = std::move(resource);
    const base::MutexLock lock(mutex_);
    resources_.insert_or_assign(std::move(uri), std::move(ready));
    return {};
}

Result<void> Catalogue::add(ResourceTemplate pattern) {
    if (pattern.name.empty()) return refused("bad_name", "A template has a name.");
    if (!pattern.read) return refused("no_body", "A template has a reader.");
    CALLGATE_TRY_ASSIGN(UriTemplate matcher, UriTemplate::parse(pattern.uri_template));
    CALLGATE_TRY_ASSIGN(
        auto reader,
        make_ready(
            "resources.read", pattern.description, pattern.contract,
            [read = pattern.read, matcher](const Object& arguments, CallContext& context) -> ToolReturn {
                const Value* uri = arguments.if_contains("uri");
                if (uri == nullptr || !uri->is_string())
                    return tl::unexpected(ToolFailure::not_applied("There is no URI to read."));
                auto variables = matcher.match(uri->get_string());
                if (!variables)
                    return tl::unexpected(ToolFailure::not_applied("The URI does not fit the template."));
                variables->insert_or_assign("uri", std::string(uri->get_string()));
                return answer_of(read(*variables, context), uri->get_string());
            }));
    std::string key = pattern.uri_template;
    auto ready = std::make_shared<const ReadyTemplate>(
        ReadyTemplate{std::move(pattern), std::move(matcher), std::move(reader)});
    const base::MutexLock lock(mutex_);
    templates_.insert_or_assign(std::move(key), std::move(ready));
    return {};
}

Result<void> Catalogue::add(Prompt prompt) {
    if (prompt.name.empty()) return refused("bad_name", "A prompt has a name.");
    if (!prompt.get) return refused("no_body", "A prompt has a function that makes it.");
    auto ready = std::make_shared<ReadyPrompt>();
    CALLGATE_TRY_ASSIGN(ready->getter,
                        make_ready("prompts.get", prompt.description, prompt.contract,
                                   [get = prompt.get, about = prompt.description](
                                       const Object& arguments, CallContext& context) -> ToolReturn {
                                       const Value* given = arguments.if_contains("arguments");
                                       auto messages = get(given != nullptr && given->is_object()
                                                               ? strings_of(given->get_object())
                                                               : Variables{},
                                                           context);
                                       if (!messages)
                                           return tl::unexpected(ToolFailure(std::move(messages.error())));
                                       Array all;
                                       for (const PromptMessage& one : *messages) {
                                           all.push_back(message_of(one));
                                       }
                                       Object result;
                                       if (!about.empty()) result["description"] = about;
                                       result["messages"] = std::move(all);
                                       return ToolResult(Value(std::move(result)));
                                   }));
    std::string name = prompt.name;
    ready->prompt = std::move(prompt);
    const base::MutexLock lock(mutex_);
    prompts_.insert_or_assign(std::move(name), std::move(ready));
    return {};
}

bool Catalogue::remove_resource(std::string_view uri) {
    const base::MutexLock lock(mutex_);
    return erase_from(resources_, uri);
}

bool Catalogue::remove_template(std::string_view uri_template) {
    const base::MutexLock lock(mutex_);
    return erase_from(templates_, uri_template);
}

bool Catalogue::remove_prompt(std::string_view name) {
    const base::MutexLock lock(mutex_);
    return erase_from(prompts_, name);
}

std::shared_ptr<const ReadyResource> Catalogue::resource(std::string_view uri) const {
    const base::MutexLock lock(mutex_);
    return find_in(resources_, uri);
}

std::shared_ptr<const ReadyTemplate> Catalogue::template_for(std::string_view uri) const {
    if (!uri_fits(uri) || !is_normal_uri(uri)) return nullptr;
    const base::MutexLock lock(mutex_);
    for (const auto& [key, ready] : templates_) {
        if (ready->matcher.match(uri)) return ready;
    }
    return nullptr;
}

std::shared_ptr<const ReadyTemplate> Catalogue::resource_template(std::string_view uri_template) const {
    const base::MutexLock lock(mutex_);
    return find_in(templates_, uri_template);
}

std::shared_ptr<const ReadyPrompt> Catalogue::prompt(std::string_view name) const {
    const base::MutexLock lock(mutex_);
    return find_in(prompts_, name);
}

std::vector<std::shared_ptr<const ReadyResource>> Catalogue::resources() const {
    const base::MutexLock lock(mutex_);
    return values_of(resources_);
}

std::vector<std::shared_ptr<const ReadyTemplate>> Catalogue::templates() const {
    const base::MutexLock lock(mutex_);
    return values_of(templates_);
}

std::vector<std::shared_ptr<const ReadyPrompt>> Catalogue::prompts() const {
    const base::MutexLock lock(mutex_);
    return values_of(prompts_);
}

}  // namespace callgate::mcp
