// Help that is written, not generated: it can be laid out to be read. A test holds it to the options.
//
// Threads: immutable.
#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace callgate::cli {

class FixedHelp final : public CLI::Formatter {
public:
    explicit FixedHelp(std::string_view text) : text_(text) {}
    std::string make_help(const CLI::App*, std::string, CLI::AppFormatMode) const override { return text_; }

private:
    std::string text_;
};

}  // namespace callgate::cli
