// A policy from JSON. Times of day are "HH:MM", durations are numbers of milliseconds, and a member nobody
// knows is refused: a rule with a misspelt condition would match more than its author meant.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <callgate/policy.h>

#include "json/pointer.h"
#include "schema/similar.h"
#include "tool/words.h"

namespace callgate {

namespace {

constexpr std::size_t kMostItems = 1'000;
constexpr std::size_t kShownBytes = 64;

using Names = std::span<const std::string_view>;

// Reads one document. The first fault is kept; everything after it is skipped.
class Reader {
public:
    bool ok() const noexcept { return !error_.has_value(); }
    Error take_error() { return std::move(*error_); }

    void fault(const std::string& path, std::string_view reason, const std::string& message) {
        if (error_) return;
        error_ = Error(ErrorCode::config_error,
                       fmt::format("The policy at '{}': {}", path.empty() ? "/" : path, message),
                       {{"reason", reason}, {"path", path}});
    }

    /// Calls `read(name, value, path)` for each member; one that is not known is a fault.
    template <class Read>
    void members(const Value& value, const std::string& path, Names known, const Read& read) {
        if (!ok()) return;
        const Object* object = value.if_object();
        if (object == nullptr) return fault(path, "wrong_type", "an object is expected here.");
        for (const auto& one : *object) {
            if (!ok()) return;
            const std::string_view name = one.key();
            std::string here = path;
            json::append_token(here, name.substr(0, kShownBytes));
            if (std::ranges::find(known, name) == known.end()) return unknown(here, name, known);
            read(name, one.value(), here);
        }
    }

    template <class Read>
    void items(const Value& value, const std::string& path, const Read& read) {
        if (!ok()) return;
        const Array* array = value.if_array();
        if (array == nullptr) return fault(path, "wrong_type", "a list is expected here.");
        if (array->size() > kMostItems) {
            return fault(path, "too_many",
                         fmt::format("the list has {} items; {} are allowed.", array->size(), kMostItems));
        }
        for (std::size_t i = 0; i < array->size() && ok(); ++i) {
            std::string here = path;
            json::append_index(here, i);
            read((*array)[i], here);
        }
    }

    void text(const Value& value, const std::string& path, std::string& to) {
        if (!ok()) return;
        if (!value.is_string()) return fault(path, "wrong_type", "a text is expected here.");
        to = value.get_string();
    }

    void texts(const Value& value, const std::string& path, std::vector<std::string>& to) {
        to.clear();
        items(value, path,
              [&](const Value& one, const std::string& here) { text(one, here, to.emplace_back()); });
    }

    template <class Number>
    void number(const Value& value, const std::string& path, Number& to,
                std::uint64_t most = std::numeric_limits<Number>::max()) {
        if (!ok()) return;
        std::uint64_t read = 0;
        if (value.is_int64() && value.get_int64() >= 0) {
            read = static_cast<std::uint64_t>(value.get_int64());
        } else if (value.is_uint64()) {
            read = value.get_uint64();
        } else {
            return fault(path, "wrong_type", "a whole number, 0 or more, is expected here.");
        }
        if (read > most)
            return fault(path, "too_large",
                         fmt::format("{} is too large; at most {} is possible.", read, most));
        to = static_cast<Number>(read);
    }

    void flag(const Value& value, const std::string& path, bool& to) {
        if (!ok()) return;
        if (!value.is_bool()) return fault(path, "wrong_type", "true or false is expected here.");
        to = value.get_bool();
    }

    void duration(const Value& value, const std::string& path, std::chrono::milliseconds& to) {
        constexpr std::uint64_t kYear = 365ULL * 24 * 3600 * 1000;
        std::uint64_t milliseconds = 0;
        number(value, path, milliseconds, kYear);
        if (ok()) to = std::chrono::milliseconds(milliseconds);
    }

    /// A word out of a list; `to` gets its place in it.
    void word(const Value& value, const std::string& path, Names words, std::size_t& to) {
        std::string given;
        text(value, path, given);
        if (!ok()) return;
        const auto found = std::ranges::find(words, given);
        if (found == words.end()) {
            std::string all;
            for (const std::string_view one : words) all += fmt::format("{}{}", all.empty() ? "" : ", ", one);
            return fault(
                path, "unknown_word",
                fmt::format("'{}' is not possible; give one of {}.", given.substr(0, kShownBytes), all));
        }
        to = static_cast<std::size_t>(found - words.begin());
    }

