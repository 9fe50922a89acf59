#include "mcp/client_handshake.h"

#include <utility>

#include <fmt/format.h>

#include "mcp/envelope.h"
#include "mcp/members.h"

namespace callgate::mcp {
namespace {

bool is_modern_error(int code) {
    return code == codes::kHeaderMismatch || code == codes::kMissingCapability ||
           code == codes::kUnsupportedVersion;
}

Object client_info_of(const ClientOptions& options) {
    Object info{{"name", options.name}, {"version", options.version}};
    for (const auto& [key, value] : options.info_extra) {
        if (!info.contains(key)) info[key] = value;
    }
    return info;
}

/// The newest revision of ours that is among them; null: none.
const Codec* newest_of(const Value* revisions, bool modern) {
    if (revisions == nullptr || !revisions->is_array()) return nullptr;
    for (const Codec* codec : codecs()) {
        if (codec->modern() != modern) continue;
        for (const Value& one : revisions->get_array()) {
            if (one.is_string() && std::string_view(one.get_string()) == codec->revision()) return codec;
        }
    }
    return nullptr;
}

Error no_common_revision(std::string_view theirs) {
    return {ErrorCode::unavailable,
            fmt::format("The server speaks no revision of MCP that we speak{}.", theirs),
            {{"reason", "no_common_revision"}}};
}

}  // namespace

InputAbilities default_abilities(const ClientOptions& options) {
    InputAbilities can = options.abilities;
    if (options.questions == nullptr) return can;
    const InputAbilities ours = options.questions->abilities();
    can.form |= ours.form;
    can.url |= ours.url;
    can.sampling |= ours.sampling;
    can.roots |= ours.roots;
    return can;
}

Object client_envelope(const Codec& codec, const ClientOptions& options, const InputAbilities& can) {
    return {{envelope::kProtocolVersion, codec.revision()},
            {envelope::kClientInfo, client_info_of(options)},
            {envelope::kClientCapabilities, codec.client_capabilities(can)}};
}

void ClientHandshake::begin(EraChoice era) {
    era_ = era;
    revision_ = latest_legacy_codec().revision();
    if (era == EraChoice::legacy)
        initialize();
    else
        discover();
}

void ClientHandshake::discover() {
    const Codec& codec = codec_2026_07_28();
    requests_.modern(true);
    ClientRound round;
    OutgoingMessage& message = round.message;
    message.request = requests_.next_id();
    message.codec = &codec;
    message.method = "server/discover";
    message.text =
        request_text(message.request, message.method,
                     Object{{"_meta", client_envelope(codec, options_, default_abilities(options_))}});
    round.timeout = transport_->has_headers() ? options_.connect_timeout : options_.probe_timeout;
    // A server of the older era may not know what to do with a notification before its time.
    round.can_be_called_off = false;
    round.done = [self = shared_from_this()](ClientAnswer answer) {
        if (self->done_) self->discovered(std::move(answer));
    };
    requests_.begin(std::move(round));
}

void ClientHandshake::discovered(ClientAnswer answer) {
    if (!answer) {
        refused(answer.error());
        return;
    }
    const Object& result = answer->value.get_object();
    const Value* revisions = result.if_contains("supportedVersions");
    if (newest_of(revisions, true) != nullptr) {
        take_facts(result);
    } else if (const Codec* older = newest_of(revisions, false)) {
        revision_ = older->revision();
        initialize();
    } else if (revisions != nullptr && revisions->is_array()) {
        fail_with(no_common_revision({}));
    } else {
        initialize();
    }
}

void ClientHandshake::take_facts(const Object& result) {
    ServerFacts facts;
    facts.codec = &codec_2026_07_28();
    if (const Object* capabilities = object_member(result, "capabilities"))
        facts.capabilities = *capabilities;
    const Object* meta = object_member(result, "_meta");
    const Object* info = meta == nullptr ? nullptr : object_member(*meta, envelope::kServerInfo);
    if (info != nullptr) facts.info = *info;
    facts.instructions = string_member(result, "instructions");
    end({std::move(facts), false});
}

void ClientHandshake::refused(const ClientFailure& failure) {
    if (failure.code == codes::kUnsupportedVersion) {
        const Value* revisions =
            failure.data.is_object() ? failure.data.get_object().if_contains("supported") : nullptr;
        if (newest_of(revisions, true) != nullptr && !std::exchange(asked_again_, true)) {
            discover();
            return;
        }
        const Codec* older = newest_of(revisions, false);
        if (older == nullptr || era_ == EraChoice::modern) {
            fail_with(no_common_revision({}));
            return;
        }
        revision_ = older->revision();
        initialize();
        return;
    }
    const bool http = transport_->has_headers();
    const bool answered = failure.code != 0 && failure.status != 401 && failure.status != 403;
    const bool old = http ? (answered && failure.status < 500) ||
                                (failure.status >= 400 && failure.status < 500 && failure.status != 401 &&
                                 failure.status != 403 && failure.status != 429)
                          : answered || failure.error.code == ErrorCode::timed_out ||
                                failure.error.code == ErrorCode::output_invalid;
    if (is_modern_error(failure.code) || era_ == EraChoice::modern) {
        fail_with(failure.error);
    } else if (old) {
        initialize();
    } else if (!http && failure.error.code == ErrorCode::transport) {
        end({tl::unexpected(failure.error), true});
    } else {
        fail_with(failure.error);
    }
}

void ClientHandshake::initialize() {
    const Codec* codec = find_codec(revision_);
    requests_.modern(false);
    ClientRound round;
    OutgoingMessage& message = round.message;
    message.request = requests_.next_id();
    message.method = "initialize";
    message.text =
        request_text(message.request, message.method,
                     Object{{"protocolVersion", revision_},
                            {"capabilities", codec->client_capabilities(default_abilities(options_))},
                            {"clientInfo", client_info_of(options_)}});
    round.timeout = options_.connect_timeout;
    round.can_be_called_off = false;
    round.done = [self = shared_from_this()](ClientAnswer answer) {
        if (self->done_) self->initialized(std::move(answer));
    };
    requests_.begin(std::move(round));
}

void ClientHandshake::initialized(ClientAnswer answer) {
    if (!answer) {
        const ClientFailure& failure = answer.error();
        const bool no_such_way = failure.status == 400 || failure.status == 404 || failure.status == 405;
        if (no_such_way && !is_modern_error(failure.code) && !std::exchange(fell_back_, true) &&
            transport_->fall_back()) {
            initialize();
            return;
        }
        fail_with(failure.error);
        return;
    }
    const Object& result = answer->value.get_object();
    const std::string_view theirs = string_member(result, "protocolVersion");
    const Codec* codec = find_codec(theirs);
    if (codec == nullptr || codec->modern()) {
        fail_with(no_common_revision(theirs.size() <= 32 ? fmt::format("; it answers with {}", theirs)
                                                         : std::string()));
        return;
    }
    ServerFacts facts;
    facts.codec = codec;
    if (const Object* capabilities = object_member(result, "capabilities"))
        facts.capabilities = *capabilities;
    if (const Object* info = object_member(result, "serverInfo")) facts.info = *info;
    facts.instructions = string_member(result, "instructions");
    OutgoingMessage message;
    message.codec = codec;
    message.method = "notifications/initialized";
    message.text = notification_text(message.method, nullptr);
    if (auto sent = transport_->send(std::move(message)); !sent) {
        fail_with(std::move(sent.error()));
        return;
    }
    transport_->initialized(*codec);
    end({std::move(facts), false});
}

void ClientHandshake::fail_with(Error error) {
    end({tl::unexpected(std::move(error)), false});
}

void ClientHandshake::end(Ended ended) {
    if (auto done = std::exchange(done_, nullptr)) done(std::move(ended));
}

}  // namespace callgate::mcp
