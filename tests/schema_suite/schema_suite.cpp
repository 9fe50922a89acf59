// Runs the official JSON Schema test suite and prints a table per draft and file.
//
//     schema_suite DIR     DIR holds tests/ and remotes/ as in the suite's repository
//
// Exit code 0 when every required test of every draft that is there passes and at least 95 % of the optional
// format tests of 2020-12 do; 1 when not; 2 when DIR is unusable.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <callgate/json.h>
#include <callgate/schema.h>

namespace fs = std::filesystem;
namespace cg = callgate;
using cg::schema::Dialect;

namespace {

struct Draft {
    std::string_view folder;
    std::string_view key;
    Dialect dialect;
};

constexpr Draft kDrafts[] = {
    {"draft2020-12", "2020_12", Dialect::draft2020_12},
    {"draft2019-09", "2019_09", Dialect::draft2019_09},
    {"draft7", "draft7", Dialect::draft7},
};

struct Count {
    int passed = 0;
    int total = 0;

    Count& operator+=(const Count& other) {
        passed += other.passed;
        total += other.total;
        return *this;
    }
};

std::string read_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return std::move(text).str();
}

cg::Result<cg::Value> read_json(const fs::path& path) {
    return cg::json::parse(read_file(path));
}

std::vector<fs::path> json_files(const fs::path& folder) {
    std::vector<fs::path> files;
    if (!fs::is_directory(folder)) return files;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == ".json") files.push_back(entry.path());
    }
    std::ranges::sort(files);
    return files;
}

// The suite serves remotes/ as http://localhost:1234/.
cg::schema::Resources read_remotes(const fs::path& folder) {
    cg::schema::Resources resources;
    if (!fs::is_directory(folder)) return resources;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.path().extension() != ".json") continue;
        if (auto document = read_json(entry.path())) {
            const std::string uri =
                "http://localhost:1234/" + fs::relative(entry.path(), folder).generic_string();
            if (auto added = resources.add(uri, std::move(*document)); !added)
                std::cerr << added.error().message << '\n';
        }
    }
    return resources;
}

class Suite {
public:
    Suite(const cg::schema::Resources& resources, bool verbose) : resources_(resources), verbose_(verbose) {}

    Count run_file(const fs::path& path, Dialect dialect, bool assert_format) {
        Count count;
        auto groups = read_json(path);
        if (!groups) {
            std::cerr << path.filename().string() << ": " << groups.error().message << '\n';
            return {0, 1};
        }
        for (const cg::Value& group : groups->as_array())
            count += run_group(path, group, dialect, assert_format);
        return count;
    }

private:
    Count run_group(const fs::path& path, const cg::Value& group, Dialect dialect, bool assert_format) {
        Count count;
        cg::schema::CompileOptions options;
        options.default_dialect = dialect;
        options.assert_format = assert_format;
        options.resources = &resources_;
        const auto schema = cg::schema::Schema::compile(group.at("schema"), options);
        if (!schema) report(path, group, "(compile)", schema.error().message);
        for (const cg::Value& test : group.at("tests").as_array()) {
            ++count.total;
            if (!schema) continue;
            const std::string problem = judge(*schema, test.at("data"), test.at("valid").as_bool());
            if (problem.empty()) {
                ++count.passed;
            } else {
                report(path, group, test.at("description").as_string(), problem);
            }
        }
        return count;
    }

    // Every way to ask must give the expected answer.
    std::string judge(const cg::schema::Schema& schema, const cg::Value& data, bool expected) {
        using cg::schema::Verdict;
        const Verdict wanted = expected ? Verdict::valid : Verdict::invalid;
        if (schema.check(data, scratch_) != wanted) return expected ? "should be valid" : "should be invalid";
        const auto text = schema.check_text(cg::json::write(data), scratch_);
        if (!text || *text != wanted) return "check_text disagrees with check";
        const auto explanation = schema.explain(data);
        if (explanation.verdict != wanted || explanation.violations.empty() != expected)
            return "explain disagrees with check";
        return {};
    }

    void report(const fs::path& path, const cg::Value& group, std::string_view test,
                std::string_view problem) const {
        if (!verbose_) return;
        fmt::print("  FAIL {}/{}: {} / {}: {}\n", path.parent_path().filename().string(),
                   path.filename().string(), std::string_view(group.at("description").as_string()), test,
                   problem);
    }

    const cg::schema::Resources& resources_;
    const bool verbose_;
    cg::schema::Scratch scratch_;
};

Count run_folder(Suite& suite, const fs::path& folder, Dialect dialect, bool assert_format) {
    Count sum;
    for (const fs::path& file : json_files(folder)) {
        const Count count = suite.run_file(file, dialect, assert_format);
        fmt::print("  {:<34} {:>4}/{:<4}{}\n", file.stem().string(), count.passed, count.total,
                   count.passed == count.total ? "" : "  <--");
        sum += count;
    }
    return sum;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2 || !fs::is_directory(fs::path(argv[1]) / "tests")) {
        std::cerr
            << "schema_suite: give the folder of the JSON Schema test suite (it holds tests/ and remotes/)\n";
        return 2;
    }
    const fs::path root = argv[1];
    const auto resources = read_remotes(root / "remotes");
    Suite required_suite(resources, true);
    std::map<std::string_view, Count> required;
    Count format;
    bool ok = true;
    for (const Draft& draft : kDrafts) {
        const fs::path folder = root / "tests" / draft.folder;
        if (!fs::is_directory(folder)) continue;
        fmt::print("\n{} required\n", draft.folder);
        required[draft.key] = run_folder(required_suite, folder, draft.dialect, false);
        fmt::print("\n{} optional\n", draft.folder);
        run_folder(required_suite, folder / "optional", draft.dialect, false);
        fmt::print("\n{} optional/format\n", draft.folder);
        const Count formats = run_folder(required_suite, folder / "optional" / "format", draft.dialect, true);
        if (draft.dialect == Dialect::draft2020_12) format = formats;
    }
    std::string result = "\nRESULT";
    for (const Draft& draft : kDrafts) {
        const Count& count = required[draft.key];
        result += fmt::format(" required_{}={}/{}", draft.key, count.passed, count.total);
        ok &= count.passed == count.total;
    }
    result += fmt::format(" optional_format_2020_12={}/{}", format.passed, format.total);
    ok &= format.passed * 100 >= format.total * 95;
    std::cout << std::flush;
    fmt::print("{}\n", result);
    return ok ? 0 : 1;
}
