// A way to cut, a limit, and bytes: cutting never changes which events are read, none is larger than it may
// be, and what was read comes back from what is written of it.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "require.h"
#include "wire/sse.h"

using namespace callgate;

namespace {

struct Event {
    std::string type;
    std::string data;
    std::string id;
    bool too_large = false;
    friend bool operator==(const Event&, const Event&) = default;
};

std::vector<Event> events_of(std::string_view bytes, std::size_t step, std::size_t most) {
    std::vector<Event> events;
    wire::SseReader reader(most);
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        reader.feed(bytes.substr(at, step), [&](const wire::SseEvent& event) {
            require(event.data.size() <= 2 * most + 1, "no event is much larger than it may be");
            events.push_back(
                {std::string(event.type), std::string(event.data), std::string(event.id), event.too_large});
        });
    }
    return events;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::size_t step = 1 + data[0] % 32;
    const std::size_t most = data[1];
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
    const std::vector<Event> events = events_of(bytes, step, most);
    require(events == events_of(bytes, bytes.size() + 1, most), "cutting changes nothing");
    std::string written;
    std::vector<Event> wanted;
    for (const Event& event : events) {
        if (event.too_large || event.data.find('\0') != std::string::npos ||
            event.type.find('\0') != std::string::npos)
            continue;
        wire::append_event(written, {event.data, event.type, event.id});
        wanted.push_back(event);
    }
    // An id that was there once stays: only those that are written are compared.
    const std::vector<Event> again = events_of(written, step, 1u << 20);
    require(again.size() == wanted.size(), "as many events come back");
    for (std::size_t i = 0; i < again.size(); ++i) {
        require(again[i].data == wanted[i].data && again[i].type == wanted[i].type,
                "the same events come back");
        if (!wanted[i].id.empty()) require(again[i].id == wanted[i].id, "with the same id");
    }
    return 0;
}
