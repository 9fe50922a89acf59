#include "schema/format_mail.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schema/format_test_cases.h"

namespace callgate::schema {
namespace {

TEST(EmailFormat, is_the_mailbox_of_rfc_5321) {
    const std::string long_local(64, 'a');
    const std::string quoted_64 = '"' + std::string(62, 'a') + '"';
    expect_all(true, is_email,
               {
                   {"a@b", "4.1.2 a domain of one label"},
                   {"first.last+tag@sub.example.com", "4.1.2 Dot-string"},
                   {"!#$%&'*/=?^_`{|}~-@example.com", "4.1.2 atext"},
                   {"\"\"@example.com", "4.1.2 Quoted-string may be empty"},
                   {"\"a b@c..\\\"\\\\\"@example.com", "4.1.2 quoted-pairSMTP"},
                   {"a@[192.0.2.1]", "4.1.3 IPv4-address-literal"},
                   {"a@[IPv6:2001:db8::1]", "4.1.3 IPv6-address-literal"},
                   {"a@[ipv6:::ffff:192.0.2.1]", "4.1.3 the tag's case is free"},
                   {"a@xn--bcher-kva.example", "2.3.5 A-labels are LDH"},
               });
    EXPECT_TRUE(is_email(long_local + "@example.com")) << "4.5.3.1.1";
    EXPECT_FALSE(is_email(long_local + "a@example.com")) << "4.5.3.1.1";
    EXPECT_TRUE(is_email(quoted_64 + "@example.com")) << "4.5.3.1.1";
    EXPECT_FALSE(is_email("\"a" + quoted_64.substr(1) + "@example.com")) << "4.5.3.1.1";
    expect_all(false, is_email,
               {
                   {"", "4.1.2"},
                   {"@", "4.1.2"},
                   {"a", "4.1.2 at sign"},
                   {"@b", "4.1.2 local part"},
                   {"a@", "4.1.2 domain"},
                   {"a@b@c", "4.1.2 an at sign only in quotes"},
                   {".a@b", "4.1.2 Dot-string"},
                   {"a.@b", "4.1.2 Dot-string"},
                   {"a..b@c", "4.1.2 Dot-string"},
                   {"a b@c", "4.1.2 atext"},
                   {"a(b)@c", "4.1.2 no comments"},
                   {"\"a@b", "4.1.2 closing quote"},
                   {"\"a\"b@c", "4.1.2 a quoted string stands alone"},
                   {"\"a\\\"@b", "4.1.2 the closing quote is escaped"},
                   {"\"a\tb\"@c", "4.1.2 no controls in quotes"},
                   {"\"a\\\nb\"@c", "4.1.2 no escaped controls"},
                   {"a@b.", "4.1.2 no final dot"},
                   {"a@-b.c", "4.1.2 Let-dig first"},
                   {"a@b_c", "4.1.2 no underscore"},
                   {"a@[1.2.3]", "4.1.3 four octets"},
                   {"a@[::1]", "4.1.3 IPv6 needs its tag"},
                   {"a@[IPv6:1.2.3.4]", "4.1.3 IPv6"},
                   {"a@[x:y]", "4.1.3 unregistered tag"},
                   {"a@[192.0.2.1", "4.1.3 closing bracket"},
                   {"ü@b", "4.1.2 ASCII"},
                   {"<a@b>", "4.1.2 no angle brackets"},
               });
}

TEST(IdnEmailFormat, is_the_mailbox_of_rfc_6531) {
    expect_all(true, is_idn_email,
               {
                   {"jürgen.müller@bücher.example", "3.3 atext and sub-domain"},
                   {"\"ü ö\"@example.com", "3.3 qtextSMTP"},
                   {"a@xn--bcher-kva.example", "3.3 A-label"},
                   {"a@bu\u0308cher.example", "RFC 5891 section 5.2: brought into NFC"},
                   {"a@[IPv6:::1]", "4.1.3 of RFC 5321"},
               });
    expect_all(false, is_idn_email,
               {
                   {"ü..ö@b", "3.3 Dot-string"},
                   {"ü＠b", "3.3 only U+0040"},
                   {"a@Bücher.example", "RFC 5892: upper case is not PVALID"},
                   {"a@b\u3002c", "3.3 only U+002E"},
                   {"a@\u212Aelvin", "NFC leaves ASCII: no U-label"},
                   {"a@b\u037E.c", "NFC makes it a semicolon"},
                   {"\"a\\ü\"@b", "3.3 quoted-pairSMTP stays ASCII"},
                   {"a@ü_b", "RFC 5892 DISALLOWED"},
               });
}

RC_GTEST_PROP(IdnEmailFormat, accepts_all_that_email_accepts, ()) {
    const std::string text =
        *text_of("ab.@\"\\-[]:1 ") + *rc::gen::element<std::string>("", "@b", "@a.b", "@[1.1.1.1]");
    RC_ASSERT(!is_email(text) || is_idn_email(text));
}

}  // namespace
}  // namespace callgate::schema
