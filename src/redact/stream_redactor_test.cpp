#include "redact/stream_redactor.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/encoding.h"
#include "redact/reading.h"

namespace callgate::redact {
namespace {

using testing::HasSubstr;
using testing::Not;

std::shared_ptr<const SecretIndex> index_of(const std::vector<std::string>& secrets) {
    SecretSet set;
    for (const auto& secret : secrets) {
        EXPECT_TRUE(set.add(secret));
    }
    return set.index();
}

std::string whole(const std::shared_ptr<const SecretIndex>& index, std::string_view text) {
    std::string out;
    StreamRedactor redactor(index);
    redactor.feed(text, out);
    redactor.flush(out);
    return out;
}

std::string streamed(const std::vector<std::string>& secrets, std::string_view text) {
    return whole(index_of(secrets), text);
}

const std::string kSecret = "s3cr3t/pass word+\"x\"";

TEST(StreamRedactor, MasksTheValueItself) {
    EXPECT_EQ(streamed({kSecret}, "before " + kSecret + " after"), "before [REDACTED] after");
    EXPECT_EQ(streamed({kSecret}, kSecret), "[REDACTED]");
    EXPECT_EQ(streamed({kSecret}, "nothing to hide"), "nothing to hide");
    EXPECT_EQ(streamed({kSecret}, ""), "");
}

TEST(StreamRedactor, WithoutSecretsPassesEverythingOn) {
    EXPECT_EQ(streamed({}, "text"), "text");
    EXPECT_EQ(whole(nullptr, "text"), "text");
}

TEST(StreamRedactor, MasksBase64AtEveryOffsetInBothAlphabets) {
    for (std::size_t before = 0; before < 7; ++before) {
        for (std::size_t after = 0; after < 7; ++after) {
            for (const auto alphabet : {base::Base64Alphabet::standard, base::Base64Alphabet::url}) {
                for (const auto padding : {base::Base64Padding::with, base::Base64Padding::without}) {
                    const std::string left(before, '\xfb');
                    const std::string right(after, '\xef');
                    const auto text = base::base64_encode(left + kSecret + right, alphabet, padding);
                    const auto out = streamed({kSecret}, "x=" + text);
                    EXPECT_THAT(out, HasSubstr("[REDACTED]"));
                    // What is left outside the marker are whole characters of the neighbours and padding.
                    EXPECT_LE(out.size(), 2 + kMarker.size() + before / 3 * 4 + 2 + after / 3 * 4 + 4) << out;
                }
            }
        }
    }
}

TEST(StreamRedactor, LeavesNoBitOfTheSecretInTheCharactersAtItsEdges) {
    EXPECT_EQ(streamed({"password"}, base::base64_encode("password")), "[REDACTED]=");
    EXPECT_EQ(streamed({"password"}, base::base64_encode("user:password")), "dXNlcj[REDACTED]==");
}

TEST(StreamRedactor, MasksBase64BrokenIntoLines) {
    const std::string secret(100, 's');
    std::string text = base::base64_encode("xy" + secret);
    for (std::size_t at = 76; at < text.size(); at += 78) {
        text.insert(at, "\r\n");
    }
    EXPECT_EQ(streamed({secret}, text), "eH[REDACTED]");
}

TEST(StreamRedactor, MasksHexadecimal) {
    EXPECT_EQ(streamed({kSecret}, "<" + base::hex_encode(kSecret) + ">"), "<[REDACTED]>");
    EXPECT_EQ(streamed({kSecret}, "<" + base::hex_encode(kSecret, base::HexCase::upper) + ">"),
              "<[REDACTED]>");
}

TEST(StreamRedactor, MasksPercentEncodingHoweverThoroughItWas) {
    for (const auto space : {base::PercentSpace::percent20, base::PercentSpace::plus}) {
        for (const auto letters : {base::HexCase::lower, base::HexCase::upper}) {
            EXPECT_EQ(streamed({kSecret}, "a=" + base::percent_encode(kSecret, space, letters) + "&b"),
                      "a=[REDACTED]&b");
        }
    }
    EXPECT_EQ(streamed({kSecret}, "a=s3cr3t/pass%20word+\"x\"&b"), "a=[REDACTED]&b");
    EXPECT_EQ(streamed({kSecret}, "a=%733cr3t%2Fpass%20word%2b%22x%22&b"), "a=[REDACTED]&b");
}

TEST(StreamRedactor, MasksJsonEscapesHoweverTheyAreSpelled) {
    EXPECT_EQ(streamed({kSecret}, R"({"v":"s3cr3t/pass word+\"x\""})"), R"({"v":"[REDACTED]"})");
    EXPECT_EQ(streamed({kSecret}, R"({"v":"s3cr3t\/pass word\u002b\"x\u0022"})"), R"({"v":"[REDACTED]"})");
    EXPECT_EQ(streamed({"caf\xc3\xa9 \xf0\x9f\x98\x80!"}, R"("caf\u00e9 \uD83D\ude00!")"), R"("[REDACTED]")");
    EXPECT_EQ(streamed({"line1\nline2\tend"}, R"("line1\nline2\tend")"), R"("[REDACTED]")");
}

TEST(StreamRedactor, MasksAllOfTwoSecretsThatOverlap) {
    EXPECT_EQ(streamed({"ABCDEFGH", "EFGHIJKL"}, "-ABCDEFGHIJKL-"), "-[REDACTED]-");
    EXPECT_EQ(streamed({"ABCDEFGH", "xxABCDEFGHyy"}, "-xxABCDEFGHyy-"), "-[REDACTED]-");
    EXPECT_EQ(streamed({"ABCDEFGH", "xxABCDEFGHyy"}, "-xxABCDEFGHzz-"), "-xx[REDACTED]zz-");
    EXPECT_EQ(streamed({"aaaaaaaa"}, "b" + std::string(1000, 'a') + "b"), "b[REDACTED]b");
}

TEST(StreamRedactor, HoldsBackOnlyWhatMayBeginASecret) {
    StreamRedactor redactor(index_of({"hunter22"}));
    std::string out;
    redactor.feed("login hun", out);
    EXPECT_EQ(out, "login ");
    redactor.feed("gry.", out);
    EXPECT_EQ(out, "login hungry.");
    redactor.feed(" hunter2", out);
    EXPECT_EQ(out, "login hungry. ");
    redactor.feed("2.", out);
    EXPECT_EQ(out, "login hungry. [REDACTED].");
    EXPECT_EQ(redactor.held_bytes(), 0u);
    EXPECT_TRUE(redactor.found());
}

TEST(StreamRedactor, GivesOutWhatItHeldWhenTheTextEnds) {
    StreamRedactor redactor(index_of({"hunter22"}));
    std::string out;
    redactor.feed("hunter2", out);
    redactor.flush(out);
    EXPECT_EQ(out, "hunter2");
    redactor.feed("2", out);
    redactor.flush(out);
    EXPECT_EQ(out, "hunter22") << "a new text does not continue the last one";
    EXPECT_FALSE(redactor.found());
}

TEST(StreamRedactor, NoCutHidesAnyForm) {
    const std::vector<std::string> texts{
        "a " + kSecret + " b",
        "a " + base::base64_encode("xy" + kSecret + "z") + " b",
        "a " + base::hex_encode(kSecret) + " b",
        "a " + base::percent_encode(kSecret) + " b",
        "a " + base::percent_encode(kSecret, base::PercentSpace::plus) + " b",
        R"(a s3cr3t\/pass word\u002b\"x\u0022 b)",
    };
    const auto index = index_of({kSecret});
    for (const auto& text : texts) {
        const auto expected = whole(index, text);
        EXPECT_THAT(expected, HasSubstr("[REDACTED]"));
        for (std::size_t cut = 0; cut <= text.size(); ++cut) {
            for (std::size_t second = cut; second <= text.size(); ++second) {
                std::string out;
                StreamRedactor redactor(index);
                redactor.feed(text.substr(0, cut), out);
                redactor.feed(text.substr(cut, second - cut), out);
                redactor.feed(text.substr(second), out);
                redactor.flush(out);
                ASSERT_EQ(out, expected) << cut << " " << second;
            }
        }
    }
}

// What must be masked, found the slow way: each reading written out in full, each form looked for at each
// place.
class Oracle {
public:
    Oracle(std::vector<std::string> secrets, std::string text)
        : secrets_(std::move(secrets)), text_(std::move(text)), masked_(text_.size(), false) {}

