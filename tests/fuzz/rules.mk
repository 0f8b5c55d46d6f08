# One program of all files of tests/fuzz, for each MPI, that knows nothing of us.
#
# make fuzz [PROGRAMS=10000] [ABI=mpich]  random programs, checked by a model and against the host alone

FUZZ_SOURCES := $(wildcard tests/fuzz/*.c)
# Arithmetic as C says it: nothing fused, integers that wrap.
FUZZ_FLAGS := -std=gnu11 -D_GNU_SOURCE -O1 -g -fwrapv -ffp-contract=off

define fuzz_rules
build/test/$(1)/fuzz/%.o: tests/fuzz/%.c $$(wildcard tests/fuzz/*.h) build/config.mk
	@mkdir -p $$(@D)
	$$(MPICC_$(1)) $$(FUZZ_FLAGS) $$(WARNINGS) -c $$< -o $$@
build/test/$(1)/rma_fuzz: $$(FUZZ_SOURCES:tests/fuzz/%.c=build/test/$(1)/fuzz/%.o)
	$$(MPICC_$(1)) $$^ -o $$@ -lm
fuzzers: build/test/$(1)/rma_fuzz
endef
$(foreach abi,$(ABIS),$(eval $(call fuzz_rules,$(abi))))
tests: fuzzers

PROGRAMS ?= 10000
fuzz: all fuzzers
	tests/fuzz/run --programs $(PROGRAMS) $(ABI:%=--abi %)

.PHONY: fuzz fuzzers
