#include "schema/unicode_names.h"

#include <algorithm>

#include "schema/unicode_tables.h"

namespace callgate::schema {
namespace {

namespace tables = unicode_tables;

struct Category {
    std::string_view name;
    std::string_view alias;
    std::string_view other_alias;
    std::string_view categories;
    bool complement = false;
};

// RE2 knows no Cn, and its C leaves the unassigned code points out; both are spelled by what they are not.
constexpr Category kCategories[] = {
    {"Letter", "L", "", "L"},
    {"Cased_Letter", "LC", "", "Lu Ll Lt"},
    {"Uppercase_Letter", "Lu", "", "Lu"},
    {"Lowercase_Letter", "Ll", "", "Ll"},
    {"Titlecase_Letter", "Lt", "", "Lt"},
    {"Modifier_Letter", "Lm", "", "Lm"},
    {"Other_Letter", "Lo", "", "Lo"},
    {"Mark", "M", "Combining_Mark", "M"},
    {"Nonspacing_Mark", "Mn", "", "Mn"},
    {"Spacing_Mark", "Mc", "", "Mc"},
    {"Enclosing_Mark", "Me", "", "Me"},
    {"Number", "N", "", "N"},
    {"Decimal_Number", "Nd", "digit", "Nd"},
    {"Letter_Number", "Nl", "", "Nl"},
    {"Other_Number", "No", "", "No"},
    {"Punctuation", "P", "punct", "P"},
    {"Connector_Punctuation", "Pc", "", "Pc"},
    {"Dash_Punctuation", "Pd", "", "Pd"},
    {"Open_Punctuation", "Ps", "", "Ps"},
    {"Close_Punctuation", "Pe", "", "Pe"},
    {"Initial_Punctuation", "Pi", "", "Pi"},
    {"Final_Punctuation", "Pf", "", "Pf"},
    {"Other_Punctuation", "Po", "", "Po"},
    {"Symbol", "S", "", "S"},
    {"Math_Symbol", "Sm", "", "Sm"},
    {"Currency_Symbol", "Sc", "", "Sc"},
    {"Modifier_Symbol", "Sk", "", "Sk"},
    {"Other_Symbol", "So", "", "So"},
    {"Separator", "Z", "", "Z"},
    {"Space_Separator", "Zs", "", "Zs"},
    {"Line_Separator", "Zl", "", "Zl"},
    {"Paragraph_Separator", "Zp", "", "Zp"},
    {"Control", "Cc", "cntrl", "Cc"},
    {"Format", "Cf", "", "Cf"},
    {"Surrogate", "Cs", "", "Cs"},
    {"Private_Use", "Co", "", "Co"},
    {"Other", "C", "", "L M N P S Z", true},
    {"Unassigned", "Cn", "", "L M N P S Z Cc Cf Cs Co", true},
};

struct Binary {
    std::string_view name;
    std::string_view alias;
    std::string_view categories;
    std::span<const CodeRange> ranges;
    bool complement = false;
};

constexpr CodeRange kAscii[] = {{0x00, 0x7F}};

constexpr Binary kBinaries[] = {
    {"ASCII", "ASCII", "", kAscii},
    {"Any", "Any", "", {}, true},
    {"Assigned", "Assigned", "L M N P S Z Cc Cf Cs Co", {}},
    {"ASCII_Hex_Digit", "AHex", "", tables::kASCIIHexDigit},
    {"Alphabetic", "Alpha", "Lu Ll Lt Lm Lo Nl", tables::kAlphabetic},
    {"Bidi_Control", "Bidi_C", "", tables::kBidiControl},
    {"Cased", "Cased", "Lu Ll Lt", tables::kCased},
    {"Dash", "Dash", "Pd", tables::kDash},
    {"Default_Ignorable_Code_Point", "DI", "", tables::kDefaultIgnorableCodePoint},
    {"Emoji", "Emoji", "", tables::kEmoji},
    {"Emoji_Component", "EComp", "", tables::kEmojiComponent},
    {"Emoji_Modifier", "EMod", "", tables::kEmojiModifier},
    {"Emoji_Modifier_Base", "EBase", "", tables::kEmojiModifierBase},
    {"Emoji_Presentation", "EPres", "", tables::kEmojiPresentation},
    {"Extended_Pictographic", "ExtPict", "", tables::kExtendedPictographic},
    {"Hex_Digit", "Hex", "", tables::kHexDigit},
    {"ID_Continue", "IDC", "Lu Ll Lt Lo Mn Mc Nd Nl Pc", tables::kIDContinue},
    {"ID_Start", "IDS", "Lu Ll Lt Lo Nl", tables::kIDStart},
    {"Ideographic", "Ideo", "", tables::kIdeographic},
    {"Join_Control", "Join_C", "", tables::kJoinControl},
    {"Lowercase", "Lower", "Ll", tables::kLowercase},
    {"Noncharacter_Code_Point", "NChar", "", tables::kNoncharacterCodePoint},
    {"Pattern_White_Space", "Pat_WS", "", tables::kPatternWhiteSpace},
    {"Quotation_Mark", "QMark", "", tables::kQuotationMark},
    {"Regional_Indicator", "RI", "", tables::kRegionalIndicator},
    {"Unified_Ideograph", "UIdeo", "", tables::kUnifiedIdeograph},
    {"Uppercase", "Upper", "Lu", tables::kUppercase},
    {"Variation_Selector", "VS", "", tables::kVariationSelector},
    {"White_Space", "space", "", tables::kWhiteSpace},
};

struct NamePair {
    std::string_view name;
    std::string_view alias;
};

// Valid in ECMA-262, but too large or too rare for a table of ours.
constexpr NamePair kForeignBinaries[] = {
    {"Bidi_Mirrored", "Bidi_M"},
    {"Case_Ignorable", "CI"},
    {"Changes_When_Casefolded", "CWCF"},
    {"Changes_When_Casemapped", "CWCM"},
    {"Changes_When_Lowercased", "CWL"},
    {"Changes_When_NFKC_Casefolded", "CWKCF"},
    {"Changes_When_Titlecased", "CWT"},
    {"Changes_When_Uppercased", "CWU"},
    {"Deprecated", "Dep"},
    {"Diacritic", "Dia"},
    {"Extender", "Ext"},
    {"Grapheme_Base", "Gr_Base"},
    {"Grapheme_Extend", "Gr_Ext"},
    {"IDS_Binary_Operator", "IDSB"},
    {"IDS_Trinary_Operator", "IDST"},
    {"Logical_Order_Exception", "LOE"},
    {"Math", "Math"},
    {"Pattern_Syntax", "Pat_Syn"},
    {"Radical", "Radical"},
    {"Sentence_Terminal", "STerm"},
    {"Soft_Dotted", "SD"},
    {"Terminal_Punctuation", "Term"},
    {"XID_Continue", "XIDC"},
    {"XID_Start", "XIDS"},
};

constexpr ScriptName kScripts[] = {
    {"Adlam", "Adlm"},
    {"Ahom", "Ahom"},
    {"Anatolian_Hieroglyphs", "Hluw"},
    {"Arabic", "Arab"},
    {"Armenian", "Armn"},
    {"Avestan", "Avst"},
    {"Balinese", "Bali"},
    {"Bamum", "Bamu"},
    {"Bassa_Vah", "Bass"},
    {"Batak", "Batk"},
    {"Bengali", "Beng"},
    {"Bhaiksuki", "Bhks"},
    {"Bopomofo", "Bopo"},
    {"Brahmi", "Brah"},
    {"Braille", "Brai"},
    {"Buginese", "Bugi"},
    {"Buhid", "Buhd"},
    {"Canadian_Aboriginal", "Cans"},
    {"Carian", "Cari"},
    {"Caucasian_Albanian", "Aghb"},
    {"Chakma", "Cakm"},
    {"Cham", "Cham"},
    {"Cherokee", "Cher"},
    {"Chorasmian", "Chrs"},
    {"Common", "Zyyy"},
    {"Coptic", "Copt"},
    {"Cuneiform", "Xsux"},
    {"Cypriot", "Cprt"},
    {"Cypro_Minoan", "Cpmn"},
    {"Cyrillic", "Cyrl"},
    {"Deseret", "Dsrt"},
    {"Devanagari", "Deva"},
    {"Dives_Akuru", "Diak"},
    {"Dogra", "Dogr"},
    {"Duployan", "Dupl"},
    {"Egyptian_Hieroglyphs", "Egyp"},
    {"Elbasan", "Elba"},
    {"Elymaic", "Elym"},
    {"Ethiopic", "Ethi"},
    {"Georgian", "Geor"},
    {"Glagolitic", "Glag"},
    {"Gothic", "Goth"},
    {"Grantha", "Gran"},
    {"Greek", "Grek"},
    {"Gujarati", "Gujr"},
    {"Gunjala_Gondi", "Gong"},
    {"Gurmukhi", "Guru"},
    {"Han", "Hani"},
    {"Hangul", "Hang"},
    {"Hanifi_Rohingya", "Rohg"},
    {"Hanunoo", "Hano"},
    {"Hatran", "Hatr"},
    {"Hebrew", "Hebr"},
    {"Hiragana", "Hira"},
    {"Imperial_Aramaic", "Armi"},
    {"Inherited", "Zinh"},
    {"Inscriptional_Pahlavi", "Phli"},
    {"Inscriptional_Parthian", "Prti"},
    {"Javanese", "Java"},
    {"Kaithi", "Kthi"},
    {"Kannada", "Knda"},
    {"Katakana", "Kana"},
    {"Kawi", "Kawi"},
    {"Kayah_Li", "Kali"},
    {"Kharoshthi", "Khar"},
    {"Khitan_Small_Script", "Kits"},
    {"Khmer", "Khmr"},
    {"Khojki", "Khoj"},
    {"Khudawadi", "Sind"},
    {"Lao", "Laoo"},
    {"Latin", "Latn"},
    {"Lepcha", "Lepc"},
    {"Limbu", "Limb"},
    {"Linear_A", "Lina"},
    {"Linear_B", "Linb"},
    {"Lisu", "Lisu"},
    {"Lycian", "Lyci"},
    {"Lydian", "Lydi"},
    {"Mahajani", "Mahj"},
    {"Makasar", "Maka"},
    {"Malayalam", "Mlym"},
    {"Mandaic", "Mand"},
    {"Manichaean", "Mani"},
    {"Marchen", "Marc"},
    {"Masaram_Gondi", "Gonm"},
    {"Medefaidrin", "Medf"},
    {"Meetei_Mayek", "Mtei"},
    {"Mende_Kikakui", "Mend"},
    {"Meroitic_Cursive", "Merc"},
    {"Meroitic_Hieroglyphs", "Mero"},
    {"Miao", "Plrd"},
    {"Modi", "Modi"},
    {"Mongolian", "Mong"},
    {"Mro", "Mroo"},
    {"Multani", "Mult"},
    {"Myanmar", "Mymr"},
    {"Nabataean", "Nbat"},
    {"Nag_Mundari", "Nagm"},
    {"Nandinagari", "Nand"},
    {"New_Tai_Lue", "Talu"},
    {"Newa", "Newa"},
    {"Nko", "Nkoo"},
    {"Nushu", "Nshu"},
    {"Nyiakeng_Puachue_Hmong", "Hmnp"},
    {"Ogham", "Ogam"},
    {"Ol_Chiki", "Olck"},
    {"Old_Hungarian", "Hung"},
    {"Old_Italic", "Ital"},
    {"Old_North_Arabian", "Narb"},
    {"Old_Permic", "Perm"},
    {"Old_Persian", "Xpeo"},
    {"Old_Sogdian", "Sogo"},
    {"Old_South_Arabian", "Sarb"},
    {"Old_Turkic", "Orkh"},
    {"Old_Uyghur", "Ougr"},
    {"Oriya", "Orya"},
    {"Osage", "Osge"},
    {"Osmanya", "Osma"},
    {"Pahawh_Hmong", "Hmng"},
    {"Palmyrene", "Palm"},
    {"Pau_Cin_Hau", "Pauc"},
    {"Phags_Pa", "Phag"},
    {"Phoenician", "Phnx"},
    {"Psalter_Pahlavi", "Phlp"},
    {"Rejang", "Rjng"},
    {"Runic", "Runr"},
    {"Samaritan", "Samr"},
    {"Saurashtra", "Saur"},
    {"Sharada", "Shrd"},
    {"Shavian", "Shaw"},
    {"Siddham", "Sidd"},
    {"SignWriting", "Sgnw"},
    {"Sinhala", "Sinh"},
    {"Sogdian", "Sogd"},
    {"Sora_Sompeng", "Sora"},
    {"Soyombo", "Soyo"},
    {"Sundanese", "Sund"},
    {"Syloti_Nagri", "Sylo"},
    {"Syriac", "Syrc"},
    {"Tagalog", "Tglg"},
    {"Tagbanwa", "Tagb"},
    {"Tai_Le", "Tale"},
    {"Tai_Tham", "Lana"},
    {"Tai_Viet", "Tavt"},
    {"Takri", "Takr"},
    {"Tamil", "Taml"},
    {"Tangsa", "Tnsa"},
    {"Tangut", "Tang"},
    {"Telugu", "Telu"},
    {"Thaana", "Thaa"},
    {"Thai", "Thai"},
    {"Tibetan", "Tibt"},
    {"Tifinagh", "Tfng"},
    {"Tirhuta", "Tirh"},
    {"Toto", "Toto"},
    {"Ugaritic", "Ugar"},
    {"Vai", "Vaii"},
    {"Vithkuqi", "Vith"},
    {"Wancho", "Wcho"},
    {"Warang_Citi", "Wara"},
    {"Yezidi", "Yezi"},
    {"Yi", "Yiii"},
    {"Zanabazar_Square", "Zanb"},
};

// Newer than the tables of the engines in use.
constexpr NamePair kForeignScripts[] = {
    {"Beria_Erfe", "Berf"}, {"Garay", "Gara"},   {"Gurung_Khema", "Gukh"}, {"Katakana_Or_Hiragana", "Hrkt"},
    {"Kirat_Rai", "Krai"},  {"Ol_Onal", "Onao"}, {"Sidetic", "Sidt"},      {"Sunuwar", "Sunu"},
    {"Tai_Yo", "Tayo"},     {"Todhri", "Todr"},  {"Tolong_Siki", "Tols"},  {"Tulu_Tigalari", "Tutg"},
    {"Unknown", "Zzzz"},
};

std::optional<UnicodeProperty> find_category(std::string_view name) noexcept {
    for (const Category& category : kCategories) {
        if (name == category.name || name == category.alias ||
            (!category.other_alias.empty() && name == category.other_alias)) {
            UnicodeProperty found;
            found.name = category.name;
            found.categories = category.categories;
            found.complement = category.complement;
            return found;
        }
    }
    return std::nullopt;
}

std::optional<UnicodeProperty> find_binary(std::string_view name) noexcept {
    for (const Binary& binary : kBinaries) {
        if (name == binary.name || name == binary.alias) {
            UnicodeProperty found;
            found.name = binary.name;
            found.categories = binary.categories;
            found.ranges = binary.ranges;
            found.complement = binary.complement;
            return found;
        }
    }
    for (const NamePair& foreign : kForeignBinaries) {
        if (name == foreign.name || name == foreign.alias) {
            UnicodeProperty found;
            found.name = foreign.name;
            found.has_parts = false;
            found.pcre2_name = foreign.name;
            return found;
        }
    }
    return std::nullopt;
}

std::optional<UnicodeProperty> find_script(std::string_view value, bool extensions) noexcept {
    if (value == "Qaac") {
        value = "Coptic";
    } else if (value == "Qaai") {
        value = "Inherited";
    }
    for (const ScriptName& script : kScripts) {
        if (value == script.name || value == script.alias) {
            UnicodeProperty found;
            found.name = script.name;
            if (extensions) {
                found.has_parts = false;
                found.script_extensions = true;
                found.pcre2_name = script.name;
            } else {
                found.script = script.name;
            }
            return found;
        }
    }
    for (const NamePair& foreign : kForeignScripts) {
        if (value == foreign.name || value == foreign.alias) {
            UnicodeProperty found;
            found.name = foreign.name;
            found.has_parts = false;
            found.script_extensions = extensions;
            found.pcre2_name = foreign.name;
            return found;
        }
    }
    return std::nullopt;
}

std::string_view category_of_ascii(unsigned char c) noexcept {
    if (c < 0x20 || c == 0x7F) {
        return "Cc";
    }
    if (c >= '0' && c <= '9') {
        return "Nd";
    }
    if (c >= 'A' && c <= 'Z') {
        return "Lu";
    }
    if (c >= 'a' && c <= 'z') {
        return "Ll";
    }
    switch (c) {
        case ' ': return "Zs";
        case '$': return "Sc";
        case '(':
        case '[':
        case '{': return "Ps";
        case ')':
        case ']':
        case '}': return "Pe";
        case '+':
        case '<':
        case '=':
        case '>':
        case '|':
        case '~': return "Sm";
        case '-': return "Pd";
        case '^':
        case '`': return "Sk";
        case '_': return "Pc";
        default: return "Po";
    }
}

}  // namespace

std::optional<UnicodeProperty> find_property(std::string_view name) noexcept {
    if (auto category = find_category(name)) {
        return category;
    }
    return find_binary(name);
}

std::optional<UnicodeProperty> find_property(std::string_view name, std::string_view value) noexcept {
    if (name == "General_Category" || name == "gc") {
        return find_category(value);
    }
    if (name == "Script" || name == "sc") {
        return find_script(value, false);
    }
    if (name == "Script_Extensions" || name == "scx") {
        return find_script(value, true);
    }
    return std::nullopt;
}

bool has_property(const UnicodeProperty& property, unsigned char ascii) noexcept {
    const std::string_view category = category_of_ascii(ascii);
    bool inside = false;
    for (std::string_view left = property.categories; !left.empty();) {
        const std::string_view one = left.substr(0, left.find(' '));
        left.remove_prefix(std::min(one.size() + 1, left.size()));
        inside = inside || category.substr(0, one.size()) == one;
    }
    const bool letter = category[0] == 'L';
    inside = inside || (property.script == "Latin" && letter) || (property.script == "Common" && !letter);
    for (const CodeRange& range : property.ranges) {
        inside = inside || (ascii >= range.first && ascii <= range.last);
    }
    return inside != property.complement;
}

std::span<const ScriptName> script_names() noexcept {
    return kScripts;
}

}  // namespace callgate::schema
