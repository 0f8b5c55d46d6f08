# make            build (configuring first if need be)
# make demo       set up, build, run real programs with and without the plugin
# make check      set up, build, run every test on every MPI found
# make bench      plugin against host against the machine's floor
# make lint       formatter, clang-tidy, cppcheck, shellcheck
# make install    PREFIX=… DESTDIR=…
# `make help` lists the rest.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

# The commands of the README bring what is missing before anything is configured.
SETUP := $(patsubst %,build/conf/setup.%,$(or \
    $(filter demo lint bench,$(MAKECMDGOALS)),$(if $(filter check check-% setup,$(MAKECMDGOALS)),check)))

-include build/config.mk
build/config.mk: configure tools/debian-source $(SETUP)
	./configure
	@touch $@

build/conf/setup.%: tools/setup
	tools/setup $*
	@mkdir -p $(@D) && touch $@

setup: $(SETUP)

LIB := build/lib/libmpiaccel.so
CORE := $(wildcard core/*.c)
MODULES := $(filter-out core/kernels.c,$(CORE)) $(wildcard alloc/*.c rma_shm/*.c pmpi_wrap/*.c)
ABI := $(wildcard pmpi_wrap/abi/*.c)
ISAS := baseline $(if $(findstring x86_64,$(shell uname -m)),avx2)

OBJECTS := $(MODULES:%.c=build/obj/%.o) $(ISAS:%=build/obj/core/kernels_%.o) \
           $(ABIS:%=build/obj/abi_%.o)
ABI_OBJECTS = $(ABI:pmpi_wrap/abi/%.c=build/obj/$(1)/%.o)
JEMALLOC_LIB := build/jemalloc/libmpiaccel_je.a

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wvla \
            $(if $(CI),-Werror)
COMPILE = $(CC) -std=gnu11 -D_GNU_SOURCE -I. -Ibuild/jemalloc/include $(CFLAGS) $(WARNINGS) \
          -fPIC -fvisibility=hidden -fno-semantic-interposition -pthread -MMD -MP $(TLS_FLAGS)

COMMAND := build/bin/mpiaccel

all: $(LIB) $(COMMAND)

COMMAND_OBJECTS := $(patsubst %,build/obj/core/%.o,config sync best_kernels $(ISAS:%=kernels_%))
$(COMMAND): command/mpiaccel.c $(COMMAND_OBJECTS)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -I. $(CFLAGS) $(WARNINGS) -DMPIACCEL_LIBDIR='"$(LIBDIR)"' \
	    -DMPIACCEL_ABIS='"$(ABIS)"' $^ -o $@

$(LIB): $(OBJECTS) $(JEMALLOC_LIB) pmpi_wrap/exports.map
	@mkdir -p $(@D)
	$(CC) -shared -o $@ $(CFLAGS) $(LDFLAGS) -Wl,-soname,libmpiaccel.so -Wl,--no-undefined \
	    -Wl,--version-script=pmpi_wrap/exports.map -Wl,-z,nodelete -Wl,--gc-sections \
	    $(OBJECTS) $(JEMALLOC_LIB) -pthread -ldl

build/obj/%.o: %.c build/config.mk | $(JEMALLOC_LIB)
	@mkdir -p $(@D)
	$(COMPILE) -c $< -o $@

# Each instruction set's kernels are one compile of the same file. Integers wrap as hosts' do.
ISA_baseline :=
# No -mfma: GCC 12 fuses the products of complex numbers into vfmaddsub, whatever -ffp-contract says.
ISA_avx2 := -mavx2 -ffp-contract=off
build/obj/core/kernels_%.o: core/kernels.c build/config.mk
	@mkdir -p $(@D)
	$(COMPILE) -O3 -fwrapv $(ISA_$*) -DISA=$* -DKERNELS=kernels_$* -c $< -o $@

# Each ABI is one compile of the same files, linked into one object that shows only its table.
define abi_rules
build/obj/$(1)/%.o: pmpi_wrap/abi/%.c build/config.mk | $(JEMALLOC_LIB)
	@mkdir -p $$(@D)
	$$(COMPILE) $$(patsubst -I%,-isystem %,$$(INCLUDES_$(1))) -DABI_NAME=$(1) -c $$< -o $$@
build/obj/abi_$(1).o: $$(call ABI_OBJECTS,$(1))
	$$(CC) -r -nostdlib -o $$@ $$^
	objcopy --keep-global-symbol=abi_$(1) $$@
endef
$(foreach abi,$(ABIS),$(eval $(call abi_rules,$(abi))))

# A jemalloc of our own: other names than the program's, no constructor (nothing may happen in a
# process that is not MPI), thread state that does not need the static block of a late dlopen.
$(JEMALLOC_LIB): build/config.mk
	@mkdir -p build/jemalloc
	@echo "building jemalloc (half a minute)"
	rm -rf build/jemalloc/src && mkdir -p build/jemalloc/src
	if [ -d "$(JEMALLOC)" ]; then cp -r "$(JEMALLOC)"/. build/jemalloc/src; \
	else tar -xf "$(JEMALLOC)" -C build/jemalloc/src --strip-components=1; fi
	cd build/jemalloc/src && ./configure CC="$(CC)" CFLAGS="-O2 -g -fvisibility=hidden $(TLS_FLAGS)" \
	    --with-jemalloc-prefix=mpiaccel_je_ --with-private-namespace=mpiaccel_ \
	    --disable-initial-exec-tls --disable-cache-oblivious --disable-cxx --disable-prof \
	    --disable-stats --disable-fill --disable-libdl --disable-shared --disable-doc \
	    >../configure.log 2>&1
	$(MAKE) -C build/jemalloc/src lib/libjemalloc_pic.a MAKEFLAGS= MAKEOVERRIDES= -j2 \
	    >build/jemalloc/make.log 2>&1
	rm -rf build/jemalloc/include && cp -r build/jemalloc/src/include build/jemalloc/include
	objcopy --remove-section=.init_array --remove-section=.rela.init_array \
	    build/jemalloc/src/lib/libjemalloc_pic.a $@

# ---- demonstration -------------------------------------------------------------------------------

EXAMPLES := $(patsubst examples/%.c,%,$(wildcard examples/*.c))
define example_rules
build/examples/$(1)/%: examples/%.c build/config.mk
	@mkdir -p $$(@D)
	$$(MPICC_$(1)) -std=gnu11 -O2 -Wall -Wextra $$< -o $$@ -lm
examples: $$(EXAMPLES:%=build/examples/$(1)/%)
endef
$(foreach abi,$(ABIS),$(eval $(call example_rules,$(abi))))

demo: all examples
	tools/demo

# ---- benchmark -----------------------------------------------------------------------------------

BENCH_RANKS ?= 2 4
build/bin/mpiaccel-bench-%: bench/bench.c build/config.mk
	@mkdir -p $(@D)
	$(MPICC_$*) -std=gnu11 -D_GNU_SOURCE -O2 -g $(WARNINGS) $< -o $@ -ldl -lm

benches: $(ABIS:%=build/bin/mpiaccel-bench-%)

bench: all benches
	bench/run $(BENCH_RANKS)

# ---- tests ---------------------------------------------------------------------------------------

include $(wildcard tests/*/rules.mk)

check: all tests
	tests/run

clean:
	rm -rf build/obj build/lib build/bin build/test build/tsan build/asan build/examples

distclean:
	rm -rf build

.PHONY: all setup examples demo bench benches check tests clean distclean

-include $(shell find build/obj build/test build/tsan build/asan -name '*.d' 2>/dev/null)
