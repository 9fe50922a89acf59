#include "pipeline/log_line.h"

#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/utf8.h"

namespace callgate::pipeline {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string call_line(const Value& arguments, std::string_view tool = "t",
                      const redact::Redactor& redactor = redact::Redactor()) {
    LineText out;
    tool_call_line(out, tool, arguments, redactor);
    return std::string(out.view());
}

std::string args(const Value& arguments) {
    const std::string line = call_line(arguments);
    return line.substr(std::string_view("TOOL_CALL tool=t args=").size());
}

/// The text of one value, as it stands in the arguments.
std::string shown(const Value& value) {
    const std::string all = args(Object{{"p", value}});
    return all.substr(6, all.size() - 7);
}

std::string success_line(std::string_view content) {
    LineText out;
    tool_success_line(out, "t", 12'900us, content);
    return std::string(out.view());
}

std::string failed_line(std::string_view message, std::string_view tool = "t") {
    LineText out;
    tool_failed_line(out, tool, 3ms, "tool_error", message);
    return std::string(out.view());
}

redact::Redactor knowing(std::string_view secret) {
    redact::SecretSet set;
    EXPECT_TRUE(set.add(secret));
    return redact::Redactor(set.index());
}

TEST(LogLine, ACallHasItsToolAndItsArgumentsInPythonNotation) {
    EXPECT_EQ(call_line(Object{{"path", "/etc/hosts"}}, "read_file"),
              "TOOL_CALL tool=read_file args={'path': '/etc/hosts'}");
    EXPECT_EQ(call_line(Object(), "now"), "TOOL_CALL tool=now args={}");
}

TEST(LogLine, IsAppended) {
    LineText out;
    out.token("INFO ");
    tool_call_line(out, "t", Object(), redact::Redactor());
    EXPECT_EQ(out.view(), "INFO TOOL_CALL tool=t args={}");
}

TEST(LogLine, ASuccessHasItsDurationAndItsContent) {
    EXPECT_EQ(success_line("127.0.0.1 localhost"),
              "TOOL_SUCCESS tool=t duration=12ms content='127.0.0.1 localhost'");
    EXPECT_EQ(success_line(""), "TOOL_SUCCESS tool=t duration=12ms");
}

TEST(LogLine, AFailureHasItsCodeAndItsMessage) {
    LineText out;
    tool_failed_line(out, "nope", 0ms, "tool_not_found", "Tool not found: nope");
    EXPECT_EQ(out.view(), "TOOL_FAILED tool=nope duration=0ms error=[tool_not_found] Tool not found: nope");
}

TEST(LogLine, AnUnregisteredToolIsWarnedAbout) {
    LineText out;
    security_warning_line(out, "rm_rf", "agent 7");
    EXPECT_EQ(
        out.view(),
        "SECURITY_WARNING tool=rm_rf principal=agent\\x207 Call of a tool that is not registered: blocked");
}

TEST(LogLine, AStackIsOneLineToo) {
    LineText out;
    tool_stack_line(out, "t", "std::runtime_error",
                    Array{"f(int) (a.cpp:3)", "g\n()", std::string(2'000, 'x')});
    EXPECT_THAT(
        std::string(out.view()),
        StartsWith("TOOL_STACK tool=t exception=std::runtime_error stack=f(int) (a.cpp:3) <- g\\n() <- x"));
    EXPECT_THAT(std::string(out.view()), EndsWith("x..."));
    EXPECT_LT(out.view().size(), 1'200u);
}

TEST(LogLine, AStackOfAnyLengthHasItsBound) {
    LineText out;
    Array frames;
    for (int i = 0; i < 100; ++i) frames.emplace_back(std::string(900, 'f'));
    tool_stack_line(out, std::string(1'000, '\n'), std::string(1'000, '\x01'), frames);
    EXPECT_THAT(std::string(out.view()), EndsWith("f..."));
    EXPECT_LT(out.view().size(), LineText::kBytes);
}

TEST(LogLine, ContentOfAHundredCharactersIsShownWholeAndLongerContentItsFirstHundred) {
    const std::string hundred(100, 'x');
    EXPECT_THAT(success_line(hundred), EndsWith(" content='" + hundred + "'"));
    EXPECT_THAT(success_line(hundred + "y"), EndsWith(" content='" + hundred + "...'"));
}

TEST(LogLine, CharactersAreCountedNotBytes) {
    std::string accents;
    for (int i = 0; i < 100; ++i) accents += "\xC3\xA9";
    EXPECT_THAT(success_line(accents), EndsWith("'" + accents + "'"));
    EXPECT_THAT(success_line(accents + "\xC3\xA9"), EndsWith("'" + accents + "...'"));
}

TEST(LogArguments, LookAsPythonPrintsThem) {
    EXPECT_EQ(
        args(Object{{"a", nullptr},
                    {"b", true},
                    {"c", false},
                    {"d", -5},
                    {"e", 1.5},
                    {"f", Array{1, "x"}},
                    {"g", Object{{"h", Object()}}},
                    {"i", Array()}}),
        "{'a': None, 'b': True, 'c': False, 'd': -5, 'e': 1.5, 'f': [1, 'x'], 'g': {'h': {}}, 'i': []}");
    EXPECT_EQ(shown(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
}

TEST(LogArguments, FloatsLookAsPythonsRepr) {
    EXPECT_EQ(shown(1.0), "1.0");
    EXPECT_EQ(shown(0.0), "0.0");
    EXPECT_EQ(shown(-0.0), "-0.0");
    EXPECT_EQ(shown(0.1), "0.1");
    EXPECT_EQ(shown(100000.0), "100000.0");
    EXPECT_EQ(shown(1e15), "1000000000000000.0");
    EXPECT_EQ(shown(1e16), "1e+16");
    EXPECT_EQ(shown(1.5e300), "1.5e+300");
    EXPECT_EQ(shown(0.0001), "0.0001");
    EXPECT_EQ(shown(0.00001), "1e-05");
    EXPECT_EQ(shown(std::nan("")), "nan");
    EXPECT_EQ(shown(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(LogArguments, StringsAreQuotedAsPythonQuotesThem) {
    EXPECT_EQ(shown("plain"), "'plain'");
    EXPECT_EQ(shown(""), "''");
    EXPECT_EQ(shown("it's"), "\"it's\"");
    EXPECT_EQ(shown("say \"hi\""), "'say \"hi\"'");
    EXPECT_EQ(shown("it's \"so\""), "'it\\'s \"so\"'");
    EXPECT_EQ(shown("back\\slash"), "'back\\\\slash'");
    EXPECT_EQ(shown("a\nb\rc\td"), "'a\\nb\\rc\\td'");
    EXPECT_EQ(shown(Value(std::string_view("\0\x1b\x7f", 3))), "'\\x00\\x1b\\x7f'");
    EXPECT_EQ(shown("gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80"), "'gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80'");
    EXPECT_EQ(shown("\xC2\x85|\xC2\xA0"), "'\\x85|\\xa0'");
    EXPECT_EQ(shown("\xE2\x80\xA8\xE2\x80\xA9"), "'\\u2028\\u2029'");
    EXPECT_EQ(shown("\xE2\x80\xAE\xE2\x81\xA6\xD8\x9C"), "'\\u202e\\u2066\\u061c'");
    EXPECT_EQ(shown("\xF3\xA0\x80\x81"), "'\\U000e0001'");
    EXPECT_EQ(shown("\xff"), "'\\udcff'");
}

TEST(LogArguments, NothingInThemIsUnseen) {
    EXPECT_EQ(shown("\u034F\u115F\u2800"), "'\\u034f\\u115f\\u2800'");
    EXPECT_EQ(shown("\u3164\uFE0F\uFFA0"), "'\\u3164\\ufe0f\\uffa0'");
    EXPECT_EQ(shown("\U000E01EF"), "'\\U000e01ef'");
}

TEST(LogArguments, SensitiveOnesAreMaskedByName) {
    EXPECT_EQ(args(Object{{"password", "hunter2"}, {"api_key", 5}, {"path", "/etc"}, {"normal", "seen"}}),
              "{'password': '[REDACTED]', 'api_key': '[REDACTED]', 'path': '/etc', 'normal': 'seen'}");
    EXPECT_EQ(args(Object{{"PASSWORD", "a"}, {"Api_Key", "b"}, {"TOKEN", "c"}}),
              "{'PASSWORD': '[REDACTED]', 'Api_Key': '[REDACTED]', 'TOKEN': '[REDACTED]'}");
    EXPECT_EQ(args(Object{{"config", Object{{"api_key", "k"}, {"url", "u"}}}}),
              "{'config': {'api_key': '[REDACTED]', 'url': 'u'}}");
    EXPECT_EQ(args(Object{{"tokens", Array{"a", "b"}}, {"list", Array{Object{{"secret", "s"}}}}}),
              "{'tokens': '[REDACTED]', 'list': [{'secret': '[REDACTED]'}]}");
    EXPECT_EQ(args(Object{{"credentials", Object{{"username", "u"}, {"password", "p"}}}}),
              "{'credentials': {'username': 'u', 'password': '[REDACTED]'}}");
    EXPECT_EQ(args(Object{{"max_tokens", 5}, {"token_count", 7}, {"author", "Ann"}, {"monkey", "m"}}),
              "{'max_tokens': 5, 'token_count': 7, 'author': 'Ann', 'monkey': 'm'}");
}

TEST(LogArguments, SecretsAreMaskedByValueWhereverTheyStand) {
    const auto redactor = knowing("correct-horse-battery");
    const std::string line = call_line(Object{{"note", "it is correct-horse-battery!"},
                                              {"correct-horse-battery", 1},
                                              {"list", Array{"x", "correct-horse-battery"}}},
                                       "t", redactor);
    EXPECT_EQ(
        line,
        "TOOL_CALL tool=t args={'note': 'it is [REDACTED]!', '[REDACTED]': 1, 'list': ['x', '[REDACTED]']}");
    EXPECT_EQ(call_line(Object{{"n", 1234567890}}, "t", knowing("1234567890")),
              "TOOL_CALL tool=t args={'n': '[REDACTED]'}");
}

TEST(LogArguments, ThoseThatWereRefusedAreNotShown) {
    EXPECT_EQ(args(Value("{\"password\": \"hunter2\"")), "<str of 22 bytes>");
    EXPECT_EQ(args(Value(Array{"hunter2"})), "<list of 1 items>");
    EXPECT_EQ(args(Value(nullptr)), "None");
    EXPECT_EQ(args(Value(5)), "<number>");
    EXPECT_EQ(args(Value(true)), "<bool>");
}

TEST(LogArguments, AreBounded) {
    const std::string long_text = args(Object{{"p", std::string(100'000, 'x')}});
    EXPECT_EQ(long_text, "{'p': '" + std::string(kLogArgumentsBytes - 7, 'x') + "...");
    Array many;
    for (int i = 0; i < 10'000; ++i) many.emplace_back(i);
    EXPECT_THAT(args(Object{{"p", many}}), EndsWith("..."));
    EXPECT_LE(args(Object{{"p", many}}).size(), kLogArgumentsBytes + 3);
    const std::string exact = args(Object{{"p", std::string(kLogArgumentsBytes - 9, 'x')}});
    EXPECT_EQ(exact.size(), kLogArgumentsBytes);
    EXPECT_THAT(exact, EndsWith("x'}"));
    Value deep = 1;
    for (int i = 0; i < 500; ++i) deep = Array{deep};
    EXPECT_THAT(args(Object{{"p", deep}}), HasSubstr("[...]"));
}

TEST(LogArguments, AreNeverCutInsideACharacterOrAnEscape) {
    for (std::size_t shift = 0; shift < 12; ++shift) {
        std::string text(kLogArgumentsBytes - 20 + shift, 'x');
        const std::string accents =
            args(Object{{"p", text + "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC"}});
        EXPECT_TRUE(base::is_valid_utf8(accents));
        const std::string escapes = args(Object{{"p", text + "\x01\x01\x01\x01\x01"}});
        EXPECT_THAT(escapes, Not(EndsWith("\\...")));
        EXPECT_THAT(escapes, Not(EndsWith("\\x...")));
        EXPECT_THAT(escapes, Not(EndsWith("\\x0...")));
    }
}

TEST(LogLine, NoLineCanBeForged) {
    const std::string evil =
        "x'\nINFO TOOL_SUCCESS tool=rm duration=1ms content='\r\xE2\x80\xA8\xC2\x85\x1b[2K\xE2\x80\xAE";
    EXPECT_EQ(success_line("a'b\\c\"d\n"), "TOOL_SUCCESS tool=t duration=12ms content='a\\'b\\\\c\"d\\n'");
    EXPECT_EQ(failed_line("a'b\\c\"d\n"),
              "TOOL_FAILED tool=t duration=3ms error=[tool_error] a\\'b\\\\c\\\"d\\n");
    for (const std::string& line : {call_line(Object{{evil, evil}}), call_line(Object(), evil),
                                    success_line(evil), failed_line(evil), failed_line("m", evil)}) {
        EXPECT_THAT(line, Not(HasSubstr("\n")));
        EXPECT_THAT(line, Not(HasSubstr("\r")));
        EXPECT_THAT(line, Not(HasSubstr("\x1b")));
        EXPECT_THAT(line, Not(HasSubstr("\xE2\x80\xA8")));
        EXPECT_THAT(line, Not(HasSubstr("\xC2\x85")));
        EXPECT_THAT(line, Not(HasSubstr("\xE2\x80\xAE")));
    }
}

TEST(LogLine, AToolsNameHoldsNoSpaceAndIsBounded) {
    EXPECT_EQ(call_line(Object(), "a args={} b"), "TOOL_CALL tool=a\\x20args={}\\x20b args={}");
    EXPECT_EQ(call_line(Object(), std::string(10'000, 'n')),
              "TOOL_CALL tool=" + std::string(kLogNameCharacters, 'n') + "... args={}");
    EXPECT_THAT(failed_line(std::string(10'000, 'm')),
                EndsWith(std::string(kLogMessageCharacters, 'm') + "..."));
}

rc::Gen<std::string> any_bytes() {
    return rc::gen::container<std::string>(rc::gen::weightedOneOf<char>(
        {{3, rc::gen::arbitrary<char>()},
         {1, rc::gen::element('\'', '"', '\\', '\n', ' ', '\xe2', '\x80', '\xa8')}}));
}

RC_GTEST_PROP(LogLineProperty, WhateverItIsToldALineIsOneLineOfPrintableText, ()) {
    const auto bytes = *any_bytes();
    for (const std::string& line :
         {call_line(Object{{bytes, bytes}}, bytes), success_line(bytes), failed_line(bytes, bytes)}) {
        RC_ASSERT(base::is_valid_utf8(line));
        for (const char c : line) RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    }
}

TEST(LogLine, MasksEveryNameThatTheRedactorMasks) {
    for (const auto* name : {"password",
                             "passwd",
                             "pwd",
                             "passcode",
                             "passphrase",
                             "secret",
                             "token",
                             "auth",
                             "authorization",
                             "bearer",
                             "cookie",
                             "credential",
                             "jwt",
                             "key",
                             "apikey",
                             "access_key",
                             "accessKey",
                             "Set-Cookie",
                             "x-api-key",
                             "githubtoken",
                             "dbpassword",
                             "private_key_pem",
                             "ToKeN",
                             "to_ken",
                             "au_th",
                             "j_wt",
                             "password2",
                             "clientsecret",
                             "a_name_that_is_longer_than_any_name_that_anybody_would_use_for_a_password"}) {
        EXPECT_THAT(call_line(Object{{name, "hidden-value"}}), Not(HasSubstr("hidden-value"))) << name;
    }
}

}  // namespace
}  // namespace callgate::pipeline
