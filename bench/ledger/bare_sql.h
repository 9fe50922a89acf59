// The statements of a durable unsafe call (ledger/sqlite/statements.h), run bare: prepared once, in batches,
// with as many bytes, and nothing else. What group commit is measured against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace callgate::bench {

class BareSql {
public:
    /// A fresh file in `directory`, with the ledger's tables and settings.
    explicit BareSql(const std::string& directory);
    ~BareSql();

    /// `calls` calls: one transaction claims them all, one settles them all.
    void batch(std::size_t calls);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace callgate::bench
