// What one revision of MCP can say: each is the one before it and what it added, in a file of its own.
//
// Threads: codecs are constant; all functions may be called from any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <callgate/input.h>
#include <callgate/json.h>
#include <callgate/mcp.h>
#include <callgate/outcome.h>
#include <callgate/registry_snapshot.h>

namespace callgate::mcp {

class Codec {
public:
    virtual ~Codec() = default;

    virtual std::string_view revision() const noexcept = 0;
    /// Stateless: the envelope of each request says who asks, and what they can do.
    virtual bool modern() const noexcept { return false; }
    virtual bool batches() const noexcept { return false; }
    /// Progress has a message.
    virtual bool progress_message() const noexcept { return true; }
    /// Streams can be ended by the server, to be taken up again after a while.
    virtual bool stream_polling() const noexcept { return false; }
    /// Arguments that do not fit the schema are a result the model sees, not an error of the protocol.
    virtual bool argument_faults_are_results() const noexcept { return false; }
    virtual int resource_not_found() const noexcept;

    /// What a client that declares these can be asked.
    virtual InputAbilities abilities(const Object& capabilities) const = 0;
    /// The method and parameters of a question; `elicitation_id` for urls.
    Object question_params(const InputRequest& request, std::string_view elicitation_id) const;

    /// A tool as tools/list has it.
    virtual Object tool(const ListedTool& listed) const = 0;
    /// The result of tools/call, as text.
    virtual std::string call_result(const Outcome& outcome) const = 0;
    /// An item of content as this revision may have it; one that it lacks is said in words.
    virtual Value content(Value item) const = 0;
    virtual Object resource(const Resource& resource) const = 0;
    virtual Object resource_template(const ResourceTemplate& pattern) const = 0;
    virtual Object prompt(const Prompt& prompt) const = 0;
    /// What the server says it can do.
    virtual Object capabilities() const = 0;
    virtual Object info(const ServerOptions& options) const = 0;

    // As a client:
    /// What one that can be asked these says it can do.
    virtual Object client_capabilities(const InputAbilities& can) const = 0;
    /// Each message after `initialize` names the revision in a header.
    virtual bool names_itself() const noexcept { return true; }
};

const Codec& codec_2024_11_05();
const Codec& codec_2025_03_26();
const Codec& codec_2025_06_18();
const Codec& codec_2025_11_25();
const Codec& codec_2026_07_28();

/// The newest first.
std::span<const Codec* const> codecs();
/// Null where we do not speak it.
const Codec* find_codec(std::string_view revision) noexcept;
const Codec& latest_legacy_codec();

/// "elicitation/create", "sampling/createMessage", "roots/list".
std::string_view question_method(InputRequest::Kind kind) noexcept;
/// A client's result for a question of this kind. invalid_arguments {reason: bad_answer}.
Result<InputAnswer> read_answer(InputRequest::Kind kind, Value result);

}  // namespace callgate::mcp
