#include "ledger/audit/event_view.h"

#include "base/encoding.h"

namespace callgate::ledger {
namespace {

enum class Kind : std::uint8_t { text, number, id, commits };

struct MemberRow {
    std::string_view name;
    Kind kind = Kind::text;
    std::uint64_t least = 0;  ///< numbers: a smaller one is left out, or never occurs
    bool required = false;    ///< and, if it is a text, UTF-8
};

// In the order of Member.
constexpr std::array<MemberRow, kMemberCount> kMembers{{
    {"action"},
    {"approval"},
    {"attempt", Kind::number, 1},
    {"autonomy", Kind::text, 0, true},
    {"boot", Kind::text, 0, true},
    {"call", Kind::id},
    {"chain", Kind::text, 0, true},
    {"commits", Kind::commits},
    {"connector"},
    {"error"},
    {"has_key", Kind::number, 1},
    {"key"},
    {"latency_ns", Kind::number, 1},
    {"mono", Kind::number, 0, true},
    {"old_key"},
    {"outcome"},
    {"parent", Kind::id},
    {"principal"},
    {"request"},
    {"risk", Kind::text, 0, true},
    {"run"},
    {"seq", Kind::number, 1, true},
    {"stage"},
    {"step"},
    {"task"},
    {"tenant"},
    {"time", Kind::number, 0, true},
    {"tool"},
    {"trace"},
    {"type", Kind::text, 0, true},
    {"v", Kind::number, 1, true},
}};

consteval std::uint32_t required_members() {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < kMemberCount; ++i) {
        if (i > 0 && kMembers[i].name <= kMembers[i - 1].name) throw "members are sorted by name";
        if (kMembers[i].required) bits |= std::uint32_t{1} << i;
    }
    return bits;
}
constexpr std::uint32_t kRequired = required_members();

constexpr std::string_view kHexSuffix = "_hex";

}  // namespace

class EventScanner {
public:
    EventScanner(std::string_view text, EventView& view) : scan_(text), view_(view) {}

    bool scan() {
        view_.present_ = 0;
        view_.hex_ = 0;
        view_.commit_count_ = 0;
        view_.numbers_.fill(0);
        if (!scan_.take('{')) return scan_.fault("an event begins with {");
        std::size_t next = 0;
        do {
            if (!scan_.take('"')) return scan_.fault("a member's name was expected");
            bool hex = false;
            const std::size_t index = member_here(next, hex);
            if (index == kMemberCount)
                return scan_.fault("this is no member of an event, or it stands out of the order of names");
            if (!value(index, hex)) return false;
            view_.present_ |= std::uint32_t{1} << index;
            next = index + 1;
        } while (scan_.take(','));
        if (!scan_.take('}')) return scan_.fault("a comma or } was expected");
        if ((view_.present_ & kRequired) != kRequired)
            return scan_.fault("the event lacks a member it must have");
        if (view_.number(Member::v) != kAuditVersion)
            return scan_.fault("this version of the format is not known");
        return true;
    }

    const CanonicalScan& state() const noexcept { return scan_; }

private:
    /// The member that is named here, from number `next` on, and what follows its name; kMemberCount if none.
    std::size_t member_here(std::size_t next, bool& hex) {
        const std::string_view rest = scan_.rest();
        for (; next < kMemberCount; ++next) {
            const MemberRow& row = kMembers[next];
            if (!rest.starts_with(row.name)) continue;
            std::string_view after = rest.substr(row.name.size());
            hex = row.kind == Kind::text && !row.required && after.starts_with(kHexSuffix);
            if (hex) after.remove_prefix(kHexSuffix.size());
            if (!after.starts_with("\":")) continue;
            scan_.skip(rest.size() - after.size() + 2);
            return next;
        }
        return kMemberCount;
    }

