# The verbs of this repository. Each first installs the Debian packages it lacks (tools/setup.sh), builds only
# what it needs under build/<preset>, and is quick when there is nothing to do.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
.NOTPARALLEL:

JOBS ?= $(shell nproc)
SECONDS ?= 60
KILLS ?= 10000
HITS ?= 4
HOSTS ?= 3000
PREFIX ?= /usr/local
DESTDIR ?=
SEED ?= 1
REPEAT ?= 1

# Configure and build one preset; $(1) is the preset, $(2) further arguments of the build.
build = cmake --preset $(1) >/dev/null && cmake --build --preset $(1) -j$(JOBS) $(2)

# Our C++ sources, for clang-format.
sources = find $(wildcard include src apps tests fuzz bench examples) -name '*.h' -o -name '*.cpp'

.PHONY: help
help: ## this list
	@echo "make VERB, where VERB is one of"
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1\t\2/p' Makefile | expand -t 18

.PHONY: run
run: ## build the release and show it at work
	@tools/setup.sh build
	@$(call build,release)
	@tools/demo.sh build/release/bin/callgate

.PHONY: test
test: ## everything that must pass: all tests under ASan+UBSan, thread tests under TSan, fuzz seeds, checks, install
	@tools/setup.sh build test
	@JOBS=$(JOBS) tools/test.sh asan tsan

.PHONY: install
install: ## build the release and install it under PREFIX (/usr/local); DESTDIR goes before it, for packages
	@tools/setup.sh build
	@$(call build,release)
	@tools/install.sh install build/release '$(PREFIX)' '$(DESTDIR)'

.PHONY: uninstall
uninstall: ## remove what make install put under PREFIX
	@tools/install.sh uninstall '$(PREFIX)' '$(DESTDIR)'

.PHONY: times
times: ## what make run and make test cost in CPU seconds, on a fresh clone without ccache
	@tools/setup.sh build test
	@python3 -B tools/times.py

.PHONY: asan-full
asan-full: ## all tests with every check of UndefinedBehaviorSanitizer
	@tools/setup.sh build test
	@JOBS=$(JOBS) tools/test.sh asan-full

.PHONY: seed-tests
seed-tests: ## the requirements of the systems that Callgate unites, row by row
	@tools/setup.sh build test
	@$(call build,asan,--target seeds_test)
	@tests/seeds/run.py build/asan/bin/seeds_test

.PHONY: model
model: ## the ledger's rules explored exhaustively: every invariant in every state (MODEL=--thorough)
	@tools/setup.sh build test
	@$(call build,asan,--target state_model)
	@build/asan/bin/state_model $(MODEL)

.PHONY: call-scripts
call-scripts: ## random scripts of calls against the promises of a call, step by step (SCRIPTS=20000 SEED=1)
	@tools/setup.sh build test
	@$(call build,asan,--target call_scripts)
	@build/asan/bin/call_scripts --scripts $(or $(SCRIPTS),20000) --seed $(SEED)

.PHONY: crash
crash: ## kill the owner of a durable ledger again and again, and check what is on the record (KILLS=10000 SEED=1)
	@tools/setup.sh build test
	@$(call build,fault,--target crash)
	@build/fault/bin/crash --kills $(KILLS) --seed $(SEED) --lanes $(JOBS)

.PHONY: approval-crash
approval-crash: ## the same between the request for an approval and its use (1,000 kills, SEED=1)
	@tools/setup.sh build test
	@$(call build,fault,--target approval_crash)
	@build/fault/bin/approval_crash --kills $(or $(APPROVAL_KILLS),1000) --seed $(SEED)

.PHONY: children
children: ## hostile children started and ended, their owners killed, agents that reconnect (CYCLES=1000 OWNERS=100 RECONNECTS=1000)
	@tools/setup.sh build test
	@$(call build,fault,--target children)
	@build/fault/bin/children --cycles $(or $(CYCLES),1000) --kills $(or $(OWNERS),100) \
	    --reconnects $(or $(RECONNECTS),1000) --seed $(SEED)

