#include "schema/idna.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schema/format_net.h"
#include "schema/format_test_cases.h"

namespace callgate::schema {
namespace {

TEST(IdnHostname, accepts_u_labels_a_labels_and_plain_names) {
    expect_all(true, is_idn_hostname,
               {{"bücher.example", "RFC 5890 section 2.3.2.1"},
                {"xn--bcher-kva.bücher", "RFC 5890 section 2.3.2.1"},
                {"日本語.jp", "RFC 5892 appendix B"},
                {"faß.de", "RFC 5892 section 2.6: PVALID exception"},
                {"привет-мир.рф", "RFC 5891 section 4.2.3.1: inner hyphen"},
                {"example.com", "RFC 1123"},
                {"ab--cd.example", "RFC 1123: LDH"},
                {"दिल्ली.भारत", "RFC 5892 appendix B"}});
}

TEST(IdnHostname, refuses_what_is_no_u_label) {
    expect_all(false, is_idn_hostname,
               {{"Bücher.example", "RFC 5892 section 2.2: upper case is unstable"},
                {"bu\u0308cher", "RFC 5891 section 4.2.1: not NFC"},
                {"ü!", "RFC 5892 DISALLOWED"},
                {"ü_a", "RFC 5892 DISALLOWED"},
                {"☃.example", "RFC 5892: symbols"},
                {"①", "RFC 5892 section 2.2: unstable"},
                {"ü\u200B", "RFC 5892 section 2.5: ignorable"},
                {"\u0378", "RFC 5892 section 2.10: unassigned"},
                {"\u0301a", "RFC 5891 section 4.2.3.2: leading combining mark"},
                {"-ü", "RFC 5891 section 4.2.3.1: hyphen first"},
                {"ü-", "RFC 5891 section 4.2.3.1: hyphen last"},
                {"äö--ü", "RFC 5891 section 4.2.3.1: hyphens third and fourth"},
                {std::string_view("ü\0a", 4), "RFC 5892 DISALLOWED"},
                {"ü..a", "RFC 1034: empty label"},
                {"\xFF.a", "not UTF-8"},
                {"ü\xC3", "not UTF-8"}});
}

TEST(IdnHostname, applies_the_contextual_rules_of_rfc_5892_appendix_a) {
    expect_all(true, is_idn_hostname,
               {{"क्\u200Cत", "A.1 after a virama"},
                {"می\u200Cخواهم", "A.1 between joining letters"},
                {"क्\u200Dत", "A.2 after a virama"},
                {"col·lecció", "A.3 between l and l"},
                {"α͵γ", "A.4 before Greek"},
                {"ק׳ל", "A.5 after Hebrew"},
                {"צה״ל", "A.6 after Hebrew"},
                {"カ・タ", "A.7 with Katakana"},
                {"س٣٤", "A.8 Arabic-Indic digits alone"},
                {"س۳۴", "A.9 extended digits alone"}});
    expect_all(false, is_idn_hostname,
               {{"ab\u200Cü", "A.1"},
                {"त\u200D", "A.2"},
                {"a·b", "A.3"},
                {"l·", "A.3"},
                {"α͵x", "A.4"},
                {"α͵", "A.4"},
                {"׳ל", "A.5"},
                {"״ל", "A.6"},
                {"ü・a", "A.7"},
                {"س٣۴", "A.8, A.9"}});
}

TEST(IdnHostname, separates_labels_at_four_full_stops) {
    expect_all(true, is_idn_hostname,
               {{"a\u3002b", "RFC 3490 section 3.1"}, {"a\uFF0Eb\uFF61ü", "RFC 3490 section 3.1"}});
    expect_all(false, is_idn_hostname,
               {{"a\u3002", "empty label"}, {"\uFF0Ea", "empty label"}, {"a.\uFF61b", "empty label"}});
}

TEST(IdnHostname, limits_the_length_of_the_a_labels) {
    std::string label;
    for (int i = 0; i < 56; ++i) label += "ü";
    EXPECT_TRUE(is_idn_hostname(label));
    for (int i = 0; i < 4; ++i) label += "ü";
    EXPECT_FALSE(is_idn_hostname(label)) << "60 characters, but more than 63 octets as an A-label";

    const std::string part(60, 'a');
    const std::string head = part + "." + part + "." + part + "." + part + ".";  // 244 octets
    EXPECT_TRUE(is_idn_hostname(head + "ü.a")) << "ü is xn--tda: 253 octets";
    EXPECT_FALSE(is_idn_hostname(head + "ü.aa"));
}

TEST(IdnHostname, keeps_the_bidi_rule_across_labels) {
    expect_all(true, is_idn_hostname,
               {{"אבג.example", "RFC 5893 section 2"},
                {"אב1.example", "RFC 5893 section 2, rule 3"},
                {"שָׁלוֹם.com", "RFC 5893 section 2, rule 3: marks at the end"},
                {"a1.אבג", "RFC 5893 section 2, rule 6"}});
    expect_all(false, is_idn_hostname,
               {{"1a.אבג", "RFC 5893 section 2, rule 1"},
                {"1a.ü.xn--4dbcd", "RFC 5893 section 2, rule 1"},
                {"אa", "RFC 5893 section 2, rule 2"},
                {"א1٣", "RFC 5893 section 2, rule 4"},
                {"aא", "RFC 5893 section 2, rule 5"}});
}

// A few characters with their Bidi class written down, so that the rule can be read off a string of classes:
// L letter, R Hebrew, A Arabic letter, E digit, N Arabic-Indic digit, M non-spacing mark, S hyphen.
struct Sample {
    std::string_view text;
    char bidi_class;
};
constexpr std::array<Sample, 8> kSamples = {{{"b", 'L'},
                                             {"β", 'L'},
                                             {"\u05D0", 'R'},
                                             {"\u0628", 'A'},
                                             {"7", 'E'},
                                             {"\u0660", 'N'},
                                             {"\u05B1", 'M'},
                                             {"-", 'S'}}};

bool slow_bidi_rule(const std::string& classes) {
    const auto only = [&classes](std::string_view allowed) {
        return classes.find_first_not_of(allowed) == std::string::npos;
    };
    const std::size_t last = classes.find_last_not_of('M');
    if (last == std::string::npos) return false;
    const auto ends_in = [&](std::string_view wanted) {
        return wanted.find(classes[last]) != std::string_view::npos;
    };
    const auto has = [&classes](char c) { return classes.find(c) != std::string::npos; };
    if (classes[0] == 'R' || classes[0] == 'A') {
        return only("RANESM") && ends_in("RAEN") && !(has('E') && has('N'));
    }
    return classes[0] == 'L' && only("LESM") && ends_in("LE");
}

TEST(IdnHostname, agrees_with_the_bidi_rule_read_slowly_for_all_short_labels) {
    struct Label {
        std::string text;
        std::string classes;
    };
    std::vector<Label> labels = {{}};
    for (std::size_t i = 0; labels[i].classes.size() < 4; ++i) {
        for (const Sample& sample : kSamples) {
            labels.push_back(
                {labels[i].text + std::string(sample.text), labels[i].classes + sample.bidi_class});
        }
    }
    for (const Label& label : labels) {
        const std::string& classes = label.classes;
        // Left to the other tests: what is wrong for reasons that have nothing to do with Bidi.
        if (classes.empty() || classes[0] == 'M' || classes[0] == 'S' || classes.back() == 'S') continue;
        if (classes.size() == 4 && classes.substr(2) == "SS") continue;
        const bool rtl = classes.find_first_of("RAN") != std::string::npos;
        const bool keeps = slow_bidi_rule(classes);
        EXPECT_EQ(is_idn_hostname(label.text + ".ü"), !rtl || keeps) << classes;
        EXPECT_EQ(is_idn_hostname("\u05D1." + label.text), keeps) << classes;
        EXPECT_FALSE(is_idn_hostname(label.text + ".7\u05D1")) << classes;
    }
}

TEST(ALabel, is_the_punycode_of_a_valid_u_label_and_nothing_else) {
    for (const std::string_view label : {"xn--bcher-kva", "XN--Bcher-KVA", "xn--p1ai", "xn--fa-hia"}) {
        EXPECT_TRUE(is_a_label(label)) << label;
    }
    for (const std::string_view label :
         {"xn--", "xn--a", "xn--abc-", "xn--bcher-kva-", "xn--99999999999", "xn---",
          "xn--n3h" /* a snowman */, "xn---tda" /* xn--tda, not canonical */}) {
        EXPECT_FALSE(is_a_label(label)) << label;
    }
}

RC_GTEST_PROP(ALabel, takes_any_text_that_is_ldh, ()) {
    const std::string tail = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("abz019-KX")));
    const std::string label = ("xn--" + tail).substr(0, 63);
    RC_PRE(is_ldh_label(label));
    RC_ASSERT(is_hostname(label) == is_a_label(label));
    RC_ASSERT(is_idn_hostname(label) == is_a_label(label));
}

RC_GTEST_PROP(IdnHostname, takes_any_bytes, (const std::string& bytes)) {
    RC_ASSERT(!is_hostname(bytes) || is_idn_hostname(bytes));
    static_cast<void>(is_idn_name(bytes, IdnInput::mail));
    static_cast<void>(is_idn_name("ü." + bytes, IdnInput::any_full_stop));
}

}  // namespace
}  // namespace callgate::schema
