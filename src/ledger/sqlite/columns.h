// What the tables share: values as columns hold them, and statements prepared in a row.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <callgate/error.h>

#include "base/clock.h"
#include "base/try.h"
#include "ledger/sqlite/database.h"

namespace callgate::ledger {

inline std::int64_t micros(base::WallTime time) noexcept {
    return time.time_since_epoch().count();
}
inline std::int64_t micros(std::chrono::system_clock::time_point time) noexcept {
    return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}
inline base::WallTime time_of(std::int64_t micros) noexcept {
    return base::WallTime(std::chrono::microseconds(micros));
}

/// The epoch itself stands for "not yet".
inline void bind_time(Statement& statement, int index, base::WallTime time) {
    time == base::WallTime() ? statement.bind_null(index) : statement.bind(index, micros(time));
}

template <std::size_t N>
std::string_view bytes_of(const std::array<std::uint8_t, N>& bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), N};
}

template <std::size_t N>
bool copy_bytes(std::string_view from, std::array<std::uint8_t, N>& to) noexcept {
    if (from.size() != N) return false;
    std::memcpy(to.data(), from.data(), N);
    return true;
}

inline Result<bool> changed_one(Statement& statement) {
    CALLGATE_TRY_ASSIGN(auto changed, statement.run());
    return changed == 1;
}

inline tl::unexpected<Error> damaged_record(std::string_view what) {
    return fail(ErrorCode::ledger_unavailable,
                "The ledger's file is damaged: it holds " + std::string(what) +
                    " that cannot be read. Keep it as it is, and restore a backup beside it.",
                {{"reason", "damaged"}});
}

/// Prepares one statement after the other; the first failure is what done() tells.
class Preparing {
public:
    explicit Preparing(Database& database) noexcept : database_(database) {}

    void add(Statement& into, std::string_view sql) {
        if (error_) return;
        auto made = database_.prepare(sql);
        if (made) {
            into = std::move(*made);
        } else {
            error_ = std::move(made.error());
        }
    }
    Result<void> done() {
        if (error_) return tl::unexpected(std::move(*error_));
        return {};
    }

private:
    Database& database_;
    std::optional<Error> error_;
};

}  // namespace callgate::ledger
