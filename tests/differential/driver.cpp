// The engine's side of the differential run: schemas and instances in, verdicts out, one JSON line each.
//
// Request:  {"schema": …, "dialect": "2020-12", "format": false, "instances": ["<JSON text>", …]}
// Answer:   {"compiled": true, "valid": [true, false, null, …], "failures": ["…"]}, null for over budget; or
//           {"compiled": false, "error": "…", "reason": "…"}.
// Every instance is judged three ways: as a value, as text, and with an explanation. Where they contradict
// each other, `failures` says so; no verdict of ajv can excuse that.
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include <callgate/json.h>
#include <callgate/schema.h>

namespace {

using callgate::Array;
using callgate::Object;
using callgate::Result;
using callgate::Value;
using callgate::schema::Verdict;
namespace json = callgate::json;
namespace schema = callgate::schema;

constexpr std::size_t kMaxLineBytes = 64u << 20;
constexpr std::size_t kMaxLineNodes = 10'000'000;
constexpr std::size_t kMaxLineDepth = 256;

std::string_view name(Verdict verdict) {
    switch (verdict) {
        case Verdict::valid: return "valid";
        case Verdict::invalid: return "invalid";
        case Verdict::over_budget: return "over budget";
    }
    return "unknown";
}

std::optional<schema::Dialect> dialect_by_name(std::string_view text) {
    if (text == "2020-12") return schema::Dialect::draft2020_12;
    if (text == "2019-09") return schema::Dialect::draft2019_09;
    if (text == "draft7") return schema::Dialect::draft7;
    return std::nullopt;
}

class Judge {
public:
    explicit Judge(const schema::Schema& schema) : schema_(schema) {}

    /// The verdict on one text, as true, false or null. Contradictions go to `failures`.
    Value judge(std::string_view text, Array& failures) {
        Result<Value> instance = json::parse(text);
        if (!instance) {
            failures.push_back(describe(text, "does not parse: " + instance.error().message));
            return nullptr;
        }
        const Verdict verdict = schema_.check(*instance, scratch_);
        check_again(text, *instance, verdict, failures);
        explain(text, *instance, verdict, failures);
        if (verdict == Verdict::over_budget) return nullptr;
        return verdict == Verdict::valid;
    }

private:
    void check_again(std::string_view text, const Value& instance, Verdict verdict, Array& failures) {
        const Result<Verdict> from_text = schema_.check_text(text, scratch_);
        if (!from_text) {
            failures.push_back(describe(text, "check_text refuses it: " + from_text.error().message));
        } else if (*from_text != verdict) {
            failures.push_back(describe(text, "check says " + std::string(name(verdict)) +
                                                  ", check_text says " + std::string(name(*from_text))));
        }
        // The scratch memory is warm now; what it holds must not matter.
        const Verdict again = schema_.check(instance, scratch_);
        if (again != verdict) {
            failures.push_back(describe(
                text, "check says " + std::string(name(verdict)) + ", then " + std::string(name(again))));
        }
    }

    void explain(std::string_view text, const Value& instance, Verdict verdict, Array& failures) {
        const schema::Explanation explanation = schema_.explain(instance);
        if (explanation.verdict != verdict) {
            failures.push_back(describe(text, "check says " + std::string(name(verdict)) + ", explain says " +
                                                  std::string(name(explanation.verdict))));
        }
        if (explanation.violations.empty() != (explanation.verdict != Verdict::invalid)) {
            failures.push_back(describe(text, "explain says " + std::string(name(explanation.verdict)) +
                                                  " with " + std::to_string(explanation.violations.size()) +
                                                  " violations"));
        }
        for (const schema::Violation& violation : explanation.violations) {
            if (violation.message.empty() || violation.keyword.empty()) {
                failures.push_back(describe(
                    text, "a violation at '" + violation.schema_path + "' lacks its keyword or message"));
            }
        }
    }

    static Value describe(std::string_view text, const std::string& what) {
        return Value(boost::json::string("instance " + std::string(text) + ": " + what));
    }

    const schema::Schema& schema_;
    schema::Scratch scratch_;
};

Object refusal(const callgate::Error& error) {
    Object answer{{"compiled", false}, {"error", error.message}};
    if (const Value* reason = error.details.if_contains("reason")) answer["reason"] = *reason;
    return answer;
}

/// nullopt when the request is not one.
std::optional<Object> answer(const Value& request) {
    const Object* members = request.if_object();
    if (members == nullptr) return std::nullopt;
    const Value* document = members->if_contains("schema");
    const Value* dialect = members->if_contains("dialect");
    const Value* format = members->if_contains("format");
    const Value* instances = members->if_contains("instances");
    if (document == nullptr || dialect == nullptr || !dialect->is_string() || format == nullptr ||
        !format->is_bool() || instances == nullptr || !instances->is_array()) {
        return std::nullopt;
    }
    const auto known = dialect_by_name(dialect->get_string());
    if (!known) return std::nullopt;

    schema::CompileOptions options;
    options.default_dialect = *known;
    options.assert_format = format->get_bool();
    const Result<schema::Schema> compiled = schema::Schema::compile(*document, options);
    if (!compiled) return refusal(compiled.error());

    Judge judge(*compiled);
    Array verdicts;
    Array failures;
    for (const Value& text : instances->get_array()) {
        if (!text.is_string()) return std::nullopt;
        verdicts.push_back(judge.judge(text.get_string(), failures));
    }
    return Object{{"compiled", true}, {"valid", std::move(verdicts)}, {"failures", std::move(failures)}};
}

}  // namespace

int main() {
    std::ios::sync_with_stdio(false);
    const json::ParseLimits limits(kMaxLineBytes, kMaxLineDepth, kMaxLineNodes);
    std::string line;
    while (std::getline(std::cin, line)) {
        const Result<Value> request = json::parse(line, limits);
        if (!request) {
            std::cerr << "differential_driver: " << request.error().message << '\n';
            return 2;
        }
        const std::optional<Object> reply = answer(*request);
        if (!reply) {
            std::cerr << "differential_driver: the line is no request: " << line.substr(0, 200) << '\n';
            return 2;
        }
        std::cout << json::write(Value(*reply)) << '\n' << std::flush;
    }
    return 0;
}
