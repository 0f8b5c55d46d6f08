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

all: $(LIB)

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
	$(COMPILE) -O3 -fwrapv $(ISA_$*) -DKERNELS=kernels_$* -c $< -o $@

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

# ---- benchmark -----------------------------------------------------------------------------------

BENCH_RANKS ?= 2 4
build/bin/mpiaccel-bench-%: bench/bench.c build/config.mk
	@mkdir -p $(@D)
	$(MPICC_$*) -std=gnu11 -D_GNU_SOURCE -O2 -g $(WARNINGS) $< -o $@ -ldl -lm

benches: $(ABIS:%=build/bin/mpiaccel-bench-%)

bench: all benches
	bench/run $(BENCH_RANKS)

# ---- tests ---------------------------------------------------------------------------------------

# Each program of tests/mpi is built for each MPI, by that MPI's compiler, knowing nothing of us.
TEST_FLAGS := -std=gnu11 -O1 -g -Wall -Wextra $(if $(CI),-Werror)
define test_rules
TESTS_$(1) := $$(patsubst tests/mpi/%.c,build/test/$(1)/%,$$(wildcard tests/mpi/*.c))
ifneq ($$(MPIFORT_$(1)),)
TESTS_$(1) += $$(patsubst tests/mpi/%.f90,build/test/$(1)/%,$$(wildcard tests/mpi/*.f90))
endif
build/test/$(1)/%: tests/mpi/%.c tests/mpi/test.h build/config.mk
	@mkdir -p $$(@D)
	$$(MPICC_$(1)) $$(TEST_FLAGS) $$< -o $$@ -lm -pthread
build/test/$(1)/%: tests/mpi/%.f90 build/config.mk
	@mkdir -p $$(@D) build/test/$(1)/mod.$$*
	$$(MPIFORT_$(1)) -O1 -g -J build/test/$(1)/mod.$$* $$< -o $$@
build/test/$(1)/%.linked: tests/mpi/%.c tests/mpi/test.h $(LIB)
	@mkdir -p $$(@D)
	$$(MPICC_$(1)) $$(TEST_FLAGS) $$< -o $$@ -Lbuild/lib -lmpiaccel -Wl,-rpath,$$(abspath build/lib) -lm -pthread
tests: $$(TESTS_$(1))
endef
$(foreach abi,$(ABIS),$(eval $(call test_rules,$(abi))))

# Unit tests know the modules and no MPI. They are built three times: with the modules as they are
# shipped, and with the modules compiled for a sanitizer (jemalloc stays as it is). The modules come
# as an archive, so that a test may include a module's source instead, to get at its inside.
UNITS := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/*.c))
UNIT_MODULES := $(patsubst %.c,%.o,$(filter core/% alloc/% rma_shm/% %/registry.c,$(MODULES))) \
                $(ISAS:%=core/kernels_%.o)
CHECK_FLAGS = $(shell pkg-config --cflags --libs check)

SANITIZE_tsan := -fsanitize=thread -Wno-tsan
SANITIZE_asan := -fsanitize=address,undefined -fno-sanitize-recover=all
define unit_rules
build/$(1)/obj/core/kernels_%.o: core/kernels.c build/config.mk
	@mkdir -p $$(@D)
	$$(COMPILE) -O1 -fwrapv $$(SANITIZE_$(1)) $$(ISA_$$*) -DKERNELS=kernels_$$* -c $$< -o $$@
build/$(1)/obj/%.o: %.c build/config.mk | $(JEMALLOC_LIB)
	@mkdir -p $$(@D)
	$$(COMPILE) -O1 $$(SANITIZE_$(1)) -c $$< -o $$@
endef
$(foreach build,tsan asan,$(eval $(call unit_rules,$(build))))

define unit_programs
$(2)/modules.a: $(UNIT_MODULES:%=$(1)/%)
	@mkdir -p $$(@D)
	rm -f $$@ && $$(AR) rc $$@ $$^
$(2)/%: tests/unit/%.c $(2)/modules.a $(JEMALLOC_LIB)
	$$(COMPILE) -O1 $(3) -o $$@ $$< $(2)/modules.a $(JEMALLOC_LIB) $$(CHECK_FLAGS) -lm -ldl
units: $(UNITS:%=$(2)/%)
units-$(4): $(UNITS:%=$(2)/%)
endef
$(eval $(call unit_programs,build/obj,build/test/unit,,plain))
$(foreach build,tsan asan,\
    $(eval $(call unit_programs,build/$(build)/obj,build/$(build),$(SANITIZE_$(build)),$(build))))

check: all tests units
	tests/run

check-unit: units-plain
	tests/run --kind unit --build plain
check-tsan: units-tsan
	tests/run --kind unit --build tsan
check-asan: units-asan
	tests/run --kind unit --build asan
check-valgrind: units-plain
	tests/run --kind unit --build valgrind

clean:
	rm -rf build/obj build/lib build/bin build/test build/tsan build/asan

distclean:
	rm -rf build

.PHONY: all setup bench benches check tests units units-plain units-tsan units-asan check-unit \
        check-tsan check-asan check-valgrind clean distclean

-include $(shell find build/obj build/test build/tsan build/asan -name '*.d' 2>/dev/null)
