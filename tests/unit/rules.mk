# Unit tests use the modules without MPI. They are built three times: with the modules as they are
# shipped, and with the modules compiled for two sanitizers, where structures check themselves (assert).
# jemalloc is the same for all. The modules are an archive, so that a test may include the source of a
# module instead, for access to its static functions. A test of a file of pmpi_wrap/abi includes it, too,
# and simulates the host. It is compiled with the header of MPI-5's standard ABI.
#
# SANITIZERS= builds without them.
#
# make check-unit, check-tsan, check-asan, check-valgrind   one of these builds, or memcheck
UNITS := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/*.c))
UNIT_MODULES := $(patsubst %.c,%.o,$(filter core/% node/% alloc/% peer_copy/% rma_shm/% coll_inplace/% %/registry.c %/process_vm_entry.c %/symbols.c,$(MODULES))) \
                $(ISAS:%=core/kernels_%.o)
CHECK_FLAGS = $(shell pkg-config --cflags --libs check)

SANITIZERS ?= tsan asan
SANITIZE_tsan := -UNDEBUG -fsanitize=thread -Wno-tsan
SANITIZE_asan := -UNDEBUG -fsanitize=address,undefined -fno-sanitize-recover=all
define unit_rules
$(BUILD)/$(1)/obj/core/kernels_%.o: core/kernels.c $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,CC,$$< for $$* for $(1))$$(COMPILE) -O1 -fwrapv $$(SANITIZE_$(1)) $$(ISA_$$*) -DISA=$$* -DKERNELS=kernels_$$* -c $$< -o $$@
$(BUILD)/$(1)/obj/%.o: %.c $(BUILD)/config.mk | $(JEMALLOC_LIB)
	@mkdir -p $$(@D)
	$$(call show,CC,$$< for $(1))$$(COMPILE) -O1 $$(SANITIZE_$(1)) -c $$< -o $$@
endef
$(foreach build,tsan asan,$(eval $(call unit_rules,$(build))))

define unit_programs
$(2)/modules.a: $(UNIT_MODULES:%=$(1)/%)
	@mkdir -p $$(@D)
	$$(call show,AR,$$@)rm -f $$@ && $$(AR) rc $$@ $$^
$(2)/%: tests/unit/%.c $(2)/modules.a $(JEMALLOC_LIB)
	$$(call show,CC,$$< for $(4))$$(COMPILE) -DABI_IS_standard -O1 $(3) -o $$@ $$< $(2)/modules.a $(JEMALLOC_LIB) $$(CHECK_FLAGS) -lm -ldl
units-$(4): $(UNITS:%=$(2)/%)
endef
$(eval $(call unit_programs,$(BUILD)/obj,$(BUILD)/test/unit,,plain))
$(foreach build,tsan asan,\
    $(eval $(call unit_programs,$(BUILD)/$(build)/obj,$(BUILD)/$(build),$(SANITIZE_$(build)),$(build))))

tests: units-plain $(SANITIZERS:%=units-%)

check-unit: units-plain
	tests/run --kind unit --build plain
check-tsan: units-tsan
	tests/run --kind unit --build tsan
check-asan: units-asan
	tests/run --kind unit --build asan
check-valgrind: units-plain
	tests/run --kind unit --build valgrind

.PHONY: units-plain units-tsan units-asan check-unit check-tsan check-asan check-valgrind
