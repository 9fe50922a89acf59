#include "ledger/audit/event_view.h"

#include "base/encoding.h"
#include "base/utf8.h"

namespace callgate::ledger {
namespace {

enum class Kind : std::uint8_t { text, number, id, commits };

struct MemberRow {
    std::string_view name;
    Kind kind = Kind::text;
    std::uint64_t least = 0;  ///< numbers: what is smaller is told by leaving it out, or never
    bool required = false;
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
constexpr std::size_t kDigestText = 64;

bool is_lower_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

// The characters of a string that need no second look.
consteval std::array<bool, 256> plain_characters() {
    std::array<bool, 256> plain{};
    for (std::size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
    return plain;
}
constexpr std::array<bool, 256> kPlain = plain_characters();

bool is_plain(char c) {
    return kPlain[static_cast<unsigned char>(c)];
}

char unescaped(char letter) {
    switch (letter) {
        case 'b': return '\b';
        case 't': return '\t';
        case 'n': return '\n';
        case 'f': return '\f';
        case 'r': return '\r';
        default: return letter;
    }
}

}  // namespace

class EventScanner {
public:
    EventScanner(std::string_view text, EventView& view) : text_(text), view_(view) {}

    bool scan() {
        view_.present_ = 0;
        view_.hex_ = 0;
        view_.commit_count_ = 0;
        view_.numbers_.fill(0);
        if (!take('{')) return fault("an event begins with {");
        std::size_t next = 0;
        do {
            if (!take('"')) return fault("a member's name was expected");
            bool hex = false;
            const std::size_t index = member_at(next, hex);
            if (index == kMemberCount)
                return fault("this is no member of an event, or it stands out of the order of names");
            if (!value(index, hex)) return false;
            view_.present_ |= std::uint32_t{1} << index;
            next = index + 1;
        } while (take(','));
        if (!take('}')) return fault("a comma or } was expected");
        if ((view_.present_ & kRequired) != kRequired) return fault("the event lacks a member it must have");
        if (view_.number(Member::v) != kAuditVersion) return fault("this version of the format is not known");
        return true;
    }

    std::size_t position() const noexcept { return at_; }
    ScanFault told() const noexcept { return fault_; }

private:
    bool fault(const char* what) {
        fault_ = {what, at_};
        return false;
    }

    bool take(char c) {
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    bool take(std::string_view token) {
        if (text_.compare(at_, token.size(), token) != 0) return false;
        at_ += token.size();
        return true;
    }

    /// The member that is named here, from number `next` on, and what follows its name; kMemberCount if none.
    std::size_t member_at(std::size_t next, bool& hex) {
        for (; next < kMemberCount; ++next) {
            const MemberRow& row = kMembers[next];
            const std::size_t before = at_;
            if (!take(row.name)) continue;
            if (take("\":")) return next;
            hex = row.kind == Kind::text && take(kHexSuffix);
            if (hex && take("\":")) return next;
            hex = false;
            at_ = before;
        }
        return kMemberCount;
    }

    bool value(std::size_t index, bool hex) {
        const std::size_t begin = at_ + 1;
        switch (kMembers[index].kind) {
            case Kind::number: return number(index);
            case Kind::commits: return commits();
            case Kind::id:
                if (!uuid()) return false;
                break;
            case Kind::text:
                if (!(hex ? hex_text() : text())) return false;
                if (hex) view_.hex_ |= std::uint32_t{1} << index;
                break;
        }
        view_.raw_[index] = text_.substr(begin, at_ - begin - 1);
        return true;
    }

    bool number(std::size_t index) {
        constexpr std::size_t kMaxDigits = 16;
        const std::size_t begin = at_;
        std::uint64_t number = 0;
        while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
            if (at_ - begin == kMaxDigits) return fault("integers are below 2^53");
            number = number * 10 + static_cast<std::uint64_t>(text_[at_++] - '0');
        }
        if (at_ == begin) return fault("an integer was expected");
        if (text_[begin] == '0' && at_ != begin + 1) return fault("an integer does not begin with 0");
        if (number > kMaxAuditInteger) return fault("integers are below 2^53");
        if (number < kMembers[index].least) return fault("this number is told by leaving the member out");
        if (index == static_cast<std::size_t>(Member::has_key) && number != 1)
            return fault("has_key is 1 or left out");
        view_.numbers_[index] = number;
        return true;
    }

    bool text() {
        if (!take('"')) return fault("a string was expected");
        const std::size_t begin = at_;
        std::size_t saved = 0;  // by reading the escapes
        while (true) {
            while (at_ < text_.size() && is_plain(text_[at_])) ++at_;
            if (at_ == text_.size()) return fault("a string does not end");
            const char c = text_[at_];
            if (c == '"') break;
            if (c == '\\') {
                const std::size_t length = escape();
                if (length == 0) return fault("this character is not escaped in the one canonical way");
                at_ += length;
                saved += length - 1;
            } else {
                const std::size_t length = base::utf8_sequence_length(text_.substr(at_));
                if (length <= 1) return fault("a string holds a control character or is not UTF-8");
                at_ += length;
            }
        }
        if (at_ == begin) return fault("an empty text is told by leaving the member out");
        if (at_ - begin - saved > kMaxAuditText) return fault("a text is too long");
        ++at_;
        return true;
    }

