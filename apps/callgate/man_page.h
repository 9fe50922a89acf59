// The man page of a verb, from its description: the same text as its help (help_text.h), as roff for man(1).
//
// The program has a page, and each verb below it has one, with those below that verb as sections: so
// `man callgate-calls` has list, show and resolve. Plain man(7) macros, which groff and mandoc read alike.
//
// Threads: pure functions.
#pragma once

#include <string>

#include "options.h"

namespace callgate::cli {

/// "callgate-calls", of `callgate calls` and of what is below it.
std::string man_page_name(const Verb& verb);

/// The page on which the verb is.
std::string man_page(const Verb& verb);

}  // namespace callgate::cli
