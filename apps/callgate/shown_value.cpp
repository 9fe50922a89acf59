#include "shown_value.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/sha256.h"
#include "base/utf8.h"
#include "json/pointer.h"

namespace callgate::cli {

namespace {

constexpr std::size_t kMostWords = 10;
constexpr std::size_t kLongestWord = 60;

// The texts of a document: values and names, each with its place.
template <class Visit>
void each_text(Value& value, std::string& pointer, const Visit& visit) {
    const std::size_t size = pointer.size();
    if (value.is_string()) {
        visit(value.get_string(), pointer);
    } else if (value.is_array()) {
        std::size_t i = 0;
        for (Value& one : value.get_array()) {
            json::append_token(pointer, std::to_string(i++));
            each_text(one, pointer, visit);
            pointer.resize(size);
        }
    } else if (value.is_object()) {
        for (auto& [name, one] : value.get_object()) {
            json::append_token(pointer, name);
            each_text(one, pointer, visit);
            pointer.resize(size);
        }
    }
}

// The last part of `text`, at most `bytes` of it, that begins with a whole character.
std::string_view tail_of(std::string_view text, std::size_t bytes) {
    std::string_view tail = text.substr(text.size() - std::min(bytes, text.size()));
    while (!tail.empty() && base::is_utf8_continuation(tail.front())) tail.remove_prefix(1);
    return tail;
}

enum class Script : std::uint8_t { none, latin, greek, cyrillic, armenian, cherokee, fullwidth };

struct ScriptRange {
    char32_t first;
    char32_t last;
    Script script;
};

// Those whose letters are taken for one another.
Script script_of(char32_t c) {
    static constexpr std::array kRanges = {
        ScriptRange{U'A', U'Z', Script::latin},        ScriptRange{U'a', U'z', Script::latin},
        ScriptRange{0x00C0, 0x00D6, Script::latin},    ScriptRange{0x00D8, 0x00F6, Script::latin},
        ScriptRange{0x00F8, 0x02AF, Script::latin},    ScriptRange{0x0370, 0x03FF, Script::greek},
        ScriptRange{0x0400, 0x052F, Script::cyrillic}, ScriptRange{0x0531, 0x0587, Script::armenian},
        ScriptRange{0x13A0, 0x13FD, Script::cherokee}, ScriptRange{0x1C80, 0x1C8F, Script::cyrillic},
        ScriptRange{0x1E00, 0x1EFF, Script::latin},    ScriptRange{0x1F00, 0x1FFF, Script::greek},
        ScriptRange{0xAB70, 0xABBF, Script::cherokee}, ScriptRange{0xFF21, 0xFF3A, Script::fullwidth},
        ScriptRange{0xFF41, 0xFF5A, Script::fullwidth}};
    for (const ScriptRange& range : kRanges) {
        if (c >= range.first && c <= range.last) return range.script;
    }
    return Script::none;
}

class SuspicionFinder {
public:
    void look_at(std::string_view text) {
        while (!text.empty()) {
            const Glyph glyph = first_glyph(text);
            const std::string_view own = text.substr(0, glyph.bytes);
            const bool seen = glyph.shown == own || own == "\n" || own == "\t";
            if (!seen) ++found_.hidden;
            step(own, seen ? script_of(glyph.code) : Script::none, !seen);
            text.remove_prefix(glyph.bytes);
        }
        end_word();
    }

    Suspicion take() { return std::move(found_); }

private:
    // What cannot be seen does not end a word: it may have been put into it for that.
    void step(std::string_view own, Script script, bool hidden) {
        if (hidden) return;
        if (script == Script::none) {
            end_word();
            return;
        }
        scripts_ |= 1u << static_cast<unsigned>(script);
        if (word_.size() < kLongestWord) word_ += own;
    }

    void end_word() {
        const bool several = (scripts_ & (scripts_ - 1)) != 0;
        if (several && found_.mixed_words.size() < kMostWords &&
            std::ranges::find(found_.mixed_words, word_) == found_.mixed_words.end())
            found_.mixed_words.push_back(word_);
        word_.clear();
        scripts_ = 0;
    }

