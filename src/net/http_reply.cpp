#include "net/http_reply.h"

#include <forward_list>
#include <utility>

namespace callgate::net {
namespace {

class ReadRequest final : public HttpRequest {
public:
    ReadRequest(HttpHead head, std::string body, std::shared_ptr<const HttpLink> link)
        : head_(std::move(head)), body_(std::move(body)), link_(std::move(link)) {
        if (!body_.empty()) link_->held->fetch_add(body_.size(), std::memory_order_relaxed);
    }
    ~ReadRequest() override { body_has_gone(); }
    ReadRequest(const ReadRequest&) = delete;
    ReadRequest& operator=(const ReadRequest&) = delete;

    std::string_view method() const noexcept override { return head_.text(head_.method); }
    std::string_view target() const noexcept override { return head_.text(head_.target); }
    std::optional<std::string_view> header_view(std::string_view name) const override {
        const HttpField* first = nullptr;
        for (const HttpField& field : head_.fields) {
            if (!is_named(field, name)) continue;
            if (first != nullptr) return joined(*first, name);
            first = &field;
        }
        if (first == nullptr) return std::nullopt;
        return head_.text(first->value);
    }
    void for_each_header(const std::function<void(std::string_view, std::string_view)>& take) const override {
        for (const HttpField& field : head_.fields) take(head_.text(field.name), head_.text(field.value));
    }
    std::string take_body() override {
        body_has_gone();
        return std::exchange(body_, {});
    }
    const HttpPeer& peer() const noexcept override { return link_->peer; }

private:
    bool is_named(const HttpField& field, std::string_view name) const noexcept {
        return field.name.size == name.size() && same_ignoring_case(head_.text(field.name), name);
    }
    // Made once, when it is asked for.
    std::string_view joined(const HttpField& first, std::string_view name) const {
        for (const auto& [field, values] : joined_) {
            if (field == &first) return values;
        }
        std::string values;
        for (const HttpField& field : head_.fields) {
            if (!is_named(field, name)) continue;
            if (&field != &first) values += ", ";
            values += head_.text(field.value);
        }
        return joined_.emplace_front(&first, std::move(values)).second;
    }
    void body_has_gone() noexcept {
        if (!body_.empty()) link_->held->fetch_sub(body_.size(), std::memory_order_relaxed);
    }

    HttpHead head_;
    std::string body_;
    std::shared_ptr<const HttpLink> link_;
    mutable std::forward_list<std::pair<const HttpField*, std::string>> joined_;
};

class LinkedReply final : public HttpReply {
public:
    LinkedReply(std::shared_ptr<HttpLink> link, std::uint64_t exchange) noexcept
        : link_(std::move(link)), exchange_(exchange) {}
    ~LinkedReply() override {
        if (stage_.load() != Stage::done)
            run([exchange = exchange_](HttpConnection& connection) { connection.released(exchange); });
    }
    LinkedReply(const LinkedReply&) = delete;
    LinkedReply& operator=(const LinkedReply&) = delete;

    void send(HttpResponse response) override {
        if (!go(Stage::open, Stage::done)) return;
        run([exchange = exchange_, response = std::move(response)](HttpConnection& connection) mutable {
            connection.send(exchange, std::move(response));
        });
    }
    void begin(int status, HttpHeaders headers, std::string idle_text) override {
        if (!go(Stage::open, Stage::streaming)) return;
        run([exchange = exchange_, status, headers = std::move(headers),
             idle_text = std::move(idle_text)](HttpConnection& connection) mutable {
            connection.begin(exchange, status, headers, std::move(idle_text));
        });
    }
    void write(std::string bytes) override {
        if (stage_.load() != Stage::streaming) return;
        const std::size_t size = bytes.size() + kHttpFraming;
        const std::size_t before = link_->waiting.fetch_add(size);
        // Not by what this piece adds: what was given before it may just not have had its turn yet.
        if (before > link_->most_waiting) return drop_slow_reader(size);
        run([exchange = exchange_, size, bytes = std::move(bytes)](HttpConnection& connection) mutable {
            connection.write(exchange, std::move(bytes), size);
        });
    }
    void end() override {
        if (!go(Stage::streaming, Stage::done)) return;
        run([exchange = exchange_](HttpConnection& connection) { connection.end(exchange); });
    }
    void abandon() override {
        stage_.store(Stage::done);
        run([exchange = exchange_](HttpConnection& connection) { connection.abandon(exchange); });
    }
    void on_gone(std::function<void()> function) override {
        if (link_->thread->here() && link_->connection != nullptr)
            return link_->connection->on_gone(exchange_, std::move(function));
        link_->thread->post([link = link_, exchange = exchange_, function = std::move(function)]() mutable {
            if (link->connection != nullptr) {
                link->connection->on_gone(exchange, std::move(function));
            } else if (exchange > link->left) {
                function();
            }
        });
    }
    std::size_t waiting_bytes() const noexcept override {
        return link_->waiting.load(std::memory_order_relaxed);
    }
    Executor executor() const override {
        return [thread = link_->thread](std::function<void()> work) { thread->post(std::move(work)); };
    }

private:
    enum class Stage : std::uint8_t { open, streaming, done };

    bool go(Stage from, Stage to) noexcept { return stage_.compare_exchange_strong(from, to); }

    // At once where this is its thread.
    template <class Work>
    void run(Work work) {
        if (link_->thread->here()) {
            if (link_->connection != nullptr) work(*link_->connection);
            return;
        }
        link_->thread->post([link = link_, work = std::move(work)]() mutable {
            if (link->connection != nullptr) work(*link->connection);
        });
    }

    void drop_slow_reader(std::size_t size) {
        link_->waiting.fetch_sub(size);
        if (dropped_.exchange(true)) return;
        link_->thread->post([link = link_, exchange = exchange_] {
            if (link->connection != nullptr) link->connection->too_slow(exchange);
        });
    }

    const std::shared_ptr<HttpLink> link_;
    const std::uint64_t exchange_;
    std::atomic<Stage> stage_{Stage::open};
    std::atomic<bool> dropped_{false};
};

}  // namespace

std::unique_ptr<HttpRequest> make_request(HttpHead head, std::string body,
                                          std::shared_ptr<const HttpLink> link) {
    return std::make_unique<ReadRequest>(std::move(head), std::move(body), std::move(link));
}

std::shared_ptr<HttpReply> make_reply(std::shared_ptr<HttpLink> link, std::uint64_t exchange) {
    return std::make_shared<LinkedReply>(std::move(link), exchange);
}

std::optional<std::string> HttpRequest::header(std::string_view name) const {
    const auto value = header_view(name);
    return value ? std::optional<std::string>(*value) : std::nullopt;
}

std::string_view HttpRequest::path() const noexcept {
    std::string_view path = target();
    if (const std::size_t host = path.find("://"); !path.starts_with('/') && host != std::string_view::npos) {
        const std::size_t begin = path.find_first_of("/?", host + 3);
        path = begin == std::string_view::npos ? "/" : path.substr(begin);
    }
    return path.substr(0, path.find('?'));
}

std::string_view HttpRequest::query() const noexcept {
    const std::string_view all = target();
    const std::size_t mark = all.find('?');
    return mark == std::string_view::npos ? std::string_view() : all.substr(mark + 1);
}

}  // namespace callgate::net
