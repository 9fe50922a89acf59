// What a call is to do, and where it came from.
//
// Threads: values; a call's own once it has begun.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <callgate/approvals.h>
#include <callgate/args.h>
#include <callgate/context.h>
#include <callgate/outcome.h>
#include <callgate/runtime.h>

#include "base/clock.h"
#include "policy/memory.h"
#include "redact/secret_set.h"
#include "tool/tool_entry.h"

namespace callgate::pipeline {

enum class Purpose : std::uint8_t {
    execute,
    preview,  ///< only show what would happen
    ask       ///< only ask a person for an approval (an edited one)
};

/// The caller's context. It never changes once a call has it, and the calls of a batch share one.
using SharedContext = std::shared_ptr<const Context>;
/// Of a caller that says nothing about itself.
[[gnu::hot]] SharedContext usual_context();
/// With kLocalPrincipal where none is named. Every call's context passes here.
SharedContext share(Context&& context);
/// `beside` becomes the context of a request: the request's own and its key, where it has them.
void use_context_of(const CallRequest& request, Context& beside);

/// What else there is to know of a call that a caller did not simply make: resumed, made by a tool, part of a
/// limited batch, given its tool, or refused before it could begin.
struct Origin {
    std::shared_ptr<const ToolEntry> direct;  ///< a tool that was handed in: no lookup
    std::string resumes;                      ///< resume: the call that asked, until its approval is found
    std::unique_ptr<Approval> approval;       ///< resume: the approval this call executes
    std::optional<Error> refused;             ///< wrong before it could begin (no usable tool call)
    CallId parent{};
    bool parent_has_ended = false;  ///< before this call was made: by a tool that was left behind
    std::size_t depth = 0;
    std::optional<base::MonotonicTime> latest;   ///< the parent's deadline
    std::shared_ptr<redact::SecretSet> secrets;  ///< the parent's, so that nested calls mask them too
    policy::Limiter::Ticket ticket;              ///< reserved for it by a batch
    std::vector<std::string> held_resources;     ///< by the calls it is made from: it need not wait for these
    std::vector<std::string> held_places;        ///< likewise, of limits that queue
    bool keeps_lent_thread = false;  ///< whoever waits for it blocks the executor that coroutines would need
    bool key_as_it_is = false;       ///< the caller did not write the key: its suffix is ours
    std::string plain_key;           ///< a batch of one: what may be on record under the key without a suffix
};

/// What a call is to do, except the names of its tool and action: those are in its outcome.
struct CallSpec {
    Args arguments;
    SharedContext context = usual_context();
    Purpose purpose = Purpose::execute;
    bool taken = false;  ///< with a batch, before the runtime drained
    std::optional<std::chrono::milliseconds> timeout;
    std::unique_ptr<Origin> origin;  ///< null: a caller made it, and there is nothing else to know

    Origin& from() {
        if (!origin) origin = std::make_unique<Origin>();
        return *origin;
    }
};

struct Request : CallSpec {
    std::string tool;
    std::string action = "call";
};

}  // namespace callgate::pipeline
