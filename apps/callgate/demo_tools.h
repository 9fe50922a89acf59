// The tools that come with the program, to try the runtime on: each shows one thing, and none of them reaches
// beyond the program.
//
// Threads: functions may be called from any thread; so may the tools.
#pragma once

#include <string_view>
#include <vector>

#include <callgate/runtime.h>
#include <callgate/tool.h>

namespace callgate::cli {

struct DemoTool {
    Tool tool;
    std::string_view shows;  ///< one line for people
};

/// In name order. The notes of one set are its own.
std::vector<DemoTool> demo_tools();

/// The registry gets them.
Result<void> add_demo_tools(Registry& registry);

}  // namespace callgate::cli
