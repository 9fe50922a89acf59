#!/usr/bin/env python3
"""tools/setup.sh installs what is missing, only that, and says clearly when it cannot.

It runs here on a made-up machine: its PATH holds stand-ins for dpkg-query, apt-get, id and sudo.
"""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SETUP = Path(__file__).parent / "setup.sh"

DPKG_QUERY = """#!/bin/sh
shift 3
for name; do grep -qx "$name" "$MACHINE/installed" && echo "installed $name"; done
exit 1
"""
# Like the real one: without package lists nothing can be located.
APT_GET = """#!/bin/sh
echo "$@" >> "$MACHINE/apt.log"
for option; do case "$option" in DPkg::Path=*) path=${option#DPkg::Path=} ;; esac; done
PATH=$path invoke-rc.d nginx start || touch "$MACHINE/started"
case "$*" in
*update*) touch "$MACHINE/lists" ;;
*) [ -e "$MACHINE/lists" ] || { echo "E: Unable to locate package"; exit 100; } ;;
esac
"""
TEST_GROUP = ["libgtest-dev", "libgmock-dev", "librapidcheck-dev", "python3", "json-schema-test-suite"]


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.machine = Path(folder.name)
        self.bin = self.machine / "bin"
        self.bin.mkdir()
        for tool in ("bash", "sh", "env", "grep", "cat", "rm", "mktemp", "touch", "ln"):
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.command("dpkg-query", DPKG_QUERY)
        self.command("apt-get", APT_GET)
        self.command("id", "#!/bin/sh\necho 0\n")
        self.installed(TEST_GROUP)
        (self.machine / "lists").touch()

    def command(self, name, text):
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def installed(self, names):
        (self.machine / "installed").write_text("\n".join(names) + "\n")

    def run_setup(self, *groups):
        environment = {"PATH": str(self.bin), "MACHINE": str(self.machine)}
        return subprocess.run(
            [self.bin / "bash", SETUP, *groups], env=environment, text=True, capture_output=True, timeout=60
        )

    def apt_log(self):
        log = self.machine / "apt.log"
        return log.read_text().splitlines() if log.exists() else []

    def test_says_and_does_nothing_when_everything_is_there(self):
        done = self.run_setup("test")
        self.assertEqual((done.returncode, done.stdout, done.stderr, self.apt_log()), (0, "", "", []))

    def test_installs_only_what_is_missing_and_says_so(self):
        self.installed(TEST_GROUP[1:])
        done = self.run_setup("test")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "setup: installing 1 Debian packages: libgtest-dev\n")
        self.assertEqual(len(self.apt_log()), 1)
        self.assertTrue(self.apt_log()[0].endswith("install --no-install-recommends --no-remove libgtest-dev"))

    def test_starts_no_service_that_a_package_brings_along(self):
        self.installed(TEST_GROUP[1:])
        self.assertEqual(self.run_setup("test").returncode, 0)
        self.assertEqual(len(self.apt_log()), 1)
        self.assertFalse((self.machine / "started").exists())

    def test_fetches_the_package_lists_when_they_are_absent(self):
        (self.machine / "lists").unlink()
        self.installed([])
        done = self.run_setup("test")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line.split()[6] for line in self.apt_log()], ["install", "update", "install"])

    def test_uses_sudo_when_not_root(self):
        self.installed([])
        self.command("id", "#!/bin/sh\necho 1000\n")
        self.command("sudo", '#!/bin/sh\necho sudo >> "$MACHINE/apt.log"\nexec "$@"\n')
        done = self.run_setup("test")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.apt_log()[0], "sudo")

    def test_without_root_and_sudo_it_says_what_to_run(self):
        self.installed(["python3"])
        self.command("id", "#!/bin/sh\necho 1000\n")
        done = self.run_setup("test")
        self.assertEqual(done.returncode, 1)
        self.assertIn("apt-get install --no-install-recommends libgtest-dev libgmock-dev", done.stderr)
        self.assertEqual(self.apt_log(), [])

    def test_explains_the_boost_conflict_and_removes_nothing(self):
        self.installed(["libboost1.74-dev"])
        self.command("dpkg-query", '#!/bin/sh\ncase "$*" in *1.74*) echo installed ;; *) exit 1 ;; esac\n')
        done = self.run_setup("build")
        self.assertEqual(done.returncode, 1)
        self.assertIn("libboost1.74-dev", done.stderr)
        self.assertEqual(self.apt_log(), [])

    def test_says_so_on_a_system_that_is_not_debian(self):
        (self.bin / "apt-get").unlink()
        done = self.run_setup("test")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not a Debian system", done.stderr)

    def test_shows_apts_own_words_when_it_fails(self):
        self.installed([])
        self.command("apt-get", '#!/bin/sh\necho "E: the mirror is gone"\nexit 100\n')
        done = self.run_setup("test")
        self.assertEqual(done.returncode, 1)
        self.assertIn("E: the mirror is gone", done.stderr)

    def test_leaves_an_npm_from_elsewhere_alone(self):
        self.command("npm", "#!/bin/sh\n")
        done = self.run_setup("node")
        self.assertEqual((done.returncode, self.apt_log()), (0, []))
        (self.bin / "npm").unlink()
        self.run_setup("node")
        self.assertTrue(self.apt_log()[0].endswith("nodejs npm"))

    def test_names_the_groups_when_asked_for_an_unknown_one(self):
        done = self.run_setup("nonsense")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no package group 'nonsense'", done.stderr)


if __name__ == "__main__":
    unittest.main()