.PHONY: hosts
hosts: ## random hosts over pool, timers and both ledgers, and each rule switched off (HOSTS=3000 SEED=1)
	@tools/setup.sh build test
	@$(call build,fault,--target hosts)
	@build/fault/bin/hosts --hosts $(HOSTS) --seed $(SEED) --lanes $(JOBS)

.PHONY: rollback
rollback: ## put a ledger's past back in every way, and count what is not noticed (FLIPS=1000 SEED=1)
	@tools/setup.sh build test
	@$(call build,fault,--target rollback)
	@build/fault/bin/rollback --flips $(or $(FLIPS),1000) --seed $(SEED)

.PHONY: power-loss
power-loss: ## the power goes at any write; unsynced sectors of every file are kept, lost or torn (DEATHS=2000 SEED=1)
	@tools/setup.sh build test
	@$(call build,fault,--target power_loss)
	@build/fault/bin/power_loss --deaths $(or $(DEATHS),2000) --seed $(SEED)

.PHONY: hung-disk
hung-disk: ## the disk stops for 20 seconds under 64 callers and two operators (HANG_MS=20000)
	@tools/setup.sh build test
	@$(call build,fault,--target hung_disk)
	@build/fault/bin/hung_disk --hang-ms $(or $(HANG_MS),20000)

.PHONY: canary
canary: ## a known secret is used, and looked for afterwards in files, logs, exports, memory and /proc
	@tools/setup.sh build test
	@$(call build,fault,--target canary)
	@build/fault/bin/canary

.PHONY: failpoints
failpoints: ## every failpoint × kill, error, full disk, short write, and what is left after each (HITS=4 moments)
	@tools/setup.sh build test
	@$(call build,fault,--target failpoint_sweep)
	@tests/failpoints/run.py build/fault/bin/failpoint_sweep --hits $(HITS)

.PHONY: disk-faults
disk-faults: ## every call to the disk failed in every way, damaged files, 100,000 open approvals, a 50 MB result
	@tools/setup.sh build test
	@$(call build,fault,--target ledger_test)
	@CALLGATE_EVERY_FAULT=1 CALLGATE_MANY_APPROVALS=100000 build/fault/bin/ledger_test \
	    --gtest_brief=1 --gtest_filter='*EveryFault*:*EveryFileFault*:Large.*:DiskFaults.*:*BadFiles*:*Log*'

.PHONY: clock-jumps
clock-jumps: ## the clock set by a day or an hour every second while eight threads make calls (SECONDS=60)
	@tools/setup.sh build test
	@$(call build,fault,--target clock_jumps_threads_test)
	@CALLGATE_CLOCK_SECONDS=$(SECONDS) build/fault/bin/clock_jumps_threads_test --gtest_brief=1 \
	    --gtest_filter='*WhileCallsGoOn*' | grep -v '^\[\|^Running'

.PHONY: schema-suite
schema-suite: ## the official JSON Schema test suite, a table per draft (CALLGATE_SCHEMA_SUITE=DIR)
	@tools/setup.sh build test bench
	@$(call build,bench,--target schema_suite)
	@tests/schema_suite/run.sh build/bench/bin/schema_suite

.PHONY: conformance
conformance: ## the official conformance suite of MCP, both requirement sets, against a server and a client of ours (REPEAT=1)
	@tools/setup.sh build test bench
	@tools/setup.sh node || true
	@$(call build,bench,--target conformance_server conformance_client)
	@python3 -B tests/conformance/run.py build/bench/bin/conformance-server --repeat $(REPEAT)
	@python3 -B tests/conformance/run_client.py build/bench/bin/conformance-client --repeat $(REPEAT)

.PHONY: interop
interop: ## npm's MCP clients and servers beside our server, over pipes and HTTP, each revision (ONLY=client2-modern/http)
	@tools/setup.sh build test
	@tools/setup.sh node || true
	@$(call build,asan,--target interop_server)
	@python3 -B tests/interop/run.py build/asan/bin/interop-server --only '$(ONLY)'

