#include "tool/credential_check.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tool/tool_entry.h"
#include "tool/tool_testing.h"

namespace callgate {
namespace {

// Put together here, so that no scanner takes this file for a leak.
std::string token(std::string_view prefix, std::string_view rest = "1a2b3c4d5e6f7g8h9i0j1k2l3m4n5o6p7q8r") {
    return std::string(prefix) + std::string(rest);
}

std::string place_in(const Tool& tool) {
    const auto found = find_credential(tool);
    return found ? found->place : "";
}

std::string place_in_input(std::string_view schema) {
    return place_in(echo_tool("t", schema));
}

TEST(Credentials, TokensOfKnownMakersAreRecognised) {
    for (const char* prefix :
         {"sk-", "sk-proj-", "ghp_", "github_pat_", "glpat-", "xoxb-", "hf_", "npm_", "sk_live_"})
        EXPECT_EQ(credential_form(token(prefix)), "an access token") << prefix;
    EXPECT_TRUE(credential_form("key " + token("AKIA", "IOSFODNN7ABCDEFG")));
    EXPECT_TRUE(credential_form("id=" + token("AIza", "SyA1234567890abcdefghijklmnopqrstuv")));
    EXPECT_TRUE(credential_form(token("eyJhbGciOiJIUzI1NiJ9", ".eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl")));
    EXPECT_TRUE(credential_form("https://host/" + token("ghp_")));
}

TEST(Credentials, PrivateKeysAreRecognised) {
    EXPECT_EQ(credential_form("-----BEGIN "
                              "RSA PRIVATE KEY-----\nMIIE"),
              "a private key");
    EXPECT_EQ(credential_form("-----BEGIN "
                              "OPENSSH PRIVATE KEY-----"),
              "a private key");
    EXPECT_EQ(credential_form("-----BEGIN PUBLIC KEY-----"), std::nullopt);
}

TEST(Credentials, AuthorizationHeadersAreRecognised) {
    EXPECT_EQ(credential_form("Authorization: Bearer abcdef123456"), "an authorization header");
    EXPECT_EQ(credential_form("bearer ABCDEFGHIJ"), "an authorization header");
    EXPECT_EQ(credential_form("Basic dXNlcjpwYXNzd29yZA=="), "an authorization header");
}

TEST(Credentials, PasswordsInUrlsAreRecognised) {
    EXPECT_EQ(credential_form("postgres://app:hunter2@db.example/app"), "a URL with a password");
    EXPECT_EQ(credential_form("see https://u:p@h/ there"), "a URL with a password");
    EXPECT_EQ(credential_form("https://user@host/path"), std::nullopt);
    EXPECT_EQ(credential_form("https://host:8080/a@b:c"), std::nullopt);
}

TEST(Credentials, SecretsInQueriesAndConnectionStringsAreRecognised) {
    for (const char* text :
         {"https://host/x?token=abc", "/x?a=1&api_key=abc", "https://host/#access_token=abc",
          "host=db;password=hunter2", "host=db user=me pwd=hunter2"})
        EXPECT_EQ(credential_form(text), "a secret in a query or a connection string") << text;
    for (const char* text : {"https://host/x?page=2&sort_key=name", "?token=", "?token=${TOKEN}",
                             "max_tokens=5", "/oauth?token_type=bearer", "a=b"})
        EXPECT_EQ(credential_form(text), std::nullopt) << text;
}

TEST(Credentials, PlaceholdersAndProseAreNone) {
    for (const char* text :
         {"", "Bearer <token>", "Bearer ${TOKEN}", "Uses bearer authentication", "Basic authentication",
          "https://${USER}:${PASSWORD}@host/", "task-manager-for-everybody-1234567890",
          "sk-learn-feature-selection-model", "ghp_", "db:tool_configs/17", "config/mail.toml"})
        EXPECT_EQ(credential_form(text), std::nullopt) << text;
}

TEST(Credentials, AreFoundInEveryPartOfTheContract) {
    const std::string secret = token("ghp_");
    const auto with = [&](auto set) {
        Tool tool = echo_tool("t");
        set(tool.contract);
        return place_in(tool);
    };
    EXPECT_EQ(with([&](Contract& c) { c.config_ref = secret; }), "contract.config_ref");
    EXPECT_EQ(with([&](Contract& c) { c.config_ref = R"({"db":{"password":"hunter2"}})"; }),
              "contract.config_ref/db/password");
    EXPECT_EQ(with([&](Contract& c) { c.connector_id = secret; }), "contract.connector_id");
    EXPECT_EQ(with([&](Contract& c) { c.server = "https://u:p@host"; }), "contract.server");
    EXPECT_EQ(with([&](Contract& c) { c.target = "/" + secret; }), "contract.target");
    EXPECT_EQ(with([&](Contract& c) { c.resource_key = "/" + secret; }), "contract.resource_key");
    EXPECT_EQ(with([&](Contract& c) { c.blast_radius = "/" + secret; }), "contract.blast_radius");
    EXPECT_EQ(with([&](Contract& c) { c.capabilities = {secret}; }), "contract.capabilities");
    EXPECT_EQ(with([&](Contract& c) { c.scopes.add(secret); }), "contract.scopes");
    EXPECT_EQ(with([&](Contract& c) { c.action_scopes["a"].add(secret); }), "contract.action_scopes");
    EXPECT_EQ(with([&](Contract& c) { c.risk_map[secret] = Risk::low; }), "contract.risk_map");
    EXPECT_EQ(with([&](Contract& c) { c.effect_map[secret] = EffectClass::read; }), "contract.effect_map");
    EXPECT_EQ(with([&](Contract& c) { c.config_ref = "db:configs/17"; }), "");
}

TEST(Credentials, AreFoundInAnnotations) {
    Tool tool = echo_tool("t");
    tool.definition.annotations = {{"vendor", {{"api_key", "abc"}}}};
    EXPECT_EQ(place_in(tool), "annotations/vendor/api_key");
    tool.definition.annotations = {{"list", {"fine", token("xoxb-")}}};
    EXPECT_EQ(place_in(tool), "annotations/list/1");
    tool.definition.annotations = {{"readOnlyHint", true}, {"requires_auth", true}, {"max_tokens", 100}};
    EXPECT_EQ(place_in(tool), "");
}

TEST(Credentials, AreFoundInTheValuesThatASchemaGivesAway) {
    EXPECT_EQ(place_in_input(R"({"properties":{"api_key":{"type":"string","default":"abc"}}})"),
              "input_schema/properties/api_key/default");
    EXPECT_EQ(place_in_input(R"({"properties":{"password":{"const":"abc"}}})"),
              "input_schema/properties/password/const");
    EXPECT_EQ(place_in_input(R"({"properties":{"token":{"examples":["abc"]}}})"),
              "input_schema/properties/token/examples/0");
    EXPECT_EQ(place_in_input(R"({"properties":{"url":{"default":"https://u:p@host"}}})"),
              "input_schema/properties/url/default");
    EXPECT_EQ(place_in_input(R"({"examples":[{"db":{"password":"abc"}}]})"),
              "input_schema/examples/0/db/password");
    EXPECT_EQ(place_in_input(R"({"$defs":{"a":{"anyOf":[{"properties":{"secret":{"default":"abc"}}}]}}})"),
              "input_schema/$defs/a/anyOf/0/properties/secret/default");
    EXPECT_EQ(place_in_input(R"({"x-api-key":"abc"})"), "input_schema/x-api-key");
    EXPECT_EQ(place_in_input(R"({"properties":{"how":{"enum":["a",")" + token("ghp_") + R"("]}}})"),
              "input_schema/properties/how/enum/1");
    Tool tool = echo_tool("t").output(json_of(R"({"properties":{"token":{"const":"abc"}}})"));
    EXPECT_EQ(place_in(tool), "output_schema/properties/token/const");
}

TEST(Credentials, SchemasThatOnlyAskForASecretAreFine) {
    for (
        const char* schema :
        {R"({"properties":{"password":{"type":"string","minLength":8}},"required":["password"]})",
         R"({"properties":{"default":{"type":"string"},"const":{"properties":{"token":{}}}}})",
         R"({"properties":{"token":{"default":""},"secret":{"default":null},"use_auth":{"default":true}}})",
         R"({"properties":{"max_tokens":{"default":1024},"auth_type":{"default":"oauth"}}})",
         R"({"properties":{"auth":{"enum":["none","basic"]},"token_url":{"default":"https://host/token"}}})",
         R"({"properties":{"api_key":{"default":"${API_KEY}","examples":["<your key>"]}}})",
         R"({"dependentRequired":{"password":["user"]},"description":"Send Authorization: Bearer abcdef123456"})"})
        EXPECT_EQ(place_in_input(schema), "") << schema;
}

TEST(Credentials, RegistrationNamesThePlaceAndNeverTheValue) {
    const std::string secret = token("ghp_");
    Tool tool = echo_tool("mail");
    tool.contract.config_ref = secret;
    const auto entry = ToolEntry::make(tool);
    ASSERT_FALSE(entry);
    const Error& error = entry.error();
    EXPECT_EQ(error.code, ErrorCode::config_error);
    EXPECT_EQ(error.details.at("reason"), "inline_credential");
    EXPECT_EQ(error.details.at("place"), "contract.config_ref");
    EXPECT_NE(error.message.find("contract.config_ref"), std::string::npos);
    EXPECT_EQ((error.message + json::write(error.details)).find(secret), std::string::npos);
}

RC_GTEST_PROP(Credentials, ATokenIsFoundWhereverItStandsInAText, (std::string before, std::string after)) {
    const std::string text = before + " " + token("ghp_") + " " + after;
    RC_ASSERT(credential_form(text).has_value());
}

RC_GTEST_PROP(Credentials, APropertyNamedLikeASecretMayHaveNoDefault, ()) {
    const std::string name = *rc::gen::elementOf(std::vector<std::string>{
        "password", "apiKey", "API_KEY", "client_secret", "x-auth-token", "privateKey", "credentials"});
    const int depth = *rc::gen::inRange(0, 20);
    Value schema = Object{{"properties", Object{{name, Object{{"default", "abc"}}}}}};
    for (int i = 0; i < depth; ++i) schema = Object{{"properties", Object{{"p", schema}}}};
    Tool tool = echo_tool("t");
    tool.definition.input_schema = schema;
    RC_ASSERT(find_credential(tool).has_value());
}

}  // namespace
}  // namespace callgate
