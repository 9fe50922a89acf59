// Our side of the schema benchmark: loads a case, measures a slice when asked, one JSON line per request.
//
// {"op": "load", "name": …, "schema": …, "valid": ["<JSON text>", …], "invalid": [ … ]}
//     → {"verdicts": [[true, …], [false, …]]}, by check() and, being the same, by check_text()
// {"op": "measure", "case": NAME, "what": WHAT, "set": "all|valid|invalid", "ms": 50}, where WHAT is
//     "value", "text", "parse", "validate" or "compile"
//     → {"ns": nanoseconds per text, or per compilation}
// An unusable request ends the program with a sentence on standard error.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <callgate/json.h>
#include <callgate/schema.h>

namespace {

using callgate::Array;
using callgate::Object;
using callgate::Result;
using callgate::Value;
using callgate::schema::Schema;
using callgate::schema::Scratch;
using callgate::schema::Verdict;
namespace json = callgate::json;
using Clock = std::chrono::steady_clock;

[[noreturn]] void die(std::string_view message) {
    std::cerr << "schema_bench: " << message << '\n';
    std::exit(2);
}

const Value& member(const Object& object, std::string_view key) {
    const Value* found = object.if_contains(key);
    if (found == nullptr) die("the request lacks \"" + std::string(key) + "\"");
    return *found;
}

std::string_view text_of(const Value& value) {
    if (!value.is_string()) die("a request member is not a string");
    return value.get_string();
}

std::vector<std::string> texts_of(const Value& value) {
    if (!value.is_array()) die("a request member is not an array");
    std::vector<std::string> texts;
    for (const Value& text : value.get_array()) texts.emplace_back(text_of(text));
    return texts;
}

class Case {
public:
    Case(Value document, std::vector<std::string> valid, std::vector<std::string> invalid)
        : document_(std::move(document)),
          schema_(compile()),
          valid_(std::move(valid)),
          invalid_(std::move(invalid)) {
        all_ = valid_;
        all_.insert(all_.end(), invalid_.begin(), invalid_.end());
        for (const std::string& text : all_) values_.push_back(parsed(text));
    }

    Value verdicts() {
        Array sets;
        for (const auto* texts : {&valid_, &invalid_}) {
            Array verdicts;
            for (const std::string& text : *texts) verdicts.emplace_back(verdict(text));
            sets.emplace_back(std::move(verdicts));
        }
        return sets;
    }

    /// Nanoseconds per text (or compilation), over a slice of time.
    double measure(std::string_view what, std::string_view set, std::chrono::nanoseconds slice) {
        const std::vector<std::string>& texts = set == "valid" ? valid_ : set == "invalid" ? invalid_ : all_;
        if (what == "value") return run(slice, texts.size(), [&] { return by_value(texts); });
        if (what == "text") return run(slice, texts.size(), [&] { return by_text(texts); });
        if (what == "parse") return run(slice, texts.size(), [&] { return parse_only(texts); });
        if (what == "validate") return run(slice, values_.size(), [&] { return validate_only(); });
        if (what == "compile")
            return run(slice, 1, [&] { return static_cast<std::size_t>(compile().dialect()); });
        die("unknown \"what\": " + std::string(what));
    }

private:
    Schema compile() const {
        Result<Schema> schema = Schema::compile(document_);
        if (!schema) die("the schema does not compile: " + schema.error().message);
        return *std::move(schema);
    }

    static Value parsed(std::string_view text) {
        Result<Value> value = json::parse(text);
        if (!value) die("a text does not parse: " + value.error().message);
        return *std::move(value);
    }

    bool verdict(const std::string& text) {
        const Verdict by_value = schema_.check(parsed(text), scratch_);
        const Result<Verdict> by_text = schema_.check_text(text, scratch_);
        if (!by_text || *by_text != by_value) die("check and check_text disagree on " + text.substr(0, 200));
        return by_value == Verdict::valid;
    }