    /// The length of the escape here, 0 if it is not canonical.
    std::size_t escape() const {
        const std::string_view rest = text_.substr(at_ + 1);
        if (rest.empty()) return 0;
        if (std::string_view("\"\\btnfr").find(rest[0]) != std::string_view::npos) return 2;
        if (!rest.starts_with("u00") || rest.size() < 5 || !is_lower_hex(rest[4])) return 0;
        const int code = base::hex_value(rest[3]) * 16 + base::hex_value(rest[4]);
        const bool has_letter = code == '\b' || code == '\t' || code == '\n' || code == '\f' || code == '\r';
        return (rest[3] == '0' || rest[3] == '1') && !has_letter ? 6 : 0;
    }

    bool hex_digits(std::size_t count) {
        for (; count > 0; --count, ++at_)
            if (at_ == text_.size() || !is_lower_hex(text_[at_]))
                return fault("a lower-case hexadecimal digit was expected");
        return true;
    }

    bool hex_text() {
        if (!take('"')) return fault("a string was expected");
        const std::size_t begin = at_;
        while (at_ < text_.size() && is_lower_hex(text_[at_])) ++at_;
        const auto bytes = base::hex_decode(text_.substr(begin, at_ - begin));
        if (!bytes || bytes->empty()) return fault("pairs of lower-case hexadecimal digits were expected");
        if (bytes->size() > kMaxAuditText) return fault("a text is too long");
        if (base::is_valid_utf8(*bytes)) return fault("text that is UTF-8 is not spelled in hexadecimal");
        return take('"') || fault("a string does not end");
    }

    bool uuid() {
        if (!take('"')) return fault("a string was expected");
        const std::size_t begin = at_;
        for (const std::size_t digits : {8u, 4u, 4u, 4u, 12u}) {
            if (at_ != begin && !take('-')) return fault("an id is of the form 8-4-4-4-12");
            if (!hex_digits(digits)) return false;
        }
        if (text_.substr(begin, at_ - begin).find_first_not_of("0-") == std::string_view::npos)
            return fault("an id of zeros is told by leaving the member out");
        return take('"') || fault("a string does not end");
    }

    bool commits() {
        if (!take('{')) return fault("an object was expected");
        std::string_view last;
        do {
            if (!take('"')) return fault("a payload's field was expected");
            const std::size_t begin = at_;
            while (at_ < text_.size() && is_plain(text_[at_])) ++at_;
            const std::string_view field = text_.substr(begin, at_ - begin);
            if (!is_payload_field(field)) return fault("this is no payload's field");
            if (field <= last) return fault("the payloads' fields are out of order");
            if (view_.commit_count_ == kMaxAuditPayloads) return fault("an event has too many payloads");
            last = field;
            if (!take("\":\"")) return fault("a string was expected");
            const std::size_t digest = at_;
            if (!hex_digits(kDigestText)) return false;
            view_.commits_[view_.commit_count_++] = {field, text_.substr(digest, kDigestText)};
            if (!take('"')) return fault("a string does not end");
        } while (take(','));
        return take('}') || fault("a comma or } was expected");
    }

    std::string_view text_;
    EventView& view_;
    std::size_t at_ = 0;
    ScanFault fault_;
};

std::string_view to_string(Member member) noexcept {
    return kMembers[static_cast<std::size_t>(member)].name;
}

std::string EventView::text(Member member) const {
    if (!has(member)) return {};
    const std::string_view raw = this->raw(member);
    if ((hex_ >> index(member) & 1) != 0) return base::hex_decode(raw).value_or(std::string());
    std::string out;
    out.reserve(raw.size());
    for (std::size_t i = 0; i < raw.size(); ++i) {
        if (raw[i] != '\\') {
            out.push_back(raw[i]);
        } else if (raw[++i] != 'u') {
            out.push_back(unescaped(raw[i]));
        } else {
            out.push_back(static_cast<char>(base::hex_value(raw[i + 3]) * 16 + base::hex_value(raw[i + 4])));
            i += 4;
        }
    }
    return out;
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
    if (!scanner.scan()) return scanner.told();
    end = scanner.position();
    return std::nullopt;
}

std::optional<ScanFault> scan_event(std::string_view text, EventView& view) {
    std::size_t end = 0;
    if (const auto fault = scan_event(text, view, end)) return fault;
    if (end != text.size()) return ScanFault{"nothing may follow the event", end};
    return std::nullopt;
}

}  // namespace callgate::ledger
