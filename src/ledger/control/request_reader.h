// The members of a request, each of the kind that its verb asks for.
//
// The first fault is kept and told by done(); until then a faulty member reads as its default, so that a verb
// can take all its members before it looks. A member that nobody took is a fault, too: a misspelt one must
// not pass for one that was left out.
//
// Threads: belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/error.h>
#include <callgate/json.h>

namespace callgate::ledger {

class RequestReader {
public:
    /// `v` and `verb` are taken already. The request must outlive this.
    explicit RequestReader(const Object& request);

    std::string text(std::string_view name, std::size_t max_bytes = 1'000);  ///< must be there, not empty
    std::string text_or(std::string_view name, std::string_view otherwise, std::size_t max_bytes = 1'000);
    bool flag(std::string_view name);  ///< must be there
    bool flag_or(std::string_view name, bool otherwise);
    std::uint64_t number(std::string_view name, std::uint64_t least, std::uint64_t most);
    std::optional<std::uint64_t> number_if(std::string_view name, std::uint64_t least, std::uint64_t most);
    std::uint64_t number_or(std::string_view name, std::uint64_t otherwise, std::uint64_t least,
                            std::uint64_t most);
    std::vector<std::string> texts_or_none(std::string_view name, std::size_t max_count,
                                           std::size_t max_bytes = 1'000);

    /// A fault that the verb itself found in a member.
    void refuse(std::string_view name, std::string_view what);
    /// invalid_arguments {reason: bad_request, member} if anything was wrong.
    Result<void> done();

private:
    const Value* take(std::string_view name);

    const Object& request_;
    std::set<std::string, std::less<>> taken_;
    std::optional<Error> fault_;
};

}  // namespace callgate::ledger
