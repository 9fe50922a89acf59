#include "mcp/http.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/encoding.h"
#include "base/try.h"
#include "mcp/batch.h"
#include "mcp/event_stream.h"
#include "mcp/server_parts.h"
#include "mcp/session.h"
#include "wire/header_value.h"
#include "wire/sse.h"

namespace callgate::mcp {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kEvents = "text/event-stream";
/// A comment, which clients skip: what stands between sees that the stream is in use.
constexpr std::string_view kStillThere = ":\n\n";

bool same_word(std::string_view a, std::string_view b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
               return base::ascii_lower(x) == base::ascii_lower(y);
           });
}

// What most clients say, to the letter.
constexpr std::string_view kUsualAccept = "application/json, text/event-stream";

// The type of a header's value, without its parameters.
std::string_view media_type(std::string_view value) {
    return wire::trim(value.substr(0, value.find(';')));
}

bool accepts(std::string_view header, std::string_view type) {
    const std::string_view group = type.substr(0, type.find('/') + 1);
    for (std::size_t from = 0; from <= header.size();) {
        const std::size_t comma = std::min(header.find(',', from), header.size());
        const std::string_view one = media_type(header.substr(from, comma - from));
        if (same_word(one, type) || one == "*/*" ||
            (one.ends_with("/*") && same_word(one.substr(0, one.size() - 1), group)))
            return true;
        from = comma + 1;
    }
    return false;
}

}  // namespace

/// A request that came, and how it is answered.
struct HttpTransport::Visit final : RequestHeaders {
    std::unique_ptr<net::HttpRequest> request;
    std::shared_ptr<net::HttpReply> reply;
    net::HttpHeaders common;  ///< of every answer: what a browser must see

    std::optional<std::string> find(std::string_view name) const override { return request->header(name); }

    net::HttpHeaders headers(std::string_view type) const {
        net::HttpHeaders all = common;
        all.emplace_back("Content-Type", type);
        if (type == kEvents) {
            all.emplace_back("Cache-Control", "no-cache, no-transform");
            all.emplace_back("X-Accel-Buffering", "no");
        }
        return all;
    }
    void answer(int status, std::string text) const { reply->send({status, common, std::move(text), kJson}); }
    void refuse(int status, const Fault& fault) const { answer(status, error_text(nullptr, fault)); }
    void done(int status) const { reply->send({status, common, {}}); }
};

// One POST's answer. A request of the legacy era has its stream in its session, so that it can be taken up
// again.
class HttpTransport::Way final : public Outlet {
public:
    Way(Arrived visit, std::shared_ptr<const HttpTransport> transport)
        : visit_(std::move(visit)), transport_(std::move(transport)), core_(transport_->core_) {}

    void belongs_to(const std::shared_ptr<Session>& session, bool begins) override {
        session_ = session;
        begins_ = begins;
    }
    void message(std::string text) override {
        begin();
        write(std::move(text));
    }
    void respond(std::string text, int status) override {
        if (begun_) {
            write(std::move(text));
            finish();
            return;
        }
        if (!begins_ || session_->codec == nullptr) return visit_->answer(status, std::move(text));
        net::HttpHeaders headers = visit_->common;
        headers.emplace_back("Mcp-Session-Id", session_->id());
        visit_->reply->send({status, std::move(headers), std::move(text), kJson});
    }
    void on_gone(std::function<void()> function) override {
        if (session_) return;
        visit_->reply->on_gone([core = core_, function = std::move(function)] { core->at_home(function); });
    }
    void close_stream() override {
        if (!session_ || session_->codec == nullptr || !session_->codec->stream_polling()) return;
        begin();
        stream_->detach();
    }
    void drop() override {
        if (!begun_) begin();
        finish();
    }
    void acknowledge() override { visit_->done(202); }
    const Transport* transport() const override { return transport_.get(); }

private:
    void begin() {
        if (begun_) return;
        begun_ = true;
        visit_->reply->begin(200, visit_->headers(kEvents), std::string(kStillThere));
        if (!session_) return;
        stream_ = session_->new_stream();
        stream_->attach(visit_->reply);
        if (session_->codec != nullptr && session_->codec->stream_polling()) stream_->prime();
    }
    void write(std::string text) {
        if (stream_) {
            stream_->add(std::move(text));
            return;
        }
        std::string out;
        wire::append_event(out, {text, {}, {}});
        visit_->reply->write(std::move(out));
    }
    void finish() {
        if (stream_)
            stream_->finish();
        else
            visit_->reply->end();
    }

    const Arrived visit_;
    const std::shared_ptr<const HttpTransport> transport_;
    const std::shared_ptr<ServerCore>& core_;
    std::shared_ptr<Session> session_;
    std::shared_ptr<EventStream> stream_;
    bool begins_ = false;
    bool begun_ = false;
};