    std::size_t by_value(const std::vector<std::string>& texts) {
        std::size_t valid = 0;
        for (const std::string& text : texts) {
            {
                const auto accepted = schema_.accept(text, scratch_, limits_, &arena_);
                if (accepted && accepted->verdict == Verdict::valid && accepted->value.is_object()) ++valid;
            }
            arena_.reset();
        }
        return valid;
    }

    std::size_t by_text(const std::vector<std::string>& texts) {
        std::size_t valid = 0;
        for (const std::string& text : texts) {
            const Result<Verdict> verdict = schema_.check_text(text, scratch_, limits_);
            if (verdict && *verdict == Verdict::valid) ++valid;
        }
        return valid;
    }

    std::size_t parse_only(const std::vector<std::string>& texts) {
        std::size_t objects = 0;
        for (const std::string& text : texts) {
            {
                const Result<Value> value = json::parse(text, limits_, &arena_);
                if (value && value->is_object()) ++objects;
            }
            arena_.reset();
        }
        return objects;
    }

    std::size_t validate_only() {
        std::size_t valid = 0;
        for (const Value& value : values_) {
            if (schema_.check(value, scratch_) == Verdict::valid) ++valid;
        }
        return valid;
    }

    // Calls `pass` until the slice is over; looks at the clock about every 100 µs.
    template <class Pass>
    double run(std::chrono::nanoseconds slice, std::size_t per_pass, Pass pass) {
        const Clock::time_point start = Clock::now();
        const Clock::time_point end = start + slice;
        std::uint64_t passes = 0;
        std::uint64_t batch = 1;
        Clock::time_point now = start;
        while (now < end) {
            for (std::uint64_t i = 0; i < batch; ++i) sink_ = sink_ + pass();
            passes += batch;
            const Clock::time_point before = std::exchange(now, Clock::now());
            if (now - before < std::chrono::microseconds(100)) batch *= 2;
        }
        const double ns = std::chrono::duration<double, std::nano>(now - start).count();
        return ns / (static_cast<double>(passes) * static_cast<double>(per_pass));
    }

    Value document_;
    Schema schema_;
    std::vector<std::string> valid_;
    std::vector<std::string> invalid_;
    std::vector<std::string> all_;
    std::vector<Value> values_;
    json::ParseLimits limits_;
    json::Arena arena_;
    Scratch scratch_;
    volatile std::size_t sink_ = 0;  // keeps the verdicts from being optimised away
};

class Bench {
public:
    Object answer(const Object& request) {
        const std::string_view op = text_of(member(request, "op"));
        if (op == "load") return load(request);
        if (op == "measure") return measure(request);
        die("unknown \"op\": " + std::string(op));
    }

private:
    Object load(const Object& request) {
        auto loaded = std::make_unique<Case>(member(request, "schema"), texts_of(member(request, "valid")),
                                             texts_of(member(request, "invalid")));
        Value verdicts = loaded->verdicts();
        cases_[std::string(text_of(member(request, "name")))] = std::move(loaded);
        return Object{{"verdicts", std::move(verdicts)}};
    }

    Object measure(const Object& request) {
        const auto found = cases_.find(std::string(text_of(member(request, "case"))));
        if (found == cases_.end()) die("the case was not loaded");
        const Value& ms = member(request, "ms");
        if (!ms.is_int64()) die("\"ms\" is not a whole number");
        const auto slice = std::chrono::milliseconds(ms.get_int64());
        return Object{{"ns", found->second->measure(text_of(member(request, "what")),
                                                    text_of(member(request, "set")), slice)}};
    }

    std::map<std::string, std::unique_ptr<Case>> cases_;
};

}  // namespace

int main() {
    const json::ParseLimits limits(64u << 20, 256, 10'000'000);
    Bench bench;
    std::string line;
    while (std::getline(std::cin, line)) {
        const Result<Value> request = json::parse(line, limits);
        if (!request) die(request.error().message);
        if (!request->is_object()) die("a request is an object");
        std::cout << json::write(Value(bench.answer(request->get_object()))) << '\n' << std::flush;
    }
    return 0;
}
