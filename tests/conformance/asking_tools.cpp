// Tools that ask their caller: one question or several, at once or in turn. The same tools serve both eras;
// in the older one a question is a request, in the newer one an answer.
#include <future>
#include <memory>
#include <vector>

#include "fixtures.h"

namespace conformance {
namespace {

using Answer = cg::Result<cg::InputAnswer>;
using Say = std::function<cg::ToolReturn(const cg::InputAnswer&)>;

cg::ToolReturn failed(const Answer& answer) {
    return tl::unexpected(cg::ToolFailure(answer.error()));
}

std::string_view word(cg::InputAnswer::What what) {
    switch (what) {
        case cg::InputAnswer::What::accept: return "accept";
        case cg::InputAnswer::What::decline: return "decline";
        case cg::InputAnswer::What::cancel: return "cancel";
    }
    return {};
}

std::string told(std::string before, const cg::InputAnswer& answer) {
    return std::move(before) + ": action=" + std::string(word(answer.what)) +
           ", content=" + cg::json::write(answer.content);
}

// A member of an accepted form; "" where there is none.
std::string field(const cg::InputAnswer& answer, std::string_view name) {
    const cg::Object* content = answer.content.if_object();
    const cg::Value* value = content == nullptr ? nullptr : content->if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

// The text of the message that a client's model wrote.
std::string model_text(const cg::InputAnswer& answer) {
    boost::system::error_code missing;
    const cg::Value* said = answer.content.find_pointer("/content/text", missing);
    return said != nullptr && said->is_string() ? std::string(said->get_string())
                                                : cg::json::write(answer.content);
}

// A tool without arguments that asks this, and says something about the answer.
cg::Tool asks(std::string name, std::string description, cg::InputRequest question, Say say) {
    return fixture(std::move(name), std::move(description), object_schema(),
                   [question = std::move(question), say = std::move(say)](
                       const cg::Object&, cg::CallContext& context) -> cg::ToolReturn {
                       const Answer answer = context.ask(question);
                       return answer ? say(*answer) : failed(answer);
                   });
}

// Puts all questions to the client together; the answers, in their order.
std::vector<Answer> ask_together(cg::CallContext& context, std::vector<cg::InputRequest> questions) {
    std::vector<std::future<Answer>> waiting;
    for (std::size_t i = 0; i < questions.size(); ++i) {
        const auto promise = std::make_shared<std::promise<Answer>>();
        waiting.push_back(promise->get_future());
        cg::InputRequest question = std::move(questions[i]);
        if (i + 1 < questions.size()) question = std::move(question).with_more();
        context.ask(std::move(question), [promise](Answer answer) { promise->set_value(std::move(answer)); });
    }
    std::vector<Answer> answers;
    for (auto& one : waiting) {
        answers.push_back(one.get());
    }
    return answers;
}

cg::InputRequest form(std::string message, cg::Object properties) {
    return cg::InputRequest::form(std::move(message), object_schema(std::move(properties), true));
}

cg::InputRequest ask_name() {
    return form("What is your name?", {{"name", string_schema()}}).named("user_name");
}

cg::InputRequest ask_confirm() {
    return form("Please confirm", {{"ok", cg::Object{{"type", "boolean"}}}}).named("confirm");
}

Say says_answer() {
    return [](const cg::InputAnswer& answer) { return text(told("Elicitation completed", answer)); };
}

cg::Value defaults_schema() {
    return object_schema({{"name", cg::Object{{"type", "string"}, {"default", "John Doe"}}},
                          {"age", cg::Object{{"type", "integer"}, {"default", 30}}},
                          {"score", cg::Object{{"type", "number"}, {"default", 95.5}}},
                          {"status", cg::Object{{"type", "string"},
                                                {"enum", cg::Array{"active", "inactive", "pending"}},
                                                {"default", "active"}}},
                          {"verified", cg::Object{{"type", "boolean"}, {"default", true}}}});
}

// [{"const": "value1", "title": "First WHAT"}, …]
cg::Array titled(std::string_view what) {
    cg::Array all;
    for (const std::string_view number : {"First ", "Second ", "Third "}) {
        all.emplace_back(cg::Object{{"const", "value" + std::to_string(all.size() + 1)},
                                    {"title", std::string(number) + std::string(what)}});
    }
    return all;
}

cg::Value enums_schema() {
    const cg::Array options{"option1", "option2", "option3"};
    return object_schema(
        {{"untitledSingle", cg::Object{{"type", "string"}, {"enum", options}}},
         {"titledSingle", cg::Object{{"type", "string"}, {"oneOf", titled("Option")}}},
         {"legacyEnum", cg::Object{{"type", "string"},
                                   {"enum", cg::Array{"opt1", "opt2", "opt3"}},
                                   {"enumNames", cg::Array{"Option One", "Option Two", "Option Three"}}}},
         {"untitledMulti",
          cg::Object{{"type", "array"}, {"items", cg::Object{{"type", "string"}, {"enum", options}}}}},
         {"titledMulti", cg::Object{{"type", "array"}, {"items", cg::Object{{"anyOf", titled("Choice")}}}}}});
}

cg::Tool sampling_tool() {
    return fixture("test_sampling", "Lets the client's model answer a prompt",
                   object_schema({{"prompt", string_schema()}}, true),
                   [](const cg::Object& arguments, cg::CallContext& context) -> cg::ToolReturn {
                       const Answer answer = context.ask(sampling(arguments.at("prompt").as_string(), 100));
                       return answer ? text("LLM response: " + model_text(*answer)) : failed(answer);
                   });
}

cg::Tool elicitation_tool() {
    return fixture("test_elicitation", "Asks the person for a name and an address",
                   object_schema({{"message", string_schema()}}, true),
                   [](const cg::Object& arguments, cg::CallContext& context) -> cg::ToolReturn {
                       cg::Object user = string_schema();
                       user["description"] = "The person's name";
                       cg::Object mail = string_schema();
                       mail["description"] = "The person's address";
                       const Answer answer =
                           context.ask(form(std::string(arguments.at("message").as_string()),
                                            {{"username", user}, {"email", mail}}));
                       return answer ? text(told("User response", *answer)) : failed(answer);
                   });
}

cg::Tool multiple_inputs() {
    return fixture("test_input_required_result_multiple_inputs", "Asks three questions at once",
                   object_schema(), [](const cg::Object&, cg::CallContext& context) -> cg::ToolReturn {
                       const auto answers = ask_together(
                           context, {ask_name(), sampling("Generate a greeting", 50).named("greeting"),
                                     cg::InputRequest::roots().named("client_roots")});
                       for (const Answer& one : answers) {
                           if (!one) return failed(one);
                       }
                       return text(model_text(*answers[1]) + " " + field(*answers[0], "name") + ", of " +
                                   cg::json::write(answers[2]->content));
                   });
}

cg::Tool multi_round() {
    return fixture(
        "test_input_required_result_multi_round", "Asks two questions in turn", object_schema(),
        [](const cg::Object&, cg::CallContext& context) -> cg::ToolReturn {
            const Answer name =
                context.ask(form("Step 1: What is your name?", {{"name", string_schema()}}).named("step1"));
            if (!name) return failed(name);
            const Answer color = context.ask(
                form("Step 2: What is your favorite color?", {{"color", string_schema()}}).named("step2"));
            if (!color) return failed(color);
            return text(field(*name, "name") + " likes " + field(*color, "color") + ".");
        });
}

cg::Tool by_capabilities() {
    return fixture("test_input_required_result_capabilities", "Asks only what this client can answer",
                   object_schema(), [](const cg::Object&, cg::CallContext& context) -> cg::ToolReturn {
                       std::vector<cg::InputRequest> questions;
                       if (context.can_ask(cg::InputRequest::Kind::form))
                           questions.push_back(form("Which value?", {{"value", string_schema()}}));
                       if (context.can_ask(cg::InputRequest::Kind::sampling))
                           questions.push_back(sampling("Say something", 50));
                       const std::size_t asked = questions.size();
                       for (const Answer& one : ask_together(context, std::move(questions))) {
                           if (!one) return failed(one);
                       }
                       return text(std::to_string(asked) + " questions were answered.");
                   });
}

cg::Tool streaming_elicitation() {
    return fixture("test_streaming_elicitation", "Tells that it begins, and asks", object_schema(),
                   [](const cg::Object&, cg::CallContext& context) -> cg::ToolReturn {
                       context.progress("Asking", 0.0, 1.0);
                       const Answer answer = context.ask(ask_name());
                       return answer ? text(told("User response", *answer)) : failed(answer);
                   });
}

}  // namespace

void add_asking_tools(cg::Registry& tools) {
    const std::string round_trip = "test_input_required_result_";
    tools.add_or_throw(sampling_tool())
        .add_or_throw(elicitation_tool())
        .add_or_throw(asks("test_elicitation_sep1034_defaults", "Asks with defaults for every kind of field",
                           cg::InputRequest::form("Please review these values", defaults_schema()),
                           says_answer()))
        .add_or_throw(asks("test_elicitation_sep1330_enums", "Asks with every form of a choice",
                           cg::InputRequest::form("Please choose", enums_schema()), says_answer()))
        .add_or_throw(streaming_elicitation())
        .add_or_throw(
            asks(round_trip + "elicitation", "Asks for a name", ask_name(),
                 [](const cg::InputAnswer& answer) { return text("Hello, " + field(answer, "name") + "!"); }))
        .add_or_throw(asks(round_trip + "sampling", "Asks the client's model",
                           sampling("What is the capital of France?", 100).named("capital_question"),
                           [](const cg::InputAnswer& answer) { return text(model_text(answer)); }))
        .add_or_throw(
            asks(round_trip + "list_roots", "Asks for the client's roots",
                 cg::InputRequest::roots().named("client_roots"),
                 [](const cg::InputAnswer& answer) { return text(cg::json::write(answer.content)); }))
        .add_or_throw(asks(round_trip + "request_state", "Asks, and goes on by the request's state",
                           ask_confirm(), [](const cg::InputAnswer&) { return text("state-ok"); }))
        .add_or_throw(multiple_inputs())
        .add_or_throw(multi_round())
        .add_or_throw(asks(round_trip + "tampered_state", "Asks, and takes no state but its own",
                           ask_confirm(), [](const cg::InputAnswer&) { return text("integrity-ok"); }))
        .add_or_throw(by_capabilities());
}

}  // namespace conformance
