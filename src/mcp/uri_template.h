// URI templates, as far as resources need them: RFC 6570 with {name}, one part between slashes, and {+name},
// which may have slashes in it. What a template says it matches is matched in whole, and never guessed at: an
// encoded slash is no way around a boundary, and a {name} is never "." or "..".
//
// Threads: immutable once made.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/error.h>
#include <callgate/mcp.h>

namespace callgate::mcp {

class UriTemplate {
public:
    /// config_error {reason: bad_template}.
    static Result<UriTemplate> parse(std::string_view text);
    /// The variables, decoded, if the whole URI fits; none of them is empty. A URI that is too long, or that
    /// could fit in very many ways and has not in the first of them, does not.
    std::optional<Variables> match(std::string_view uri) const;

private:
    struct Part {
        std::string text;  ///< as it stands, or a variable's name
        bool variable = false;
        bool slashes = false;
    };
    struct Search {
        std::vector<std::string_view> texts;  ///< of the variables so far, encoded
        Variables found;
        std::size_t steps = 0;
    };
    bool match_from(std::size_t part, std::string_view uri, Search& search) const;
    bool decode(Search& search) const;

    std::vector<Part> parts_;
};

}  // namespace callgate::mcp
