#include "verb_completion.h"

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "completion.h"
#include "demo_tools.h"
#include "options.h"

namespace callgate::cli {

namespace {

struct CompletionLine {
    std::string shell;
    std::vector<std::string> words;
};

std::vector<Completion::Word> demo_tool_words() {
    std::vector<Completion::Word> out;
    for (const DemoTool& demo : demo_tools())
        out.push_back({demo.tool.definition.name, demo.tool.definition.description});
    return out;
}

}  // namespace

void add_completion(Verb& program, const Console& console) {
    auto line = std::make_shared<CompletionLine>();
    Verb& verb = program.add("completion", "make a shell complete verbs, options and files");
    verb.argument("SHELL", "whose script is printed: bash, zsh or fish", line->shell)
        .required()
        .one_of({"bash", "zsh", "fish"});
    verb.text(
        "make install puts the scripts where shells look for them. Elsewhere: source <(callgate completion "
        "bash) in ~/.bashrc; the same with zsh in ~/.zshrc, after compinit; callgate completion fish | "
        "source in ~/.config/fish/config.fish.");
    verb.text(
        "The script asks the program that is on the command line. Nothing is completed from a ledger, so "
        "pressing Tab opens none.");
    verb.exits(0, "printed").exits(2, "wrong usage");
    verb.example("source <(callgate completion bash)")
        .example("callgate completion fish > ~/.config/fish/completions/callgate.fish");
    verb.runs([line, &console] {
        console.out << completion_script(line->shell);
        return 0;
    });

    Verb& words = program.add("complete", "what fits at the end of a command line: for the scripts");
    words.hidden();
    words.argument("WORD", "the words behind callgate; the last is being typed", line->words);
    words.exits(0, "always");
    words.example("callgate complete -- calls list --sta");
    words.runs([line, &program, &console] {
        console.out << completion_answer(complete(program, line->words, demo_tool_words));
        return 0;
    });
}

}  // namespace callgate::cli
