#include "ledger/audit/tree.h"

namespace callgate::ledger {
namespace {

// RFC 6962 sets leaves and nodes apart by the first byte.
constexpr std::string_view kLeafTag("\x00", 1);
constexpr std::string_view kNodeTag("\x01", 1);

}  // namespace

Sha256Digest leaf_hash(base::Sha256& hasher, const Sha256Digest& event_hash) {
    return hasher.update(kLeafTag).update(view_of(event_hash)).finish();
}

Sha256Digest node_hash(base::Sha256& hasher, const Sha256Digest& left, const Sha256Digest& right) {
    return hasher.update(kNodeTag).update(view_of(left)).update(view_of(right)).finish();
}

Sha256Digest empty_root() {
    return base::sha256({});
}

Sha256Digest Frontier::root(base::Sha256& hasher) const {
    if (size_ == 0) return empty_root();
    std::size_t level = 0;
    while ((size_ >> level & 1) == 0) ++level;
    Sha256Digest hash = peaks_[level];
    for (++level; level < peaks_.size(); ++level)
        if ((size_ >> level & 1) != 0) hash = node_hash(hasher, peaks_[level], hash);
    return hash;
}

bool Frontier::operator==(const Frontier& other) const noexcept {
    if (size_ != other.size_) return false;
    for (std::size_t level = 0; level < peaks_.size(); ++level)
        if ((size_ >> level & 1) != 0 && peaks_[level] != other.peaks_[level]) return false;
    return true;
}

}  // namespace callgate::ledger
