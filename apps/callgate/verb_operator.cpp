#include "verb_operator.h"

#include <memory>
#include <ostream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/rng.h"
#include "error_report.h"
#include "operator_key.h"
#include "operator_verb.h"
#include "options.h"
#include "os/file_ops.h"
#include "passphrase.h"
#include "program.h"

namespace callgate::cli {

namespace {

constexpr std::size_t kShortest = 8;

struct OperatorKeyLine {
    bool json = false;
    std::string color = "auto";
};

class OperatorKeyRun {
public:
    OperatorKeyRun(const OperatorKeyLine& line, const Console& console)
        : line_(line), console_(console), color_(color_mode(line.color)) {}

    int enroll() {
        const auto path = operator_key_path();
        if (!path) return give_up(path.error());
        auto before = OperatorKeyFile::read(files_, *path);
        const bool first = !before && is(before.error(), "no_operator_key");
        if (!before && !first) return give_up(before.error());
        std::optional<ledger::SigningKey> key_before;
        if (!first) {
            const auto old = ask_passphrase("Passphrase of your present key: ");
            if (!old) return give_up(old.error());
            auto opened = before->open(old->view());
            if (!opened) return give_up(opened.error());
            key_before = std::move(*opened);
        }
        const auto passphrase = ask_passphrase(first ? "Passphrase: " : "New passphrase: ");
        if (!passphrase) return give_up(passphrase.error());
        if (passphrase->size() < kShortest) {
            return give_up(
                Error(ErrorCode::denied,
                      fmt::format("The passphrase is shorter than {} bytes. Nothing was changed.", kShortest),
                      {{"reason", "too_short"}}));
        }
        const auto again = ask_passphrase("The same again: ");
        if (!again) return give_up(again.error());
        if (again->view() != passphrase->view()) {
            return give_up(Error(ErrorCode::denied, "The two are not the same. Nothing was changed.",
                                 {{"reason", "not_the_same"}}));
        }
        const OperatorKeyFile made =
            first ? OperatorKeyFile::make(rng_, passphrase->view())
                  : OperatorKeyFile::make_next(rng_, passphrase->view(), *before, *key_before);
        if (auto written = made.write(files_, rng_, *path); !written) return give_up(written.error());
        return tell(made, *path);
    }

    int show() {
        const auto path = operator_key_path();
        if (!path) return give_up(path.error());
        const auto file = OperatorKeyFile::read(files_, *path);
        if (!file) return give_up(file.error());
        return tell(*file, *path);
    }

private:
    static bool is(const Error& error, std::string_view reason) {
        return text_at(error.details, "reason") == reason;
    }

    int tell(const OperatorKeyFile& file, const std::string& path) const {
        if (line_.json) {
            console_.out << json::write_pretty(Value{{"key", file.vkey()}, {"path", path}}) << '\n';
        } else {
            const Style style = console_.out_terminal.style(color_);
            console_.out << fact("key", printable(file.vkey()), style)
                         << fact("file", printable(path), style);
        }
        return 0;
    }

    int give_up(const Error& error) const {
        print_error(error, std::nullopt, line_.json, color_, console_);
        if (is(error, "called_off")) return kCalledOff;
        return error.code == ErrorCode::denied || is(error, "wrong_passphrase") ? kNo : kUnusable;
    }

    const OperatorKeyLine& line_;
    const Console& console_;
    const ColorMode color_;
    os::RealFileOps files_;
    base::SystemRng rng_;
};

}  // namespace

void add_operator(Verb& program, const Console& console) {
    auto line = std::make_shared<OperatorKeyLine>();
    Verb& group = program.add("operator", "the key that you sign your decisions with");

    Verb& enrolling = group.add("enroll", "make your key, once per user, or another in its place");
    add_output_options(enrolling, line->json, line->color);
    enrolling.text(
        "A yes to a risky call must come from a person (assurance A2). Any program that runs as you can "
        "vote as you; it does not know your passphrase. You are asked for one at the terminal, and again "
        "whenever a vote needs your signature. Where there is a key already, its passphrase is asked for "
        "first, and the old key signs the new one.");
    enrolling.text(
        "The key is in $XDG_CONFIG_HOME/callgate/operator.key, else ~/.config/callgate/operator.key. A "
        "ledger takes the first key that it sees of a user, and writes that down: enroll and sign a first "
        "vote before a model can run programs as you.");
    enrolling.exits(0, "made")
        .exits(1, "the passphrase is wrong, or the two are not the same")
        .exits(2, "wrong usage, or no terminal")
        .exits(kCalledOff, kCalledOffMeaning);
    enrolling.example("callgate operator enroll");
    enrolling.runs([line, &console] { return OperatorKeyRun(*line, console).enroll(); });

    Verb& showing = group.add("show", "which key you sign with");
    add_output_options(showing, line->json, line->color);
    showing.exits(0, "shown").exits(2, "wrong usage, or there is none");
    showing.example("callgate operator show");
    showing.runs([line, &console] { return OperatorKeyRun(*line, console).show(); });
}

}  // namespace callgate::cli