.PHONY: differential
differential: ## generated schemas and instances against ajv (PAIRS=100000 SEED=1)
	@tools/setup.sh build test bench node
	@$(call build,bench,--target differential)
	@tests/differential/run.sh

.PHONY: tamper
tamper: ## a hand in the ledger's file: one-field edits by SQL without the key, all found (EDITS=2000 SEED=1)
	@tools/setup.sh build test
	@$(call build,fault,--target tamper)
	@build/fault/bin/tamper --edits $(or $(EDITS),2000) --seed $(or $(SEED),1)

.PHONY: audit-attacks
audit-attacks: ## twelve ways to attack an audit log, found by both verifiers (TRIALS=1000 SEED=1)
	@tools/setup.sh build test bench
	@$(call build,fault,--target crash)
	@$(call build,bench,--target audit_attacks callgate_cli)
	@rm -rf build/fault/crash-logs
	@build/fault/bin/crash --kills 500 --seed $(or $(SEED),1) --lanes $(JOBS) --keep build/fault/crash-logs | grep RESULT
	@python3 -B tests/audit/run.py build/bench/bin/audit_attacks --trials $(or $(TRIALS),1000) --seed $(or $(SEED),1) \
	    --sample 20 --events 500000 --crash-logs build/fault/crash-logs --callgate build/bench/bin/callgate

.PHONY: bench-schema
bench-schema: ## parse and validate, ours and ajv's, in one run
	@tools/setup.sh build test bench node
	@$(call build,bench,--target schema_bench)
	@bench/schema/run.sh

.PHONY: bench-call
bench-call: ## one call through all ten stages, ours and the npm peers', in one run
	@tools/setup.sh build test bench node
	@$(call build,bench,--target call_bench)
	@bench/call/run.sh

.PHONY: bench-waiting
bench-waiting: ## 10,000 calls in flight and 10,000 that wait for their callers: memory, threads, and that all end
	@tools/setup.sh build test bench
	@$(call build,bench,--target waiting_bench)
	@build/bench/bin/waiting_bench

.PHONY: bench-mcp
bench-mcp: ## the MCP server over pipes and HTTP: beside a bare pipe, nginx and the TypeScript SDKs (ROUNDS=5)
	@tools/setup.sh build test bench
	@tools/setup.sh load || true
	@tools/setup.sh node || true
	@$(call build,bench,--target mcp_bench_server mcp_bench_client)
	@python3 -B bench/mcp/run.py build/bench/bin/mcp_bench_server build/bench/bin/mcp_bench_client --rounds $(or $(ROUNDS),5)

.PHONY: bench-registry
bench-registry: ## what it costs to list 2,000 tools, without copying them and with
	@tools/setup.sh build test bench
	@$(call build,bench,--target registry_bench)
	@build/bench/bin/registry_bench

.PHONY: bench-ledger
bench-ledger: ## what durability costs: beside the disk's own sync, bare SQL and the in-memory ledger
	@tools/setup.sh build test bench
	@$(call build,bench,--target durable_bench)
	@build/bench/bin/durable_bench build/bench/ledger-bench

.PHONY: docs
docs: ## every snippet of the pages compiled and run, every link followed, the API reference in build/docs/html
	@tools/setup.sh build test docs
	@$(call build,quick,--target callgate_cli docs_snippets)
	@tools/docs/docs.sh build/quick/bin/callgate build/quick/bin/docs_snippets

.PHONY: picture
picture: ## write docs/picture.svg from what the program prints now
	@tools/setup.sh build test
	@$(call build,quick,--target callgate_cli)
	@tools/docs/picture.py --callgate build/quick/bin/callgate --write

.PHONY: measured
measured: ## run the verbs that measure, and write docs/measured.md from their RESULT lines (VERBS="crash hosts …")
	@tools/docs/measured.py run $(or $(VERBS),model crash hosts children rollback power-loss tamper hung-disk failpoints schema-suite \
	    conformance differential audit-attacks bench-schema bench-call bench-mcp bench-ledger bench-registry seed-tests newcomer)