    Suspicion found_;
    std::string word_;
    unsigned scripts_ = 0;
};

void look_at_all(const Value& value, SuspicionFinder& finder) {
    if (value.is_string()) {
        finder.look_at(value.get_string());
    } else if (value.is_array()) {
        for (const Value& one : value.get_array()) look_at_all(one, finder);
    } else if (value.is_object()) {
        for (const auto& [name, one] : value.get_object()) {
            finder.look_at(name);
            look_at_all(one, finder);
        }
    }
}

}  // namespace

std::vector<CutText> cut_long_texts(Value& value, std::size_t longest) {
    std::vector<CutText> cuts;
    std::string pointer;
    each_text(value, pointer, [&](boost::json::string& text, const std::string& where) {
        if (text.size() <= longest) return;
        const std::string_view whole(text);
        cuts.push_back({where, whole.size(), base::sha256_hex(whole)});
        std::string shorter(base::truncate_to_bytes(whole, longest / 2));
        shorter += " … ";
        shorter += tail_of(whole, longest / 4);
        text = shorter;
    });
    return cuts;
}

Suspicion suspicion_of(const Value& value) {
    SuspicionFinder finder;
    look_at_all(value, finder);
    return finder.take();
}

std::string visible(std::string_view text, const Style& style) {
    std::string shown;
    while (!text.empty()) {
        const Glyph glyph = first_glyph(text);
        const std::string_view own = text.substr(0, glyph.bytes);
        if (own == "\n") {
            shown += '\n';
        } else {
            shown += glyph.shown == own || own == "\t" ? glyph.shown : style.yellow(glyph.shown);
        }
        text.remove_prefix(glyph.bytes);
    }
    return shown;
}

std::string to_text(const Value& value, bool full, std::size_t indent, const Style& style,
                    std::string_view how_to_see_all) {
    const Suspicion suspicion = suspicion_of(value);
    Value shown = value;
    std::vector<CutText> cuts;
    if (!full) cuts = cut_long_texts(shown);
    const std::string margin(indent, ' ');
    // A line that is longer than the terminal is broken where the terminal would break it.
    const std::size_t room = style.width > indent + 20 ? style.width - indent : 0;
    std::string out = margin;
    std::size_t used = 0;
    const std::string pretty = json::write_pretty(shown);
    for (std::string_view rest = pretty; !rest.empty();) {
        const Glyph glyph = first_glyph(rest);
        const std::string_view own = rest.substr(0, glyph.bytes);
        const bool ends = own == "\n";
        if (ends || (room != 0 && used != 0 && used + glyph.columns > room)) {
            out += '\n' + margin;
            used = 0;
        }
        if (!ends) {
            out += visible(own, style);
            used += glyph.columns;
        }
        rest.remove_prefix(glyph.bytes);
    }
    out += '\n';
    const auto remark = [&](std::string_view lead, const std::string& sentence) {
        std::string lines = indented(sentence, indent + (lead.empty() ? 0 : 2), style);
        if (!lead.empty()) lines.replace(indent, 1, lead);
        out += lines;
    };
    for (const CutText& cut : cuts)
        remark("", fmt::format("{} is cut: it has {} bytes, SHA-256 {}. {}",
                               printable(cut.pointer.empty() ? "(all)" : cut.pointer), cut.bytes, cut.sha256,
                               how_to_see_all));
    const std::string warning = style.yellow("⚠");
    if (suspicion.hidden != 0)
        remark(warning, fmt::format("{} that cannot be seen {} spelled out, as {}.",
                                    suspicion.hidden == 1 ? "1 character"
                                                          : fmt::format("{} characters", suspicion.hidden),
                                    suspicion.hidden == 1 ? "is" : "are", "\\u{200B} or \\x9B"));
    for (const std::string& word : suspicion.mixed_words)
        remark(warning,
               fmt::format("'{}' has letters of several scripts; some may not be what they look like.",
                           printable(word)));
    return out;
}

}  // namespace callgate::cli
