// What snapshots of a registry share, and the cache of those that were made for its current revision.
//
// Threads: the shared parts are immutable. The cache may be used from any thread, by those who hold the
// registry's lock.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <callgate/definitions.h>
#include <callgate/registry_snapshot.h>

#include "base/mutex.h"
#include "tool/exposed_names.h"
#include "tool/tool_entry.h"

namespace callgate {

struct RegistrySnapshot::Tools {
    std::uint64_t revision = 0;
    std::vector<std::shared_ptr<const ToolEntry>> entries;
    std::vector<ListedTool> listed;  // in the same order
};

// The tools' other names, in the order of the entries.
struct RegistrySnapshot::Names {
    std::vector<std::string> names;
    std::vector<ListedTool> listed;
    std::map<std::size_t, Error> faults;  // by place: why there is no name
};

}  // namespace callgate
