# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#
# cairn: RoCEv2 in software, a kernel module and its rdma-core provider.
# "make help" tells what there is.

TOP := $(CURDIR)
SERIES := 6.1 6.12
# what the VM targets take when none is named
VM_KVER := $(firstword $(KVER) 6.12)
KVERS := $(or $(KVER),$(SERIES))
KVER_FULL ?= $(shell uname -r)
# one build serves both: the series' tree if its headers are of that release
INSTALL_KVER = $(or $(strip $(foreach k,$(SERIES),$(if $(filter \
	$(KVER_FULL),$(shell . scripts/vm/kernels.sh; kernel_release $(k))),$(k)))),$(KVER_FULL))
DESTDIR ?=
INSTALL_MOD_PATH ?= $(DESTDIR)
MODDIR = $(INSTALL_MOD_PATH)/lib/modules/$(KVER_FULL)
# a staging tree has no modules of its own to index
depmod = [ ! -e $(MODDIR)/modules.order ] || PATH=$$PATH:/sbin:/usr/sbin \
	depmod $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) $(KVER_FULL)
T ?= *
# the tests that are named, or else those of the script
globs = $(foreach t,$(filter-out *,$(T)),'$(t)')
space := $(subst ,, )
SHELL := /bin/bash

USERSPACE := $(wildcard userspace/Makefile)
userspace-make = $(MAKE) -s --no-print-directory -C userspace BUILD=$(TOP)/build/userspace

.PHONY: all help deps deps-quick modules userspace install install-module \
	uninstall clean check checkpatch sparse language layers names kernel-doc shellcheck hosttest vmtest-programs \
	vmtest-mutants vmtest vm test umltest debugtest coverage racetest stress demo bench deb rpm providers debtest matrix arm64 intree bench-programs $(addprefix module-,$(KVERS))

all: modules userspace

help:
	@echo 'make                build the module for both kernels, the provider and the tools'
	@echo 'make KVER=6.1       ... for one kernel (6.1 or 6.12)'
	@echo 'make deps           install what building and testing need (Debian packages, kernels)'
	@echo 'make install        module into KVER_FULL (default: the running kernel), provider, tools;'
	@echo '                    DESTDIR and INSTALL_MOD_PATH as usual'
	@echo 'make uninstall      take that away again'
	@echo 'make check          checkpatch, sparse, layers, names, language, shellcheck'
	@echo 'make hosttest       protocol code and provider as host programs, under sanitizers'
	@echo 'make vmtest         tests in the VM: T=GLOB names them, KVER=6.1 one kernel'
	@echo 'make test           everything, on both kernels'
	@echo 'make umltest        VM tests on user-mode Linux, at native speed: T=GLOB names them'
	@echo 'make debugtest      VM tests on user-mode Linux with KASAN, UBSAN, lockdep, faults, and on'
	@echo '                    PREEMPT_RT with lockdep: T=GLOB names them; builds those kernels once'
	@echo 'make coverage       lines of the module that VM tests reach, on the kernel of debugtest: T=GLOB'
	@echo 'make racetest       VM tests on a kernel with KCSAN; builds that kernel once'
	@echo 'make stress         soaks in full length: hours; T=GLOB only these VM tests,'
	@echo '                    ENV=uml on user-mode Linux, at native speed'
	@echo 'make bench          speed beside rdma_rxe and TCP: B=write|read|send|lat|qps|loss|busy|persist|loopback|scale|kernel|dereg|pacing|neighbours|simulation|vectors|parts|pgwal|fio,'
	@echo '                    ENV=qemu|uml|icount, KVER=6.1|6.12; table, build/bench/*.json, plots'
	@echo 'make vm             a shell in a VM with two RDMA hosts in it'
	@echo 'make demo           what cairn can do, shown in a VM'
	@echo 'make deb            Debian packages, in build/deb'
	@echo 'make rpm            RPM packages, in build/rpm'
	@echo 'make providers      one directory with the provider for each version of rdma-core, for'
	@echo '                    IBV_DRIVERS in containers: build/providers'
	@echo 'make debtest        those packages on Debian 13: installed, booted, upgraded, removed'
	@echo 'make matrix         builds for each kernel (also those of Debian 13, and arm64), boots it, runs chosen'
	@echo '                    tests: table, build/matrix/*.json; KVER=trixie one kernel'
	@echo 'make arm64          module, provider and tests for arm64; host tests of it in an emulator'
	@echo 'make intree         the driver in trees of 6.12 and 7.x, with W=1 and sparse; TREE=DIRECTORY'
	@echo '                    in that kernel tree, of any version from 5.15 on'
	@echo 'make clean          remove build/'

deps:
	@scripts/deps.sh

# what the other targets start with: silent and quick when nothing is missing
deps-quick:
	@scripts/deps.sh --check 2>/dev/null || scripts/deps.sh

modules: $(addprefix module-,$(KVERS))

$(addprefix module-,$(KVERS)): module-%: deps-quick
	@scripts/module.sh build $*

# staged as "make install" would put it: the VM takes it from there
userspace: deps-quick
	@mkdir -p build
ifneq ($(USERSPACE),)
	@flock build $(userspace-make)
	@flock build sh -c 'rm -rf build/stage.new && \
		$(userspace-make) install DESTDIR=$(TOP)/build/stage.new >build/stage.log && \
		rm -rf build/stage && mv build/stage.new build/stage'
endif

install: install-module
ifneq ($(USERSPACE),)
	$(userspace-make) install DESTDIR=$(DESTDIR)
endif

install-module:
	scripts/module.sh build $(INSTALL_KVER)
	install -D -m 644 build/$(INSTALL_KVER)/cairn.ko $(MODDIR)/updates/cairn.ko
	$(depmod)

