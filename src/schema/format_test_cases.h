// What the tests of the formats share: tables of examples, each with the clause that decides it, and
// mutations.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace callgate::schema {

struct FormatCase {
    std::string_view text;
    std::string_view clause;
};

template <class Check>
void expect_all(bool wanted, Check check, std::initializer_list<FormatCase> cases) {
    for (const FormatCase& c : cases) EXPECT_EQ(check(c.text), wanted) << '"' << c.text << "\": " << c.clause;
}

/// Any text made of these ASCII characters.
inline rc::Gen<std::string> text_of(std::string_view alphabet) {
    return rc::gen::container<std::string>(rc::gen::elementOf(std::string(alphabet)));
}

/// Calls `visit` with every text that differs from `text` by one character left out, put in or exchanged.
template <class Visit>
void for_each_mutation(const std::string& text, std::string_view alphabet, Visit visit) {
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size()) visit(std::string(text).erase(i, 1));
        for (const char c : alphabet) {
            visit(std::string(text).insert(i, 1, c));
            if (i < text.size()) visit(std::string(text).replace(i, 1, 1, c));
        }
    }
}

}  // namespace callgate::schema
