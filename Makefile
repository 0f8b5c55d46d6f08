# make            build (configuring first if need be)
# make demo       set up, build, run real programs with and without the plugin
# make check      set up, build, run every test on every MPI found
# make bench      plugin against host against the machine's floor (BENCH_RANKS="2 4" BENCH_OPTIONS="--part coll")
# make scale      collectives with threads as ranks, measured against a model of their cost
# make lint       set up, formatter, clang-tidy, cppcheck, shellcheck, and whatever else reads code
# make format     clang-format on all that is committed
# make install    library, command, header, manual and the rest (PREFIX=, LIBDIR=, DESTDIR=)
# make uninstall  the contrary
# make dist       build/libmpiaccel-VERSION.tar.gz of what is committed
# make setup      bring the packages that `make check` needs, on Debian as root
# make examples   build the programs of examples/
# make benches    build the benchmark
# make figures    write the README's tables anew, from three runs of the benchmark
# make tests      build the tests
# make clean      remove what was built, but for jemalloc and the configuration
# make distclean  remove all that was built
# make help       this list; V=1 shows the commands, CI=1 makes warnings errors
#
# ./configure --help says what else can be chosen.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
# As many jobs as processors; an option -j on the command line comes after these and counts.
MAKEFLAGS += --no-builtin-rules -j$(shell nproc)

# One short line a file; V=1 shows the command.
show = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)' && )
Q := $(if $(V),,@)

# The commands of the README bring what is missing before anything is configured.
SETUP := $(patsubst %,build/conf/setup.%,$(or \
    $(filter demo lint bench,$(MAKECMDGOALS)),$(if $(filter check check-% setup,$(MAKECMDGOALS)),check)))

-include build/config.mk
# It changes only when what it says does, so that nothing is built again without need.
build/config.mk: build/conf/configured ;
build/conf/configured: configure tools/debian-source $(SETUP)
	@if [ -f build/conf/again ]; then sh build/conf/again; else ./configure; fi

build/conf/setup.%: tools/setup
	tools/setup $*
	@mkdir -p $(@D) && touch $@

setup: $(SETUP)

LIB := build/lib/libmpiaccel.so
CORE := $(wildcard core/*.c)
MODULES := $(filter-out core/kernels.c,$(CORE)) $(wildcard alloc/*.c rma_shm/*.c coll_inplace/*.c shmem/*.c bsend/*.c pmpi_wrap/*.c)
ABI_SOURCES := $(wildcard pmpi_wrap/abi/*.c pmpi_wrap/abi/*/*.c)
ISAS := baseline $(if $(findstring x86_64,$(shell uname -m)),avx2)

OBJECTS := $(MODULES:%.c=build/obj/%.o) $(ISAS:%=build/obj/core/kernels_%.o) \
           $(ABIS:%=build/obj/abi_%.o)
ABI_OBJECTS = $(ABI_SOURCES:pmpi_wrap/abi/%.c=build/obj/$(1)/%.o)
JEMALLOC_LIB := build/jemalloc/libmpiaccel_je.a

# A newer MPI may call what an older one needs deprecated: no error.
STRICT := $(if $(CI),-Werror -Wno-error=deprecated-declarations)
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla $(STRICT)
COMPILE = $(CC) -std=gnu11 -D_GNU_SOURCE -I. -Ibuild/jemalloc/include $(CFLAGS) $(WARNINGS) \
          -fPIC -fvisibility=hidden -fno-semantic-interposition -pthread -MMD -MP $(MACHINE_FLAGS)

COMMAND := build/bin/mpiaccel
MANUAL := build/man/mpiaccel.1 build/man/mpiaccel.7

all: $(LIB) $(COMMAND) $(MANUAL)

