// What the interop server offers: tools, resources, prompts and templates with fixed payloads, which
// cells.mjs expects to the letter. Built on Callgate's public headers alone.
//
// Nothing here waits for time: a tool that takes several turns goes on when its client calls `advance`, and
// says in between how far it is.
#pragma once

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <callgate/callgate.h>
#include <callgate/mcp.h>

namespace interop {

namespace cg = callgate;

/// What calls wait for: how often each gate was opened, and what was noted under a name.
class Turns;
std::shared_ptr<Turns> make_turns();

void add_answers(cg::Registry& tools);
void add_turns(cg::Registry& tools, const std::shared_ptr<Turns>& turns);
void add_questions(cg::Registry& tools, const std::shared_ptr<Turns>& turns);
/// Tools that change what `server` lists, or tell it that something has changed.
void add_changes(cg::Registry& tools, cg::mcp::Server& server);
void add_catalogue(cg::mcp::Server& server);

/// A tool that may run without anybody's leave.
cg::Tool offer(std::string name, std::string description, cg::Value schema, cg::ToolFunction run);
/// {"type": "object", "properties": …, "required": all of them}
cg::Value all_of(cg::Object properties = {});
cg::Object string_type();
cg::ToolResult say(std::string what);
std::string text_at(const cg::Object& object, std::string_view name);

/// Waits until this gate was opened so often; false if the call was called off before.
bool wait_for(Turns& turns, const std::string& gate, unsigned times, const cg::CallContext& context);

/// Eight bytes that are no UTF-8: the beginning of every PNG.
inline std::string picture() {
    return "\x89PNG\r\n\x1a\n";
}

template <class Entry>
void add_or_throw(cg::mcp::Server& server, Entry entry) {
    if (const auto added = server.add(std::move(entry)); !added)
        throw std::runtime_error(added.error().message);
}

}  // namespace interop
