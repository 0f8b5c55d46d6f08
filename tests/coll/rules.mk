# Each program of tests/coll is built for each MPI, as those of tests/mpi are. The Fortran one is
# compiled for each of the language's bindings: coll_fortran_MPIFH and so on.

define coll_test_rules
TESTS_COLL_$(1) := $$(patsubst tests/coll/%.c,%,$$(wildcard tests/coll/*.c))
$(BUILD)/test/$(1)/%: tests/coll/%.c $$(wildcard tests/coll/*.h tests/coll/gpu/*.h) $$(TEST_HEADERS) $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) -Itests/mpi $$< -o $$@ -lm -pthread -ldl
TESTS_COLL_$(1) += $$(addprefix gpu/,libcuda.so.1 libamdhip64.so.6 libze_loader.so.1 libze_intel_gpu.so.1)
$(BUILD)/test/$(1)/gpu/%: tests/coll/gpu/cuda.c
	@mkdir -p $$(@D)
	$$(call show,CC,$$<)$$(CC) -shared -fPIC -Wl,-soname,$$* $$< -o $$@
ifneq ($$(wildcard $$(subst mpicc,mpicxx,$$(MPICC_$(1)))),)
TESTS_COLL_$(1) += coll_cxx
$(BUILD)/test/$(1)/coll_cxx: tests/coll/coll_cxx.cpp tests/cxx/test.hpp $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICXX,$$< for $(1))$$(MPICXX_$(1)) $$(CXX_FLAGS) -Itests/cxx -DMPICH_SKIP_MPICXX -DOMPI_SKIP_MPICXX $$< -o $$@ -pthread
endif
ifneq ($$(MPIFORT_$(1)),)
TESTS_COLL_$(1) += $$(addprefix coll_fortran_,MPIFH MODULE F08)
$(BUILD)/test/$(1)/coll_fortran_%: tests/coll/collective.F90 tests/fortran/harness.inc $(BUILD)/config.mk
	@mkdir -p $(BUILD)/test/$(1)/mod.coll.$$*
	$$(call show,MPIFORT,$$< for $(1))$$(MPIFORT_$(1)) $$(FORTRAN_FLAGS) -D$$* -J $(BUILD)/test/$(1)/mod.coll.$$* $$< -o $$@
endif
tests: $$(addprefix $(BUILD)/test/$(1)/,$$(TESTS_COLL_$(1)))
endef
$(foreach abi,$(TEST_ABIS),$(eval $(call coll_test_rules,$(abi))))