.PHONY: walk
walk: ## the files that a call passes, as ARCHITECTURE.md tells them, against real calls (WRITE=1 writes the table)
	@tools/setup.sh build test
	@$(call build,quick,--target walk)
	@tests/walk/run.py build/quick/bin/walk $(if $(WRITE),--write)

.PHONY: newcomer
newcomer: ## the guides followed on a clone: install, build against it, every program, every verb at 80 columns
	@tools/setup.sh build test
	@tests/newcomer/run.py

.PHONY: fuzz
fuzz: ## libFuzzer on every target, or on those of ONLY="json sse", SECONDS (60) for each
	@tools/setup.sh build clang
	@$(call build,fuzz)
	@tools/fuzz.sh $(SECONDS) $(JOBS) $(ONLY)

.PHONY: tsan
tsan: ## the thread tests (*_threads_test.cpp) under ThreadSanitizer
	@tools/setup.sh build test
	@JOBS=$(JOBS) tools/test.sh tsan

.PHONY: clang
clang: ## build with the second compiler, clang 19, and run the tests
	@tools/setup.sh build test clang
	@JOBS=$(JOBS) tools/test.sh clang

.PHONY: tidy
tidy: ## clang-tidy over the library and the program
	@tools/setup.sh build clang tidy
	@$(call build,tidy,-- -k 0)

.PHONY: format
format: ## lay out the C++ sources with clang-format
	@tools/setup.sh format
	@$(sources) | xargs clang-format-19 -i

.PHONY: format-check
format-check: ## say which C++ sources clang-format would change
	@tools/setup.sh format
	@$(sources) | xargs clang-format-19 --dry-run --Werror

.PHONY: coverage
coverage: ## line and branch coverage of the tests, as a table and in build/coverage/report/
	@tools/setup.sh build test coverage
	@$(call build,coverage)
	@find build/coverage -name '*.gcda' -delete
	@ctest --preset coverage -j$(JOBS)
	@mkdir -p build/coverage/report
	@gcovr --root . --filter 'include/' --filter 'src/' --exclude '.*_test\.cpp' --exclude-unreachable-branches \
	    --exclude-throw-branches --txt --html-details build/coverage/report/index.html build/coverage

# Every verb that checks something, what is quick first. tools/lanes_test.py finds one that is left out.
.PHONY: soak
soak: export CALLGATE_NO_SKIPS = 1
soak: ## everything that checks, in its long version: 10,000 kills, fuzzing for ten minutes a target, both compilers, benches
	@tools/setup.sh shells
	@$(MAKE) format-check
	@$(MAKE) test
	@$(MAKE) seed-tests
	@$(MAKE) docs
	@$(MAKE) walk
	@$(MAKE) newcomer
	@$(MAKE) asan-full
	@$(MAKE) clang
	@$(MAKE) tidy
	@$(MAKE) model MODEL=--thorough
	@$(MAKE) call-scripts SCRIPTS=200000
	@$(MAKE) crash
	@$(MAKE) approval-crash
	@$(MAKE) children
	@$(MAKE) hosts
	@$(MAKE) rollback
	@$(MAKE) power-loss
	@$(MAKE) tamper
	@$(MAKE) hung-disk
	@$(MAKE) canary
	@$(MAKE) failpoints
	@$(MAKE) disk-faults
	@$(MAKE) clock-jumps
	@$(MAKE) schema-suite
	@$(MAKE) conformance REPEAT=10
	@$(MAKE) interop
	@$(MAKE) differential
	@$(MAKE) audit-attacks
	@$(MAKE) bench-schema
	@$(MAKE) bench-call
	@$(MAKE) bench-waiting
	@$(MAKE) bench-mcp
	@$(MAKE) bench-ledger
	@$(MAKE) bench-registry
	@$(MAKE) times
	@$(MAKE) fuzz SECONDS=600

.PHONY: setup
setup: ## install the packages of every verb now
	@tools/setup.sh build test bench load clang tidy format coverage docs shells node
	@tools/node.sh >/dev/null

.PHONY: clean
clean: ## remove build/
	@rm -rf build
