#include "places.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <fcntl.h>
#include <unistd.h>

#include <callgate/json.h>

#include "base/encoding.h"

namespace callgate::canary {

namespace {

// The middle of the base64 text of a value that begins at this offset of some longer text: what does not
// depend on its neighbours.
std::string middle_of(const std::string& value, std::size_t offset, base::Base64Alphabet alphabet) {
    const std::string text =
        base::base64_encode(std::string(offset, 'x') + value, alphabet, base::Base64Padding::without);
    const std::size_t skipped = offset == 0 ? 0 : offset + 1;
    const std::size_t kept = (offset + value.size()) / 3 * 4;
    return text.substr(skipped, std::min(kept, text.size()) - skipped);
}

std::string file_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

Forms::Forms(const std::string& value) {
    forms_["plain"] = value;
    for (std::size_t offset = 0; offset < 3; ++offset) {
        const std::string name = "base64 at " + std::to_string(offset);
        forms_[name] = middle_of(value, offset, base::Base64Alphabet::standard);
        forms_[name + ", url"] = middle_of(value, offset, base::Base64Alphabet::url);
    }
    forms_["hex"] = base::hex_encode(value);
    forms_["HEX"] = base::hex_encode(value, base::HexCase::upper);
    forms_["percent"] = base::percent_encode(value);
    forms_["percent, lower"] =
        base::percent_encode(value, base::PercentSpace::percent20, base::HexCase::lower);
    const std::string quoted = json::write(Value(value));
    forms_["json"] = quoted.substr(1, quoted.size() - 2);
    std::string wide;
    for (const char c : value) {
        wide.push_back(c);
        wide.push_back('\0');
    }
    forms_["utf-16"] = wide;
    for (const auto& [name, form] : forms_) longest_ = std::max(longest_, form.size());
}

std::size_t Forms::plain_in(std::string_view bytes) const {
    const std::string& plain = forms_.at("plain");
    std::size_t count = 0;
    for (auto at = bytes.find(plain); at != bytes.npos; at = bytes.find(plain, at + 1)) ++count;
    return count;
}

void Forms::count_in(std::string_view bytes, Findings& found) const {
    for (const auto& [name, form] : forms_) {
        for (auto at = bytes.find(form); at != bytes.npos; at = bytes.find(form, at + 1)) ++found[name];
    }
}

Findings in_files(const std::string& directory, const Forms& forms) {
    Findings found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
        if (!entry.is_regular_file()) continue;
        Findings here;
        forms.count_in(file_of(entry.path().string()), here);
        for (const auto& [form, count] : here) found[entry.path().filename().string() + ": " + form] += count;
    }
    return found;
}

Findings in_memory(pid_t process, const Forms& forms, bool dumped) {
    Findings found;
    const std::string root = "/proc/" + std::to_string(process);
    const int memory = ::open((root + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
    if (memory < 0) return found;
    struct Region {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        bool readable = false;
        bool in_core = true;
    };
    std::vector<Region> regions;
    std::istringstream lines(file_of(root + "/smaps"));
    for (std::string line; std::getline(lines, line);) {
        unsigned long long begin = 0;
        unsigned long long end = 0;
        char rights[8] = {};
        if (std::sscanf(line.c_str(), "%llx-%llx %7s", &begin, &end, rights) == 3) {
            regions.push_back({begin, end, rights[0] == 'r', true});
        } else if (line.starts_with("VmFlags:") && !regions.empty()) {
            regions.back().in_core = (line + " ").find(" dd ") == std::string::npos;
        }
    }
    constexpr std::size_t kBlock = 4u << 20;
    std::string block(kBlock, '\0');
    for (const Region& region : regions) {
        if (!region.readable || (dumped && !region.in_core) || region.end - region.begin > (1ull << 30))
            continue;
        for (std::uint64_t at = region.begin; at < region.end;) {
            const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, region.end - at));
            const ssize_t got = ::pread(memory, block.data(), want, static_cast<off_t>(at));
            if (got <= 0) break;
            forms.count_in(std::string_view(block.data(), static_cast<std::size_t>(got)), found);
            if (static_cast<std::size_t>(got) <= forms.longest() ||
                at + static_cast<std::uint64_t>(got) >= region.end)
                break;
            at += static_cast<std::uint64_t>(got) - forms.longest();
        }
    }
    ::close(memory);
    return found;
}

Findings in_proc(const Forms& forms) {
    Findings found;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
        const std::string name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        for (const char* part : {"/cmdline", "/environ"}) {
            Findings here;
            forms.count_in(file_of(entry.path().string() + part), here);
            for (const auto& [form, count] : here) found[name + part + ": " + form] += count;
        }
    }
    return found;
}

}  // namespace callgate::canary
