#include "vote_signer.h"

#include <string>
#include <utility>

#include "base/try.h"
#include "os/file_ops.h"
#include "passphrase.h"

namespace callgate::cli {

Result<void> VoteSigner::sign(Object& request, const Value& shown) {
    const Value& approval = value_at(shown, "approval");
    // "A1" < "A2" < "A3"
    if (text_at(shown, "your_assurance") >= std::string("A2") || text_at(approval, "assurance_needed") < "A2")
        return {};
    if (!key_) {
        const auto path = operator_key_path();
        if (!path) return {};
        os::RealFileOps files;
        auto file = OperatorKeyFile::read(files, *path);
        if (!file && text_at(file.error().details, "reason") == "no_operator_key") return {};
        if (!file) return tl::unexpected(std::move(file.error()));
        // A person types for as long as they like: others may use the ledger meanwhile.
        if (!run_.has_owner_to_ask()) run_.let_go();
        CALLGATE_TRY_ASSIGN(const auto passphrase, ask_passphrase("Passphrase of your operator key: "));
        CALLGATE_TRY_ASSIGN(auto key, file->open(passphrase.view()));
        file_ = std::move(*file);
        key_ = std::move(key);
    }
    sign_vote(request, *file_, *key_, text_at(approval, "id"), text_at(approval, "digest"));
    return {};
}

}  // namespace callgate::cli
