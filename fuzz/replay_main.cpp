// Runs one fuzz target over the files of the directories named on the command line, without libFuzzer.
//
// So `make test` keeps every seed, and every finding that became a seed, fixed with any compiler. The empty
// input is always tried too. A directory that is missing or empty is an error: a replay of nothing must not
// look like success.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fs = std::filesystem;

int main(int argc, char** argv) {
    std::vector<fs::path> files;
    for (int i = 1; i < argc; ++i) {
        std::error_code error;
        const std::size_t before = files.size();
        for (fs::directory_iterator it(argv[i], error), end; !error && it != end; it.increment(error)) {
            if (it->is_regular_file()) files.push_back(it->path());
        }
        if (error || files.size() == before) {
            std::fprintf(stderr, "replay: no seed inputs in %s%s%s\n", argv[i], error ? ": " : "",
                         error ? error.message().c_str() : "");
            return 2;
        }
    }
    if (files.empty()) {
        std::fprintf(stderr, "usage: %s CORPUS_DIRECTORY...\n", argv[0]);
        return 2;
    }
    std::sort(files.begin(), files.end());

    std::vector<char> bytes(1);
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), 0);
    for (const fs::path& file : files) {
        std::ifstream in(file, std::ios::binary);
        bytes.assign(std::istreambuf_iterator<char>(in), {});
        if (in.bad() || !in.is_open()) {
            std::fprintf(stderr, "replay: cannot read %s\n", file.c_str());
            return 2;
        }
        bytes.shrink_to_fit();  // lets AddressSanitizer see a read one past the end
        // Flushed first, so that a crash names its input.
        std::printf("%s (%zu bytes)\n", file.c_str(), bytes.size());
        std::fflush(stdout);
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    }
    std::printf("replayed %zu inputs\n", files.size());
}