    std::string run() {
        for (const auto& secret : secrets_) {
            look<PlainReading>(secret);
            look<UnwrappedReading>(secret);
            look<JsonReading>(secret);
            look<PercentReading<false>>(secret);
            if (std::any_of(secrets_.begin(), secrets_.end(),
                            [](const auto& s) { return s.find(' ') != s.npos; })) {
                look<PercentReading<true>>(secret);
            }
            for (const auto& form :
                 {base::hex_encode(secret), base::hex_encode(secret, base::HexCase::upper)}) {
                look<PlainReading>(form);
                look<UnwrappedReading>(form);
            }
            for (std::size_t before = 0; before < 3; ++before) {
                for (const auto alphabet : {base::Base64Alphabet::standard, base::Base64Alphabet::url}) {
                    look_base64(secret, before, alphabet);
                }
            }
        }
        std::string out;
        for (std::size_t i = 0; i < text_.size(); ++i) {
            if (!masked_[i]) {
                out.push_back(text_[i]);
            } else if (i == 0 || !masked_[i - 1]) {
                out.append(kMarker);
            }
        }
        return out;
    }

private:
    struct Decoded {
        std::string bytes;
        std::vector<std::size_t> begin;
        std::vector<std::size_t> end;
    };

    template <class Reading>
    Decoded decode() const {
        Decoded out;
        for (std::size_t i = 0; i < text_.size();) {
            const auto unit = Reading::read(std::string_view(text_).substr(i), true);
            for (std::size_t k = 0; k < unit.count; ++k) {
                out.bytes.push_back(static_cast<char>(unit.bytes[k]));
                out.begin.push_back(i);
                out.end.push_back(i + unit.raw);
            }
            i += unit.raw;
        }
        return out;
    }