    bool value(std::size_t index, bool hex) {
        std::string_view& raw = view_.raw_[index];
        switch (kMembers[index].kind) {
            case Kind::number: return number(index);
            case Kind::commits: return commits();
            case Kind::id: return uuid(raw);
            case Kind::text: break;
        }
        std::size_t bytes = 0;
        if (hex) {
            view_.hex_ |= std::uint32_t{1} << index;
            if (!scan_.hex_string(raw)) return false;
            bytes = raw.size() / 2;
        } else if (!scan_.string(raw, bytes)) {
            return false;
        }
        if (bytes == 0) return scan_.fault("an empty text is told by leaving the member out");
        return bytes <= kMaxAuditText || scan_.fault("a text is too long");
    }

    bool number(std::size_t index) {
        std::uint64_t& number = view_.numbers_[index];
        const std::string_view rest = scan_.rest();
        if (!scan_.integer(number)) return false;
        view_.raw_[index] = rest.substr(0, rest.size() - scan_.rest().size());
        if (number < kMembers[index].least)
            return scan_.fault("this number is told by leaving the member out");
        if (index == static_cast<std::size_t>(Member::has_key) && number != 1)
            return scan_.fault("has_key is 1 or left out");
        return true;
    }

    bool uuid(std::string_view& raw) {
        constexpr std::size_t kUuidText = 36;
        if (!scan_.take('"')) return scan_.fault("a string was expected");
        raw = scan_.rest().substr(0, kUuidText);
        std::string_view part;
        bool first = true;
        for (const std::size_t digits : {8u, 4u, 4u, 4u, 12u}) {
            if (!first && !scan_.take('-')) return scan_.fault("an id is of the form 8-4-4-4-12");
            if (!scan_.hex_digits(digits, part)) return false;
            first = false;
        }
        if (raw.find_first_not_of("0-") == std::string_view::npos)
            return scan_.fault("an id of zeros is told by leaving the member out");
        return scan_.take('"') || scan_.fault("a string does not end");
    }

    bool commits() {
        constexpr std::size_t kDigestText = 64;
        if (!scan_.take('{')) return scan_.fault("an object was expected");
        std::string_view last;
        do {
            std::string_view field;
            std::size_t bytes = 0;
            if (!scan_.string(field, bytes)) return false;
            if (!is_payload_field(field)) return scan_.fault("this is no payload's field");
            if (field <= last) return scan_.fault("the payloads' fields are out of order");
            if (view_.commit_count_ == kMaxAuditPayloads)
                return scan_.fault("an event has too many payloads");
            last = field;
            std::string_view digest;
            if (!scan_.take(":\"")) return scan_.fault("a string was expected");
            if (!scan_.hex_digits(kDigestText, digest)) return false;
            if (!scan_.take('"')) return scan_.fault("a string does not end");
            view_.commits_[view_.commit_count_++] = {field, digest};
        } while (scan_.take(','));
        return scan_.take('}') || scan_.fault("a comma or } was expected");
    }

    CanonicalScan scan_;
    EventView& view_;
};

std::string_view to_string(Member member) noexcept {
    return kMembers[static_cast<std::size_t>(member)].name;
}

std::string EventView::text(Member member) const {
    if (!has(member)) return {};
    const std::string_view raw = this->raw(member);
    if ((hex_ >> index(member) & 1) != 0) return base::hex_decode(raw).value_or(std::string());
    return unescaped(raw);
}

CallId EventView::id(Member member) const noexcept {
    CallId id{};
    if (!has(member)) return id;
    std::size_t digit = 0;
    for (const char c : raw(member)) {
        if (c == '-') continue;
        id[digit / 2] = static_cast<std::uint8_t>(id[digit / 2] << 4 | base::hex_value(c));
        ++digit;
    }
    return id;
}

std::optional<ScanFault> scan_event(std::string_view text, EventView& view, std::size_t& end) {
    EventScanner scanner(text, view);
    if (!scanner.scan()) return scanner.state().found();
    end = scanner.state().position();
    return std::nullopt;
}

std::optional<ScanFault> scan_event(std::string_view text, EventView& view) {
    std::size_t end = 0;
    if (const auto fault = scan_event(text, view, end)) return fault;
    if (end != text.size()) return ScanFault{"nothing may follow the event", end};
    return std::nullopt;
}

}  // namespace callgate::ledger
