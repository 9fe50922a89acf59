#include "redact/redactor.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/encoding.h"

namespace callgate::redact {
namespace {

using testing::HasSubstr;
using testing::Not;

std::shared_ptr<const SecretIndex> index_of(std::initializer_list<std::string_view> secrets) {
    SecretSet set;
    for (const auto secret : secrets) {
        EXPECT_TRUE(set.add(secret));
    }
    return set.index();
}

/// Both ways of redacting must agree.
std::string redacted(const Redactor& redactor, const Value& value, Rules rules = Rules::names_and_values) {
    const auto copy = boost::json::serialize(redactor.redact(value, rules));
    Value in_place = value;
    redactor.redact_in_place(in_place, rules);
    EXPECT_EQ(copy, boost::json::serialize(in_place));
    return copy;
}

std::string redacted(std::string_view json) {
    return redacted(Redactor(), boost::json::parse(json));
}

TEST(Redactor, MasksArgumentsWhoseNamesAnnounceASecret) {
    EXPECT_EQ(redacted(R"({"password":"hunter2","api_key":"k","path":"/etc/hosts","normal":"visible"})"),
              R"({"password":"[REDACTED]","api_key":"[REDACTED]","path":"/etc/hosts","normal":"visible"})");
    EXPECT_EQ(redacted(R"({"PASSWORD":"a","Api_Key":"b","TOKEN":"c"})"),
              R"({"PASSWORD":"[REDACTED]","Api_Key":"[REDACTED]","TOKEN":"[REDACTED]"})");
    EXPECT_EQ(
        redacted(R"({"api_key":"a","password":"b","token":"c","secret_value":"d"})"),
        R"({"api_key":"[REDACTED]","password":"[REDACTED]","token":"[REDACTED]","secret_value":"[REDACTED]"})");
}

TEST(Redactor, LooksIntoObjectsAndLists) {
    EXPECT_EQ(redacted(R"({"config":{"api_key":"k","url":"u"}})"),
              R"({"config":{"api_key":"[REDACTED]","url":"u"}})");
    EXPECT_EQ(redacted(R"([[{"servers":[{"token":"t","host":"h"}]}]])"),
              R"([[{"servers":[{"token":"[REDACTED]","host":"h"}]}]])");
}

TEST(Redactor, AnObjectUnderASensitiveNameIsSearchedAndAListOrScalarMasked) {
    EXPECT_EQ(redacted(R"({"credentials":{"api_key":"k","username":"u"}})"),
              R"({"credentials":{"api_key":"[REDACTED]","username":"u"}})");
    EXPECT_EQ(redacted(R"({"tokens":["a","b"],"secret":7,"auth":true,"cookie":null})"),
              R"({"tokens":"[REDACTED]","secret":"[REDACTED]","auth":"[REDACTED]","cookie":"[REDACTED]"})");
}

TEST(Redactor, LeavesAmountsAndLookAlikesAlone) {
    const auto* kept = R"({"author":"Ann","monkey":"m","keyboard":"us","max_tokens":100,"token_count":5,)"
                       R"("secret_size":8,"prompt_tokens":3,"idempotency_key":"i"})";
    EXPECT_EQ(redacted(kept), kept);
    EXPECT_EQ(redacted(R"({"token_count":"abc","session_tokens":"x"})"),
              R"({"token_count":"[REDACTED]","session_tokens":"[REDACTED]"})");
}

TEST(Redactor, NamesAreNotJudgedWhereOnlyValuesCount) {
    const Redactor redactor(index_of({"correct horse"}));
    EXPECT_EQ(redacted(redactor, boost::json::parse(R"({"password":"p","note":"correct horse!"})"),
                       Rules::values_only),
              R"({"password":"p","note":"[REDACTED]!"})");
}

TEST(Redactor, MasksRegisteredValuesInEveryStringAndName) {
    const Redactor redactor(index_of({"correct horse"}));
    EXPECT_EQ(
        redacted(redactor, boost::json::parse(R"({"a":["x correct horse y",{"correct horse":1}],"n":1})")),
        R"({"a":["x [REDACTED] y",{"[REDACTED]":1}],"n":1})");
    EXPECT_EQ(redacted(redactor, Value("Basic " + base::base64_encode("u:correct horse"))),
              R"("Basic dT[REDACTED]")");
}

TEST(Redactor, NamesThatBecomeEqualByMaskingAreNumbered) {
    const Redactor redactor(index_of({"correct horse", "battery staple"}));
    EXPECT_EQ(redacted(redactor, boost::json::parse(
                                     R"({"correct horse":1,"b":2,"battery staple":3,"[REDACTED]#2":4})")),
              R"({"[REDACTED]":1,"b":2,"[REDACTED]#2":3,"[REDACTED]#2#3":4})");
}

TEST(Redactor, ManyNamesThatBecomeEqualCostLinearTime) {
    const Redactor redactor(index_of({"correct horse"}));
    Object object;
    for (int i = 0; i < 20'000; ++i) {
        object.emplace("[REDACTED]#" + std::to_string(i), i);
    }
    for (int i = 0; i < 20'000; ++i) {
        object.emplace(
            "correct horse" + std::string(static_cast<std::size_t>(i % 3), ' ') + std::to_string(i), i);
    }
    Value value(std::move(object));
    redactor.redact_in_place(value);
    EXPECT_EQ(value.as_object().size(), 40'000u);
}

TEST(Redactor, MasksANumberThatIsASecret) {
    const Redactor redactor(index_of({"12345678"}));
    EXPECT_EQ(redacted(redactor, boost::json::parse(R"([12345678,1234567,-12345678,18446744073709551615])")),
              R"(["[REDACTED]",1234567,"[REDACTED]",18446744073709551615])");
    EXPECT_EQ(redacted(redactor, Array{12345678.0, 9.12345678e11, 1234567.5, 1e300}),
              R"(["[REDACTED]","[REDACTED]",1.2345675E6,1E300])");
}

TEST(Redactor, MasksFreeTextAndSaysWhetherItWould) {
    const Redactor redactor(index_of({"correct horse"}));
    EXPECT_EQ(redactor.redact_text("error: bad password correct horse\n"),
              "error: bad password [REDACTED]\n");
    EXPECT_TRUE(redactor.finds_secret("a=correct+horse"));
    EXPECT_FALSE(redactor.finds_secret("a=correct+house"));
    EXPECT_FALSE(Redactor().finds_secret("anything"));
    EXPECT_EQ(redactor.redact_text("short"), "short");
}

TEST(Redactor, StreamsWithTheSameSecrets) {
    const Redactor redactor(index_of({"correct horse"}));
    auto stream = redactor.stream();
    std::string out;
    stream.feed("a correct ", out);
    stream.feed("horse b", out);
    stream.flush(out);
    EXPECT_EQ(out, "a [REDACTED] b");
}

TEST(Redactor, MasksWhatLiesBelowItsDepthWithoutRecursion) {
    Value deep("correct horse");
    for (int i = 0; i < 5'000; ++i) {
        Array next;
        next.push_back(std::move(deep));
        deep = std::move(next);
    }
    const Redactor redactor(index_of({"correct horse"}), 3);
    EXPECT_EQ(boost::json::serialize(redactor.redact(deep)), R"([[["[REDACTED]"]]])");
    redactor.redact_in_place(deep);
    EXPECT_EQ(boost::json::serialize(deep), R"([[["[REDACTED]"]]])");
    EXPECT_EQ(boost::json::serialize(redactor.redact(boost::json::parse("[[[1]]]"))), "[[[1]]]");
}

TEST(Redactor, KeepsTheOrderOfMembersAndUsesTheGivenMemory) {
    const auto memory = boost::json::make_shared_resource<boost::json::monotonic_resource>();
    const auto out = Redactor().redact(boost::json::parse(R"({"z":1,"a":{"token":2,"b":[3]},"m":4})"),
                                       Rules::names_and_values, memory);
    EXPECT_EQ(boost::json::serialize(out), R"({"z":1,"a":{"token":"[REDACTED]","b":[3]},"m":4})");
    EXPECT_EQ(*out.storage(), *memory);
    EXPECT_EQ(*out.as_object().at("a").as_object().at("b").storage(), *memory);
}

rc::Gen<Value> any_value(int depth) {
    const auto leaf = rc::gen::map(rc::gen::inRange(0, 5), [](int kind) {
        switch (kind) {
            case 0: return Value("a correct horse b");
            case 1: return Value("correct%20horse");
            case 2: return Value(42);
            case 3: return Value(nullptr);
            default: return Value("plain text that is long enough");
        }
    });
    if (depth == 0) {
        return leaf;
    }
    const auto children = rc::gen::container<std::vector<Value>>(any_value(depth - 1));
    return rc::gen::mapcat(rc::gen::inRange(0, 3), [leaf, children](int kind) -> rc::Gen<Value> {
        if (kind == 0) {
            return leaf;
        }
        return rc::gen::map(children, [kind](const std::vector<Value>& items) {
            const char* names[] = {"path",           "password",   "correct horse",
                                   "xcorrect horse", "max_tokens", "auth"};
            Object object;
            Array array;
            for (std::size_t i = 0; i < items.size() && i < 6; ++i) {
                object.emplace(names[(i + items.size()) % 6], items[i]);
                array.push_back(items[i]);
            }
            return kind == 1 ? Value(std::move(object)) : Value(std::move(array));
        });
    });
}

RC_GTEST_PROP(Redactor, NoDocumentKeepsASecretAndBothWaysAgree, ()) {
    SecretSet set;
    RC_ASSERT(set.add("correct horse").has_value());
    const Redactor redactor(set.index());
    const auto value = *any_value(3);
    const auto copy = redactor.redact(value);
    const auto text = boost::json::serialize(copy);
    RC_ASSERT(!redactor.finds_secret(text));
    auto in_place = value;
    redactor.redact_in_place(in_place);
    RC_ASSERT(boost::json::serialize(in_place) == text);
    RC_ASSERT(boost::json::serialize(redactor.redact(copy)) == text);
}

}  // namespace
}  // namespace callgate::redact
