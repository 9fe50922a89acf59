#!/usr/bin/env python3
"""Completion in the shells themselves, and the man pages under man's own tools. A shell that is not on the machine is
skipped.

Usage: shells_test.py BINARY [--sanitized] [TEST...]
"""

import os
import pathlib
import pty
import re
import select
import shlex
import shutil
import subprocess

import harness
from harness import CliTest

PATIENCE_S = 60


class ShellTest(CliTest):
    def setUp(self):
        super().setUp()
        folder = self.dir / "bin"
        folder.mkdir()
        (folder / "callgate").symlink_to(harness.binary)
        # What is not there cannot be opened: completion leaves the ledger alone.
        self.ledger = self.dir / "ledger"
        self.env = {"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(self.dir), "CALLGATE_LEDGER": str(self.ledger),
                    "LANG": "C.UTF-8", "TERM": "dumb"}
        (self.dir / "tool.json").write_text("{}")
        (self.dir / "toolbox").mkdir()

    def tearDown(self):
        self.assertFalse(self.ledger.exists(), "completion made a ledger")

    def shell(self, name):
        if shutil.which(name) is None:
            self.skipTest(f"{name} is not on this machine")
        return name

    def run_script(self, *command):
        ran = subprocess.run(command, env=self.env, cwd=self.dir, text=True, capture_output=True, stdin=subprocess.DEVNULL)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), command)
        return ran.stdout

    def typed(self, command, setup, keys, until):
        """What an interactive shell shows: its set-up, then the keys, until the text is there."""
        pid, main = pty.fork()
        if pid == 0:
            os.chdir(self.dir)
            os.execvpe(command[0], command, self.env)
        shown = ""

        def read_to(text):
            nonlocal shown
            while text not in shown:
                ready, _, _ = select.select([main], [], [], PATIENCE_S)
                self.assertTrue(ready, f"{text!r} does not come after {shown!r}")
                try:
                    block = os.read(main, 65536)
                except OSError:
                    block = b""
                self.assertTrue(block, f"{command} ended without {text!r}: {shown!r}")
                shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r", "", block.decode("utf-8", "replace"))
                shown = re.sub(r".\x08", "", shown)

        try:
            os.write(main, (setup + "; PS1=read''y\n").encode())
            read_to("ready")
            shown = ""
            os.write(main, keys.encode())
            read_to(until)
        finally:
            os.close(main)  # it hangs up
            os.waitpid(pid, 0)
        return shown

    def verbs(self):
        """Every verb's words and the option names in its help."""
        found = []

        def look(words):
            text = self.run_script("callgate", *words, "--help")
            options = {name for line in re.findall(r"^  (-.*)$", text, re.M)
                       for name in re.findall(r"--?[a-z][a-z0-9-]*", re.match(r"(?:-\S+,? ?)+", line)[0])}
            found.append((words, options))
            listed = re.search(r"^Verbs\n((?:  \S.*\n|   .*\n)+)", text, re.M)
            for verb in re.findall(r"^  ([a-z-]+)\s", listed[1], re.M) if listed else []:
                look((*words, verb))

        look(())
        self.assertGreaterEqual(len(found), 48)
        return found


class Bash(ShellTest):
    # COMPREPLY for words as bash splits them; what the function asks of compopt stands behind it.
    ASK = """
        source <(callgate completion bash)
        compopt() { asked+=" $*"; }
        while IFS= read -r line; do
            eval "COMP_WORDS=($line)"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); asked=
            _callgate "${COMP_WORDS[0]}"
            printf '%s|%s\\n' "${COMPREPLY[*]}" "$asked"
        done
    """

    def setUp(self):
        super().setUp()
        self.shell("bash")

    def replies(self, lines):
        ran = subprocess.run(["bash", "--norc", "-c", self.ASK], env=self.env, cwd=self.dir, text=True, capture_output=True,
                             input="".join(" ".join(map(shlex.quote, ("callgate", *line))) + "\n" for line in lines))
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return [line.split("|") for line in ran.stdout.splitlines()]

    def test_every_verb_has_exactly_the_options_of_its_help(self):
        verbs = self.verbs()
        answers = self.replies([(*words, "-") for words, _ in verbs])
        self.assertEqual(len(answers), len(verbs))
        for (words, options), (replies, asked) in zip(verbs, answers):
            self.assertEqual(set(replies.split()), options, words)
            self.assertEqual(asked, "", words)

    def test_values_also_behind_an_equals_sign_which_bash_splits_at(self):
        (spaced, equals, part, file, folder, ids) = self.replies([
            ("calls", "list", "--state", "f"), ("calls", "list", "--state", "="), ("calls", "list", "--state", "=", "fa"),
            ("validate", ""), ("calls", "list", "--ledger", "=", "t"), ("calls", "show", "")])
        self.assertEqual(spaced[0], "failed")
        self.assertIn("cancelled", equals[0].split())
        self.assertEqual(part[0], "failed")
        self.assertEqual(file, ["", " -o default"])
        self.assertEqual(folder, ["", " -o dirnames"])
        self.assertEqual(ids, ["", ""])

    def test_at_a_prompt(self):
        setup = "source <(callgate completion bash); bind 'set bell-style none'"
        for keys, until in (("callgate calls l\t--st\tfa\t", "callgate calls list --state failed"),
                            ("callgate validate tool.\t", "callgate validate tool.json"),
                            ("~/bin/callgate ledger ba\t", "~/bin/callgate ledger backup"),
                            ("callgate calls list --ledger=to\t", "callgate calls list --ledger=toolbox/"),
                            ("callgate calls list --state=ca\t", "callgate calls list --state=cancelled")):
            self.typed(["bash", "--norc", "-i"], setup, keys, until)


