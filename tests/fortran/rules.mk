# Fortran programs, compiled for each of the language's bindings of each MPI: fortran_MPIFH,
# fortran_windows_MPIFH and so on. Its lines grow where the preprocessor has been; and where a binding has no interfaces the
# compiler warns of the many types of buffers, which is what -w is for.
FORTRAN_FLAGS := -O1 -g -w -ffree-line-length-none -Itests/fortran -fcray-pointer -fallow-argument-mismatch

define fortran_test_rules
ifneq ($$(MPIFORT_$(1)),)
$(BUILD)/test/$(1)/fortran_%: tests/fortran/onesided.F90 tests/fortran/harness.inc $(BUILD)/config.mk
	@mkdir -p $(BUILD)/test/$(1)/mod.$$*
	$$(call show,MPIFORT,$$< for $(1))$$(MPIFORT_$(1)) $$(FORTRAN_FLAGS) -D$$* -J $(BUILD)/test/$(1)/mod.$$* $$< -o $$@
$(BUILD)/test/$(1)/fortran_%.linked: tests/fortran/onesided.F90 tests/fortran/harness.inc $(BUILD)/config.mk | $(LINKER_NAME)
	@mkdir -p $(BUILD)/test/$(1)/mod.$$*.linked
	$$(call show,MPIFORT,$$< for $(1))$$(MPIFORT_$(1)) $$(FORTRAN_FLAGS) -D$$* -J $(BUILD)/test/$(1)/mod.$$*.linked $$< -o $$@ $$(LINK_LIBRARY)
$(BUILD)/test/$(1)/fortran_windows_%: tests/fortran/windows.F90 tests/fortran/harness.inc $(BUILD)/config.mk
	@mkdir -p $(BUILD)/test/$(1)/mod.windows_$$*
	$$(call show,MPIFORT,$$< for $(1))$$(MPIFORT_$(1)) $$(FORTRAN_FLAGS) -D$$* -J $(BUILD)/test/$(1)/mod.windows_$$* $$< -o $$@
tests: $$(addprefix $(BUILD)/test/$(1)/fortran_,MPIFH MODULE F08 F08.linked windows_MPIFH windows_MODULE windows_F08)
endif
endef
$(foreach abi,$(TEST_ABIS),$(eval $(call fortran_test_rules,$(abi))))
