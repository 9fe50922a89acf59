// For tests: is a value still somewhere in this process's memory?
//
// The value is looked for by its complement, so that looking for it leaves no copy of it.
//
// Threads: others may run meanwhile; what they change while it is read may be missed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace callgate::base {

/// Every byte the other way round. The complement of a complement is the value: wipe it after use.
inline std::string complement(std::string_view bytes) {
    std::string out(bytes);
    for (char& c : out) c = static_cast<char>(~c);
    return out;
}

/// How often the value whose complement this is stands in memory that can be read.
inline std::size_t copies_in_memory(std::string_view complemented) {
    constexpr std::size_t kBlock = 1u << 20;
    constexpr std::uint64_t kTooLarge = 1u << 30;  // the sanitizers' own
    // What is read must not be found again where it was put: this block is passed over.
    void* const block = ::mmap(nullptr, kBlock, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const int memory = ::open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    if (block == MAP_FAILED || memory < 0) std::abort();
    char* const bytes = static_cast<char*>(block);
    const auto own_begin = reinterpret_cast<std::uintptr_t>(block);
    const auto own_end = own_begin + kBlock;

    std::size_t found = 0;
    const auto scan = [&](std::uint64_t begin, std::uint64_t end) {
        for (std::uint64_t at = begin; at < end;) {
            const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, end - at));
            const ssize_t got = ::pread(memory, bytes, want, static_cast<off_t>(at));
            if (got <= 0) return;
            const auto size = static_cast<std::size_t>(got);
            for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(~bytes[i]);
            const std::string_view text(bytes, size);
            for (auto i = text.find(complemented); i != text.npos; i = text.find(complemented, i + 1))
                ++found;
            if (size == end - at || size < complemented.size()) return;
            at += size - complemented.size() + 1;  // one that lies across the border is seen next time
        }
    };

    std::ifstream maps("/proc/self/maps");
    std::stringstream lines;
    lines << maps.rdbuf();
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        char dash = 0;
        std::string permissions;
        fields >> std::hex >> begin >> dash >> end >> permissions;
        if (!permissions.starts_with('r') || end - begin > kTooLarge) continue;
        if (begin <= own_begin && own_end <= end) {
            scan(begin, own_begin);
            scan(own_end, end);
        } else {
            scan(begin, end);
        }
    }
    ::close(memory);
    ::munmap(block, kBlock);
    return found;
}

}  // namespace callgate::base
