// operator new, replaced for the whole program by one that counts.
#pragma once

#include <cstddef>

namespace callgate {

std::size_t allocation_count() noexcept;

}  // namespace callgate