    bool base64_at(std::size_t i) const {
        return i < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[i])) != 0 ||
                                    std::string("+/-_").find(text_[i]) != std::string::npos);
    }

    template <class Reading>
    void look(const std::string& form, bool left = false, bool right = false) {
        const auto decoded = decode<Reading>();
        for (auto at = decoded.bytes.find(form); at != std::string::npos;
             at = decoded.bytes.find(form, at + 1)) {
            auto begin = decoded.begin[at];
            auto end = decoded.end[at + form.size() - 1];
            if (left && begin > 0 && base64_at(begin - 1)) {
                --begin;
            }
            if (right && base64_at(end)) {
                ++end;
            }
            std::fill(masked_.begin() + static_cast<std::ptrdiff_t>(begin),
                      masked_.begin() + static_cast<std::ptrdiff_t>(end), true);
        }
    }

    // Two encodings that differ in every bit around the secret agree exactly where the secret alone decides.
    void look_base64(const std::string& secret, std::size_t before, base::Base64Alphabet alphabet) {
        const auto zeros =
            base::base64_encode(std::string(before, '\0') + secret + std::string(2, '\0'), alphabet);
        const auto ones =
            base::base64_encode(std::string(before, '\xff') + secret + std::string(2, '\xff'), alphabet);
        const std::size_t first = before == 0 ? 0 : before + 1;
        std::size_t last = first;
        while (last < zeros.size() && zeros[last] == ones[last]) {
            ++last;
        }
        const auto form = zeros.substr(first, last - first);
        const bool right = (before + secret.size()) % 3 != 0;
        look<PlainReading>(form, before != 0, right);
        look<UnwrappedReading>(form, before != 0, right);
    }

    std::vector<std::string> secrets_;
    std::string text_;
    std::vector<bool> masked_;
};

