#include "audit_tail.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "base/ids.h"
#include "call_rows_report.h"
#include "ids.h"
#include "ledger_watcher.h"
#include "shown_value.h"

namespace callgate::cli {

namespace {

std::optional<std::uint64_t> number_in(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc() || end != text.data() + text.size() || number == 0) return std::nullopt;
    return number;
}

class Tail {
public:
    Tail(OperatorRun& run, const TailOptions& options) : run_(run), options_(options) {}

    int go() {
        if (!options_.call.empty()) {
            auto call = id_for_option(run_, options_.call, IdOf::call, "--call");
            if (!call) return run_.give_up(call.error());
            options_.call = std::move(*call);
        }
        if (options_.follow) watcher_.emplace(run_, true);
        Object request{{"verb", "audit.events"}, {"limit", options_.call.empty() ? options_.lines : 1'000u}};
        if (!options_.type.empty()) request["type"] = options_.type;
        if (!options_.call.empty()) request["call"] = options_.call;
        auto page = run_.ask(request);
        if (!page) return run_.give_up(page.error());
        // The ledger finds a call's events by its id; the rest is ours to do.
        Array events;
        for (const Value& one : list_at(*page, "events")) {
            if (wanted(one)) events.push_back(one);
        }
        if (events.size() > options_.lines)
            events.erase(events.begin(), events.end() - static_cast<std::ptrdiff_t>(options_.lines));
        if (!options_.follow) {
            if (!run_.print_json({{"events", events}}))
                run_.print(events.empty() ? "There is no event that fits.\n"
                                          : events_table(events, run_.style()));
            return 0;
        }
        for (const Value& event : events) tell(event);
        return follow(number_at(*page, "size"), events);
    }

private:
    bool wanted(const Value& event) const {
        return (options_.type.empty() || text_at(event, "type") == options_.type) &&
               (options_.call.empty() || text_at(event, "call_id") == options_.call);
    }

    void tell(const Value& event) {
        run_.print(run_.json() ? json::write(event) + '\n' : event_line(event, run_.style()));
    }

    int follow(std::int64_t size, const Array& shown) {
        // A call's own list does not say how long the log is.
        std::int64_t next = size + 1;
        if (!options_.call.empty()) next = shown.empty() ? 1 : number_at(shown.back(), "sequence") + 1;
        watcher_->looked(true);
        while (watcher_->wait()) {
            const std::int64_t before = std::exchange(next, read_from(next));
            watcher_->looked(next != before);
        }
        return 0;
    }

    std::int64_t read_from(std::int64_t next) {
        for (;;) {
            const auto page = run_.ask({{"verb", "audit.events"}, {"from", next}, {"limit", 1'000}});
            // Its owner may be about to come or go: the next look may find it again.
            if (!page) return next;
            for (const Value& event : list_at(*page, "events")) {
                if (wanted(event)) tell(event);
                next = number_at(event, "sequence") + 1;
            }
            if (value_at(*page, "next").is_null()) return next;
            next = number_at(*page, "next");
        }
    }

    OperatorRun& run_;
    TailOptions options_;
    std::optional<LedgerWatcher> watcher_;
};

}  // namespace

int tail_events(OperatorRun& run, const TailOptions& options) {
    return Tail(run, options).go();
}

int show_event(OperatorRun& run, const std::string& which) {
    const auto number = number_in(which);
    if (!number) {
        const auto call = whole_id(run, which, IdOf::call);
        if (!call) return run.give_up(call.error());
        if (!base::parse_uuid(*call))
            return run.give_up(
                Error(ErrorCode::config_error,
                      fmt::format("'{}' is neither an event's number, from 1 on, nor a call's id.", which),
                      {{"reason", "usage"}}));
        const auto page = run.ask({{"verb", "audit.events"}, {"call", *call}, {"limit", 1'000}});
        if (!page) return run.give_up(page.error());
        const Array& events = list_at(*page, "events");
        if (events.empty())
            return run.give_up(Error(ErrorCode::denied,
                                     fmt::format("No event tells of the call '{}'.", which),
                                     {{"reason", "not_found"}, {"id", which}}));
        if (!run.print_json({{"events", events}})) run.print(events_table(events, run.style()));
        return 0;
    }
    const auto shown = run.ask({{"verb", "audit.show"}, {"sequence", *number}});
    if (!shown) return run.give_up(shown.error());
    if (run.print_json(*shown)) return 0;
    const Style& style = run.style();
    std::string out = outline(value_at(*shown, "event"), style);
    for (const Value& payload : list_at(*shown, "payloads"))
        out += fact(
            "payload",
            fmt::format("{}, {} bytes", printable(text_at(payload, "field")), number_at(payload, "bytes")),
            style);
    for (const Value& erased : list_at(*shown, "erased"))
        out += fact("erased", erased.is_string() ? printable(erased.get_string()) : "", style);
    out += fact("chain", printable(text_at(*shown, "chain")), style);
    out += fact("hash", printable(text_at(*shown, "hash")), style);
    run.print(out);
    return 0;
}

}  // namespace callgate::cli