    template <class Enum>
    void one_of(const Value& value, const std::string& path, Names words, Enum& to) {
        std::size_t place = 0;
        word(value, path, words, place);
        if (ok()) to = static_cast<Enum>(place);
    }

    void not_empty(bool empty, const std::string& path) {
        if (empty) fault(path, "empty_list", "the list is empty; leave it out, and everything matches.");
    }

private:
    void unknown(const std::string& path, std::string_view name, Names known) {
        const auto near = schema::nearest_name(name, known);
        fault(path, "unknown_member",
              fmt::format("'{}' is not known here{}", name.substr(0, kShownBytes),
                          near ? fmt::format("; did you mean '{}'?", *near) : std::string(".")));
    }

    std::optional<Error> error_;
};

constexpr std::array<std::string_view, 5> kDecisions{"allow", "preview", "confirm", "deny", "raise_risk"};
constexpr std::array<std::string_view, 4> kGates{"allow", "preview", "confirm", "deny"};

void read_time(Reader& reader, const Value& value, const std::string& path, std::chrono::minutes& to) {
    std::string text;
    reader.text(value, path, text);
    if (!reader.ok()) return;
    const auto digit = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '9'; };
    const auto two = [&](std::size_t at) { return (text[at] - '0') * 10 + (text[at + 1] - '0'); };
    if (text.size() == 5 && text[2] == ':' && digit(0) && digit(1) && digit(3) && digit(4)) {
        const int minutes = two(0) * 60 + two(3);
        if (two(3) < 60 && minutes <= 24 * 60) {
            to = std::chrono::minutes(minutes);
            return;
        }
    }
    reader.fault(
        path, "bad_time",
        fmt::format("'{}' is no time of day; write it like \"22:00\".", text.substr(0, kShownBytes)));
}

void read_window(Reader& reader, const Value& value, const std::string& path, TimeWindow& to) {
    static constexpr std::array<std::string_view, 4> kKnown{"from", "until", "zone", "weekdays"};
    const auto weekday = [&](const Value& day, const std::string& at) {
        reader.number(day, at, to.weekdays.emplace_back(), 7);
    };
    bool from = false;
    bool until = false;
    const auto member = [&](std::string_view name, const Value& one, const std::string& here) {
        if (name == "from") {
            from = true;
            read_time(reader, one, here, to.from);
        } else if (name == "until") {
            until = true;
            read_time(reader, one, here, to.until);
        } else if (name == "zone") {
            reader.text(one, here, to.zone);
        } else {
            reader.items(one, here, weekday);
            reader.not_empty(to.weekdays.empty(), here);
        }
    };
    reader.members(value, path, kKnown, member);
    if (!from || !until) reader.fault(path, "missing_member", "a window needs 'from' and 'until'.");
}

void read_limits_of(Reader& reader, const Value& value, const std::string& path, UseLimits& to) {
    static constexpr std::array<std::string_view, 5> kKnown{"concurrent", "queue", "calls", "window_ms",
                                                            "per_run"};
    const auto member = [&](std::string_view name, const Value& one, const std::string& here) {
        if (name == "concurrent") {
            reader.number(one, here, to.concurrent);
        } else if (name == "queue") {
            reader.flag(one, here, to.queue);
        } else if (name == "calls") {
            reader.number(one, here, to.calls);
        } else if (name == "window_ms") {
            reader.duration(one, here, to.window);
        } else {
            reader.number(one, here, to.per_run);
        }
    };
    reader.members(value, path, kKnown, member);
}

void read_limits(Reader& reader, const Value& value, const std::string& path, PolicyLimits& to) {
    static constexpr std::array<std::string_view, 4> kKnown{"per_tool", "per_principal", "per_run",
                                                            "loop_repeats"};
    const auto member = [&](std::string_view name, const Value& one, const std::string& here) {
        if (name == "per_tool") {
            read_limits_of(reader, one, here, to.per_tool);
        } else if (name == "per_principal") {
            read_limits_of(reader, one, here, to.per_principal);
        } else if (name == "per_run") {
            read_limits_of(reader, one, here, to.per_run);
        } else {
            reader.number(one, here, to.loop_repeats);
        }
    };
    reader.members(value, path, kKnown, member);
}

// An empty list would match everything, which nobody means who writes one.
void read_condition(Reader& reader, const Value& value, const std::string& path,
                    std::vector<std::string>& to) {
    reader.texts(value, path, to);
    reader.not_empty(to.empty(), path);
}

void read_effects(Reader& reader, const Value& value, const std::string& path, std::vector<EffectClass>& to) {
    reader.items(value, path, [&](const Value& effect, const std::string& at) {
        reader.one_of(effect, at, kEffectWords, to.emplace_back());
    });
    reader.not_empty(to.empty(), path);
}

void read_rule(Reader& reader, const Value& value, const std::string& path, Rule& to) {
    static constexpr std::array<std::string_view, 14> kKnown{
        "id",         "decision",  "reason",        "tools",        "actions",
        "principals", "tenants",   "risk_at_least", "risk_at_most", "effects",
        "when",       "arguments", "approvals",     "raise_to"};
    const auto member = [&](std::string_view name, const Value& one, const std::string& here) {
        const auto risk = [&](std::optional<Risk>& level) {
            reader.one_of(one, here, kRiskWords, level.emplace());
        };
        if (name == "id") return reader.text(one, here, to.id);
        if (name == "decision") return reader.one_of(one, here, kDecisions, to.decision);
        if (name == "reason") return reader.text(one, here, to.reason);
        if (name == "tools") return read_condition(reader, one, here, to.tools);
        if (name == "actions") return read_condition(reader, one, here, to.actions);
        if (name == "principals") return read_condition(reader, one, here, to.principals);
        if (name == "tenants") return read_condition(reader, one, here, to.tenants);
        if (name == "risk_at_least") return risk(to.risk_at_least);
        if (name == "risk_at_most") return risk(to.risk_at_most);
        if (name == "effects") return read_effects(reader, one, here, to.effects);
        if (name == "when") return read_window(reader, one, here, to.when.emplace());
        if (name == "arguments") {
            to.arguments = one;
            if (one.is_object() || one.is_bool()) return;
            return reader.fault(here, "wrong_type",
                                "a JSON Schema is expected here: an object, true or false.");
        }
        if (name == "approvals") return reader.number(one, here, to.approvals);
        return risk(to.raise_to);
    };
    reader.members(value, path, kKnown, member);
    if (reader.ok() && !value.get_object().contains("decision")) {
        reader.fault(path, "missing_member",
                     "a rule needs a 'decision': allow, preview, confirm, deny or raise_risk.");
    }
}

void read_matrix(Reader& reader, const Value& value, const std::string& path, PolicyConfig& to) {
    const auto row = [&](std::string_view level, const Value& gates, const std::string& at) {
        auto& cells = to.matrix[static_cast<std::size_t>(level[1] - '0')];
        const auto cell = [&](std::string_view risk, const Value& gate, const std::string& here) {
            const auto column =
                static_cast<std::size_t>(std::ranges::find(kRiskWords, risk) - kRiskWords.begin());
            reader.one_of(gate, here, kGates, cells[column]);
        };
        reader.members(gates, at, kRiskWords, cell);
    };
    reader.members(value, path, kAutonomyWords, row);
}

}  // namespace