std::string any_spelling(const std::string& secret, int kind, const std::string& salt) {
    switch (kind) {
        case 0: return base::base64_encode(salt + secret + salt);
        case 1:
            return base::base64_encode(salt + secret, base::Base64Alphabet::url,
                                       base::Base64Padding::without);
        case 2: return base::hex_encode(secret);
        case 3: return base::hex_encode(secret, base::HexCase::upper);
        case 4: return base::percent_encode(secret);
        case 5: return base::percent_encode(secret, base::PercentSpace::plus, base::HexCase::lower);
        case 6: {
            std::string out;
            for (std::size_t i = 0; i < secret.size(); ++i) {
                const auto hex = base::hex_encode(secret.substr(i, 1));
                const bool ascii = static_cast<unsigned char>(secret[i]) < 0x80;
                const bool escape = secret[i] == '\\' || secret[i] == '"' || (i + salt.size()) % 2 == 0;
                out += ascii && escape ? "\\u00" + hex : secret.substr(i, 1);
            }
            return out;
        }
        case 7: {
            auto out = base::base64_encode(salt + secret + salt);
            for (std::size_t i = 5; i < out.size(); i += 8) {
                out.insert(i, "\n");
            }
            return out;
        }
        default: return secret;
    }
}

struct Case {
    std::vector<std::string> secrets;
    std::string text;
    std::vector<std::string> pieces;
};

// Few letters, so that secrets overlap, repeat and nearly match.
rc::Gen<std::string> letters(const std::string& alphabet, std::size_t min, std::size_t max) {
    return rc::gen::mapcat(rc::gen::inRange(min, max + 1), [alphabet](std::size_t size) {
        return rc::gen::container<std::string>(size, rc::gen::elementOf(alphabet));
    });
}

Case any_case(const std::string& filler, const std::string& separator) {
    Case out;
    out.secrets = *rc::gen::mapcat(rc::gen::inRange<std::size_t>(1, 4), [](std::size_t count) {
        return rc::gen::container<std::vector<std::string>>(count, letters("ab4%\\\"/ +u0\n\xc3", 8, 12));
    });
    const auto parts = *rc::gen::inRange(0, 8);
    for (int i = 0; i < parts; ++i) {
        out.text += *letters(filler, 0, 6);
        const auto& secret = *rc::gen::elementOf(out.secrets);
        auto spelled = any_spelling(secret, *rc::gen::inRange(0, 10), *letters("xy", 0, 4));
        if (*rc::gen::inRange(0, 4) == 0) {
            spelled.resize(*rc::gen::inRange<std::size_t>(0, spelled.size() + 1));
        }
        out.text += spelled + separator;
    }
    for (std::size_t at = 0; at < out.text.size();) {
        const auto size = *rc::gen::inRange<std::size_t>(1, 12);
        out.pieces.push_back(out.text.substr(at, size));
        at += size;
    }
    return out;
}

std::string streamed(const Case& input) {
    std::string out;
    StreamRedactor redactor(index_of(input.secrets));
    for (const auto& piece : input.pieces) {
        redactor.feed(piece, out);
    }
    redactor.flush(out);
    return out;
}

RC_GTEST_PROP(StreamRedactor, MasksExactlyWhatALookAtEveryPlaceFindsHoweverTheTextIsCut, ()) {
    const auto input = any_case("ab4%\\\"/ +u0\n\xc3-=A", "");
    const auto expected = Oracle(input.secrets, input.text).run();
    RC_ASSERT(streamed(input) == expected);
    RC_ASSERT(whole(index_of(input.secrets), input.text) == expected);
}

RC_GTEST_PROP(StreamRedactor, LeavesNoFormOfAnySecret, ()) {
    const auto input = any_case(" .,;:()", "\t");
    const auto out = streamed(input);
    for (const auto& secret : input.secrets) {
        for (int kind = 0; kind < 10; ++kind) {
            const auto form = any_spelling(secret, kind, "");
            // In base64 the last character depends on what follows as well.
            const auto core = kind < 2 ? form.substr(0, secret.size() * 8 / 6) : form;
            RC_ASSERT(out.find(core) == std::string::npos);
        }
    }
}

}  // namespace
}  // namespace callgate::redact