namespace {

// What belongs to no request, for a session whose client listens.
class SideStream final : public Outlet {
public:
    SideStream(std::shared_ptr<EventStream> stream, std::shared_ptr<const Transport> transport)
        : stream_(std::move(stream)), transport_(std::move(transport)) {}
    void message(std::string text) override { stream_->add(std::move(text)); }
    void respond(std::string /*text*/, int /*status*/) override {}
    void on_gone(std::function<void()> /*function*/) override {}
    void drop() override { stream_->finish(); }
    void acknowledge() override {}
    const Transport* transport() const override { return transport_.get(); }

private:
    const std::shared_ptr<EventStream> stream_;
    const std::shared_ptr<const Transport> transport_;
};

}  // namespace

void HttpTransport::take(std::unique_ptr<net::HttpRequest> request, std::shared_ptr<net::HttpReply> reply) {
    const auto visit = std::make_shared<Visit>();
    visit->request = std::move(request);
    visit->reply = std::move(reply);
    if (const auto origin = visit->request->header("Origin")) {
        visit->common = {{"Access-Control-Allow-Origin", *origin},
                         {"Access-Control-Expose-Headers", "Mcp-Session-Id"},
                         {"Vary", "Origin"}};
    }
    if (core_->loop().here(0)) {
        look_at(visit);
        return;
    }
    core_->at_home([self = shared_from_this(), visit] { self->look_at(visit); });
}

void HttpTransport::look_at(const Arrived& visit) {
    const std::string_view method = visit->request->method();
    if (visit->request->path() != path_) {
        visit->reply->send({404, visit->headers("text/plain"), fmt::format("MCP is served at {}\n", path_)});
    } else if (method == "POST") {
        post(visit);
    } else if (method == "GET") {
        get(visit);
    } else if (method == "DELETE") {
        end(visit);
    } else if (method == "OPTIONS") {
        net::HttpHeaders headers = visit->common;
        headers.emplace_back("Allow", "POST, GET, DELETE, OPTIONS");
        headers.emplace_back("Access-Control-Allow-Methods", "POST, GET, DELETE");
        // A browser asks about each by name, parameters' headers included.
        headers.emplace_back("Access-Control-Allow-Headers",
                             visit->request->header("Access-Control-Request-Headers")
                                 .value_or("content-type, authorization, last-event-id, mcp-session-id, "
                                           "mcp-protocol-version, mcp-method, mcp-name"));
        headers.emplace_back("Access-Control-Max-Age", "600");
        visit->reply->send({204, std::move(headers), {}});
    } else {
        net::HttpHeaders headers = visit->headers("text/plain");
        headers.emplace_back("Allow", "POST, GET, DELETE, OPTIONS");
        visit->reply->send({405, std::move(headers), "MCP is spoken by POST, GET and DELETE\n"});
    }
}

void HttpTransport::post(const Arrived& visit) {
    const auto type = visit->request->header_view("Content-Type");
    if (!type || !same_word(media_type(*type), kJson)) {
        visit->refuse(415, {codes::kInvalidRequest, "A message is sent as application/json."});
        return;
    }
    const auto accept = visit->request->header_view("Accept");
    if (accept && *accept != kUsualAccept && !(accepts(*accept, kJson) && accepts(*accept, kEvents))) {
        visit->refuse(406,
                      {codes::kInvalidRequest, "A client accepts application/json and text/event-stream."});
        return;
    }
    take_messages(visit, read_messages(visit->request->take_body(), core_->options().limits.message));
}

void HttpTransport::take_messages(const Arrived& visit, ReadMessages messages) {
    const auto id = visit->request->header_view("Mcp-Session-Id");
    Arrival arrival{std::make_shared<Way>(visit, shared_from_this()), id ? core_->find_session(*id) : nullptr,
                    visit, true, id.has_value()};
    if (!messages.batch) {
        if (auto* bad = std::get_if<BadMessage>(&messages.all.front()))
            core_->refuse(*bad, arrival);
        else
            core_->take(std::move(std::get<Message>(messages.all.front())), arrival);
        return;
    }
    const auto session = arrival.session;
    if (session == nullptr || session->codec == nullptr || !session->codec->batches()) {
        visit->refuse(
            400, {codes::kInvalidRequest, "A POST is one message: batches are of sessions of 2025-03-26."});
        return;
    }
    const std::size_t most = core_->options().limits.max_batch;
    if (messages.all.size() > most) {
        visit->refuse(400, {codes::kInvalidRequest, fmt::format("A batch has at most {} messages.", most)});
        return;
    }
    const auto batch = std::make_shared<Batch>(messages.all.size(), [visit](std::string text) {
        if (text.empty())
            visit->done(202);
        else
            visit->answer(200, std::move(text));
    });
    arrival.in_batch = true;
    for (ReadMessage& one : messages.all) {
        arrival.outlet = std::make_shared<BatchWay>(batch, id_of(one), session->side);
        if (auto* bad = std::get_if<BadMessage>(&one))
            core_->refuse(*bad, arrival);
        else
            core_->take(std::move(std::get<Message>(one)), arrival);
    }
}