COMMAND_OBJECTS := $(patsubst %,build/obj/core/%.o,config log sync best_kernels $(ISAS:%=kernels_%))
$(COMMAND): command/mpiaccel.c $(COMMAND_OBJECTS) build/conf/libdir
	@mkdir -p $(@D)
	$(call show,LINK,$@)$(CC) -std=gnu11 -D_GNU_SOURCE -I. $(CFLAGS) $(WARNINGS) -DMPIACCEL_LIBDIR='"$(LIBDIR)"' \
	    -DMPIACCEL_ABIS='"$(ABIS)"' $(filter %.c %.o,$^) -o $@

$(LIB): $(OBJECTS) $(JEMALLOC_LIB) pmpi_wrap/exports.map
	@mkdir -p $(@D)
	$(call show,LINK,$@)$(CC) -shared -o $@ $(CFLAGS) $(LDFLAGS) -Wl,-soname,libmpiaccel.so -Wl,--no-undefined \
	    -Wl,--version-script=pmpi_wrap/exports.map -Wl,-z,nodelete -Wl,--gc-sections \
	    $(OBJECTS) $(JEMALLOC_LIB) -pthread -ldl

build/obj/%.o: %.c build/config.mk | $(JEMALLOC_LIB)
	@mkdir -p $(@D)
	$(call show,CC,$<)$(COMPILE) -c $< -o $@

# Structures of 24 bytes go by value in these, written as three words. A copy through vector registers
# reads two of them at once, and waits until both have left the store buffer, behind the posts.
WORDWISE := $(if $(findstring x86_64,$(shell uname -m)),-mgeneral-regs-only)
build/obj/coll_inplace/%.o $(ABIS:%=build/obj/%/%.o): COMPILE += $(WORDWISE)

# Each instruction set's kernels are one compile of the same file. Integers wrap as hosts' do.
ISA_baseline :=
# No -mfma: GCC 12 fuses the products of complex numbers into vfmaddsub, whatever -ffp-contract says.
ISA_avx2 := -mavx2 -ffp-contract=off
build/obj/core/kernels_%.o: core/kernels.c build/config.mk
	@mkdir -p $(@D)
	$(call show,CC,$< for $*)$(COMPILE) -O3 -fwrapv $(ISA_$*) -DISA=$* -DKERNELS=kernels_$* -c $< -o $@

# Each ABI is one compile of the same files, linked into one object that shows only its table.
define abi_rules
build/obj/$(1)/%.o: pmpi_wrap/abi/%.c build/config.mk | $(JEMALLOC_LIB)
	@mkdir -p $$(@D)
	$$(call show,CC,$$< for $(1))$$(COMPILE) $$(patsubst -I%,-isystem %,$$(INCLUDES_$(1))) -DABI_NAME=$(1) -c $$< -o $$@
build/obj/abi_$(1).o: $$(call ABI_OBJECTS,$(1))
	$$(call show,LINK,$$@)$$(CC) -r -nostdlib -o $$@ $$^
	@objcopy --keep-global-symbol=abi_$(1) $$@
endef
$(foreach abi,$(ABIS),$(eval $(call abi_rules,$(abi))))

# A jemalloc of our own: other names than the program's, no constructor (nothing may happen in a
# process that is not MPI), thread state that does not need the static block of a late dlopen.
$(JEMALLOC_LIB): build/config.mk
	@mkdir -p build/jemalloc
	@echo "  building jemalloc (half a minute)"
	$(Q)rm -rf build/jemalloc/src && mkdir -p build/jemalloc/src
	$(Q)if [ -d "$(JEMALLOC)" ]; then cp -r "$(JEMALLOC)"/. build/jemalloc/src; \
	else tar -xf "$(JEMALLOC)" -C build/jemalloc/src --strip-components=1; fi
	$(Q)[ -f build/jemalloc/src/configure ] || { cd build/jemalloc/src && autoconf; } # from 5.3.1 on
	$(Q)cd build/jemalloc/src && ./configure CC="$(CC)" \
	    CFLAGS="-O2 -g -fvisibility=hidden $(MACHINE_FLAGS)" \
	    --with-jemalloc-prefix=mpiaccel_je_ --with-private-namespace=mpiaccel_ \
	    --disable-initial-exec-tls --disable-cache-oblivious --disable-cxx --disable-prof \
	    --disable-stats --disable-fill --disable-libdl --disable-shared --disable-doc \
	    >../configure.log 2>&1 || { tail ../configure.log; exit 1; }
	$(Q)$(MAKE) -C build/jemalloc/src lib/libjemalloc_pic.a MAKEFLAGS= MAKEOVERRIDES= -j2 \
	    >build/jemalloc/make.log 2>&1 || { tail build/jemalloc/make.log; exit 1; }
	$(Q)rm -rf build/jemalloc/include && cp -r build/jemalloc/src/include build/jemalloc/include
	$(Q)objcopy --remove-section=.init_array --remove-section=.rela.init_array \
	    build/jemalloc/src/lib/libjemalloc_pic.a $@

