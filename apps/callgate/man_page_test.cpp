#include "man_page.h"

#include <cstddef>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "program.h"

namespace callgate::cli {
namespace {

std::string roff_of(std::string_view text) {
    std::string out;
    for (const char c : text) out += c == '-' ? "\\-" : std::string(1, c);
    return out;
}

std::size_t count(std::string_view text, std::string_view what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1))
        ++found;
    return found;
}

class ManPages : public ::testing::Test {
protected:
    // Every verb, and the page that it is on.
    template <class See>
    void each_verb(const See& see) {
        const auto walk = [&](const auto& self, const Verb& verb) -> void {
            see(verb, man_page(verb));
            for (const Verb& one : verb.verbs())
                if (!one.is_hidden()) self(self, one);
        };
        walk(walk, *program_);
    }

    std::ostringstream sink_;
    Console console_{sink_, sink_, {}, {}};
    std::unique_ptr<Verb> program_ = make_program(console_);
};

TEST_F(ManPages, HaveEveryOptionExitCodeAndExampleOfTheHelp) {
    each_verb([](const Verb& verb, const std::string& page) {
        EXPECT_NE(page.find(roff_of(verb.command())), std::string::npos) << verb.command();
        for (const Option& option : verb.options())
            EXPECT_NE(page.find("\n\\fB" + roff_of(option.shown()) + "\\fR\n"), std::string::npos)
                << verb.command() << ": " << option.shown();
        for (const Verb::Exit& one : verb.exit_codes())
            EXPECT_NE(page.find("\n\\fB" + std::to_string(one.code) + "\\fR\n"), std::string::npos)
                << verb.command();
        EXPECT_GE(count(page, "callgate"), verb.examples().size());
    });
}

TEST_F(ManPages, AreOneForTheProgramAndOneForEachVerbOfIt) {
    EXPECT_EQ(man_page_name(*program_), "callgate");
    const Verb& calls = *program_->find("calls");
    EXPECT_EQ(man_page_name(calls), "callgate-calls");
    EXPECT_EQ(man_page_name(*calls.find("show")), "callgate-calls");
    EXPECT_EQ(man_page(*calls.find("show")), man_page(calls));
    const std::string page = man_page(calls);
    EXPECT_EQ(count(page, "\n.SS "), 3u);
    EXPECT_EQ(count(man_page(*program_), "\n\\fBcomplete\\fR\n"), 0u) << "it is hidden";
    EXPECT_NE(man_page(*program_).find("callgate\\-calls(1)"), std::string::npos);
}

// roff takes a line that begins with a dot or an apostrophe for its own.
TEST_F(ManPages, TextCannotBeTakenForMacros) {
    Verb verb("odd", ".SH not a macro\\n 'nor this");
    bool flag = false;
    verb.flag("--dots", ".TP ... and -dashes-", flag);
    verb.example("odd --dots '.x' \"~^`\"");
    const std::string page = man_page(verb);
    EXPECT_NE(page.find("\n\\&.TP ... and \\-dashes\\-\n"), std::string::npos) << page;
    EXPECT_NE(page.find("odd \\- .SH not a macro\\en \\(aqnor this\n"), std::string::npos) << page;
    EXPECT_NE(page.find("odd \\-\\-dots \\(aq.x\\(aq \\(dq\\(ti\\(ha\\(ga\\(dq\n"), std::string::npos)
        << page;
    each_verb([](const Verb&, const std::string& text) {
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            EXPECT_FALSE(line.starts_with('\'')) << line;
            EXPECT_FALSE(line.empty());
            for (const char c : line) EXPECT_GE(c, ' ') << line;
        }
    });
}

}  // namespace
}  // namespace callgate::cli
