// Where a secret could be left, and in which forms: files, the memory of a process, what the kernel shows of
// all processes.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace callgate::canary {

/// The value and everything that is as good as it: base64 at each of the three offsets and in both alphabets,
/// hexadecimal, percent-encoded, as JSON has it, as UTF-16.
class Forms {
public:
    explicit Forms(const std::string& value);

    /// How often each form stands in `bytes`.
    void count_in(std::string_view bytes, std::map<std::string, std::size_t>& found) const;
    /// Of the value itself alone.
    std::size_t plain_in(std::string_view bytes) const;
    std::size_t longest() const noexcept { return longest_; }

private:
    std::map<std::string, std::string> forms_;
    std::size_t longest_ = 0;
};

using Findings = std::map<std::string, std::size_t>;  ///< form → how often

/// Every file below `directory`.
Findings in_files(const std::string& directory, const Forms& forms);
/// What a core dump of the process would hold (`dumped`), or all of its memory that can be read.
Findings in_memory(pid_t process, const Forms& forms, bool dumped);
/// The command lines and environments of all processes that can be read.
Findings in_proc(const Forms& forms);

}  // namespace callgate::canary
