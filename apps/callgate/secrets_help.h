// The help of `callgate secrets`, laid out to be read.
#pragma once

#include <string_view>

namespace callgate::cli {

inline constexpr std::string_view kSecretsHelp =
    R"(callgate secrets: what tools log in with, in an encrypted file

Usage: callgate secrets VERB [options]

Verbs
  set         put a secret in, or replace it
  rotate      replace it, and keep the version before as a way back
  remove      take it out, or take back its newest version
  check       is it there, and since when; or is the whole file sound?
  rotate-key  seal everything anew with another key

A secret has two names: the connector whose tools may use it, and a key, such as github token.
Values are typed without echo or sent to standard input, never given as arguments. No verb shows
a value, and none lists what there is.

Options
  -h, --help  this text; after a verb, that verb's

Examples
  callgate secrets set github token
  callgate secrets check github token
)";

inline constexpr std::string_view kSecretsSetHelp =
    R"(callgate secrets set: put a secret into the encrypted file, or replace it

Usage: callgate secrets set [options] CONNECTOR KEY

  CONNECTOR            whose tools may use it, such as github
  KEY                  its name there, such as token

The value is asked for on a terminal, without echo; otherwise standard input is the value, but
for one line end. It has 8 bytes to 64 KiB. Versions before it are dropped.

The file
  --file PATH          $CALLGATE_SECRETS, or else callgate/secrets in $XDG_STATE_HOME or
                       ~/.local/state
  --key-file PATH      the key; PATH.key beside the file by default, made with the first secret
  --key-env NAME       the key is in this variable, as 64 hexadecimal digits or base64
  --key-credential N   the key is the systemd credential N

Output
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Exit codes
  0  it is set    2  it is not: wrong usage, value, key or file

Examples
  callgate secrets set github token
  gh auth token | callgate secrets set github token
  callgate secrets set deploy ssh_key < ~/.ssh/deploy_ed25519
)";

inline constexpr std::string_view kSecretsRotateHelp =
    R"(callgate secrets rotate: replace a secret, and keep the version before as a way back

Usage: callgate secrets rotate [options] CONNECTOR KEY

  CONNECTOR            whose tools may use it
  KEY                  its name there

The value comes as for set. The new version is used from now on; the one before is kept until
the next change. To go back: callgate secrets remove CONNECTOR KEY --only-version N, where N is
the new version.

The file
  --file PATH          $CALLGATE_SECRETS, or else callgate/secrets in $XDG_STATE_HOME or
                       ~/.local/state
  --key-file PATH      the key; PATH.key beside the file by default
  --key-env NAME       the key is in this variable, as 64 hexadecimal digits or base64
  --key-credential N   the key is the systemd credential N

Output
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Exit codes
  0  it is replaced    1  there is no such secret    2  wrong usage, value, key or file

Examples
  callgate secrets rotate github token
  new-token | callgate secrets rotate github token --json
)";

inline constexpr std::string_view kSecretsRemoveHelp =
    R"(callgate secrets remove: take a secret out of the file

Usage: callgate secrets remove [options] CONNECTOR KEY

  CONNECTOR            whose tools may use it
  KEY                  its name there

  --only-version N     take out this version alone: the newest to go back to the one before,
                       or the one before to be rid of it

The file
  --file PATH          $CALLGATE_SECRETS, or else callgate/secrets in $XDG_STATE_HOME or
                       ~/.local/state
  --key-file PATH      the key; PATH.key beside the file by default
  --key-env NAME       the key is in this variable, as 64 hexadecimal digits or base64
  --key-credential N   the key is the systemd credential N

Output
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Exit codes
  0  it is gone    1  there is no such secret or version    2  wrong usage, key or file

Examples
  callgate secrets remove github token
  callgate secrets remove github token --only-version 4
)";

inline constexpr std::string_view kSecretsCheckHelp =
    R"(callgate secrets check: is a secret there, and since when; or is the whole file sound?

Usage: callgate secrets check [options] [CONNECTOR KEY]

  CONNECTOR            whose tools may use it
  KEY                  its name there; without names every record is opened, and none is named

The file
  --file PATH          $CALLGATE_SECRETS, or else callgate/secrets in $XDG_STATE_HOME or
                       ~/.local/state
  --key-file PATH      the key; PATH.key beside the file by default
  --key-env NAME       the key is in this variable, as 64 hexadecimal digits or base64
  --key-credential N   the key is the systemd credential N

Output
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Exit codes
  0  it is there, or all is sound    1  there is no such secret, or no file yet
  2  wrong usage or key, or the file is damaged

Examples
  callgate secrets check github token
  callgate secrets check --json
)";

inline constexpr std::string_view kSecretsRotateKeyHelp =
    R"(callgate secrets rotate-key: seal everything anew with another key

Usage: callgate secrets rotate-key [options] --new-key-file PATH

  --new-key-file PATH  the new key; made if it is not there

The file is replaced in one step: until then the old key opens it, from then on only the new one.
Programs that use the file have to be started again with the new key.

The file
  --file PATH          $CALLGATE_SECRETS, or else callgate/secrets in $XDG_STATE_HOME or
                       ~/.local/state
  --key-file PATH      the old key; PATH.key beside the file by default
  --key-env NAME       the old key is in this variable, as 64 hexadecimal digits or base64
  --key-credential N   the old key is the systemd credential N

Output
  --json               one JSON document on standard output, whatever happens
  --color WHEN         auto (default), always, never; NO_COLOR is respected
  -h, --help           this text

Exit codes
  0  done    1  there is no file yet    2  wrong usage, key or file; the old key still holds

Examples
  callgate secrets rotate-key --new-key-file ~/keys/callgate-2027
)";

}  // namespace callgate::cli
