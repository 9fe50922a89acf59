// Any bytes as an audit event, a line of an export, a checkpoint, a key, a witness's file and a whole export.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <callgate/json.h>

#include "ledger/audit/anchor.h"
#include "ledger/audit/checkpoint.h"
#include "ledger/audit/event_view.h"
#include "ledger/audit/export.h"
#include "ledger/audit/read_event.h"
#include "ledger/audit/verify.h"
#include "require.h"

using namespace callgate;
using namespace callgate::ledger;

namespace {

void canonical_as_it_is(std::string_view text) {
    const auto value = json::parse(text);
    require(value.has_value(), "what the scanner accepts is JSON");
    require(json::canonical(*value) == text, "what the scanner accepts is canonical");
}

void as_event(std::string_view input) {
    EventView view;
    if (const auto fault = scan_event(input, view)) {
        require(fault->at <= input.size(), "a fault is inside the text");
        return;
    }
    canonical_as_it_is(input);
    require(view.sequence() >= 1 && view.sequence() <= kMaxAuditInteger, "an event has a number");
    require(read_event(input, {}).has_value(), "an event can be read");
}

void as_line(std::string_view input) {
    ExportedEvent event;
    if (!read_event_line(input, event)) {
        canonical_as_it_is(input);
        require(event_line(event.bytes, event.hash, event.payloads) == std::string(input) + "\n",
                "a line is written as it was read");
    }
    if (const auto note = read_checkpoint_line(input))
        require(checkpoint_line(*note) == std::string(input) + "\n", "a line is written as it was read");
    if (const auto header = read_header_line(input))
        require(header_line(header->chain_id, header->after) == std::string(input) + "\n",
                "a line is written as it was read");
}

void as_note(std::string_view input) {
    if (const auto note = parse_checkpoint(input)) {
        require(input.starts_with(note->checkpoint.body() + "\n"), "a note begins with its checkpoint");
        require(!note->signatures.empty(), "a note is signed");
    }
    if (const auto key = VerifyingKey::parse(input)) require(key->vkey() == input, "a key has one text");
    require(!SigningKey::parse(input) || input.starts_with("PRIVATE+KEY+"), "a private key says so");
}

void as_witness(std::string_view input) {
    const WitnessNotes read = read_witness(input);
    std::vector<std::string> whole;  // those of them that are notes; a line may say what is none
    std::string printed;
    for (const std::string& note : read.notes) {
        if (!parse_checkpoint(note)) continue;
        whole.push_back(note);
        printed += note;
    }
    const WitnessNotes again = read_witness(printed);
    require(again.notes == whole && again.unreadable == 0, "notes are read as they were printed");
    if (read.notes.empty() && read.unreadable == 0)
        require(input.find_first_not_of('\n') == std::string_view::npos, "nothing is passed over unseen");
}

void as_export(std::string_view input) {
    ExportVerifier whole({}, 4'096);
    whole.feed(input);
    const VerifyReport report = whole.finish();
    ExportVerifier pieces({}, 4'096);
    for (std::size_t at = 0; at < input.size(); at += 7) pieces.feed(input.substr(at, 7));
    const VerifyReport again = pieces.finish();
    require(report.to_json() == again.to_json(), "where the pieces end does not matter");
    require(!report.summary().empty(), "there is something to say");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    as_event(input);
    as_line(input);
    as_note(input);
    as_witness(input);
    as_export(input);
    return 0;
}
