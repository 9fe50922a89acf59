// A tool from a C++ function, and calls of it: checked, decided about and on the record before it runs.
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <callgate/callgate.h>

namespace cg = callgate;

// The parameters of a tool as a struct; its members give the schema.
struct Purchase {
    std::string item;
    int count = 1;
    std::vector<std::string> notes;
};
BOOST_DESCRIBE_STRUCT(Purchase, (), (item, count, notes))

int main() {
    cg::Runtime runtime;
    runtime.tools().add_or_throw(
        cg::tool(
            "add", "Add two numbers", [](int a, int b) { return a + b; }, cg::param("a"), cg::param("b"))
            .risk(cg::Risk::low)
            .effect(cg::EffectClass::read));
    const cg::Outcome sum = runtime.call("add", {{"a", 5}, {"b", 3}});
    std::cout << sum.text() << '\n';

    runtime.tools().add_or_throw(cg::tool("order", "Order something",
                                          [](const Purchase& purchase) {
                                              return "ordered " + std::to_string(purchase.count) + " × " +
                                                     purchase.item;
                                          })
                                     .risk(cg::Risk::low)
                                     .effect(cg::EffectClass::unsafe));
    std::cout << runtime.tools().get("order")->definition.compact() << '\n';

    // As a model sends it: text that may be anything. Nothing throws; the outcome says what happened.
    for (const char* sent : {R"({"name": "order", "arguments": {"item": "tea", "count": 2, "notes": []}})",
                             R"({"name": "order", "arguments": {"item": "tea", "count": "2", "notes": []}})",
                             R"({"name": "order", "arguments": {"item": "tea", "cuont": 2}})",
                             R"({"name": "odrer", "arguments": {}})", R"({"name": )"}) {
        const cg::Outcome outcome = runtime.call_json(sent);
        std::cout << to_string(outcome.state()) << ": "
                  << (outcome.ok() ? outcome.text() : outcome.error()->message) << '\n';
    }

    // An exception in a tool is a failed call, and a model learns what to do next.
    runtime.tools().add_or_throw(
        cg::tool(
            "divide", "", [](int a, int b) { return b != 0 ? a / b : throw std::domain_error("b is 0"); },
            cg::param("a"), cg::param("b"))
            .read_only());
    const cg::Outcome broken = runtime.call("divide", {{"a", 1}, {"b", 0}});
    std::cout << to_string(broken.state()) << ": " << cg::views::model_text(broken) << '\n';
    return sum.ok() && !broken.ok() ? 0 : 1;
}
