#include "tool/exposed_names.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/must.h"
#include "base/utf8.h"

namespace callgate {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string refusal_of(const Result<void>& result) {
    return result ? "" : std::string(result.error().details.at("reason").as_string());
}

std::string meaning_of(const ExposedNames& names, std::string_view name) {
    return std::string(names.find(name).value_or("nothing"));
}

void put(ExposedNames& names, std::initializer_list<std::string_view> canonical) {
    for (const std::string_view one : canonical) {
        const auto added = names.add(one);
        ASSERT_TRUE(added) << added.error().message;
    }
}

TEST(ExposedNames, AToolOfAServerIsShownPlainAndUnderstoodInFull) {
    ExposedNames names;
    put(names, {"files/read"});
    EXPECT_EQ(names.shown("files/read"), "read");
    for (const char* name : {"files/read", "read", "files__read", "mcp__files__read"})
        EXPECT_EQ(meaning_of(names, name), "files/read") << name;
    for (const char* name : {"", "Read", "files", "files__", "__read", "mcp__read", "mcp__files", "files/",
                             "/read", "files__read ", "mcp__mcp__files__read"})
        EXPECT_EQ(meaning_of(names, name), "nothing") << name;
}

TEST(ExposedNames, AToolWithoutAServerHasOneName) {
    ExposedNames names;
    put(names, {"add", "mcp__odd"});
    EXPECT_EQ(names.shown("add"), "add");
    EXPECT_EQ(meaning_of(names, "add"), "add");
    EXPECT_EQ(meaning_of(names, "mcp__odd"), "mcp__odd");
    EXPECT_EQ(meaning_of(names, "mcp____add"), "nothing");
}

TEST(ExposedNames, ANameThatTwoServersBringMeansNeither) {
    ExposedNames names;
    put(names, {"files/read", "disk/read"});
    EXPECT_EQ(meaning_of(names, "read"), "nothing");
    EXPECT_THAT(names.candidates("read"), ElementsAre("disk/read", "files/read"));
    EXPECT_EQ(names.shown("files/read"), "files__read");
    EXPECT_EQ(names.shown("disk/read"), "disk__read");
    EXPECT_EQ(meaning_of(names, "disk__read"), "disk/read");
    EXPECT_EQ(meaning_of(names, "mcp__files__read"), "files/read");
}

TEST(ExposedNames, ThePlainNameIsItsFirstOwnersAgainWhenTheOtherHasGone) {
    ExposedNames names;
    put(names, {"files/read", "disk/read"});
    EXPECT_TRUE(names.remove("disk/read"));
    EXPECT_EQ(meaning_of(names, "read"), "files/read");
    EXPECT_EQ(names.shown("files/read"), "read");
}

TEST(ExposedNames, NobodyInheritsAPlainName) {
    ExposedNames names;
    put(names, {"files/read", "disk/read"});
    EXPECT_TRUE(names.remove("files/read"));
    EXPECT_EQ(meaning_of(names, "read"), "nothing");
    EXPECT_EQ(names.shown("disk/read"), "disk__read");
    EXPECT_THAT(names.candidates("read"), ElementsAre("disk/read"));
    EXPECT_TRUE(names.remove("disk/read"));
    put(names, {"net/read"});
    EXPECT_EQ(meaning_of(names, "read"), "nothing");
    EXPECT_EQ(names.shown("net/read"), "net__read");
    EXPECT_TRUE(names.remove("net/read"));
    put(names, {"files/read"});
    EXPECT_EQ(meaning_of(names, "read"), "files/read") << "its owner came back";
}

TEST(ExposedNames, NorTheNameOfANativeToolThatHasGone) {
    ExposedNames names;
    put(names, {"read"});
    EXPECT_TRUE(names.remove("read"));
    put(names, {"files/read"});
    EXPECT_EQ(meaning_of(names, "read"), "nothing");
    EXPECT_EQ(names.shown("files/read"), "files__read");
}

TEST(ExposedNames, ANativeToolKeepsItsNameFromServers) {
    ExposedNames names;
    put(names, {"read", "files/read"});
    EXPECT_EQ(meaning_of(names, "read"), "read");
    EXPECT_EQ(names.shown("files/read"), "files__read");
    EXPECT_EQ(names.shown("read"), "read");
}

TEST(ExposedNames, ANativeToolDoesNotTakeANameThatModelsKnowAsAnothers) {
    ExposedNames names;
    put(names, {"files/read"});
    for (const char* name : {"read", "files__read", "mcp__files__read"}) {
        const auto refused = names.add(name);
        EXPECT_EQ(refusal_of(refused), "name_taken") << name;
        EXPECT_THAT(refused.error().message, AllOf(HasSubstr(name), HasSubstr("files/read")));
        EXPECT_EQ(refused.error().details.at("other"), "files/read");
    }
    EXPECT_TRUE(names.remove("files/read"));
    EXPECT_EQ(refusal_of(names.add("read")), "name_taken") << "not after it has gone, either";
    EXPECT_EQ(refusal_of(names.add("files__read")), "name_taken");
}

TEST(ExposedNames, AServersToolDoesNotTakeTheNameOfANativeOne) {
    ExposedNames names;
    put(names, {"files__read", "mcp__disk__read"});
    EXPECT_EQ(refusal_of(names.add("files/read")), "name_taken");
    EXPECT_EQ(refusal_of(names.add("disk/read")), "name_taken");
}

TEST(ExposedNames, OfToolsThatComeTogetherTheNativeOnesComeFirst) {
    ExposedNames names;
    const std::vector<std::string_view> all{"files/read", "read"};
    ASSERT_TRUE(names.add(all));
    EXPECT_EQ(meaning_of(names, "read"), "read");
    EXPECT_EQ(names.shown("files/read"), "files__read");
}

TEST(ExposedNames, OfNamesThatComeTogetherAllOrNoneAreTaken) {
    ExposedNames names;
    put(names, {"files/read"});
    EXPECT_TRUE(names.remove("files/read"));
    const std::size_t before = names.remembered();
    const std::vector<std::string_view> all{"disk/write", "files/read", "list", "files/re\u0430d"};
    EXPECT_EQ(refusal_of(names.add(all)), "look_alike");
    EXPECT_EQ(names.size(), 0u);
    EXPECT_EQ(names.remembered(), before);
    for (const char* name : {"disk/write", "write", "list", "files/read", "read", "disk__write"})
        EXPECT_EQ(meaning_of(names, name), "nothing") << name;
    put(names, {"net/write"});
    EXPECT_EQ(meaning_of(names, "write"), "net/write") << "what was refused owned nothing";
}

TEST(ExposedNames, LookAlikesAreRefusedAndBothAreNamed) {
    ExposedNames names;
    put(names, {"files/read", "caf\u00E9"});
    for (const char* twin : {"files/r\u0435ad", "f\u0456les/read", "files\u2215read", "disk/r\u0435ad",
                             "r\u0435ad", "files__r\u0435ad", "files/\uFF52ead"}) {
        const auto refused = names.add(twin);
        EXPECT_EQ(refusal_of(refused), "look_alike") << twin;
        EXPECT_THAT(refused.error().message, AllOf(HasSubstr("files/read"), HasSubstr("\\x"))) << twin;
        EXPECT_EQ(refused.error().details.at("tool"), twin);
        EXPECT_EQ(refused.error().details.at("other"), "files/read");
    }
    EXPECT_EQ(refusal_of(names.add("cafe\u0301")), "look_alike");
    EXPECT_EQ(refusal_of(names.add("kitchen/cafe\u0301")), "look_alike");
    EXPECT_TRUE(names.remove("files/read"));
    EXPECT_EQ(refusal_of(names.add("disk/r\u0435ad")), "look_alike")
        << "a model may still mean the one that went";
    put(names, {"cafe", "files/Read", "files/reads"});
}

TEST(ExposedNames, ServersThatLookAlikeAreRefusedWhateverTheirToolsAreCalled) {
    ExposedNames names;
    put(names, {"github/read", "github/write", "\u0456deas/list", "\u0456deas/read"});
    const auto refused = names.add("g\u0456thub/pay");
    EXPECT_EQ(refusal_of(refused), "look_alike");
    EXPECT_THAT(refused.error().message, HasSubstr("its server looks like that of"));
    EXPECT_EQ(refusal_of(names.add("ideas/pay")), "look_alike");
    put(names, {"github", "GitHub/read"});
}

TEST(ExposedNames, ATwinThatCameFirstIsRefusedNoLess) {
    ExposedNames names;
    put(names, {"files/r\u0435ad"});
    EXPECT_EQ(refusal_of(names.add("files/read")), "look_alike");
    EXPECT_EQ(refusal_of(names.add("read")), "look_alike");
    EXPECT_EQ(refusal_of(names.add("disk/re\u0430d")), "look_alike");
    put(names, {"disk/r\u0435ad"});
    EXPECT_EQ(meaning_of(names, "r\u0435ad"), "nothing") << "the same text twice: neither";
}

TEST(ExposedNames, NoToolCanTakeAnothersQualifiedName) {
    ExposedNames names;
    put(names, {"a/b__c", "a/_b", "mcp/x", "mcp/x__y", "x/y", "evil/a__b__c", "evil/mcp__x__y"});
    EXPECT_EQ(meaning_of(names, "a__b__c"), "a/b__c");
    EXPECT_EQ(names.shown("a/b__c"), "a__b__c") << "not plain: b__c is the c of a server b";
    EXPECT_EQ(meaning_of(names, "b__c"), "nothing");
    EXPECT_EQ(meaning_of(names, "a___b"), "a/_b");
    EXPECT_EQ(meaning_of(names, "mcp__x"), "mcp/x");
    EXPECT_EQ(meaning_of(names, "mcp__x__y"), "x/y");
    EXPECT_EQ(names.shown("mcp/x__y"), "mcp__mcp__x__y");
    EXPECT_EQ(meaning_of(names, "mcp__mcp__x__y"), "mcp/x__y");
}

TEST(ExposedNames, NamesWithSeveralSlashesHaveNoPlainName) {
    ExposedNames names;
    put(names, {"a/b/c", "b/c"});
    EXPECT_EQ(meaning_of(names, "b/c"), "b/c");
    EXPECT_EQ(meaning_of(names, "c"), "b/c");
    EXPECT_EQ(names.shown("a/b/c"), "a__b/c");
    EXPECT_EQ(meaning_of(names, "a__b/c"), "a/b/c");
}

TEST(ExposedNames, ANameThatAVendorDoesNotTakeGetsASuffixAndMapsBack) {
    ExposedNames names;
    const std::string far = "files/" + std::string(180, 'x');
    put(names, {"files/gr\u00F6\u00DFe", "files/a.b", far, far + "y", "r\u00F6mer"});
    for (const DefinitionForm form :
         {DefinitionForm::openai, DefinitionForm::anthropic, DefinitionForm::gemini, DefinitionForm::bedrock,
          DefinitionForm::mcp, DefinitionForm::bare}) {
        const NameRules rules = name_rules(form);
        std::set<std::string> all;
        for (const std::string& canonical : {std::string("files/gr\u00F6\u00DFe"), std::string("files/a.b"),
                                             far, far + "y", std::string("r\u00F6mer")}) {
            const auto shown = names.shown(canonical, rules);
            ASSERT_TRUE(shown);
            EXPECT_TRUE(fits(*shown, rules)) << *shown;
            EXPECT_EQ(meaning_of(names, *shown), canonical) << *shown;
            EXPECT_TRUE(all.insert(*shown).second);
        }
    }
    EXPECT_EQ(names.shown("files/a.b", name_rules(DefinitionForm::mcp)), "a.b");
}

TEST(ExposedNames, ASuffixedNameIsUnderstoodWhetherOrNotThePlainNameIsStillItsOwn) {
    ExposedNames names;
    const NameRules rules = name_rules(DefinitionForm::openai);
    put(names, {"files/a.b"});
    const std::string before = names.shown("files/a.b", rules).value();
    put(names, {"disk/a.b"});
    const std::string after = names.shown("files/a.b", rules).value();
    EXPECT_NE(before, after);
    EXPECT_EQ(meaning_of(names, before), "files/a.b");
    EXPECT_EQ(meaning_of(names, after), "files/a.b");
    EXPECT_EQ(meaning_of(names, "disk" + after), "nothing");
    names.remove("files/a.b");
    EXPECT_EQ(meaning_of(names, before), "nothing");
}

TEST(ExposedNames, NobodyTakesASuffixedName) {
    const NameRules rules = name_rules(DefinitionForm::openai);
    ExposedNames names;
    put(names, {"gr\u00F6/\u00DFe"});
    const std::string plain = names.shown("gr\u00F6/\u00DFe", rules).value();
    EXPECT_EQ(refusal_of(names.add(plain)), "name_taken");
    const std::string squatter = "evil/" + plain;
    put(names, {squatter});
    EXPECT_EQ(meaning_of(names, plain), "gr\u00F6/\u00DFe");
    EXPECT_EQ(meaning_of(names, names.shown(squatter)), squatter);
    EXPECT_EQ(meaning_of(names, names.shown(squatter, rules).value()), squatter);
}

TEST(ExposedNames, NobodyTakesANameThatIsFittedToNarrowRules) {
    NameRules rules;
    rules.characters = "abcdefghijklmnopqrstuvwxyz";
    rules.max_bytes = 40;
    for (const char* const server : {"evil/", "evil/sub_"}) {
        ExposedNames names;
        put(names, {"files/READ"});
        const std::string fitted = must(names.shown("files/READ", rules));
        const std::string thief = server + fitted;
        put(names, {thief});
        EXPECT_EQ(must(names.shown("files/READ", rules)), fitted);
        EXPECT_EQ(names.find(fitted, rules), "files/READ");
        const std::string other = must(names.shown(thief, rules));
        EXPECT_NE(other, fitted);
        EXPECT_EQ(names.find(other, rules), thief);
    }
}

TEST(ExposedNames, NamesThatHaveGoneAreRememberedUpToALimit) {
    ExposedNames::Options options;
    options.max_remembered = 4;
    ExposedNames names(options);
    put(names, {"files/read", "files/write"});
    names.clear();
    EXPECT_EQ(names.size(), 0u);
    EXPECT_EQ(names.remembered(), 4u);
    for (int i = 0; i < 100; ++i) {
        const std::string tool = "new/tool" + std::to_string(i);
        put(names, {tool});
        EXPECT_EQ(names.shown(tool), "new__tool" + std::to_string(i)) << "nobody could remember whose it was";
        EXPECT_EQ(meaning_of(names, "new__tool" + std::to_string(i)), tool);
        EXPECT_TRUE(names.remove(tool));
    }
    EXPECT_EQ(names.remembered(), 4u);
    put(names, {"native", "files/read", "disk/write"});
    EXPECT_EQ(meaning_of(names, "read"), "files/read");
    EXPECT_EQ(meaning_of(names, "write"), "nothing");
    EXPECT_TRUE(names.remove("native"));
    put(names, {"disk/native"});
    EXPECT_EQ(meaning_of(names, "native"), "nothing");
}

TEST(ExposedNames, AnAmbiguousNameIsAnsweredWithTheCandidates) {
    const Error error = ambiguous_name("read", {"disk__read", "files__read"});
    EXPECT_EQ(error.code, ErrorCode::ambiguous_name);
    EXPECT_THAT(error.message, AllOf(HasSubstr("read"), HasSubstr("disk__read, files__read")));
    EXPECT_EQ(error.details.at("candidates"), (Array{"disk__read", "files__read"}));
}

const std::vector<std::string> kServers{"",   "",    "files/",    "disk/",      "mcp/",
                                        "a/", "_s/", "gr\u00F6/", "f\u0456les/"};
const std::vector<std::string> kTools{"read",
                                      "r\u0435ad",
                                      "write",
                                      "a__b",
                                      "files__read",
                                      "mcp__files__read",
                                      "_read",
                                      "a.b",
                                      "x/y",
                                      "1st",
                                      "caf\u00E9",
                                      "cafe\u0301",
                                      "mcp__a",
                                      "b",
                                      "long_" + std::string(150, 'x'),
                                      "files__r_ad_0aaaaaaaaaaaaaaaa"};

rc::Gen<std::string> a_name() {
    return rc::gen::map(rc::gen::pair(rc::gen::elementOf(kServers), rc::gen::elementOf(kTools)),
                        [](const auto& parts) { return parts.first + parts.second; });
}

RC_GTEST_PROP(ExposedNames, NoNameEverChangesItsOwner, ()) {
    ExposedNames::Options options;
    options.max_remembered = *rc::gen::element<std::size_t>(10, 65'536);
    ExposedNames names(options);
    const bool remembers_all = options.max_remembered > 10;
    const NameRules rules = name_rules(DefinitionForm::openai);
    std::set<std::string> here;
    std::map<std::string, std::string> owner;  // what each name meant when it first meant something
    const auto steps = *rc::gen::container<std::vector<std::pair<bool, std::string>>>(
        rc::gen::pair(rc::gen::weightedElement<bool>({{2, true}, {1, false}}), a_name()));
    for (const auto& [adds, name] : steps) {
        if (adds) {
            if (names.add(name)) here.insert(name);
        } else {
            RC_ASSERT(names.remove(name) == (here.erase(name) == 1));
        }
        RC_ASSERT(names.size() == here.size());
        std::set<std::string> texts;
        for (const std::string& server : kServers) {
            for (const std::string& tool : kTools) {
                texts.insert(tool);
                if (server.empty()) continue;
                const std::string id = server.substr(0, server.size() - 1);
                texts.insert({server + tool, id + "__" + tool, "mcp__" + id + "__" + tool});
            }
        }
        for (const std::string& canonical : here) {
            RC_ASSERT(names.find(canonical) == canonical);
            for (const std::string& shown : {names.shown(canonical), names.shown(canonical, rules).value()}) {
                RC_ASSERT(names.find(shown) == canonical);
                texts.insert(shown);
            }
        }
        for (const std::string& text : texts) {
            const auto meant = names.find(text);
            if (!meant) continue;
            RC_ASSERT(here.contains(std::string(*meant)));
            // Beyond the limit only plain names are promised.
            if (!remembers_all && text.find("__") != std::string::npos) continue;
            const auto first = owner.try_emplace(text, *meant).first;
            RC_ASSERT(first->second == *meant);
        }
    }
}

RC_GTEST_PROP(ExposedNames, EveryShownNameMapsBackWhateverTheCharactersAndTheLength, ()) {
    ExposedNames names;
    std::set<std::string> here;
    for (const std::string& name : *rc::gen::container<std::vector<std::string>>(a_name())) {
        if (names.add(name)) here.insert(name);
    }
    const std::string printable =
        "!#$%&()+,-./0123456789:;<=>@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_abcdefghijklmnopqrstuvwxyz{|}~";
    NameRules rules;
    rules.characters = *rc::gen::oneOf(rc::gen::container<std::string>(rc::gen::elementOf(printable)),
                                       rc::gen::just(name_rules(DefinitionForm::openai).characters));
    rules.max_bytes = *rc::gen::inRange<std::size_t>(0, 200);
    rules.first = *rc::gen::oneOf(rc::gen::just(std::string()), rc::gen::just(rules.characters.substr(0, 2)));
    const auto look_at_all = [&] {
        std::set<std::string> all;
        for (const std::string& canonical : here) {
            const auto shown = names.shown(canonical, rules);
            if (!shown) {
                RC_ASSERT(shown.error().details.at("reason") == "name_rules_too_narrow");
                continue;
            }
            RC_ASSERT(fits(*shown, rules));
            RC_ASSERT(names.find(*shown, rules) == canonical);
            RC_ASSERT(names.shown(canonical, rules).value() == *shown);
            RC_ASSERT(all.insert(*shown).second);
        }
        return all;
    };
    for (const std::string& shown : look_at_all()) {
        if (names.add("thief/" + shown)) here.insert("thief/" + shown);
    }
    look_at_all();
}

}  // namespace
}  // namespace callgate
