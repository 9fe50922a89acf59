// What is to be sent: pieces in order, taken as they were given; small ones are joined.
//
// Threads: belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/uio.h>

namespace callgate::net {

class OutQueue {
public:
    static constexpr std::size_t kJoined = 4u << 10;

    bool empty() const noexcept { return bytes_ == 0; }
    std::size_t bytes() const noexcept { return bytes_; }

    void add(std::string piece) {
        if (piece.empty()) return;
        bytes_ += piece.size();
        forget_taken();
        if (!pieces_.empty() && piece.size() <= kJoined && pieces_.back().size() <= kJoined) {
            pieces_.back() += piece;
        } else {
            pieces_.push_back(std::move(piece));
        }
    }
    /// The first of what is there, as the system takes it.
    std::span<const iovec> front(std::span<iovec> room) const noexcept {
        std::size_t count = 0;
        std::size_t skipped = offset_;
        for (std::size_t i = first_; i < pieces_.size() && count < room.size(); ++i) {
            room[count++] = {const_cast<char*>(pieces_[i].data()) + skipped, pieces_[i].size() - skipped};
            skipped = 0;
        }
        return room.first(count);
    }
    void taken(std::size_t bytes) noexcept {
        bytes_ -= bytes;
        while (bytes > 0) {
            const std::size_t left = pieces_[first_].size() - offset_;
            if (bytes < left) {
                offset_ += bytes;
                return;
            }
            bytes -= left;
            offset_ = 0;
            std::string().swap(pieces_[first_++]);
        }
        if (bytes_ == 0) clear();
    }
    void clear() noexcept {
        pieces_.clear();
        if (pieces_.capacity() > kKept) std::vector<std::string>().swap(pieces_);
        first_ = offset_ = bytes_ = 0;
    }

    /// How many pieces its list has room for.
    std::size_t room() const noexcept { return pieces_.capacity(); }

private:
    static constexpr std::size_t kKept = 4;

    // Of a queue that never gets empty, the list stays in proportion to what waits. Once half of it is taken,
    // so a piece is moved once on the average.
    void forget_taken() {
        if (first_ < kKept || 2 * first_ < pieces_.size()) return;
        pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(first_));
        first_ = 0;
    }

    std::vector<std::string> pieces_;
    std::size_t first_ = 0;   // before it, all is taken
    std::size_t offset_ = 0;  // of the first, how much is taken
    std::size_t bytes_ = 0;
};

}  // namespace callgate::net
