# What the fuzzers share: objects for each MPI that know nothing of us, and the rule for a fuzzer.

# Arithmetic as C says it: nothing fused, integers that wrap.
FUZZ_FLAGS := -std=gnu11 -D_GNU_SOURCE -O1 -g -fwrapv -ffp-contract=off -Itests/fuzz_common
FUZZ_COMMON := $(wildcard tests/fuzz_common/*.c)

# fuzz_program,ABI,FOLDER,PROGRAM
define fuzz_program
$(BUILD)/test/$(1)/$(2)/%.o: tests/$(2)/%.c $$(wildcard tests/$(2)/*.h tests/fuzz_common/*.h) $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(FUZZ_FLAGS) $$(WARNINGS) -c $$< -o $$@
ifneq ($(3),)
$(BUILD)/test/$(1)/$(3): $$(patsubst tests/%.c,$(BUILD)/test/$(1)/%.o,$$(wildcard tests/$(2)/*.c) $$(FUZZ_COMMON))
	$$(call show,MPICC,$$@)$$(MPICC_$(1)) $$^ -o $$@ -lm
fuzzers: $(BUILD)/test/$(1)/$(3)
endif
endef
$(foreach abi,$(TEST_ABIS),$(eval $(call fuzz_program,$(abi),fuzz_common,)))
$(foreach abi,$(TEST_ABIS),$(eval $(call fuzz_program,$(abi),fuzz,rma_fuzz)))
$(foreach abi,$(TEST_ABIS),$(eval $(call fuzz_program,$(abi),fuzz_coll,coll_fuzz)))
tests: fuzzers

PROGRAMS ?= 10000

.PHONY: fuzzers