# ---- installing ----------------------------------------------------------------------------------

VERSION := $(shell sed -n 's/^\#define MPIACCEL_VERSION "\(.*\)"/\1/p' core/config.h)

# The command knows where the library will be, so it is built again when that changes.
build/conf/libdir: FORCE
	@mkdir -p $(@D)
	@echo '$(LIBDIR)' | cmp -s - $@ || echo '$(LIBDIR)' >$@
FORCE:

# The manual's tables come from the lists that the library is made of.
build/man/tables: man/tables.c core/settings.def core/reasons.def pmpi_wrap/calls.def core/config.h \
    core/stats.h
	@mkdir -p $(@D)
	$(call show,LINK,$@)$(CC) -std=gnu11 -I. $(WARNINGS) $< -o $@
build/man/%: man/%.in build/man/tables
	$(call show,MAN,$@)build/man/tables <$< >$@

MANDIR = $(PREFIX)/share/man
DOCDIR = $(PREFIX)/share/doc/mpiaccel
MODULEDIR = $(PREFIX)/share/modulefiles/mpiaccel
DOCS := README.md LD_PRELOAD.md HACKING.md CHANGELOG.md LICENSE
HEADERS := include/mpiaccel/mpiaccel.h include/mpiaccel/shmem.h
EXAMPLE_SOURCES := $(wildcard examples/*.c examples/*.f90)
FILL = sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|'

# put,MODE,FILES,FOLDER
put = install -d "$(DESTDIR)$(3)" && install -m $(1) $(2) "$(DESTDIR)$(3)"

install: all
	$(Q)$(call put,755,$(COMMAND),$(PREFIX)/bin)
	$(Q)$(call put,755,$(LIB),$(LIBDIR))
	$(Q)$(call put,644,$(HEADERS),$(PREFIX)/include/mpiaccel)
	$(Q)$(call put,644,build/man/mpiaccel.1,$(MANDIR)/man1)
	$(Q)$(call put,644,build/man/mpiaccel.7,$(MANDIR)/man7)
	$(Q)$(call put,644,$(DOCS),$(DOCDIR))
	$(Q)$(call put,644,$(EXAMPLE_SOURCES),$(DOCDIR)/examples)
	$(Q)install -d "$(DESTDIR)$(LIBDIR)/pkgconfig" "$(DESTDIR)$(MODULEDIR)"
	$(Q)$(FILL) tools/mpiaccel.pc.in >"$(DESTDIR)$(LIBDIR)/pkgconfig/mpiaccel.pc"
	$(Q)$(FILL) tools/modulefile.in >"$(DESTDIR)$(MODULEDIR)/$(VERSION)"
	@echo "libmpiaccel $(VERSION) is in $(DESTDIR)$(PREFIX); try: $(PREFIX)/bin/mpiaccel info"

# Folders of its own go too, when they are empty.
uninstall:
	$(Q)cd "$(DESTDIR)$(PREFIX)" && rm -f bin/mpiaccel $(HEADERS) \
	    share/man/man1/mpiaccel.1 share/man/man7/mpiaccel.7 \
	    share/modulefiles/mpiaccel/$(VERSION) \
	    $(DOCS:%=share/doc/mpiaccel/%) $(EXAMPLE_SOURCES:%=share/doc/mpiaccel/%)
	$(Q)cd "$(DESTDIR)$(LIBDIR)" && rm -f libmpiaccel.so pkgconfig/mpiaccel.pc
	$(Q)cd "$(DESTDIR)$(PREFIX)" && rmdir include/mpiaccel share/modulefiles/mpiaccel \
	    share/doc/mpiaccel/examples share/doc/mpiaccel 2>/dev/null || true

dist:
	$(Q)mkdir -p build
	$(Q)git archive --prefix=libmpiaccel-$(VERSION)/ -o build/libmpiaccel-$(VERSION).tar.gz HEAD
	@echo build/libmpiaccel-$(VERSION).tar.gz

help:
	@sed -n 's/^# \(make .*\)/\1/p' $(filter-out build/%,$(MAKEFILE_LIST))

lint: all
	$(Q)tools/lint

format:
	$(Q)git ls-files '*.c' '*.h' | xargs clang-format -i

# ---- demonstration -------------------------------------------------------------------------------

EXAMPLES := $(patsubst examples/%.c,%,$(wildcard examples/*.c))
FORTRAN_EXAMPLES := $(patsubst examples/%.f90,%,$(wildcard examples/*.f90))
define example_rules
build/examples/$(1)/%: examples/%.c build/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) -std=gnu11 -O2 -Wall -Wextra $$< -o $$@ -lm
build/examples/$(1)/%: examples/%.f90 build/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPIFORT,$$< for $(1))$$(MPIFORT_$(1)) -O2 -Wall $$< -o $$@
examples: $$(patsubst %,build/examples/$(1)/%,$$(EXAMPLES) $$(if $$(MPIFORT_$(1)),$$(FORTRAN_EXAMPLES)))
endef
$(foreach abi,$(ABIS),$(eval $(call example_rules,$(abi))))

demo: all examples
	tools/demo

# ---- benchmark -----------------------------------------------------------------------------------

BENCH_RANKS ?= 2 4
build/bin/mpiaccel-bench-%: $(filter-out bench/scale.c,$(wildcard bench/*.c)) bench/bench.h bench/calls.h build/config.mk
	@mkdir -p $(@D)
	$(call show,MPICC,bench for $*)$(MPICC_$*) -std=gnu11 -D_GNU_SOURCE -O2 -g $(WARNINGS) $(filter %.c,$^) -o $@ -ldl -lm

# Threads as ranks, without MPI: the modules alone.
SCALE_OBJECTS = $(patsubst %.c,build/obj/%.o,$(filter core/% alloc/% coll_inplace/%,$(MODULES))) $(ISAS:%=build/obj/core/kernels_%.o)
build/bin/mpiaccel-scale: bench/scale.c $(SCALE_OBJECTS) $(JEMALLOC_LIB)
	@mkdir -p $(@D)
	$(call show,CC,$<)$(COMPILE) -O2 -o $@ $< $(SCALE_OBJECTS) $(JEMALLOC_LIB) -lm -ldl

scale: build/bin/mpiaccel-scale
	build/bin/mpiaccel-scale

benches: $(ABIS:%=build/bin/mpiaccel-bench-%)

bench: all benches
	bench/run $(BENCH_OPTIONS) $(BENCH_RANKS)

figures: all benches
	bench/run 2
	bench/figures --write

# ---- tests ---------------------------------------------------------------------------------------

include $(wildcard tests/*/rules.mk)

check: all tests
	tests/run

clean:
	rm -rf build/obj build/lib build/bin build/man build/test build/tsan build/asan build/examples

distclean:
	rm -rf build

.PHONY: all setup install uninstall dist help lint format examples demo bench scale benches figures check tests clean \
    distclean FORCE

-include $(shell find build/obj build/test build/tsan build/asan -name '*.d' 2>/dev/null)
