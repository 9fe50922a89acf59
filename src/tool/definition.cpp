#include <callgate/tool.h>

#include "tool/summary.h"

namespace callgate {

Value ToolDefinition::to_json() const {
    Object out;
    out.emplace("name", name);
    if (!title.empty()) out.emplace("title", title);
    out.emplace("description", description);
    out.emplace("parameters", input_schema);
    if (output_schema) out.emplace("output_schema", *output_schema);
    if (!annotations.empty()) out.emplace("annotations", annotations);
    return out;
}

std::string ToolDefinition::compact() const {
    return compact_form(name, summarize_parameters(input_schema));
}

}  // namespace callgate