class Zsh(ShellTest):
    def test_at_a_prompt(self):
        self.shell("zsh")
        setup = ("autoload -U compinit; compinit -D -u; source <(callgate completion zsh); unsetopt zle_bracketed_paste "
                 "prompt_sp; zstyle ':completion:*' list-prompt ''")
        for keys, until in (("callgate calls l\t--st\tfa\t", "callgate calls list --state failed"),
                            ("callgate validate tool.\t", "callgate validate tool.json"),
                            ("~/bin/callgate ledger ba\t", "~/bin/callgate ledger backup"),
                            ("callgate calls list --ledger=to\t", "callgate calls list --ledger=toolbox/"),
                            ("callgate calls list --state=ca\t", "callgate calls list --state=cancelled")):
            self.typed(["zsh", "-f", "-i"], setup, keys, until)

    def test_the_installed_file_is_a_function_of_its_own(self):
        self.shell("zsh")
        folder = self.dir / "site-functions"
        folder.mkdir()
        (folder / "_callgate").write_text(self.run_script("callgate", "completion", "zsh"))
        setup = f"fpath=({folder} $fpath); autoload -U compinit; compinit -D -u; unsetopt prompt_sp"
        self.typed(["zsh", "-f", "-i"], setup, "callgate ledger ba\t", "callgate ledger backup")


class Fish(ShellTest):
    def words(self, line):
        script = f"callgate completion fish | source; complete -C {shlex.quote(line)}"
        return [one.split("\t")[0] for one in self.run_script("fish", "--no-config", "-c", script).splitlines()]

    def test_verbs_options_values_and_files(self):
        self.shell("fish")
        self.assertEqual(self.words("callgate calls "), ["list", "show", "resolve"])
        self.assertEqual(self.words("callgate calls list --sta"), ["--state"])
        self.assertEqual(self.words("callgate calls list --state f"), ["failed"])
        self.assertEqual(self.words("callgate calls list --state=f"), ["--state=failed"])
        self.assertEqual(self.words("callgate call send"), ["send_mail"])
        self.assertEqual(self.words("callgate validate tool."), ["tool.json"])
        self.assertEqual(self.words("callgate calls list --ledger=to"), ["--ledger=toolbox/"])
        self.assertEqual(self.words("callgate calls show "), [])
        self.assertEqual(self.words("~/bin/callgate ledger ba"), ["backup"])

    def test_every_verb_has_exactly_the_options_of_its_help(self):
        self.shell("fish")
        for words, options in self.verbs():
            self.assertEqual(set(self.words(" ".join(("callgate", *words, "-")))), options, words)


class ManPages(ShellTest):
    def pages(self):
        """name → roff, of the program and of each verb."""
        made = {"callgate": self.run_script("callgate", "help", "--man")}
        for words, _ in self.verbs():
            if len(words) == 1:
                made[f"callgate-{words[0]}"] = self.run_script("callgate", "help", "--man", *words)
        self.assertGreaterEqual(len(made), 14)
        return made

    def render(self, roff):
        """As text, with no line that is filled otherwise than the source says."""
        ran = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-rLL=300n", "-P-c"], input=roff, text=True, capture_output=True)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return re.sub(r".\x08|\x1b\[[0-9;]*m", "", ran.stdout)

    def test_have_every_option_of_the_help(self):
        self.shell("groff")
        text = {name: self.render(roff) for name, roff in self.pages().items()}
        for words, options in self.verbs():
            page = text["-".join(("callgate", *words[:1]))]
            self.assertIn(" ".join(("callgate", *words)), page)
            for option in options:
                self.assertRegex(page, rf"(?m)^ +(-\S+, )*{re.escape(option)}\b", words)

    def test_have_no_warning(self):
        self.shell("mandoc")
        for name, roff in self.pages().items():
            ran = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"], input=roff, text=True, capture_output=True)
            # They have no date: a version is one, and the same sources make the same pages.
            told = [line for line in (ran.stdout + ran.stderr).splitlines() if "missing date" not in line]
            self.assertEqual(told, [], name)

    def test_are_the_ones_that_are_installed(self):
        folder = self.dir / "texts"
        script = pathlib.Path(__file__).resolve().parents[2] / "cmake/callgate_texts.cmake"
        self.run_script("cmake", f"-DCALLGATE={harness.binary}", f"-DTO={folder}", "-P", str(script))
        man1 = folder / "share/man/man1"
        self.assertEqual({path.name: path.read_text() for path in man1.iterdir()},
                         {f"{name}.1": roff for name, roff in self.pages().items()})
        for shell, path in (("bash", "bash-completion/completions/callgate"), ("zsh", "zsh/site-functions/_callgate"),
                            ("fish", "fish/vendor_completions.d/callgate.fish")):
            self.assertEqual((folder / "share" / path).read_text(), self.run_script("callgate", "completion", shell))


if __name__ == "__main__":
    harness.main(__doc__)