Result<PolicyConfig> policy_from_json(const Value& document) {
    static constexpr std::array<std::string_view, 10> kKnown{"rules",
                                                             "limits",
                                                             "quiet_hours",
                                                             "secret_scopes",
                                                             "destructive_actions",
                                                             "blast_radius_above",
                                                             "antiflap_ms",
                                                             "notifications_per_hour",
                                                             "approval_ttl_ms",
                                                             "matrix"};
    PolicyConfig config;
    Reader reader;
    const auto rule = [&](const Value& one, const std::string& at) {
        read_rule(reader, one, at, config.rules.emplace_back());
    };
    const auto window = [&](const Value& one, const std::string& at) {
        read_window(reader, one, at, config.quiet_hours.emplace_back());
    };
    const auto member = [&](std::string_view name, const Value& one, const std::string& here) {
        if (name == "rules") return reader.items(one, here, rule);
        if (name == "limits") return read_limits(reader, one, here, config.limits);
        if (name == "quiet_hours") return reader.items(one, here, window);
        if (name == "secret_scopes") return reader.texts(one, here, config.secret_scopes);
        if (name == "destructive_actions") return reader.texts(one, here, config.destructive_actions);
        if (name == "blast_radius_above") return reader.number(one, here, config.blast_radius_above);
        if (name == "antiflap_ms") return reader.duration(one, here, config.antiflap);
        if (name == "notifications_per_hour") return reader.number(one, here, config.notifications_per_hour);
        if (name == "approval_ttl_ms") return reader.duration(one, here, config.approval_ttl);
        return read_matrix(reader, one, here, config);
    };
    reader.members(document, "", kKnown, member);
    if (!reader.ok()) return tl::unexpected(reader.take_error());
    return config;
}

}  // namespace callgate
