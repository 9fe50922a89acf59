// Tools that ask their client: a person for a form, the model for a text, the client for its roots. The same
// tools serve both eras.
#include "offers.h"

namespace interop {
namespace {

using Asked = cg::Result<cg::InputAnswer>;

std::string word_of(cg::InputAnswer::What what) {
    switch (what) {
        case cg::InputAnswer::What::accept: return "accept";
        case cg::InputAnswer::What::decline: return "decline";
        case cg::InputAnswer::What::cancel: return "cancel";
    }
    return {};
}

// {"action": …, "content": …}, as text and structured.
cg::ToolReturn told(const Asked& answer) {
    if (!answer) return tl::unexpected(cg::ToolFailure(answer.error()));
    const cg::Object whole{{"action", word_of(answer->what)}, {"content", answer->content}};
    cg::ToolResult result = say(cg::json::write(whole));
    result.structured = whole;
    return result;
}

cg::InputRequest flavour_form() {
    return cg::InputRequest::form(
               "Which flavour?",
               cg::Object{
                   {"type", "object"},
                   {"properties",
                    cg::Object{{"flavour", cg::Object{{"type", "string"},
                                                      {"title", "Flavour"},
                                                      {"enum", cg::Array{"plain", "süß", "salty"}}}},
                               {"scoops", cg::Object{{"type", "integer"}, {"minimum", 1}, {"maximum", 9}}},
                               {"cone", cg::Object{{"type", "boolean"}, {"default", true}}}}},
                   {"required", cg::Array{"flavour", "scoops"}}})
        .named("flavour");
}

cg::Tool ask_form() {
    return offer("ask_form", "Asks a person for a form", all_of(),
                 [](const cg::Object&, cg::CallContext& context) -> cg::ToolReturn {
                     return told(context.ask(flavour_form()));
                 });
}

cg::Tool ask_twice() {
    return offer("ask_twice", "Asks, and asks again", all_of(),
                 [](const cg::Object&, cg::CallContext& context) -> cg::ToolReturn {
                     const auto question = [](std::string which) {
                         return cg::InputRequest::form("The " + which + " word?",
                                                       all_of({{"word", string_type()}}));
                     };
                     const Asked first = context.ask(question("first"));
                     if (!first) return told(first);
                     const Asked second = context.ask(question("second"));
                     if (!second) return told(second);
                     return say(cg::json::write(first->content) + " " + cg::json::write(second->content));
                 });
}

cg::Tool ask_model() {
    return offer("ask_model", "Asks the client's model", all_of({{"prompt", string_type()}}),
                 [](const cg::Object& given, cg::CallContext& context) -> cg::ToolReturn {
                     const cg::Object text{{"type", "text"}, {"text", given.at("prompt")}};
                     return told(context.ask(cg::InputRequest::sampling(
                         cg::Object{{"messages", cg::Array{cg::Object{{"role", "user"}, {"content", text}}}},
                                    {"systemPrompt", "Be brief."},
                                    {"maxTokens", 64}})));
                 });
}

cg::Tool ask_roots() {
    return offer("ask_roots", "Asks for the client's roots", all_of(),
                 [](const cg::Object&, cg::CallContext& context) -> cg::ToolReturn {
                     return told(context.ask(cg::InputRequest::roots()));
                 });
}

// A task that cannot go on until somebody says whether it may.
cg::Tool asking_job(const std::shared_ptr<Turns>& turns) {
    cg::Tool tool =
        offer("asking_job", "Works, asks, and works on", all_of({{"gate", string_type()}}),
              [turns](const cg::Object& given, cg::CallContext& context) -> cg::ToolReturn {
                  const Asked answer = context.ask(
                      cg::InputRequest::form("Go on?", all_of({{"sure", cg::Object{{"type", "boolean"}}}}))
                          .named("sure"));
                  if (answer) (void)wait_for(*turns, text_at(given, "gate"), 1, context);
                  return told(answer);
              });
    tool.definition.extra["execution"] = cg::Object{{"taskSupport", "optional"}};
    return tool;
}

}  // namespace

void add_questions(cg::Registry& tools, const std::shared_ptr<Turns>& turns) {
    tools.add_or_throw(ask_form())
        .add_or_throw(ask_twice())
        .add_or_throw(ask_model())
        .add_or_throw(ask_roots())
        .add_or_throw(asking_job(turns));
}

}  // namespace interop