uninstall:
	rm -f $(MODDIR)/updates/cairn.ko
	$(depmod)
ifneq ($(USERSPACE),)
	$(userspace-make) uninstall DESTDIR=$(DESTDIR)
endif

clean:
	rm -rf build

check: modules
	@scripts/check/all $(KVERS)

names language layers: deps-quick
	@scripts/check/$@.py

checkpatch kernel-doc shellcheck: deps-quick
	@scripts/check/$@.sh

sparse: deps-quick
	@$(foreach k,$(KVERS),scripts/module.sh sparse $(k) &&) :

hosttest: deps-quick
	@scripts/bench/test_figures.py
	@env -u BUILD $(MAKE) --no-print-directory -C drivers/infiniband/sw/cairn/tests test
ifneq ($(USERSPACE),)
	@$(userspace-make) test
endif

# the programs that the tests in the VM run
vmtest-programs: modules userspace
ifneq ($(wildcard tests/vm/Makefile),)
	@$(MAKE) --no-print-directory -s -C tests/vm BUILD=$(TOP)/build/vmtests
endif
	@scripts/fio build
	@scripts/libfabric build
ifneq ($(filter arm64,$(KVERS)),)
	@scripts/arm64 programs
endif

# the module with one deliberate defect each, all of them for a soak
vmtest-mutants: vmtest-programs
	@tests/vm/mutants/build.py 6.12 build/vmtests/mutants $(if $(CAIRN_SOAK),all)

with-mutants = case persist_mutants in $(subst $(space),|,$(strip $(T)))) \
	$(MAKE) --no-print-directory -s vmtest-mutants ;; esac

vmtest: all vmtest-programs
	@$(with-mutants)
	@scripts/test/vmtest --kernels "$(KVERS)" $(or $(globs),'*')

vm: all
	@scripts/vm/run --kernel $(VM_KVER) --topology pair --timeout 86400 --shell

test:
	@scripts/test/all

debugtest: all vmtest-programs
	@rc=0; scripts/test/umltest --debug $(globs) || rc=$$?; scripts/test/rt $(globs) || rc=$$?; exit $$rc

umltest: all vmtest-programs
	@scripts/test/umltest $(globs)

coverage: all vmtest-programs
	@scripts/test/coverage $(globs)

racetest: all vmtest-programs
	@scripts/test/kcsan $(globs)

# what "make test" does a bounded run of, in full length
stress: export CAIRN_SOAK := 1
stress: export CAIRN_TIMEOUT_SCALE := 20
stress: all vmtest-programs
ifeq ($(T),*)
	@CAIRN_MUTANTS=all $(MAKE) --no-print-directory hosttest
	@$(userspace-make) stress
	@env -u BUILD SEEDS=20000 $(MAKE) --no-print-directory \
		-C drivers/infiniband/sw/cairn/tests test ONLY=engine_sim
	@env -u BUILD $(MAKE) --no-print-directory \
		-C drivers/infiniband/sw/cairn/tests fuzz FUZZ_SECONDS=1800
	@env -u BUILD $(MAKE) --no-print-directory \
		-C drivers/infiniband/sw/cairn/tests flood FLOOD_PACKETS=1000000000
	@CAIRN_ROUNDS=50 scripts/test/reboot --pgwal
	@CAIRN_ROUNDS=20 scripts/test/reboot --file
	@CAIRN_ROUNDS=20 scripts/test/reboot --fio
endif
ifeq ($(ENV),uml)
	@scripts/test/umltest $(globs)
else
	@$(with-mutants)
	@scripts/test/vmtest --kernels "$(KVERS)" $(or $(globs),'*')
endif

deb:
	@scripts/deb

rpm:
	@scripts/rpm/build

# needs a compiler and libibverbs-dev only
providers:
	@scripts/providers

debtest:
	@scripts/test/deb

# what can be tried of it without booting it
arm64: deps-quick
	@scripts/vm/fetch arm64
	@scripts/module.sh build arm64
	@scripts/arm64 programs
	@scripts/arm64 hosttest

matrix: deps-quick
	@env -u MAKEFLAGS -u MAKELEVEL -u KVER scripts/test/matrix $(KVER)
ifeq ($(KVER),)
	@env -u MAKEFLAGS -u MAKELEVEL scripts/test/configs
endif

intree: deps-quick
	@scripts/intree $(if $(TREE),--tree '$(TREE)',$(KVER))

demo:
	@scripts/demo.sh

# what "make bench" runs inside the guest
bench-programs: deps-quick modules
	@mkdir -p build/bench/bin
	@$(foreach p,$(wildcard scripts/bench/src/*.c) tests/vm/src/longest.c,$(CC) -O2 -std=gnu11 -D_GNU_SOURCE -Wall \
		-Wextra -Werror -Wno-unused-parameter -pthread -Itests/vm/src -Idrivers/infiniband/sw/cairn/tests/shim \
		-Idrivers/infiniband/sw/cairn -Iinclude/uapi -Ibuild/userspace/include \
		-o build/bench/bin/$(basename $(notdir $(p))) $(p) tests/vm/src/vt.c tests/vm/src/vt_persist.c \
		-Lbuild/userspace -Wl,--as-needed -lcairn -libverbs -lm &&) :
	@$(MAKE) --no-print-directory -s -C tests/vm BUILD=$(TOP)/build/vmtests $(TOP)/build/vmtests/bind_preload.so
	@tests/vm/kmod/build $(TOP)/build/vmtests/kmod

bench: all bench-programs
	@scripts/bench/all --env "$(ENV)" --kernels "$(VM_KVER)" $(B)
