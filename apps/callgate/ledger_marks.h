// Whether anybody wrote to a ledger since the last look, told by its files alone: for those who wait while
// nobody owns it.
//
// Threads: plain value.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace callgate::cli {

class LedgerMarks {
public:
    /// As the files of this ledger are now; what cannot be seen counts as not there.
    static LedgerMarks of(const std::string& directory);

    bool operator==(const LedgerMarks&) const = default;

private:
    struct File {
        std::int64_t seconds = 0;
        std::int64_t nanoseconds = 0;
        std::int64_t bytes = 0;

        bool operator==(const File&) const = default;
    };
    std::array<File, 2> files_{};
};

}  // namespace callgate::cli
