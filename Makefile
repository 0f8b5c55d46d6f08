# make            build, after configuring if necessary
# make demo       run real programs with and without the library
# make check      run the tests on every MPI found (TESTS="--abi mpich 'coll_*'")
# make check-hosts run them in installations of other Debian releases too, as the user root (ROOTS=, HOSTS="--releases sid")
# make check-arm64 run some of them on emulated arm64 processors, as the user root (ROOTS=, HOSTS="put_get 'lock_*'")
# make check-long run the tests that take minutes each
# make bench      compare the library with the host MPI (BENCH_RANKS="2 4" BENCH_OPTIONS="--part coll")
# make scale      compare collectives with threads as ranks with a model of their cost
# make lint       run clang-format, clang-tidy, cppcheck, shellcheck, pyflakes and mandoc
# make format     run clang-format on every committed C file
# make install    install library, command, headers, manual and documents (PREFIX=, LIBDIR=, DESTDIR=)
# make uninstall  remove what `make install` installed
# make dist       pack the committed files, configure and jemalloc into build/libmpiaccel-VERSION.tar.gz
# make deb        pack the committed files as Debian's packages, in build/deb
# make rpm        pack them as RPM packages, in build/rpm
# make wheel      pack what was built as a wheel for Python, in build/wheel
# make setup      install the packages that `make check` needs, on Debian as root
# make examples   build the programs of examples/
# make figures    run the benchmark three times and update the tables of the documents
# make reference  update what docs/ has of the lists in the sources: settings, calls, reasons and statistics
# make tests      build the tests
# make clean      remove what was built, except jemalloc and the configuration
# make distclean  remove everything that was built
# make help       print this list
#
# On Debian, as root, demo, check, bench, lint and deb install the packages that they need; SETUP=no prevents
# it. V=1 shows the commands, CI=1 makes warnings errors. ./configure --help lists the options of the
# build. To build in another folder: mkdir b && cd b && ../configure && make.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
# One job per processor; an option -j on the command line comes later and takes precedence.
MAKEFLAGS += --no-builtin-rules -j$(shell nproc)
# `make clean all` removes before it builds.
ifneq ($(filter clean distclean uninstall,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

# The folder of everything that is built. A build in another folder sets it (tools/outside.mk.in); the
# scripts of the project read it from the environment.
BUILD := build
export BUILD

# One short line per file; V=1 shows the command.
show = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)' && )
Q := $(if $(V),,@)

# ---- packages and configuration ------------------------------------------------------------------

SETUP_GOALS := $(or $(filter demo lint bench deb,$(MAKECMDGOALS)),$(if $(filter check check-% setup,$(MAKECMDGOALS)),check)) $(if $(filter check-apps,$(MAKECMDGOALS)),apps)
SETUP_STAMPS := $(if $(filter no,$(SETUP)),,$(SETUP_GOALS:%=$(BUILD)/conf/setup.%))

$(BUILD)/conf/setup.%: tools/setup
	tools/setup $*
	@mkdir -p $(@D) && touch $@

setup: $(SETUP_STAMPS)

configure: configure.ac VERSION | $(SETUP_STAMPS)
	$(Q)if command -v autoconf >/dev/null; then autoconf; \
	elif [ -f configure ]; then echo "make: no autoconf, so configure is not generated again"; touch configure; \
	else echo "make: configure is missing; install autoconf, or use a release tarball" >&2; exit 1; fi

# The goals that need no configuration do not start one.
ifneq ($(filter-out help clean distclean setup,$(or $(MAKECMDGOALS),all)),)
-include $(BUILD)/config.mk $(BUILD)/install.mk
endif
# configure does not touch config.mk when nothing has changed, so that nothing is compiled again.
$(BUILD)/config.mk $(BUILD)/install.mk: $(BUILD)/conf/configured ;
$(BUILD)/conf/configured: configure $(wildcard tools/*.mk.in) tools/jemalloc tools/debian-source $(SETUP_STAMPS)
	$(Q)mkdir -p $(BUILD)
	$(Q)cd $(BUILD)/.. && if [ -f config.status ]; then ./config.status --recheck && ./config.status; \
	else "$(CURDIR)/configure"; fi

# The number changes when programs that are linked with the library must be linked again.
SONAME := libmpiaccel.so.0
LIB := $(BUILD)/lib/$(SONAME)
LINKER_NAME := $(BUILD)/lib/libmpiaccel.so
CORE := $(wildcard core/*.c)
MODULES := $(filter-out core/kernels.c,$(CORE)) $(wildcard node/*.c alloc/*.c peer_copy/*.c rma_shm/*.c coll_inplace/*.c shmem/*.c pmpi_wrap/*.c)
ABI_SOURCES := $(wildcard pmpi_wrap/abi/*.c pmpi_wrap/abi/*/*.c)
# Those of the MPIs that configure found, and MPI-5's, whose header is here. Its tests need an MPI that
# has it.
COMPILED_ABIS := $(ABIS) standard
TEST_ABIS := $(ABIS) $(if $(MPICC_standard),standard)
ISAS := baseline $(if $(X86_64),avx2)

# The tests also run with a library whose structures and protocols check themselves (assert).
ASSERTING_LIB := $(BUILD)/assert/lib/$(SONAME)
# objects,FOLDER
objects = $(MODULES:%.c=$(1)/%.o) $(ISAS:%=$(BUILD)/obj/core/kernels_%.o) $(COMPILED_ABIS:%=$(1)/abi_%.o)
JEMALLOC_LIB := $(BUILD)/jemalloc/libmpiaccel_je.a

# A newer MPI may deprecate what an older one needs, so that warning is no error.
STRICT := $(if $(CI),-Werror -Wno-error=deprecated-declarations)
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla $(STRICT)
PLAIN_COMPILE = $(CC) -std=gnu11 -D_GNU_SOURCE -I. -I$(BUILD)/generated $(CPPFLAGS) $(DEBUG_FLAGS) $(CFLAGS) $(WARNINGS)
COMPILE = $(PLAIN_COMPILE) -I$(BUILD)/jemalloc/include -fPIC -fvisibility=hidden \
          -fno-semantic-interposition -pthread $(DEPENDENCY_FLAGS) $(MACHINE_FLAGS)

COMMAND := $(BUILD)/bin/mpiaccel
COMMAND_PROGRAMS := $(patsubst command/%,$(BUILD)/libexec/mpiaccel/%,$(wildcard command/mpiaccel-*))
COMMAND_DATA := $(patsubst command/%,$(BUILD)/libexec/mpiaccel/%,$(wildcard command/*.html command/*.py)) \
    $(BUILD)/libexec/mpiaccel/statistics.schema.json
# The benchmark needs no compiler where it is installed: it loads the MPI, and the object for its ABI.
BENCH_PROGRAM := $(BUILD)/libexec/mpiaccel/mpiaccel-bench-rank
BENCH_OBJECTS := $(ABIS:%=$(BUILD)/libexec/mpiaccel/bench-%.so)
MANUAL := $(BUILD)/man/mpiaccel.1 $(BUILD)/man/mpiaccel.7

# libmpiaccel_heap.so.0, with the modules that it shares with the library
HEAP_LIB := $(BUILD)/lib/$(SONAME:libmpiaccel%=libmpiaccel_heap%)
HEAP_LINK := $(basename $(HEAP_LIB))
HEAP_OBJECTS := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard heap/*.c) core/cgroup.c core/config.c core/huge_pages.c core/log.c core/memory_left.c core/os_number.c node/job.c node/memfd.c node/snapshot.c)

all: $(LIB) $(LINKER_NAME) $(HEAP_LIB) $(HEAP_LINK) $(COMMAND) $(COMMAND_PROGRAMS) $(COMMAND_DATA) $(BENCH_PROGRAM) $(BENCH_OBJECTS) $(MANUAL)

# The version changes with each commit: only what includes this header is compiled again.
VERSION := $(shell tools/version)
VERSION_HEADER := $(BUILD)/generated/version.h
$(VERSION_HEADER): FORCE
	@mkdir -p $(@D)
	@echo '#define MPIACCEL_VERSION "$(VERSION)"' | cmp -s - $@ || echo '#define MPIACCEL_VERSION "$(VERSION)"' >$@
# Where users report problems
CONTACT_HEADER := $(BUILD)/generated/contact.h
$(CONTACT_HEADER): FORCE
	@mkdir -p $(@D)
	@echo '#define MPIACCEL_CONTACT "$(CONTACT)"' | cmp -s - $@ || echo '#define MPIACCEL_CONTACT "$(CONTACT)"' >$@
$(BUILD)/obj/pmpi_wrap/version.o $(BUILD)/assert/obj/pmpi_wrap/version.o: $(VERSION_HEADER)

COMMAND_OBJECTS := $(patsubst %,$(BUILD)/obj/core/%.o,cgroup concurrency config json log os_number processors settings sync best_kernels $(ISAS:%=kernels_%)) \
    $(patsubst %,$(BUILD)/obj/pmpi_wrap/%.o,eager_obstacle quirks)
$(COMMAND): $(wildcard command/*.c command/*.h) $(COMMAND_OBJECTS) $(VERSION_HEADER) $(CONTACT_HEADER) $(BUILD)/conf/folders
	@mkdir -p $(@D)
	$(call show,LINK,$@)$(PLAIN_COMPILE) -DMPIACCEL_SONAME='"$(SONAME)"' -DMPIACCEL_HEAP_NAME='"$(notdir $(HEAP_LIB))"' \
	    -DMPIACCEL_LIBDIR='"$(libdir)"' -DMPIACCEL_LIBDIR_FROM_BIN='"$(call from_bin,$(libdir))"' \
	    -DMPIACCEL_PROGRAMS='"$(PROGRAM_DIR)"' -DMPIACCEL_PROGRAMS_FROM_BIN='"$(call from_bin,$(PROGRAM_DIR))"' \
	    -DMPIACCEL_ABIS='"$(COMPILED_ABIS)"' \
	    $(LDFLAGS) $(filter %.c %.o,$^) -o $@ -ldl

$(BUILD)/libexec/mpiaccel/%: command/%
	@mkdir -p $(@D)
	$(Q)cp $< $@
$(BUILD)/libexec/mpiaccel/%: docs/%
	@mkdir -p $(@D)
	$(Q)cp $< $@

$(BENCH_PROGRAM): bench/rank.c $(BUILD)/config.mk
	@mkdir -p $(@D)
	$(call show,LINK,$@)$(PLAIN_COMPILE) $(LDFLAGS) $< -o $@ -ldl

# Its symbols of MPI are found when it is loaded.
define bench_rules
$(BUILD)/libexec/mpiaccel/bench-$(1).so: $(filter-out bench/rank.c bench/scale.c bench/between_jobs.c,$(wildcard bench/*.c)) bench/bench.h bench/calls.h \
    $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,LINK,$$@)CPATH= $$(PLAIN_COMPILE) -O2 $$(patsubst -I%,-isystem %,$$(INCLUDES_$(1))) -DBENCH_ABI='"$(1)"' -fPIC \
	    -fvisibility=hidden -shared $$(LDFLAGS) -Wl,-z,undefs $$(filter %.c,$$^) -o $$@ -ldl -lm
endef
$(foreach abi,$(ABIS),$(eval $(call bench_rules,$(abi))))

# Functions of the C library are bound when they are called: at start, it would take longer than all
# else that the loader does for this library. Some systems' default is -z now.
$(LIB): $(call objects,$(BUILD)/obj)
$(ASSERTING_LIB): $(call objects,$(BUILD)/assert/obj)
$(LIB) $(ASSERTING_LIB): $(JEMALLOC_LIB) pmpi_wrap/exports.map
	@mkdir -p $(@D)
	$(call show,LINK,$@)$(CC) -shared -o $@ $(CFLAGS) -Wl,-z,lazy $(LDFLAGS) $(MACHINE_FLAGS) -Wl,-soname,$(SONAME) \
	    -Wl,--no-undefined -Wl,--version-script=pmpi_wrap/exports.map -Wl,-z,nodelete -Wl,--gc-sections \
	    $(filter %.o,$^) $(JEMALLOC_LIB) -pthread -ldl $(LIBS)
# Names without a number, for the linker and for preloading by hand.
$(LINKER_NAME): $(LIB)
$(HEAP_LINK): $(HEAP_LIB)
$(LINKER_NAME) $(HEAP_LINK):
	$(Q)ln -sf $(<F) $@

# The compiler must not turn what malloc and its kin do into calls of themselves.
$(BUILD)/obj/heap/%.o: COMPILE += -fno-builtin
$(HEAP_LIB): $(HEAP_OBJECTS)
	@mkdir -p $(@D)
	$(call show,LINK,$@)$(CC) -shared -o $@ $(CFLAGS) -Wl,-z,lazy $(LDFLAGS) $(MACHINE_FLAGS) -Wl,-soname,$(@F) \
	    -Wl,--no-undefined -Wl,-z,nodelete -Wl,--gc-sections $^ -pthread -ldl

$(BUILD)/obj/%.o: %.c $(BUILD)/config.mk
	@mkdir -p $(@D)
	$(call show,CC,$<)$(COMPILE) -c $< -o $@
ASSERTING := -O1 -UNDEBUG
$(BUILD)/assert/obj/%.o: %.c $(BUILD)/config.mk
	@mkdir -p $(@D)
	$(call show,CC,$< with assertions)$(COMPILE) $(ASSERTING) -c $< -o $@

# Structures of 24 bytes are passed by value in these files, written as three words. A copy through
# vector registers would read two words at once, and wait until both have left the store buffer, behind
# the stores to message slots.
WORDWISE := $(if $(X86_64),-mgeneral-regs-only)
$(BUILD)/obj/coll_inplace/%.o $(COMPILED_ABIS:%=$(BUILD)/obj/%/%.o): COMPILE += $(WORDWISE)

# Programs call MPI on stacks of 16 KiB. Tables with an entry per rank are in the team (coll_inplace/team.h).
SMALL_FRAMES := -Wframe-larger-than=1024
$(addprefix $(BUILD)/obj/,coll_inplace/%.o rma_shm/%.o) \
    $(foreach subject,buffered_sends collectives,$(COMPILED_ABIS:%=$(BUILD)/obj/%/$(subject)/%.o)): \
    COMPILE += $(SMALL_FRAMES)

# The reduction kernels are compiled once per instruction set. Integers wrap, as in the hosts.
# Nothing is fused, because ranks that divide a vector differently must compute the same bits.
ISA_baseline := -ffp-contract=off
# Without -mfma: GCC 12 fuses the products of complex numbers into vfmaddsub even with -ffp-contract=off.
ISA_avx2 := -mavx2 -ffp-contract=off
$(BUILD)/obj/core/kernels_%.o: core/kernels.c $(BUILD)/config.mk
	@mkdir -p $(@D)
	$(call show,CC,$< for $*)$(COMPILE) -O3 -fwrapv $(ISA_$*) -DISA=$* -DKERNELS=kernels_$* -c $< -o $@

# The files of pmpi_wrap/abi are compiled once per ABI and linked into one object whose only global
# symbol is its table. CPATH is empty here, because modules of a site put the folder of one
# MPI's headers into it, and the compiler searches it before those of -isystem. abi_rules,ABI,FOLDER,FLAGS
define abi_rules
$(2)/$(1)/%.o: pmpi_wrap/abi/%.c $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,CC,$$< for $(1)$(if $(3), with assertions))CPATH= $$(COMPILE) $(3) $$(patsubst -I%,-isystem %,$$(INCLUDES_$(1))) \
	    -DABI_NAME=$(1) -DABI_IS_$(1) -c $$< -o $$@
$(2)/abi_$(1).o: $$(ABI_SOURCES:pmpi_wrap/abi/%.c=$(2)/$(1)/%.o)
	$$(call show,LINK,$$@)$$(CC) -r -nostdlib $(MACHINE_FLAGS) -o $$@ $$^
	@$(OBJCOPY) --keep-global-symbol=abi_$(1) $$@
endef
$(foreach abi,$(COMPILED_ABIS),$(eval $(call abi_rules,$(abi),$(BUILD)/obj)) \
    $(eval $(call abi_rules,$(abi),$(BUILD)/assert/obj,$(ASSERTING))))

# jemalloc is configured for this library: other names than those of the program's allocator, no
# constructor, since nothing may run in a process without MPI, and thread-local storage that does not
# need the static TLS block, which a late dlopen() of the library cannot get. On other processors
# than x86 it is built for pages of 64 KiB, because it refuses kernels with larger pages than it was built
# for. Of an address, x86 uses 48 bits; for 49, jemalloc has a tree of three levels instead of a static table
# of 2 MiB, which counts against `ulimit -d` in each process. As in the rest of a package, its debugging information names no folder of the build. Its make takes
# part in the job server of this one, without the variables of the command line.
$(JEMALLOC_LIB): $(BUILD)/config.mk
	@mkdir -p $(BUILD)/jemalloc
	@echo "  building jemalloc (half a minute)"
	$(Q)rm -rf $(BUILD)/jemalloc/src && mkdir -p $(BUILD)/jemalloc/src
	$(Q)if [ -d "$(JEMALLOC)" ]; then cp -r "$(JEMALLOC)"/. $(BUILD)/jemalloc/src; \
	else tar -xf "$(JEMALLOC)" -C $(BUILD)/jemalloc/src --strip-components=1; fi
	$(Q)[ -f $(BUILD)/jemalloc/src/configure ] || { cd $(BUILD)/jemalloc/src && autoconf; } # from 5.3.1 on
	$(Q)cd $(BUILD)/jemalloc/src && ./configure $(HOST_ALIAS:%=--host=%) CC="$(CC)" \
	    CFLAGS="-O2 -g -fvisibility=hidden $(MACHINE_FLAGS) $(filter -ffile-prefix-map=%,$(CFLAGS))" \
	    --with-jemalloc-prefix=mpiaccel_je_ --with-private-namespace=mpiaccel_ \
	    --disable-initial-exec-tls --disable-cache-oblivious --disable-cxx --disable-prof \
	    --disable-stats --disable-fill --disable-libdl --disable-shared --disable-doc \
	    $(if $(X86_64),--with-lg-vaddr=49,--with-lg-page=16) \
	    >../configure.log 2>&1 || { tail ../configure.log; exit 1; }
	$(Q)MAKEFLAGS='$(filter -j% --jobserver%,$(MAKEFLAGS))' MAKEOVERRIDES= \
	    $(MAKE) -C $(BUILD)/jemalloc/src lib/libjemalloc_pic.a \
	    >$(BUILD)/jemalloc/make.log 2>&1 || { tail $(BUILD)/jemalloc/make.log; exit 1; }
	$(Q)rm -rf $(BUILD)/jemalloc/include && cp -r $(BUILD)/jemalloc/src/include $(BUILD)/jemalloc/include
	$(Q)$(OBJCOPY) --remove-section=.init_array --remove-section=.rela.init_array \
	    $(BUILD)/jemalloc/src/lib/libjemalloc_pic.a $@

# The files that include jemalloc's headers wait for it.
JEMALLOC_USERS := alloc/arena.o alloc/region.o
$(JEMALLOC_USERS:%=$(BUILD)/obj/%) $(JEMALLOC_USERS:%=$(BUILD)/assert/obj/%): | $(JEMALLOC_LIB)

# ---- installing ----------------------------------------------------------------------------------

# The command contains these folders, so it is built again when one of them changes. Create the list of
# created folders here, so that the user who builds owns it even if root installs.
$(BUILD)/conf/folders: FORCE
	@mkdir -p $(@D)
	@[ -w $(CREATED) ] || { cat $(CREATED) >$(CREATED).new 2>/dev/null; mv -f $(CREATED).new $(CREATED); }
	@echo '$(bindir) $(libdir) $(PROGRAM_DIR)' | cmp -s - $@ || echo '$(bindir) $(libdir) $(PROGRAM_DIR)' >$@
# A folder relative to that of the command
from_bin = $(shell realpath --canonicalize-missing --no-symlinks --relative-to='$(bindir)' '$(1)')
FORCE:

# The tables of the manual and of the reference come from the lists in the sources. This program runs while building.
$(BUILD)/man/tables: man/tables.c core/settings.def core/reasons.def core/statistics.def pmpi_wrap/calls.def core/config.h \
    $(VERSION_HEADER) $(CONTACT_HEADER)
	@mkdir -p $(@D)
	$(call show,LINK,$@)$(CC_FOR_BUILD) -std=gnu11 -I. -I$(BUILD)/generated $(WARNINGS) $< -o $@
$(BUILD)/man/%: man/%.in $(BUILD)/man/tables
	$(call show,MAN,$@)$(BUILD)/man/tables <$< >$@

reference: $(BUILD)/man/tables
	$(Q)for page in docs/reference-*.md; do \
	    $< markdown <"$$page" >$(BUILD)/man/page.md && { cmp -s $(BUILD)/man/page.md "$$page" || cp $(BUILD)/man/page.md "$$page"; } || exit 1; \
	done
	$(Q)$< schema <docs/statistics.schema.json >$(BUILD)/man/schema && \
	    { cmp -s $(BUILD)/man/schema docs/statistics.schema.json || cp $(BUILD)/man/schema docs/statistics.schema.json; }

INSTALLED_NAME = $(shell echo mpiaccel | sed '$(program_transform_name)')
HEADER_DIR = $(includedir)/mpiaccel
# The libraries of a distribution are found anyway.
RPATH = $(if $(filter /usr,$(prefix)),,-Wl$(comma)-rpath$(comma)$${libdir} )
comma := ,
PROGRAM_DIR = $(libexecdir)/mpiaccel
MODULE_DIR = $(datadir)/modulefiles/mpiaccel
PKGCONFIG_DIR = $(libdir)/pkgconfig
CMAKE_DIR = $(libdir)/cmake/mpiaccel
BASH_DIR = $(datadir)/bash-completion/completions
ZSH_DIR = $(datadir)/zsh/site-functions
DOCS := README.md LD_PRELOAD.md HACKING.md CONTRIBUTING.md CHANGELOG.md LICENSE \
    $(wildcard docs/*.md docs/*.svg docs/*.json docs/decisions/*.md)
HEADERS := include/mpiaccel/mpiaccel.h include/mpiaccel/shmem.h
EXAMPLE_SOURCES := $(wildcard examples/*.c examples/*.f90)
# sed puts what it has found in place of &.
literal = $(subst &,\&,$(1))
FILL = sed -e 's|@PREFIX@|$(call literal,$(prefix))|' -e 's|@BINDIR@|$(call literal,$(bindir))|' \
    -e 's|@LIBDIR@|$(call literal,$(libdir))|' -e 's|@SONAME@|$(SONAME)|' \
    -e 's|@INCLUDEDIR@|$(call literal,$(includedir))|' -e 's|@RPATH@|$(RPATH)|' \
    -e 's|@MANDIR@|$(call literal,$(mandir))|' -e 's|@VERSION@|$(VERSION)|'

# put,MODE,FILES,FOLDER
put = install -d "$(DESTDIR)$(3)" && install -m $(1) $(2) "$(DESTDIR)$(3)"

# fill,TEMPLATE,FILE: readable by all, whatever the umask
fill = $(FILL) $(1) >"$(DESTDIR)$(2)" && chmod 644 "$(DESTDIR)$(2)"

# remove_modules,PATTERN: the name of a modulefile contains the version, which changes with each commit, so modulefiles of
# this library are found by what they load. Those of earlier releases, which job scripts name, remain until `uninstall`.
remove_modules = grep -lsF "$(libdir)/$(SONAME)" "$(DESTDIR)$(MODULE_DIR)"/$(1) | while read -r file; do rm "$$file"; done

# Installed files are in these folders and below docdir. Those that do not exist are noted in a file of
# the build, so that `uninstall` removes what `install` created, and no empty folder of others.
FOLDERS = "$(DESTDIR)$(bindir)" "$(DESTDIR)$(PKGCONFIG_DIR)" "$(DESTDIR)$(CMAKE_DIR)" "$(DESTDIR)$(HEADER_DIR)" \
    "$(DESTDIR)$(BASH_DIR)" "$(DESTDIR)$(ZSH_DIR)" \
    "$(DESTDIR)$(PROGRAM_DIR)" "$(DESTDIR)$(MODULE_DIR)" "$(DESTDIR)$(mandir)/man1" "$(DESTDIR)$(mandir)/man7" \
    "$(DESTDIR)$(docdir)/docs/decisions" "$(DESTDIR)$(docdir)/examples"
CREATED := $(BUILD)/conf/created

ifneq ($(filter install uninstall,$(MAKECMDGOALS)),)
ifneq ($(filter-out /%,$(firstword $(prefix)) $(firstword $(libdir))),)
$(error PREFIX and LIBDIR must begin with /: $(prefix), $(libdir))
endif
endif

install: all
	$(Q)for folder in $(FOLDERS); do \
	    while [ ! -e "$$folder" ]; do echo "$$folder"; folder=$$(dirname "$$folder"); done \
	done >>$(CREATED)
	$(Q)install -d "$(DESTDIR)$(bindir)" "$(DESTDIR)$(mandir)/man1" "$(DESTDIR)$(PKGCONFIG_DIR)" "$(DESTDIR)$(CMAKE_DIR)" \
	    "$(DESTDIR)$(MODULE_DIR)" "$(DESTDIR)$(BASH_DIR)" "$(DESTDIR)$(ZSH_DIR)" "$(DESTDIR)$(PROGRAM_DIR)"
	$(Q)install -m 755 $(COMMAND) "$(DESTDIR)$(bindir)/$(INSTALLED_NAME)"
	$(Q)$(call put,755,$(LIB) $(HEAP_LIB),$(libdir)) && ln -sf $(SONAME) "$(DESTDIR)$(libdir)/libmpiaccel.so" && \
	    ln -sf $(notdir $(HEAP_LIB)) "$(DESTDIR)$(libdir)/$(notdir $(HEAP_LINK))"
	$(Q)$(if $(COMMAND_PROGRAMS),$(call put,755,$(COMMAND_PROGRAMS),$(PROGRAM_DIR)))
	$(Q)$(if $(COMMAND_DATA),$(call put,644,$(COMMAND_DATA) $(BENCH_OBJECTS),$(PROGRAM_DIR)))
	$(Q)$(call put,755,$(BENCH_PROGRAM),$(PROGRAM_DIR))
	$(Q)$(call put,644,$(HEADERS),$(HEADER_DIR))
	$(Q)install -m 644 $(BUILD)/man/mpiaccel.1 "$(DESTDIR)$(mandir)/man1/$(INSTALLED_NAME).1"
	$(Q)$(call put,644,$(BUILD)/man/mpiaccel.7,$(mandir)/man7)
	$(Q)for doc in $(DOCS); do install -D -m 644 "$$doc" "$(DESTDIR)$(docdir)/$$doc" || exit 1; done
	$(Q)install -m 644 $(BUILD)/jemalloc/src/COPYING "$(DESTDIR)$(docdir)/LICENSE.jemalloc"
	$(Q)$(call put,644,$(EXAMPLE_SOURCES),$(docdir)/examples)
	$(Q)$(call fill,tools/mpiaccel.pc.in,$(PKGCONFIG_DIR)/mpiaccel.pc)
	$(Q)$(call fill,tools/mpiaccelConfig.cmake.in,$(CMAKE_DIR)/mpiaccelConfig.cmake)
	$(Q)$(call fill,tools/mpiaccelConfigVersion.cmake.in,$(CMAKE_DIR)/mpiaccelConfigVersion.cmake)
	$(Q)$(call remove_modules,*-dev.[0-9]*+g*)
	$(Q)$(call fill,tools/modulefile.in,$(MODULE_DIR)/$(VERSION))
	$(Q)$(call fill,tools/modulefile.lua.in,$(MODULE_DIR)/$(VERSION).lua)
	$(Q)install -m 644 packaging/completion/mpiaccel.bash "$(DESTDIR)$(BASH_DIR)/mpiaccel"
	$(Q)install -m 644 packaging/completion/_mpiaccel "$(DESTDIR)$(ZSH_DIR)"
	@echo "libmpiaccel $(VERSION) is in $(DESTDIR)$(prefix); try: $(bindir)/$(INSTALLED_NAME) info"

# The project's own folders go too, and those that it created, when they are empty.
uninstall:
	$(Q)$(call remove_modules,*)
	$(Q)rm -f "$(DESTDIR)$(bindir)/$(INSTALLED_NAME)" "$(DESTDIR)$(libdir)/$(SONAME)" "$(DESTDIR)$(libdir)/libmpiaccel.so" \
	    "$(DESTDIR)$(libdir)/$(notdir $(HEAP_LIB))" "$(DESTDIR)$(libdir)/$(notdir $(HEAP_LINK))" \
	    "$(DESTDIR)$(PKGCONFIG_DIR)/mpiaccel.pc" "$(DESTDIR)$(CMAKE_DIR)/mpiaccelConfig.cmake" \
	    "$(DESTDIR)$(CMAKE_DIR)/mpiaccelConfigVersion.cmake" "$(DESTDIR)$(BASH_DIR)/mpiaccel" "$(DESTDIR)$(ZSH_DIR)/_mpiaccel" \
	    "$(DESTDIR)$(mandir)/man1/$(INSTALLED_NAME).1" "$(DESTDIR)$(mandir)/man7/mpiaccel.7"
	$(Q)rm -f $(HEADERS:include/mpiaccel/%="$(DESTDIR)$(HEADER_DIR)/%") \
	    $(DOCS:%="$(DESTDIR)$(docdir)/%") "$(DESTDIR)$(docdir)/LICENSE.jemalloc" $(EXAMPLE_SOURCES:%="$(DESTDIR)$(docdir)/%")
	$(Q)rm -f $(patsubst $(BUILD)/libexec/mpiaccel/%,"$(DESTDIR)$(PROGRAM_DIR)/%",$(COMMAND_PROGRAMS) $(COMMAND_DATA) \
	    $(BENCH_PROGRAM) $(BENCH_OBJECTS))
	$(Q)rmdir "$(DESTDIR)$(PROGRAM_DIR)" "$(DESTDIR)$(CMAKE_DIR)" "$(DESTDIR)$(HEADER_DIR)" "$(DESTDIR)$(MODULE_DIR)" "$(DESTDIR)$(docdir)/examples" \
	    "$(DESTDIR)$(docdir)/docs/decisions" "$(DESTDIR)$(docdir)/docs" "$(DESTDIR)$(docdir)" 2>/dev/null || true
	$(Q)touch $(CREATED) && sort -ru $(CREATED) | while read -r folder; do \
	    rmdir "$$folder" 2>/dev/null || [ ! -d "$$folder" ] || echo "$$folder"; \
	done >$(CREATED).left && mv $(CREATED).left $(CREATED)

dist: configure
	$(Q)tools/dist "$(VERSION)" "$(JEMALLOC)" $(BUILD)

deb: dist
	$(Q)tools/deb "$(VERSION)" $(BUILD)/libmpiaccel-$(VERSION).tar.gz $(BUILD)/deb

rpm: dist
	$(Q)tools/rpm "$(VERSION)" $(BUILD)/libmpiaccel-$(VERSION).tar.gz $(BUILD)/rpm

wheel: all
	$(Q)tools/wheel "$(VERSION)" $(BUILD)

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile tests/*/rules.mk

lint: all
	$(Q)tools/lint

format:
	$(Q)git ls-files '*.c' '*.h' | xargs clang-format -i

# ---- demonstration -------------------------------------------------------------------------------

EXAMPLES := $(patsubst examples/%.c,%,$(wildcard examples/*.c))
FORTRAN_EXAMPLES := $(patsubst examples/%.f90,%,$(wildcard examples/*.f90))
define example_rules
$(BUILD)/examples/$(1)/%: examples/%.c $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) -std=gnu11 -O2 -Wall -Wextra $$< -o $$@ -lm
$(BUILD)/examples/$(1)/%: examples/%.f90 $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPIFORT,$$< for $(1))$$(MPIFORT_$(1)) -O2 -Wall $$< -o $$@
examples: $$(patsubst %,$(BUILD)/examples/$(1)/%,$$(EXAMPLES) $$(if $$(MPIFORT_$(1)),$$(FORTRAN_EXAMPLES)))
endef
$(foreach abi,$(ABIS),$(eval $(call example_rules,$(abi))))

demo: all examples
	tools/demo

# ---- benchmark -----------------------------------------------------------------------------------

BENCH_RANKS ?= 2 4

# Threads as ranks, without MPI.
SCALE_OBJECTS = $(patsubst %.c,$(BUILD)/obj/%.o,$(filter core/% node/% alloc/% peer_copy/% coll_inplace/%,$(MODULES))) $(ISAS:%=$(BUILD)/obj/core/kernels_%.o)
$(BUILD)/bin/mpiaccel-scale: bench/scale.c $(SCALE_OBJECTS) $(JEMALLOC_LIB)
	@mkdir -p $(@D)
	$(call show,CC,$<)$(COMPILE) -O2 -o $@ $< $(SCALE_OBJECTS) $(JEMALLOC_LIB) -lm -ldl

scale: $(BUILD)/bin/mpiaccel-scale
	$(BUILD)/bin/mpiaccel-scale

bench: all
	bench/run $(BENCH_OPTIONS) $(BENCH_RANKS)

figures: all
	bench/run 2
	bench/figures --write

# ---- tests ---------------------------------------------------------------------------------------

include $(wildcard tests/*/rules.mk)

tests: $(ASSERTING_LIB)

check: all tests
	tests/run $(TESTS)

check-hosts: all tests
	tools/check-hosts $(if $(ROOTS),--roots $(ROOTS)) $(HOSTS)

# In a Debian for arm64, which QEMU emulates. Hours for all; HOSTS="--parts mpi" for some.
check-arm64: all
	tools/check-hosts --releases bookworm-arm64 $(if $(ROOTS),--roots $(ROOTS)) $(HOSTS)

# Each of these takes minutes, or much memory.
check-long: all tests
	tests/run $(addprefix --list ,$(wildcard tests/*/testlist.long))

clean:
	rm -rf $(addprefix $(BUILD)/,obj lib libexec bin man generated test assert tsan asan examples)

distclean:
	rm -rf $(BUILD) autom4te.cache $(addprefix $(BUILD)/../,config.log config.status)

.PHONY: all setup install uninstall dist deb rpm wheel help lint format examples demo bench scale figures reference check check-hosts check-arm64 check-long tests clean \
    distclean FORCE

-include $(shell find $(BUILD)/obj $(BUILD)/test $(BUILD)/assert $(BUILD)/tsan $(BUILD)/asan -name '*.d' 2>/dev/null)
