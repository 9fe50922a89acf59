// Any JSON document as tool definitions: it is refused with a reason and a place, or every definition is read
// or refused by itself; what was read can be written in the bare form and read again as the same, and every
// other form writes it or says why not.
#include <cstdint>
#include <string_view>

#include <callgate/definitions.h>

#include "require.h"
#include "tool/definition_forms.h"

using namespace callgate;

namespace {

void require_refusal(const Error& error) {
    require(error.code == ErrorCode::config_error, "a refusal has the code config_error");
    require(error.details.contains("reason"), "a refusal names its reason");
    require(error.details.contains("place"), "a refusal names its place");
    require(!error.message.empty(), "a refusal says what is wrong");
}

void require_round_trip(const ToolDefinition& definition) {
    const auto bare = write_definition(definition, DefinitionForm::bare);
    require(bare.has_value(), "the bare form takes whatever was read");
    const auto list = read_definition_list(bare->document);
    require(list && list->entries.size() == 1, "what was written is one definition");
    // A schema with a type of Gemini's own is read as Gemini's.
    const auto& again = list->entries[0].read;
    if (!again || again->form != DefinitionForm::bare) return;
    require(again->definition.to_json() == definition.to_json(), "it is read as the same");
    require(again->ignored.empty(), "the bare form has a place for everything");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto document = json::parse({reinterpret_cast<const char*>(data), size});
    if (!document) return 0;
    DefinitionLimits limits;
    limits.max_definitions = 64;
    const auto list = read_definition_list(*document, limits);
    if (!list) {
        require_refusal(list.error());
        return 0;
    }
    require(list->entries.size() <= limits.max_definitions, "the limit on definitions is kept");
    for (const DefinitionEntry& entry : list->entries) {
        if (!entry.read) {
            require_refusal(entry.read.error());
            continue;
        }
        const ToolDefinition& definition = entry.read->definition;
        require(!definition.name.empty(), "every definition has a name");
        require(definition.input_schema.is_object(), "every definition has a schema for its arguments");
        require_round_trip(definition);
        DefinitionWriteOptions options;
        for (const FormLayout& layout : form_layouts()) {
            for (const bool strict : {false, true}) {
                options.strict = strict;
                const auto written = write_definition(definition, layout.form, options);
                if (!written) require_refusal(written.error());
            }
        }
        require(!propose_contract(definition).reasons.empty(), "a proposal says why");
    }
    return 0;
}