void HttpTransport::get(const Arrived& visit) {
    const auto id = visit->request->header_view("Mcp-Session-Id");
    if (!id) {
        net::HttpHeaders headers = visit->headers("text/plain");
        headers.emplace_back("Allow", "POST");
        visit->reply->send({405, std::move(headers), "A stream belongs to a session (Mcp-Session-Id)\n"});
        return;
    }
    const auto session = core_->find_session(*id);
    if (session == nullptr) {
        visit->refuse(404, {codes::kInvalidRequest, "There is no such session."});
        return;
    }
    const auto accept = visit->request->header_view("Accept");
    if (accept && !accepts(*accept, kEvents)) {
        visit->refuse(406, {codes::kInvalidRequest, "A client that listens accepts text/event-stream."});
        return;
    }
    if (drains) {
        visit->refuse(503, {codes::kInternal, "The server is about to end."});
        return;
    }
    auto place = core_->place_to_listen();
    if (place == nullptr) {
        visit->refuse(503, {codes::kInternal, "As many clients listen as may; try again later."});
        return;
    }
    const auto lost_with = [&](const std::shared_ptr<EventStream>& stream) {
        visit->reply->on_gone(
            [core = core_, weak = std::weak_ptr(stream), reply = std::weak_ptr(visit->reply)] {
                core->at_home([weak, reply] {
                    const auto attached = weak.lock();
                    const auto gone = reply.lock();
                    if (attached && gone) attached->lost(gone.get());
                });
            });
    };
    if (const auto last = visit->request->header_view("Last-Event-ID")) {
        const auto event = parse_event_id(*last);
        const auto stream = event ? session->find_stream(event->stream) : nullptr;
        if (stream == nullptr || !stream->can_resume(event->event)) {
            visit->refuse(400,
                          {codes::kInvalidRequest, "What came after this event is not kept (any more)."});
            return;
        }
        visit->reply->begin(200, visit->headers(kEvents), std::string(kStillThere));
        stream->resume(event->event, visit->reply, std::move(place));
        if (stream == session->side_stream)
            session->side = std::make_shared<SideStream>(stream, shared_from_this());
        lost_with(stream);
        return;
    }
    visit->reply->begin(200, visit->headers(kEvents), std::string(kStillThere));
    if (session->side_stream == nullptr || session->side_stream->finished())
        session->side_stream = session->new_stream();
    session->side = std::make_shared<SideStream>(session->side_stream, shared_from_this());
    session->side_stream->attach(visit->reply, std::move(place));
    lost_with(session->side_stream);
}

void HttpTransport::end(const Arrived& visit) {
    const auto id = visit->request->header_view("Mcp-Session-Id");
    const auto session = id ? core_->find_session(*id) : nullptr;
    if (session == nullptr) {
        visit->refuse(id ? 404 : 405, {codes::kInvalidRequest,
                                       id ? "There is no such session." : "There is no session to end."});
        return;
    }
    core_->end_session(session);
    visit->done(204);
}

class HttpEndpoint::Impl {
public:
    std::unique_ptr<net::Loop> loop;  // of more threads than the server's own
    std::shared_ptr<HttpTransport> transport;
    std::unique_ptr<net::HttpServer> server;
    std::string path;
};

HttpEndpoint::HttpEndpoint(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

HttpEndpoint::~HttpEndpoint() = default;

Result<std::unique_ptr<HttpEndpoint>> HttpEndpoint::open(Server& server, HttpOptions options) {
    auto impl = std::make_unique<Impl>();
    const auto& core = server.parts().core;
    if (!options.path.starts_with('/'))
        return callgate::fail(ErrorCode::config_error, "The path of an endpoint begins with a slash.",
                              {{"reason", "bad_path"}});
    net::HttpServerOptions http;
    http.address = options.address;
    http.port = options.port;
    http.unix_path = options.unix_path;
    if (!options.certificate_file.empty() || !options.key_file.empty())
        http.tls = net::HttpTls{options.certificate_file, options.key_file};
    http.access.hosts = std::move(options.hosts);
    http.access.origins = std::move(options.origins);
    http.limits.max_connections = options.max_connections;
    http.limits.max_body_bytes = core->options().limits.message.max_bytes;
    if (options.threads > 1) impl->loop = std::make_unique<net::Loop>(options.threads);
    impl->path = options.path;
    impl->transport = std::make_shared<HttpTransport>(core, options.path);
    CALLGATE_TRY_ASSIGN(
        impl->server,
        net::HttpServer::open(impl->loop ? *impl->loop : server.parts().loop, std::move(http),
                              [transport = impl->transport](std::unique_ptr<net::HttpRequest> request,
                                                            std::shared_ptr<net::HttpReply> reply) {
                                  transport->take(std::move(request), std::move(reply));
                              }));
    return std::unique_ptr<HttpEndpoint>(new HttpEndpoint(std::move(impl)));
}

std::string HttpEndpoint::url() const {
    return impl_->server->url() + impl_->path;
}

std::uint16_t HttpEndpoint::port() const noexcept {
    return impl_->server->port();
}

std::size_t HttpEndpoint::drain(std::chrono::milliseconds at_most) {
    impl_->transport->end_listening();
    return impl_->server->drain(at_most);
}

}  // namespace callgate::mcp
