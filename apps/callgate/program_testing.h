// For tests of the verbs: what one run of the program came to.
#pragma once

#include <string>

#include <callgate/json.h>

namespace callgate::cli::testing {

struct Ran {
    int exit_code = 0;
    std::string out;
    std::string err;

    Value answer() const { return json::parse(out).value(); }
};

}  // namespace callgate::cli::testing
