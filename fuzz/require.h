// For fuzz targets: what must hold whatever the input.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace callgate {

inline void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "broken: %s\n", what);
    std::abort();
}

}  // namespace callgate
