#include "policy_faults.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <callgate/policy.h>
#include <callgate/runtime.h>
#include <callgate/schema.h>

#include "json/pointer.h"

namespace callgate::cli {

namespace {

constexpr std::size_t kMostRulesLookedAt = 1'000;

const Value* member(const Value& value, std::string_view name) {
    const Object* object = value.if_object();
    return object == nullptr ? nullptr : object->if_contains(name);
}

// "Rule 'x': …", "Quiet hours: …": the path says that already.
std::string without_place(std::string message) {
    constexpr std::string_view kQuiet = "Quiet hours: ";
    if (message.starts_with("Rule '") || message.starts_with("The policy at '")) {
        if (const std::size_t end = message.find("': "); end != std::string::npos) message.erase(0, end + 3);
    } else if (message.starts_with(kQuiet)) {
        message.erase(0, kQuiet.size());
    }
    return message;
}

class Faults {
public:
    explicit Faults(const Value& document) : document_(document) {}

    Array take() {
        look_with_schema();
        look_at_rules();
        look_at_windows();
        look_at_the_rest();
        return std::move(faults_);
    }

private:
    void add(std::string_view path, std::string_view message) {
        faults_.push_back({{"path", path.empty() ? "/" : path}, {"message", message}});
    }

    bool known_in(std::string_view path) const {
        return std::ranges::any_of(faults_, [&](const Value& one) {
            const std::string_view there = one.at("path").get_string();
            return there == path || (there.starts_with(path) && there[path.size()] == '/');
        });
    }

    void look_with_schema() {
        static const auto schema = schema::Schema::compile(policy_schema());
        if (!schema) return;
        for (const schema::Violation& one : schema->explain(document_).violations)
            add(one.instance_path, one.message);
    }

    // A policy of only this part.
    void look_alone(const std::string& path, Object part) {
        if (known_in(path)) return;
        const auto config = policy_from_json(Value(std::move(part)));
        if (!config) return add(path, without_place(config.error().message));
        if (const auto set = scratch_.policy().set(*config); !set)
            add(path, without_place(set.error().message));
    }

    void look_at_rules() {
        const Value* rules = member(document_, "rules");
        if (rules == nullptr || !rules->is_array()) return;
        std::map<std::string, std::size_t, std::less<>> ids;
        for (std::size_t i = 0; i < std::min(rules->get_array().size(), kMostRulesLookedAt); ++i) {
            const std::string path = fmt::format("/rules/{}", i);
            const Object* rule = rules->get_array()[i].if_object();
            if (rule == nullptr) continue;
            if (const Value* id = rule->if_contains("id"); id != nullptr && id->is_string()) {
                const auto [first, is_new] = ids.emplace(std::string(id->get_string()), i);
                if (!is_new)
                    add(path + "/id",
                        fmt::format("Rule {} has this id already; every rule needs its own.", first->second));
            }
            look_at_rule(path, *rule);
        }
    }

    void look_at_rule(const std::string& path, const Object& rule) {
        for (const auto& one : rule) {
            const std::string_view name = one.key();
            if (name == "id" || name == "decision") continue;
            std::string here = path;
            json::append_token(here, name);
            Object alone{{"decision", name == "raise_to" ? "raise_risk" : "confirm"}};
            alone[name] = one.value();
            look_alone(here, {{"rules", Array{Value(std::move(alone))}}});
        }
        Object whole = rule;
        whole.erase("id");
        look_alone(path, {{"rules", Array{Value(std::move(whole))}}});
    }

    void look_at_windows() {
        const Value* windows = member(document_, "quiet_hours");
        if (windows == nullptr || !windows->is_array()) return;
        for (std::size_t i = 0; i < std::min(windows->get_array().size(), kMostRulesLookedAt); ++i)
            look_alone(fmt::format("/quiet_hours/{}", i), {{"quiet_hours", Array{windows->get_array()[i]}}});
    }

    void look_at_the_rest() {
        const Object* all = document_.if_object();
        if (all == nullptr) return;
        for (const auto& one : *all) {
            const std::string_view name = one.key();
            if (name == "rules" || name == "quiet_hours") continue;
            std::string here;
            json::append_token(here, name);
            Object alone;
            alone[name] = one.value();
            look_alone(here, std::move(alone));
        }
    }

    const Value& document_;
    Runtime scratch_;
    Array faults_;
};

}  // namespace

Array faults_of_policy(const Value& document) {
    return Faults(document).take();
}

}  // namespace callgate::cli
